package extraargs

import "slices"

var (
	// logs are flags of every component.
	logs = []string{"log-flush-frequency", "logging-format", "v", "vmodule"}
	// requests are those of components that ask an API server.
	requests = []string{"kube-api-burst", "kube-api-qps"}
	// members are those of components that ask member clusters.
	members = []string{"cluster-api-burst", "cluster-api-qps"}
	// election are those of components of which one replica is at work.
	election = []string{"leader-elect-lease-duration", "leader-elect-renew-deadline", "leader-elect-retry-period"}
	// rates are those of components with work queues.
	rates = []string{"rate-limiter-base-delay", "rate-limiter-bucket-size", "rate-limiter-max-delay", "rate-limiter-qps"}
	// served are those of API servers.
	served = []string{"enable-priority-and-fairness", "http2-max-streams-per-connection"}
)

// permitted are the flags that an Instance may set.
var permitted = map[Component][]string{
	APIServer: slices.Concat(logs, served, []string{
		"default-not-ready-toleration-seconds", "default-unreachable-toleration-seconds", "delete-collection-workers", "event-ttl", "goaway-chance",
		"livez-grace-period", "max-connection-bytes-per-sec", "max-mutating-requests-inflight", "max-requests-inflight", "min-request-timeout",
		"request-timeout", "shutdown-delay-duration", "shutdown-send-retry-after", "watch-cache", "watch-cache-sizes",
	}),
	AggregatedAPIServer: slices.Concat(logs, requests, served, []string{"delete-collection-workers"}),
	KubeControllerManager: slices.Concat(logs, requests, election, []string{
		"concurrent-gc-syncs", "concurrent-namespace-syncs", "concurrent-serviceaccount-token-syncs", "concurrent-ttl-after-finished-syncs",
		"controller-shutdown-timeout", "controller-start-interval", "min-resync-period", "namespace-sync-period",
	}),
	ControllerManager: slices.Concat(logs, requests, members, election, rates, []string{
		"cluster-cache-sync-timeout", "concurrent-cluster-propagation-policy-syncs", "concurrent-cluster-syncs", "concurrent-clusterresourcebinding-syncs",
		"concurrent-dependent-resource-syncs", "concurrent-namespace-syncs", "concurrent-propagation-policy-syncs", "concurrent-resource-template-syncs",
		"concurrent-resourcebinding-syncs", "concurrent-work-syncs", "controllers", "enable-cluster-resource-modeling", "enable-taint-manager",
		"federated-resource-quota-sync-period", "horizontal-pod-autoscaler-cpu-initialization-period", "horizontal-pod-autoscaler-downscale-delay",
		"horizontal-pod-autoscaler-downscale-stabilization", "horizontal-pod-autoscaler-initial-readiness-delay", "horizontal-pod-autoscaler-sync-period",
		"horizontal-pod-autoscaler-tolerance", "horizontal-pod-autoscaler-upscale-delay", "no-execute-taint-eviction-purge-mode", "resource-eviction-rate",
		"resync-period", "skipped-propagating-apis", "skipped-propagating-namespaces",
	}),
	Scheduler: slices.Concat(logs, requests, election, rates, []string{
		"disable-scheduler-estimator-in-pull-mode", "enable-empty-workload-propagation", "enable-scheduler-estimator", "plugins", "scheduler-estimator-timeout",
	}),
	Webhook:        slices.Concat(logs, requests),
	Descheduler:    slices.Concat(logs, requests, election, []string{"scheduler-estimator-timeout"}),
	MetricsAdapter: slices.Concat(logs, requests, members, served),
}

// settings are the flags that Kairship has a setting for, below components.
var settings = map[Component]map[string]string{
	AggregatedAPIServer: {"feature-gates": gates},
	ControllerManager: {
		"cluster-failure-threshold": "failover.clusterFailureThreshold", "cluster-monitor-grace-period": "failover.clusterMonitorGracePeriod",
		"cluster-monitor-period": "failover.clusterMonitorPeriod", "cluster-startup-grace-period": "failover.clusterStartupGracePeriod",
		"cluster-status-update-frequency": "failover.clusterStatusUpdateFrequency", "cluster-success-threshold": "failover.clusterSuccessThreshold",
		"enable-no-execute-taint-eviction": "failover.enabled", "feature-gates": gates, "graceful-eviction-timeout": "failover.gracefulEvictionTimeout",
	},
	Scheduler:   {"feature-gates": gates},
	Webhook:     {"allow-no-execute-taint-policy": "failover.enabled", "feature-gates": gates},
	Descheduler: {"descheduling-interval": "descheduler.interval", "unschedulable-threshold": "descheduler.unschedulableThreshold"},
}

const gates = "featureGates"

// families explain why flags are refused, by patterns of their names; the first that matches counts. Flags of no family are
// refused too.
var families = []struct {
	flags  []string
	reason string
}{
	{
		[]string{
			"anonymous-auth", "api-audiences", "authentication-*", "client-ca-file", "enable-bootstrap-token-auth", "oidc-*", "requestheader-*", "service-account-*",
			"token-auth-file",
		},
		"it decides who may talk to the component",
	},
	{
		[]string{"admission-control*", "allow-privileged", "authorization-*", "disable-admission-plugins", "enable-admission-plugins", "feature-gates"},
		"it decides what callers may do",
	},
	{
		[]string{"encryption-provider-config*", "etcd-*", "lease-reuse-duration-seconds", "storage-*"},
		"it decides where and how objects are stored",
	},
	{
		[]string{
			"cert-dir", "cluster-signing-*", "insecure-*", "proxy-client-*", "root-ca-file", "scheduler-estimator-*-file", "tls-*", "use-service-account-credentials",
		},
		"it decides which keys and certificates are used",
	},
	{
		[]string{
			"*-kubeconfig", "audit-webhook-*", "cloud-*", "cluster-api-context", "egress-selector-config-file", "kubeconfig", "kubelet-*", "master",
			"scheduler-estimator-*", "tracing-config-file",
		},
		"it decides where the component sends requests and credentials",
	},
	{
		[]string{
			"*-bind-address", "advertise-address", "bind-address", "cors-allowed-origins", "debug-socket-path", "endpoint-reconciler-type", "external-hostname",
			"peer-*", "permit-*-sharing", "secure-port", "service-cluster-ip-range", "service-node-port-range",
		},
		"it decides where the component can be reached",
	},
	{[]string{"contention-profiling", "enable-pprof", "profiling"}, "it shows the memory of the component"},
	{[]string{"*-file", "*-path", "audit-*", "log-dir", "log-file-*"}, "it names a file, or is about one"},
	{[]string{"leader-elect", "leader-elect-resource-*"}, "with it two replicas could be at work at once"},
}
