package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// InstanceComponents are the settings of a Managed instance's components. What
// is left out keeps Karmada's own default.
type InstanceComponents struct {
	// Failover moves workloads off clusters that have failed.
	// +optional
	Failover *FailoverSettings `json:"failover,omitempty"`

	// Descheduler moves replicas that a cluster cannot run.
	// +optional
	Descheduler *DeschedulerSettings `json:"descheduler,omitempty"`

	// MetricsAdapter serves the metrics API over all member clusters.
	// +optional
	MetricsAdapter *MetricsAdapterSettings `json:"metricsAdapter,omitempty"`
}

// FailoverSettings are the failover switch of karmada-controller-manager and
// the timers that decide when a cluster counts as failed.
type FailoverSettings struct {
	// Enabled turns Karmada's Failover feature gate and taint-based eviction on.
	// +optional
	// +kubebuilder:default=false
	Enabled bool `json:"enabled"`

	// ClusterStatusUpdateFrequency is how often a cluster's status is collected.
	// Karmada's default is 10s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('1s')",message="must be a duration of at least 1s, such as 30s or 1m30s"
	ClusterStatusUpdateFrequency *metav1.Duration `json:"clusterStatusUpdateFrequency,omitempty"`

	// ClusterMonitorPeriod is how often the health of clusters is judged.
	// Karmada's default is 5s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('1s')",message="must be a duration of at least 1s, such as 30s or 1m30s"
	ClusterMonitorPeriod *metav1.Duration `json:"clusterMonitorPeriod,omitempty"`

	// ClusterMonitorGracePeriod is how long a cluster may be silent before it
	// counts as unhealthy. Karmada's default is 40s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('1s')",message="must be a duration of at least 1s, such as 30s or 1m30s"
	ClusterMonitorGracePeriod *metav1.Duration `json:"clusterMonitorGracePeriod,omitempty"`

	// ClusterFailureThreshold is how long a cluster must fail before it counts
	// as unhealthy. Karmada's default is 30s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('1s')",message="must be a duration of at least 1s, such as 30s or 1m30s"
	ClusterFailureThreshold *metav1.Duration `json:"clusterFailureThreshold,omitempty"`

	// ClusterSuccessThreshold is how long a cluster must succeed again before it
	// counts as healthy. Karmada's default is 30s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('1s')",message="must be a duration of at least 1s, such as 30s or 1m30s"
	ClusterSuccessThreshold *metav1.Duration `json:"clusterSuccessThreshold,omitempty"`

	// GracefulEvictionTimeout is how long the old replicas stay while the new
	// ones become healthy. Karmada's default is 10m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('1s')",message="must be a duration of at least 1s, such as 30s or 1m30s"
	GracefulEvictionTimeout *metav1.Duration `json:"gracefulEvictionTimeout,omitempty"`
}

// DeschedulerSettings are the settings of karmada-descheduler.
type DeschedulerSettings struct {
	// Enabled installs the descheduler.
	// +optional
	// +kubebuilder:default=false
	Enabled bool `json:"enabled"`

	// Interval between two runs. Karmada's default is 2m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('1s')",message="must be a duration of at least 1s, such as 30s or 1m30s"
	Interval *metav1.Duration `json:"interval,omitempty"`

	// UnschedulableThreshold is how long a pod must be unschedulable before its
	// replica is moved. Karmada's default is 5m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('1s')",message="must be a duration of at least 1s, such as 30s or 1m30s"
	UnschedulableThreshold *metav1.Duration `json:"unschedulableThreshold,omitempty"`
}

// MetricsAdapterSettings are the settings of karmada-metrics-adapter.
type MetricsAdapterSettings struct {
	// Enabled installs the metrics adapter.
	// +optional
	// +kubebuilder:default=false
	Enabled bool `json:"enabled"`

	// Replicas of the adapter. Karmada's default is 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Replicas *int32 `json:"replicas,omitempty"`
}
