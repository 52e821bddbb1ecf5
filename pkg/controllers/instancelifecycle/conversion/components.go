package conversion

import (
	operatorv1alpha1 "github.com/karmada-io/karmada/operator/pkg/apis/operator/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// components are the settings of the single components.
func components(settings *v1alpha1.InstanceComponents, host Host) *operatorv1alpha1.KarmadaComponents {
	all := &operatorv1alpha1.KarmadaComponents{
		Etcd: etcd(settings.Etcd),
		KarmadaAPIServer: &operatorv1alpha1.KarmadaAPIServer{
			ServiceType: serviceType(settings.APIServer, host),
		},
		KarmadaAggregatedAPIServer: &operatorv1alpha1.KarmadaAggregatedAPIServer{
			CommonSettings: common(settings.AggregatedAPIServer), ExtraArgs: arguments(settings.AggregatedAPIServer),
		},
		KubeControllerManager: &operatorv1alpha1.KubeControllerManager{
			CommonSettings: common(settings.KubeControllerManager), ExtraArgs: arguments(settings.KubeControllerManager),
		},
		KarmadaControllerManager: &operatorv1alpha1.KarmadaControllerManager{
			CommonSettings: common(settings.ControllerManager),
			ExtraArgs:      join(arguments(settings.ControllerManager), failoverArguments(settings.Failover)),
		},
		KarmadaScheduler: &operatorv1alpha1.KarmadaScheduler{
			CommonSettings: common(settings.Scheduler), ExtraArgs: arguments(settings.Scheduler),
		},
		KarmadaWebhook: &operatorv1alpha1.KarmadaWebhook{
			CommonSettings: common(settings.Webhook), ExtraArgs: arguments(settings.Webhook),
		},
		KarmadaDescheduler:    descheduler(settings.Descheduler),
		KarmadaMetricsAdapter: metricsAdapter(settings.MetricsAdapter),
	}
	if settings.APIServer != nil {
		all.KarmadaAPIServer.Replicas = settings.APIServer.Replicas
		all.KarmadaAPIServer.CertSANs = settings.APIServer.CertSANs
		all.KarmadaAPIServer.Resources = resources(settings.APIServer.Resources)
		all.KarmadaAPIServer.ExtraArgs = argumentsOf(settings.APIServer.ExtraArgs)
	}
	if settings.Failover != nil && settings.Failover.Enabled {
		// Without this the webhook refuses the policies that have a failed cluster's
		// workloads evicted.
		all.KarmadaWebhook.ExtraArgs = join(all.KarmadaWebhook.ExtraArgs, map[string]string{"allow-no-execute-taint-policy": "true"})
	}
	return all
}

func common(settings *v1alpha1.ComponentSettings) operatorv1alpha1.CommonSettings {
	if settings == nil {
		return operatorv1alpha1.CommonSettings{}
	}
	return operatorv1alpha1.CommonSettings{Replicas: settings.Replicas, Resources: resources(settings.Resources)}
}

// etcd is always said: the operator's resource requires it.
func etcd(settings *v1alpha1.EtcdSettings) *operatorv1alpha1.Etcd {
	local := &operatorv1alpha1.LocalEtcd{CommonSettings: operatorv1alpha1.CommonSettings{Replicas: new(int32(1))}}
	if settings != nil && settings.Replicas != nil {
		local.Replicas = settings.Replicas
	}
	if settings != nil {
		local.Resources = resources(settings.Resources)
	}
	if settings != nil && settings.Storage != nil {
		local.VolumeData = &operatorv1alpha1.VolumeData{VolumeClaim: volumeClaim(settings.Storage)}
	}
	return &operatorv1alpha1.Etcd{Local: local}
}

func volumeClaim(storage *v1alpha1.EtcdStorage) *corev1.PersistentVolumeClaimTemplate {
	// Validation lets nothing pass that is no quantity.
	size, err := resource.ParseQuantity(storage.Size)
	if err != nil {
		return nil
	}
	claim := &corev1.PersistentVolumeClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}},
		},
	}
	if storage.StorageClassName != "" {
		claim.Spec.StorageClassName = &storage.StorageClassName
	}
	return claim
}

// failoverArguments are flags of karmada-controller-manager.
func failoverArguments(settings *v1alpha1.FailoverSettings) map[string]string {
	if settings == nil {
		return nil
	}
	arguments := durations(map[string]*metav1.Duration{
		"cluster-status-update-frequency": settings.ClusterStatusUpdateFrequency,
		"cluster-monitor-period":          settings.ClusterMonitorPeriod,
		"cluster-monitor-grace-period":    settings.ClusterMonitorGracePeriod,
		"cluster-startup-grace-period":    settings.ClusterStartupGracePeriod,
		"cluster-failure-threshold":       settings.ClusterFailureThreshold,
		"cluster-success-threshold":       settings.ClusterSuccessThreshold,
		"graceful-eviction-timeout":       settings.GracefulEvictionTimeout,
	})
	if settings.Enabled {
		arguments["enable-no-execute-taint-eviction"] = "true"
	}
	return arguments
}

// descheduler is nil where none was ever asked for. The operator removes no
// component, so one that is disabled has no replicas.
func descheduler(settings *v1alpha1.DeschedulerSettings) *operatorv1alpha1.KarmadaDescheduler {
	if settings == nil {
		return nil
	}
	replicas := new(int32(0))
	if settings.Enabled {
		replicas = settings.Replicas
		if replicas == nil {
			replicas = new(int32(1))
		}
	}
	return &operatorv1alpha1.KarmadaDescheduler{
		CommonSettings: operatorv1alpha1.CommonSettings{Replicas: replicas, Resources: resources(settings.Resources)},
		ExtraArgs: join(argumentsOf(settings.ExtraArgs), durations(map[string]*metav1.Duration{
			"descheduling-interval":   settings.Interval,
			"unschedulable-threshold": settings.UnschedulableThreshold,
		})),
	}
}

// metricsAdapter is nil where the spec has nothing about it: the operator then
// installs it with its own defaults. One that is disabled has no replicas.
func metricsAdapter(settings *v1alpha1.MetricsAdapterSettings) *operatorv1alpha1.KarmadaMetricsAdapter {
	if settings == nil {
		return nil
	}
	replicas := settings.Replicas
	if !settings.Enabled {
		replicas = new(int32(0))
	}
	return &operatorv1alpha1.KarmadaMetricsAdapter{
		CommonSettings: operatorv1alpha1.CommonSettings{Replicas: replicas, Resources: resources(settings.Resources)},
		ExtraArgs:      argumentsOf(settings.ExtraArgs),
	}
}

// durations are those of the arguments that are set.
func durations(arguments map[string]*metav1.Duration) map[string]string {
	set := map[string]string{}
	for name, value := range arguments {
		if value != nil {
			set[name] = value.Duration.String()
		}
	}
	return set
}
