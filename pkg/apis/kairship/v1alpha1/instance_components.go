package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// InstanceComponents are the settings of a Managed instance's components. What
// is left out keeps the default of Karmada, or of its operator.
type InstanceComponents struct {
	// Etcd is what the instance stores its objects in. It cannot change: the
	// operator can neither move the data nor change the number of members.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="etcd cannot change: neither its members nor its volumes can be changed in place"
	Etcd *EtcdSettings `json:"etcd,omitempty"`

	// APIServer is the instance's own apiserver.
	// +optional
	APIServer *APIServerSettings `json:"apiServer,omitempty"`

	// AggregatedAPIServer is karmada-aggregated-apiserver.
	// +optional
	AggregatedAPIServer *ComponentSettings `json:"aggregatedAPIServer,omitempty"`

	// KubeControllerManager is the instance's kube-controller-manager.
	// +optional
	KubeControllerManager *ComponentSettings `json:"kubeControllerManager,omitempty"`

	// ControllerManager is karmada-controller-manager.
	// +optional
	ControllerManager *ComponentSettings `json:"controllerManager,omitempty"`

	// Scheduler is karmada-scheduler.
	// +optional
	Scheduler *ComponentSettings `json:"scheduler,omitempty"`

	// Webhook is karmada-webhook.
	// +optional
	Webhook *ComponentSettings `json:"webhook,omitempty"`

	// Failover moves workloads off clusters that have failed.
	// +optional
	Failover *FailoverSettings `json:"failover,omitempty"`

	// Descheduler moves replicas that a cluster cannot run. Once given it can be
	// disabled but not left out: the operator removes no component.
	// +optional
	Descheduler *DeschedulerSettings `json:"descheduler,omitempty"`

	// MetricsAdapter serves the metrics API over all member clusters.
	// +optional
	MetricsAdapter *MetricsAdapterSettings `json:"metricsAdapter,omitempty"`

	// FeatureGates turn features of Karmada on and off, by name. Failover has a
	// setting of its own.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(name, size(name) <= 64 && name.matches('^[A-Z][A-Za-z0-9]*$'))",message="must be names of feature gates, such as PropagateDeps"
	// +kubebuilder:validation:XValidation:rule="!('Failover' in self)",message="the gate Failover is set by components.failover.enabled"
	FeatureGates map[string]bool `json:"featureGates,omitempty"`

	// ImageRegistry is where all images are pulled from, with a path if it has
	// one: registry.example.com/mirror. The images keep their names, such as
	// karmada-scheduler, kube-apiserver and etcd. The controller manager's
	// --allowed-image-registries has to permit it.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?(:[0-9]+)?(/[a-z0-9]([-._a-z0-9]*[a-z0-9])?)*$')",message="must be a registry, such as registry.example.com/mirror"
	ImageRegistry string `json:"imageRegistry,omitempty"`

	// CRDTarballURL is where the operator downloads Karmada's CRDs from; the
	// release of karmadaVersion on GitHub when it is empty. The controller manager's
	// --allowed-crd-hosts has to permit the host, by https unless it says otherwise.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHostname() != '' && !self.contains('@')",message="must be an http or https URL without credentials, such as https://files.example.com/karmada/v1.18.2/crds.tar.gz"
	CRDTarballURL string `json:"crdTarballURL,omitempty"`
}

// ComponentSettings are what can be said of every component.
type ComponentSettings struct {
	// Replicas of the component. The operator's default is 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Replicas *int32 `json:"replicas,omitempty"`

	ProcessSettings `json:",inline"`
}

// EtcdSettings are the settings of a Managed instance's etcd.
type EtcdSettings struct {
	// Replicas are the members of etcd. The operator's default is 1.
	// +optional
	// +kubebuilder:validation:Enum=1;3;5
	Replicas *int32 `json:"replicas,omitempty"`

	// Storage is the volume of each member. Without it the data is lost with the
	// pod that holds it, which is good for trials only.
	// +optional
	Storage *EtcdStorage `json:"storage,omitempty"`

	// Resources of each member; the operator's default without them.
	// +optional
	Resources *ComponentResources `json:"resources,omitempty"`
}

// KeepsData reports whether what is in etcd outlives the pods of its members.
func (c *InstanceComponents) KeepsData() bool {
	return c != nil && c.Etcd != nil && c.Etcd.Storage != nil
}

// EtcdStorage is the persistent volume of an etcd member.
type EtcdStorage struct {
	// Size of the volume, such as 10Gi.
	// +required
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="isQuantity(self) && quantity(self).compareTo(quantity('100Mi')) >= 0",message="must be a quantity of at least 100Mi, such as 10Gi"
	Size string `json:"size"`

	// StorageClassName is the class of the volume in the host cluster; that
	// cluster's default class when it is empty.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="must be the name of a StorageClass: lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit"
	StorageClassName string `json:"storageClassName,omitempty"`
}

// ServiceType is how an instance's apiserver can be reached from outside of its
// host cluster.
// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
// +kubebuilder:validation:MaxLength=16
type ServiceType string

const (
	// ServiceTypeClusterIP is for an instance that runs where Kairship and the
	// operator do: it is not reachable from outside of that cluster.
	ServiceTypeClusterIP ServiceType = "ClusterIP"
	// ServiceTypeNodePort is a port on each node.
	ServiceTypeNodePort ServiceType = "NodePort"
	// ServiceTypeLoadBalancer is a load balancer that the host cluster has to have.
	ServiceTypeLoadBalancer ServiceType = "LoadBalancer"
)

// APIServerSettings are the settings of a Managed instance's apiserver.
type APIServerSettings struct {
	// Replicas of the apiserver. The operator's default is 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Replicas *int32 `json:"replicas,omitempty"`

	// ServiceType is how it can be reached: NodePort unless told, or ClusterIP
	// where the host is the global cluster itself. It cannot change, because the
	// serving certificate is issued for the addresses once.
	// +optional
	ServiceType ServiceType `json:"serviceType,omitempty"`

	// CertSANs are further names and addresses that the serving certificate is
	// issued for. They cannot change: the operator issues it once.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=253
	CertSANs []string `json:"certSANs,omitempty"`

	ProcessSettings `json:",inline"`
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

	// ClusterStartupGracePeriod is how long a cluster may be silent after it was
	// joined. Karmada's default is 60s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('1s')",message="must be a duration of at least 1s, such as 30s or 1m30s"
	ClusterStartupGracePeriod *metav1.Duration `json:"clusterStartupGracePeriod,omitempty"`

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
	// Enabled runs the descheduler. Disabled, it has no replicas.
	// +optional
	// +kubebuilder:default=false
	Enabled bool `json:"enabled"`

	// Replicas of the descheduler. The operator's default is 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Replicas *int32 `json:"replicas,omitempty"`

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

	ProcessSettings `json:",inline"`
}

// MetricsAdapterSettings are the settings of karmada-metrics-adapter. The
// operator always registers its APIs with the instance.
type MetricsAdapterSettings struct {
	// Enabled runs the metrics adapter. Disabled, it has no replicas.
	// +optional
	// +kubebuilder:default=false
	Enabled bool `json:"enabled"`

	// Replicas of the adapter. The operator's default is 2.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Replicas *int32 `json:"replicas,omitempty"`

	ProcessSettings `json:",inline"`
}
