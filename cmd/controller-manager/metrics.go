package main

import (
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kairship-io/kairship/cmd/internal/flags"
	"github.com/kairship-io/kairship/cmd/internal/readers"
	"github.com/kairship-io/kairship/pkg/authz"
)

// Who may read metrics, beyond the loopback interface, the global cluster says.
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// metrics are served as those of the apiserver are: they name instances, so beyond
// the loopback interface they are encrypted and for those who may get /metrics in
// the global cluster.
func (o *options) metrics() metricsserver.Options {
	served := metricsserver.Options{BindAddress: o.metricsAddress}
	if host, _, err := net.SplitHostPort(o.metricsAddress); err != nil || flags.Loopback(host) {
		return served
	}
	served.SecureServing = true
	served.FilterProvider = forReaders
	if o.metricsCertFile != "" {
		served.CertDir, served.CertName = filepath.Split(o.metricsCertFile)
		served.KeyName = filepath.Base(o.metricsKeyFile) // In the same folder; see validateMetrics.
	}
	return served
}

// validateMetrics finds what is wrong with where metrics and profiles are served.
func (o *options) validateMetrics(problems *flags.Problems) {
	check := problems.Checkf
	check((o.metricsCertFile == "") == (o.metricsKeyFile == ""), "--metrics-cert-file, --metrics-key-file: give both or neither")
	problems.File("--metrics-cert-file", o.metricsCertFile)
	problems.File("--metrics-key-file", o.metricsKeyFile)
	check(o.metricsKeyFile == "" || filepath.Dir(o.metricsCertFile) == filepath.Dir(o.metricsKeyFile), "--metrics-cert-file, --metrics-key-file: must be in the same folder")
	if o.pprofAddress != "" {
		host, _, err := net.SplitHostPort(o.pprofAddress)
		check(err == nil, "--pprof-address: %v", err)
		check(err != nil || flags.Loopback(host), "--pprof-address: profiles show what is in memory, so they are served on the loopback interface only, not on %q", host)
	}
	o.tracing.Validate(problems)
}

// forReaders admits users whom the global cluster permits to read metrics.
func forReaders(config *rest.Config, client *http.Client) (metricsserver.Filter, error) {
	kube, err := kubernetes.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("making the client that asks who may read metrics: %w", err)
	}
	authenticator := authz.NewAuthenticator(kube.AuthenticationV1().TokenReviews(), time.Now)
	return func(_ logr.Logger, metrics http.Handler) (http.Handler, error) {
		return readers.Only(metrics, authenticator, kube.AuthorizationV1().SubjectAccessReviews()), nil
	}, nil
}
