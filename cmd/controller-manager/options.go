package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kairship-io/kairship/cmd/internal/addresses"
	"github.com/kairship-io/kairship/cmd/internal/flags"
	"github.com/kairship-io/kairship/cmd/internal/traces"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers"
	"github.com/kairship-io/kairship/pkg/controllers/clusterindex"
	"github.com/kairship-io/kairship/pkg/controllers/globalmanagementwebhook"
	"github.com/kairship-io/kairship/pkg/controllers/instancelifecycle"
	"github.com/kairship-io/kairship/pkg/fleet/collection"
)

const program = "kairship-controller-manager"

// maxWorkers bounds what an administrator may choose: each holds a connection.
const maxWorkers = 4096

// options are the settings of the command.
type options struct {
	// given says where each of them was written.
	given *flags.Settings

	kubeconfig         string
	kubeAPIQPS         float32
	kubeAPIBurst       int
	kubeAPIConcurrency int

	metricsAddress  string
	metricsCertFile string
	metricsKeyFile  string
	pprofAddress    string
	tracing         traces.Options

	healthAddress string

	leaderElect     bool
	leaderNamespace string
	leaseDuration   time.Duration
	renewDeadline   time.Duration
	retryPeriod     time.Duration

	workers           map[string]int
	retryFirstPause   time.Duration
	retryLongestPause time.Duration

	probeInterval time.Duration
	probeTimeout  time.Duration

	addresses addresses.Options

	imageRegistries []string
	crdHosts        []string

	importInterval     time.Duration
	statisticsInterval time.Duration

	accessInterval   time.Duration
	revokedRetention time.Duration

	webhookAddress  string
	webhookCertFile string
	webhookKeyFile  string
	// webhookSecret is namespace/name.
	webhookSecret string

	credentialsNamespaces []string
	indexNamespace        string
	collectOfInstances    []string
	collectOfMembers      []string

	indexDatabaseFile string
	historyRetention  time.Duration

	waitForAPIs     time.Duration
	shutdownTimeout time.Duration

	logLevel  string
	logFormat string
}

// flags are the flags with their defaults, in the order of the help.
func (o *options) flags() []flags.Group {
	return []flags.Group{
		flags.NewGroup("Global cluster", func(f *pflag.FlagSet) {
			f.StringVar(&o.kubeconfig, "kubeconfig", "", "`file` with the credentials of the global cluster; when empty, $KUBECONFIG, then the pod's service account")
			f.Float32Var(&o.kubeAPIQPS, "kube-api-qps", 200, "requests per second to the global cluster's apiserver, on average")
			f.IntVar(&o.kubeAPIBurst, "kube-api-burst", 400, "requests to the global cluster's apiserver in one go")
			f.IntVar(&o.kubeAPIConcurrency, "kube-api-concurrency", 16, "writes of the controllers to the global cluster's apiserver at the same time; more than it works on at once only have it tell later what has changed")
			f.DurationVar(&o.waitForAPIs, "wait-for-apis", time.Minute, "how long to wait at the start until the global cluster serves Kairship's and Clusterpedia's custom resources")
		}),
		flags.NewGroup("Leader election", func(f *pflag.FlagSet) {
			f.BoolVar(&o.leaderElect, "leader-elect", true, "work only while holding the Lease, so that several replicas can run")
			f.StringVar(&o.leaderNamespace, "leader-election-namespace", v1alpha1.SystemNamespace, "`namespace` of the Lease "+leaseName)
			f.DurationVar(&o.leaseDuration, "leader-election-lease-duration", 15*time.Second, "how long the other replicas wait for a leader that does not renew the Lease")
			f.DurationVar(&o.renewDeadline, "leader-election-renew-deadline", 10*time.Second, "how long the leader tries to renew the Lease before it gives up and exits")
			f.DurationVar(&o.retryPeriod, "leader-election-retry-period", time.Second, "time between two attempts to get or to renew the Lease; to get it, up to 2.2 times as long, so much takes a hand-over at most")
		}),
		flags.NewGroup("Work", func(f *pflag.FlagSet) {
			f.StringToIntVar(&o.workers, "workers", nil, "how many objects a controller works on at the same time, as `controller=number,...`; a controller that is not named does as suits it. They are: "+strings.Join(controllers.Names(), ", "))
			f.DurationVar(&o.retryFirstPause, "retry-first-pause", controllers.DefaultRetryFirstPause, "pause after the first failure with an object; it doubles with each further one")
			f.DurationVar(&o.retryLongestPause, "retry-longest-pause", controllers.DefaultRetryLongestPause, "longest pause after failures with the same object")
		}),
		flags.NewGroup("Instances and clusters", func(f *pflag.FlagSet) {
			f.StringSliceVar(&o.credentialsNamespaces, "credentials-namespaces", nil, "`namespaces` whose Secrets are read, separated by commas: where those may be that Instances and Clusters refer to; all when empty, as Managed instances need it, which have a namespace each")
			f.StringVar(&o.indexNamespace, "index-namespace", controllers.DefaultIndexNamespace, "`namespace` that Clusterpedia's clustersynchro-manager runs in; Kairship stores there the Secrets with which it collects")
			f.DurationVar(&o.probeInterval, "probe-interval", 5*time.Second, "time between two looks at the same instance or cluster, give or take 10 %")
			f.DurationVar(&o.probeTimeout, "probe-timeout", 3*time.Second, "how long an instance or cluster may take to answer at one look; it counts as unreachable after 6s of looks in vain")
			f.DurationVar(&o.statisticsInterval, "statistics-interval", controllers.DefaultStatisticsInterval, "least time between two writes of the figures of the same instance")
		}),
		flags.NewGroup("Index", func(f *pflag.FlagSet) {
			f.StringSliceVar(&o.collectOfInstances, "collect-of-instances", nil, "`kinds` that are collected of every instance besides those that always are, as group/version/resource with the plural name, separated by commas; an Instance names more in spec.collect.ofInstance")
			f.StringSliceVar(&o.collectOfMembers, "collect-of-members", nil, "`kinds` that are collected of every member cluster besides those that always are, written in the same way; an Instance names more in spec.collect.ofMembers")
			f.StringVar(&o.indexDatabaseFile, "index-database-file", "", "`file` with the DSN of Clusterpedia's database, postgres://user:password@host:port/database or file:/path/of/the/index.db, in which the projection is kept; read again after a failure; no projection is kept when empty")
			f.DurationVar(&o.historyRetention, "history-retention", 30*24*time.Hour, "how long the history of workloads, member clusters, policies and instances is kept; an Instance says otherwise in spec.historyRetentionDays")
		}),
		flags.NewGroup("Addresses", o.addresses.Define),
		flags.NewGroup("Managed instances", func(f *pflag.FlagSet) {
			f.StringSliceVar(&o.imageRegistries, "allowed-image-registries", nil, "`registries` that components.imageRegistry of an Instance may name, separated by commas, each with a path where only a part is permitted: registry.example.com/mirror; images run on host clusters, so none beside the operator's own are permitted when empty")
			f.StringSliceVar(&o.crdHosts, "allowed-crd-hosts", nil, "`hosts` that components.crdTarballURL of an Instance may name, separated by commas, with a port where only one is permitted, and by https unless one begins with http://; only the release of the version is downloaded when empty")
		}),
		flags.NewGroup("Members", func(f *pflag.FlagSet) {
			f.DurationVar(&o.importInterval, "import-interval", controllers.DefaultImportInterval, "time between two looks at the members of the same instance")
		}),
		flags.NewGroup("Access", func(f *pflag.FlagSet) {
			f.DurationVar(&o.accessInterval, "access-interval", controllers.DefaultAccessInterval, "time between two looks at the access rules inside the same instance")
			f.DurationVar(&o.revokedRetention, "revoked-binding-retention", controllers.DefaultRevokedRetention, "how long a revoked InstanceRoleBinding is kept, so that a late event of global management cannot bring the role back")
		}),
		flags.NewGroup("Global management", func(f *pflag.FlagSet) {
			f.StringVar(&o.webhookAddress, "webhook-bind-address", "", "`host:port` to receive the events of global management on, by HTTPS; every replica serves it; off when empty")
			f.StringVar(&o.webhookCertFile, "webhook-cert-file", "", "`file` with the webhook's serving certificate and its chain, in PEM; read again when it changes")
			f.StringVar(&o.webhookKeyFile, "webhook-key-file", "", "`file` with the key of that certificate, in PEM")
			f.StringVar(&o.webhookSecret, "webhook-secret", v1alpha1.SystemNamespace+"/kairship-global-management",
				"`namespace/name` of the Secret that requests are signed with: its key "+globalmanagementwebhook.PrimaryKey+" and, while secrets are being rotated, "+globalmanagementwebhook.SecondaryKey)
		}),
		flags.NewGroup("Endpoints", func(f *pflag.FlagSet) {
			f.StringVar(&o.metricsAddress, "metrics-bind-address", "127.0.0.1:8080", "`host:port` of /metrics: over plain HTTP on the loopback interface, else with TLS and to those who may get /metrics in the global cluster; 0 switches it off")
			f.StringVar(&o.metricsCertFile, "metrics-cert-file", "", "`file` with the certificate that /metrics is served with, in PEM; read again when it changes; when empty, one that signs itself")
			f.StringVar(&o.metricsKeyFile, "metrics-key-file", "", "`file` with the key of that certificate, in PEM")
			f.StringVar(&o.pprofAddress, "pprof-address", "", "`host:port` on the loopback interface to serve Go's profiles on, at /debug/pprof/; off when empty")
			f.StringVar(&o.healthAddress, "health-probe-bind-address", ":8081", "`host:port` of /healthz and /readyz; 0 switches them off")
		}),
		flags.NewGroup("Observability", o.tracing.Define),
		flags.NewGroup("Process", func(f *pflag.FlagSet) {
			f.DurationVar(&o.shutdownTimeout, "shutdown-timeout", 20*time.Second, "how long work in progress may last after SIGTERM or SIGINT")
			f.StringVar(&o.logLevel, "log-level", "info", "`level` of the log: error, warn, info, debug, or a number from 1 (debug) to 10")
			f.StringVar(&o.logFormat, "log-format", "json", "`format` of the log: json or text")
		}),
	}
}

// command is the program with its settings.
func (o *options) command() flags.Program {
	return flags.Program{
		Name:    program,
		Version: version,
		Purpose: "keeps Instances and Clusters of Kairship true: it\n" +
			"registers every instance in the inventory, has everything collected by the\n" +
			"index, and says what it finds in the status. It receives from global\n" +
			"management who has which role, and turns that into access rules.",
		Groups:   o.flags(),
		Validate: o.validate,
	}
}

// parse reads the settings. Help and version go to out, and the error is then
// flags.ErrPrinted. Any other error says everything that is wrong at once.
func parse(args, environ []string, out io.Writer) (*options, error) {
	o := &options{}
	var err error
	if o.given, err = o.command().Parse(args, environ, out); err != nil {
		return nil, err
	}
	return o, nil
}

// validate finds everything that is wrong with the settings.
func (o *options) validate(problems *flags.Problems) {
	check := problems.Checkf
	problems.File("--kubeconfig", o.kubeconfig)
	check(o.kubeAPIQPS > 0, "--kube-api-qps: must be more than 0, not %v", o.kubeAPIQPS)
	check(o.kubeAPIBurst >= 1, "--kube-api-burst: must be at least 1, not %d", o.kubeAPIBurst)
	check(float32(o.kubeAPIBurst) >= o.kubeAPIQPS, "--kube-api-burst: must not be less than --kube-api-qps (%v)", o.kubeAPIQPS)
	check(o.kubeAPIConcurrency >= 1, "--kube-api-concurrency: must be at least 1, not %d", o.kubeAPIConcurrency)
	check(o.waitForAPIs >= 0, "--wait-for-apis: must not be negative")

	if o.leaderElect {
		check(o.leaderNamespace != "", "--leader-election-namespace: must not be empty")
		check(o.retryPeriod > 0, "--leader-election-retry-period: must be more than 0")
		check(o.renewDeadline > o.retryPeriod*12/10, "--leader-election-renew-deadline: must be more than 1.2 times the retry period (%s)", o.retryPeriod)
		check(o.leaseDuration > o.renewDeadline, "--leader-election-lease-duration: must be more than the renew deadline (%s)", o.renewDeadline)
	}
	for name, workers := range o.workers {
		check(slices.Contains(controllers.Names(), name), "--workers: there is no controller %q; there are %s", name, strings.Join(controllers.Names(), ", "))
		check(workers >= 1 && workers <= maxWorkers, "--workers: %s must have from 1 to %d, not %d", name, maxWorkers, workers)
	}
	check(o.retryFirstPause >= time.Millisecond, "--retry-first-pause: must be at least 1ms, not %s", o.retryFirstPause)
	check(o.retryLongestPause >= o.retryFirstPause, "--retry-longest-pause: must not be less than --retry-first-pause (%s)", o.retryFirstPause)
	check(len(validation.IsDNS1123Label(o.indexNamespace)) == 0, "--index-namespace: must be the name of a namespace, not %q", o.indexNamespace)
	check(o.probeInterval >= time.Second, "--probe-interval: must be at least 1s, not %s", o.probeInterval)
	check(o.probeTimeout >= 100*time.Millisecond, "--probe-timeout: must be at least 100ms, not %s", o.probeTimeout)
	check(o.statisticsInterval >= time.Second, "--statistics-interval: must be at least 1s, not %s", o.statisticsInterval)
	for name, address := range map[string]string{"--health-probe-bind-address": o.healthAddress, "--metrics-bind-address": o.metricsAddress} {
		err := checkAddress(address)
		check(err == nil, "%s: %v", name, err)
	}
	check(o.metricsAddress == "0" || o.metricsAddress != o.healthAddress || strings.HasSuffix(o.metricsAddress, ":0"),
		"--metrics-bind-address: must not be that of --health-probe-bind-address (%s)", o.healthAddress)
	o.validateMetrics(problems)
	check(o.historyRetention >= time.Hour, "--history-retention: must be one hour or more")
	problems.File("--index-database-file", o.indexDatabaseFile)
	for flag, texts := range map[string][]string{"--collect-of-instances": o.collectOfInstances, "--collect-of-members": o.collectOfMembers} {
		_, err := kinds(texts)
		check(err == nil, "%s: %v", flag, err)
	}
	o.addresses.Validate(problems)
	for _, registry := range o.imageRegistries {
		check(registry != "" && !strings.Contains(registry, "://") && !strings.HasSuffix(registry, "/"), "--allowed-image-registries: must be registries such as registry.example.com/mirror, and %q is none", registry)
	}
	for _, host := range o.crdHosts {
		name := strings.TrimPrefix(host, "http://")
		check(name != "" && !strings.Contains(name, "/"), "--allowed-crd-hosts: must be hosts such as files.example.com, and %q is none", host)
	}
	check(o.importInterval >= time.Second, "--import-interval: must be at least 1s, not %s", o.importInterval)
	check(o.accessInterval >= time.Second, "--access-interval: must be at least 1s, not %s", o.accessInterval)
	check(o.revokedRetention >= time.Minute, "--revoked-binding-retention: must be at least 1m, not %s", o.revokedRetention)
	o.validateWebhook(problems)
	check(o.shutdownTimeout >= 0, "--shutdown-timeout: must not be negative")
	_, err := parseLevel(o.logLevel)
	check(err == nil, "--log-level: %v", err)
	check(o.logFormat == "json" || o.logFormat == "text", "--log-format: must be json or text, not %q", o.logFormat)
}

func (o *options) validateWebhook(problems *flags.Problems) {
	check := problems.Checkf
	if o.webhookAddress == "" {
		check(o.webhookCertFile == "" && o.webhookKeyFile == "", "--webhook-bind-address: must be given too, because a certificate for it is")
		return
	}
	err := flags.CheckAddress(o.webhookAddress)
	check(err == nil, "--webhook-bind-address: %v", err)
	for _, other := range []struct{ flag, address string }{{"--metrics-bind-address", o.metricsAddress}, {"--health-probe-bind-address", o.healthAddress}} {
		check(o.webhookAddress != other.address || strings.HasSuffix(other.address, ":0"), "--webhook-bind-address: must not be that of %s (%s)", other.flag, other.address)
	}
	check(o.webhookCertFile != "", "--webhook-cert-file: must be given, because the webhook is served by HTTPS only")
	check(o.webhookKeyFile != "", "--webhook-key-file: must be given, because the webhook is served by HTTPS only")
	problems.File("--webhook-cert-file", o.webhookCertFile)
	problems.File("--webhook-key-file", o.webhookKeyFile)
	problems.NamespacedName("--webhook-secret", o.webhookSecret)
	for _, namespace := range o.credentialsNamespaces {
		problems.Checkf(len(validation.IsDNS1123Label(namespace)) == 0, "--credentials-namespaces: must be names of namespaces, and %q is none", namespace)
	}
}

func (o *options) webhookSecretName() types.NamespacedName {
	namespace, name, _ := strings.Cut(o.webhookSecret, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// settings are what the controllers are set up with.
func (o *options) settings() controllers.Settings {
	return controllers.Settings{
		Workers: o.workers, RetryFirstPause: o.retryFirstPause, RetryLongestPause: o.retryLongestPause,
		CredentialsNamespaces: o.credentialsNamespaces,
		IndexNamespace:        o.indexNamespace,
		Collect:               o.collect(),
		ProbeInterval:         o.probeInterval, ProbeTimeout: o.probeTimeout, StatisticsInterval: o.statisticsInterval, ImportInterval: o.importInterval, AccessInterval: o.accessInterval, RevokedRetention: o.revokedRetention,
		Addresses: o.addresses.Limits(),
		Sources:   instancelifecycle.Sources{ImageRegistries: o.imageRegistries, CRDHosts: o.crdHosts},
		Webhook: globalmanagementwebhook.Options{
			Address: o.webhookAddress, CertFile: o.webhookCertFile, KeyFile: o.webhookKeyFile,
			Secret: o.webhookSecretName(), ShutdownTimeout: o.shutdownTimeout,
		},
	}
}

// collect are the kinds of the flags, which are valid.
func (o *options) collect() (c clusterindex.Collect) {
	c.OfInstances, _ = kinds(o.collectOfInstances)
	c.OfMembers, _ = kinds(o.collectOfMembers)
	return c
}

// kinds reads the kinds of a flag.
func kinds(texts []string) ([]v1alpha1.CollectedKind, error) {
	var all []v1alpha1.CollectedKind
	for _, text := range texts {
		kind, err := collection.Parse(text)
		if err != nil {
			return nil, err
		}
		all = append(all, kind)
	}
	return all, nil
}

// checkAddress accepts also 0, which switches an endpoint off.
func checkAddress(address string) error {
	if address == "0" {
		return nil
	}
	return flags.CheckAddress(address)
}

// parseLevel converts a level of logr, where higher levels log more, into one of zap, where they
// log less.
func parseLevel(text string) (zapcore.Level, error) {
	switch text {
	case "error":
		return zapcore.ErrorLevel, nil
	case "warn":
		return zapcore.WarnLevel, nil
	case "info":
		return zapcore.InfoLevel, nil
	case "debug":
		return zapcore.DebugLevel, nil
	}
	const most = 10
	number, err := strconv.Atoi(text)
	if err != nil || number < 1 || number > most {
		return 0, fmt.Errorf("must be error, warn, info, debug or a number from 1 to %d, not %q", most, text)
	}
	return zapcore.Level(-number), nil
}
