package extraargs_test

import (
	"strings"
	"testing"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/extraargs"
)

// with are components of which one has a flag.
func with(component extraargs.Component, flag string) *v1alpha1.InstanceComponents {
	process := v1alpha1.ProcessSettings{ExtraArgs: map[string]v1alpha1.ArgumentValue{flag: "x"}}
	settings := &v1alpha1.ComponentSettings{ProcessSettings: process}
	switch component {
	case extraargs.APIServer:
		return &v1alpha1.InstanceComponents{APIServer: &v1alpha1.APIServerSettings{ProcessSettings: process}}
	case extraargs.AggregatedAPIServer:
		return &v1alpha1.InstanceComponents{AggregatedAPIServer: settings}
	case extraargs.KubeControllerManager:
		return &v1alpha1.InstanceComponents{KubeControllerManager: settings}
	case extraargs.ControllerManager:
		return &v1alpha1.InstanceComponents{ControllerManager: settings}
	case extraargs.Scheduler:
		return &v1alpha1.InstanceComponents{Scheduler: settings}
	case extraargs.Webhook:
		return &v1alpha1.InstanceComponents{Webhook: settings}
	case extraargs.Descheduler:
		return &v1alpha1.InstanceComponents{Descheduler: &v1alpha1.DeschedulerSettings{ProcessSettings: process}}
	case extraargs.MetricsAdapter:
		return &v1alpha1.InstanceComponents{MetricsAdapter: &v1alpha1.MetricsAdapterSettings{ProcessSettings: process}}
	}
	return nil
}

var components = []extraargs.Component{
	extraargs.APIServer, extraargs.AggregatedAPIServer, extraargs.KubeControllerManager, extraargs.ControllerManager,
	extraargs.Scheduler, extraargs.Webhook, extraargs.Descheduler, extraargs.MetricsAdapter,
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		reason    string
		component extraargs.Component
		flag      string
		refused   string
	}{
		{"an amount", extraargs.ControllerManager, "concurrent-work-syncs", ""},
		{"a limit of requests", extraargs.APIServer, "max-requests-inflight", ""},
		{"what one component has another need not have", extraargs.Scheduler, "max-requests-inflight", "none of those that only tune scheduler"},
		{"a flag of a version to come", extraargs.Webhook, "brand-new", "none of those"},
		{"a timer of failover", extraargs.ControllerManager, "cluster-startup-grace-period", "components.failover.clusterStartupGracePeriod sets it"},
		{"what failover turns on", extraargs.Webhook, "allow-no-execute-taint-policy", "components.failover.enabled sets it"},
		{"an interval of the descheduler", extraargs.Descheduler, "descheduling-interval", "components.descheduler.interval sets it"},
		{"features of Karmada", extraargs.Scheduler, "feature-gates", "components.featureGates sets it"},
		{"features of Kubernetes weaken what callers may do", extraargs.APIServer, "feature-gates", "what callers may do"},
		{"the plugin that confines nodes is on by this flag", extraargs.APIServer, "enable-admission-plugins", "what callers may do"},
		{"approving certificates is a controller that is off", extraargs.KubeControllerManager, "controllers", "none of those"},
		{"tokens of service accounts", extraargs.APIServer, "service-account-issuer", "who may talk"},
		{"a proxy that is trusted", extraargs.AggregatedAPIServer, "requestheader-allowed-names", "who may talk"},
		{"another store", extraargs.APIServer, "etcd-servers", "stored"},
		{"keys in the clear", extraargs.APIServer, "encryption-provider-config", "stored"},
		{"keys of estimators", extraargs.Scheduler, "scheduler-estimator-key-file", "keys and certificates"},
		{"a certificate that is not checked", extraargs.Descheduler, "insecure-skip-estimator-verify", "keys and certificates"},
		{"another control plane", extraargs.Webhook, "kubeconfig", "sends requests and credentials"},
		{"another host of estimators", extraargs.Scheduler, "scheduler-estimator-service-namespace", "sends requests and credentials"},
		{"audit to another server", extraargs.APIServer, "audit-webhook-config-file", "sends requests and credentials"},
		{"metrics without credentials", extraargs.ControllerManager, "metrics-bind-address", "can be reached"},
		{"profiles", extraargs.ControllerManager, "enable-pprof", "memory"},
		{"a file of the pod", extraargs.ControllerManager, "log-file", "names a file"},
		{"two replicas at work", extraargs.ControllerManager, "leader-elect", "at once"},
		{"its dashes", extraargs.Scheduler, "--v", "none of those"},
		{"an underscore is read as a dash", extraargs.APIServer, "etcd_servers", "none of those"},
		{"a second flag in the name", extraargs.Scheduler, "v=2 --master", "none of those"},
	} {
		got := extraargs.Refused(with(c.component, c.flag))
		switch {
		case got == nil && c.refused != "":
			t.Errorf("%s: %s of %s is permitted", c.reason, c.flag, c.component)
		case got != nil && (c.refused == "" || got.Component != c.component || !strings.Contains(got.Message, c.refused) || !strings.Contains(got.Message, c.flag)):
			t.Errorf("%s: got %+v, want %q", c.reason, got, c.refused)
		}
	}
	if got := extraargs.Refused(nil); got != nil {
		t.Errorf("no components: %+v", got)
	}
}

// What decides about trust is refused for every component, whether it has the flag or not.
func TestRefusedEverywhere(t *testing.T) {
	for _, flag := range []string{
		"anonymous-auth", "authentication-config", "authentication-kubeconfig", "authentication-token-webhook-config-file", "authorization-mode",
		"authorization-always-allow-paths", "token-auth-file", "client-ca-file", "oidc-issuer-url", "enable-bootstrap-token-auth",
		"requestheader-client-ca-file", "service-account-key-file", "service-account-signing-key-file", "service-account-private-key-file",
		"etcd-servers", "etcd-prefix", "encryption-provider-config", "tls-cert-file", "tls-min-version", "tls-cipher-suites", "cert-dir",
		"proxy-client-cert-file", "kubelet-client-key", "kubelet-certificate-authority", "kubeconfig", "authorization-kubeconfig", "cluster-api-kubeconfig",
		"master", "egress-selector-config-file", "bind-address", "secure-port", "admission-control-config-file", "disable-admission-plugins",
		"enable-admission-plugins", "profiling", "enable-pprof", "contention-profiling", "audit-log-path", "audit-webhook-config-file", "tracing-config-file",
		"cluster-signing-key-file", "cluster-signing-duration", "root-ca-file", "use-service-account-credentials", "leader-elect",
		"leader-elect-resource-namespace", "log-file", "log-dir", "debug-socket-path", "feature-gates", "cloud-config",
	} {
		for _, component := range components {
			if extraargs.Refused(with(component, flag)) == nil {
				t.Errorf("%s of %s is permitted", flag, component)
			}
		}
	}
	for _, component := range components {
		if got := extraargs.Refused(with(component, "v")); got != nil {
			t.Errorf("the log of %s: %+v", component, got)
		}
	}
}
