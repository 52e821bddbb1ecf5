package main

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/zap/zapcore"

	"github.com/kairship-io/kairship/cmd/internal/addresses"
	"github.com/kairship-io/kairship/cmd/internal/flags/flagstest"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers"
	"github.com/kairship-io/kairship/pkg/controllers/clusterindex"
	"github.com/kairship-io/kairship/pkg/controllers/instancelifecycle"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		reason string
		args   []string
		says   []string // of the error; none when the flags are accepted
	}{
		{reason: "the defaults are accepted", args: nil},
		{reason: "the addresses of the local fleet are accepted", args: []string{"--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0"}},
		{reason: "endpoints can be switched off", args: []string{"--metrics-bind-address=0", "--health-probe-bind-address=0"}},
		{reason: "without election its timers do not matter", args: []string{"--leader-elect=false", "--leader-election-retry-period=0"}},
		{reason: "an unknown flag is named", args: []string{"--probe-intervall=1s"}, says: []string{"--probe-intervall", "--help"}},
		{reason: "an argument is no flag", args: []string{"start"}, says: []string{`"start" is not a flag`}},
		{reason: "a value of the wrong type is named", args: []string{"--probe-interval=often"}, says: []string{"--probe-interval", "often"}},
		{
			reason: "everything that is wrong is told at once",
			args: []string{
				"--kubeconfig=/does/not/exist", "--kube-api-qps=0", "--kube-api-burst=0", "--kube-api-concurrency=0", "--wait-for-apis=-1s", "--probe-interval=10ms", "--probe-timeout=0", "--statistics-interval=1ms",
				"--metrics-bind-address=8080", "--health-probe-bind-address=:99999", "--log-level=loud", "--log-format=xml", "--shutdown-timeout=-1s",
				"--leader-election-namespace=", "--leader-election-retry-period=0",
			},
			says: []string{
				"--kubeconfig: stat /does/not/exist", "--kube-api-qps: must be more than 0", "--kube-api-burst: must be at least 1", "--kube-api-concurrency: must be at least 1", "--wait-for-apis: must not",
				"--probe-interval: must be at least 1s", "--probe-timeout: must be at least 100ms", "--statistics-interval: must be at least 1s", `--metrics-bind-address: must be host:port`,
				"--health-probe-bind-address: the port must be a number", "--log-level: must be error, warn, info, debug", "--log-format: must be json or text",
				"--shutdown-timeout: must not", "--leader-election-namespace: must not be empty", "--leader-election-retry-period: must be more than 0",
			},
		},
		{reason: "bursts are not smaller than the average", args: []string{"--kube-api-qps=10", "--kube-api-burst=5"}, says: []string{"must not be less than --kube-api-qps (10)"}},
		{reason: "a leader gives up before others take over", args: []string{"--leader-election-renew-deadline=15s"}, says: []string{"--leader-election-lease-duration: must be more than the renew deadline (15s)"}},
		{reason: "a leader tries more than once", args: []string{"--leader-election-retry-period=9s"}, says: []string{"--leader-election-renew-deadline: must be more than 1.2 times"}},
		{reason: "the webhook needs a certificate", args: []string{"--webhook-bind-address=:9443"}, says: []string{"--webhook-cert-file: must be given", "--webhook-key-file: must be given"}},
		{reason: "the webhook's certificate must exist", args: []string{"--webhook-bind-address=:9443", "--webhook-cert-file=/does/not/exist", "--webhook-key-file=options.go"}, says: []string{"--webhook-cert-file: stat /does/not/exist"}},
		{reason: "the webhook's flags can be right", args: []string{"--webhook-bind-address=:9443", "--webhook-cert-file=options.go", "--webhook-key-file=options.go"}},
		{reason: "a certificate without the webhook is a mistake", args: []string{"--webhook-cert-file=options.go"}, says: []string{"--webhook-bind-address: must be given"}},
		{reason: "the webhook needs a port of its own", args: []string{"--webhook-bind-address=:8081", "--webhook-cert-file=options.go", "--webhook-key-file=options.go"}, says: []string{"--webhook-bind-address: must not be that of --health-probe-bind-address"}},
		{reason: "the webhook's Secret has a namespace", args: []string{"--webhook-bind-address=9443", "--webhook-secret=secret"}, says: []string{"--webhook-bind-address: must be host:port", `--webhook-secret: must be namespace/name, not "secret"`}},
		{reason: "what protects must last", args: []string{"--access-interval=1ms", "--revoked-binding-retention=0"}, says: []string{"--access-interval: must be at least 1s", "--revoked-binding-retention: must be at least 1m"}},
		{reason: "kinds of any group can be collected", args: []string{"--collect-of-instances=argoproj.io/v1alpha1/rollouts,v1/endpoints", "--collect-of-members=policy/v1/poddisruptionbudgets"}},
		{
			reason: "kinds are written in full", args: []string{"--collect-of-instances=rollouts", "--collect-of-members=apps/v1/Deployment"},
			says: []string{`--collect-of-instances: must be group/version/resource`, `not "rollouts"`, `--collect-of-members: must be group/version/resource`, `not "apps/v1/Deployment"`},
		},
		{reason: "not everything of a group can be collected", args: []string{"--collect-of-members=apps/v1/*"}, says: []string{`not "apps/v1/*"`}},
		{reason: "Secrets are not collected", args: []string{"--collect-of-members=v1/secrets"}, says: []string{`--collect-of-members: "v1/secrets" is not permitted`}},
		{reason: "workers are counted by controller", args: []string{"--workers=instance-status=32,cluster-import=1,cluster-import-discovery=2"}},
		{reason: "workers of no controller do nothing", args: []string{"--workers=instance-stats=32"}, says: []string{`--workers: there is no controller "instance-stats"`, "instance-status"}},
		{reason: "a controller without workers does nothing", args: []string{"--workers=instance-status=0,cluster-import=5000"}, says: []string{"instance-status must have from 1 to 4096, not 0", "cluster-import must have from 1 to 4096"}},
		{reason: "pauses after failures grow", args: []string{"--retry-first-pause=0", "--retry-longest-pause=-1s"}, says: []string{"--retry-first-pause: must be at least 1ms", "--retry-longest-pause: must not be less than"}},
		{reason: "Clusterpedia runs in a namespace", args: []string{"--index-namespace=a/b"}, says: []string{`--index-namespace: must be the name of a namespace, not "a/b"`}},
		{reason: "two endpoints need two ports", args: []string{"--metrics-bind-address=:8081"}, says: []string{"must not be that of --health-probe-bind-address"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			_, err := parse(c.args, nil, &bytes.Buffer{})
			if (err == nil) != (len(c.says) == 0) {
				t.Fatalf("got error %v", err)
			}
			for _, part := range c.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not say %q:\n%v", part, err)
				}
			}
		})
	}
}

// TestSettings keeps the help and the reference as they are reviewed.
func TestSettings(t *testing.T) { flagstest.Settings(t, (&options{}).command()) }

// TestFlagsOfTheContract keeps the names and defaults that deployments rely on.
func TestFlagsOfTheContract(t *testing.T) {
	o, err := parse(nil, nil, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	want := &options{
		kubeAPIQPS: 200, kubeAPIBurst: 400, kubeAPIConcurrency: 16, metricsAddress: "127.0.0.1:8080", healthAddress: ":8081",
		leaderElect: true, leaderNamespace: "kairship-system", leaseDuration: 15 * time.Second, renewDeadline: 10 * time.Second, retryPeriod: time.Second,
		retryFirstPause: 500 * time.Millisecond, retryLongestPause: time.Minute,
		probeInterval: 5 * time.Second, probeTimeout: 3 * time.Second, statisticsInterval: 10 * time.Second, importInterval: 30 * time.Second, accessInterval: 30 * time.Second, revokedRetention: 7 * 24 * time.Hour, historyRetention: 30 * 24 * time.Hour,
		webhookSecret: "kairship-system/kairship-global-management", indexNamespace: "clusterpedia-system", waitForAPIs: time.Minute, shutdownTimeout: 20 * time.Second,
		logLevel: "info", logFormat: "json",
	}
	if diff := cmp.Diff(want, o, cmp.AllowUnexported(options{}, addresses.Options{}), cmpopts.IgnoreFields(options{}, "given")); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

// TestFlagsReachTheControllers finds settings that are read and then forgotten.
func TestFlagsReachTheControllers(t *testing.T) {
	o, err := parse([]string{
		"--workers=instance-status=3", "--retry-first-pause=2s", "--retry-longest-pause=3s", "--probe-interval=4s", "--probe-timeout=5s",
		"--statistics-interval=6s", "--import-interval=7s", "--access-interval=8s", "--revoked-binding-retention=9m",
		"--open-address-ranges=127.0.0.0/8", "--closed-address-ranges=10.96.0.0/12,fd00::/64",
		"--allowed-image-registries=registry.example.com/mirror", "--allowed-crd-hosts=files.example.com", "--index-namespace=index",
		"--collect-of-instances=argoproj.io/v1alpha1/rollouts", "--collect-of-members=v1/endpoints",
	}, nil, &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	want := controllers.Settings{
		Workers: map[string]int{"instance-status": 3}, RetryFirstPause: 2 * time.Second, RetryLongestPause: 3 * time.Second,
		ProbeInterval: 4 * time.Second, ProbeTimeout: 5 * time.Second, StatisticsInterval: 6 * time.Second,
		ImportInterval: 7 * time.Second, AccessInterval: 8 * time.Second, RevokedRetention: 9 * time.Minute,
		Addresses: &connection.Addresses{
			Open:   []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
			Closed: []netip.Prefix{netip.MustParsePrefix("10.96.0.0/12"), netip.MustParsePrefix("fd00::/64")},
		},
		Sources:        instancelifecycle.Sources{ImageRegistries: []string{"registry.example.com/mirror"}, CRDHosts: []string{"files.example.com"}},
		IndexNamespace: "index",
		Collect: clusterindex.Collect{
			OfInstances: []v1alpha1.CollectedKind{{Group: "argoproj.io", Version: "v1alpha1", Resource: "rollouts"}},
			OfMembers:   []v1alpha1.CollectedKind{{Version: "v1", Resource: "endpoints"}},
		},
	}
	if diff := cmp.Diff(want, o.settings(), cmpopts.IgnoreFields(controllers.Settings{}, "Webhook"), cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestParseLevel(t *testing.T) {
	for text, want := range map[string]zapcore.Level{"error": zapcore.ErrorLevel, "warn": zapcore.WarnLevel, "info": zapcore.InfoLevel, "debug": zapcore.DebugLevel, "1": -1, "10": -10} {
		if got, err := parseLevel(text); err != nil || got != want {
			t.Errorf("%s: got %v and %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "11", "-1", "warning"} {
		if _, err := parseLevel(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
