package instance

import (
	"cmp"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/object"
)

// Components are the settings of a Managed instance's components, as they are
// read and as they are written. What they mean v1alpha1.InstanceComponents says;
// here durations are text, feature gates and arguments lists.
type Components struct {
	Etcd                  *v1alpha1.EtcdSettings
	APIServer             *APIServer
	AggregatedAPIServer   *Component
	KubeControllerManager *Component
	ControllerManager     *Component
	Scheduler             *Component
	Webhook               *Component
	Failover              *Failover
	Descheduler           *Descheduler
	MetricsAdapter        *MetricsAdapter
	FeatureGates          []FeatureGate
	ImageRegistry         string
	CRDTarballURL         string
}

// APIServer is v1alpha1.APIServerSettings.
type APIServer struct {
	Replicas    *int32
	ServiceType *v1alpha1.ServiceType
	CertSANs    []string
	Process
}

// Failover is v1alpha1.FailoverSettings.
type Failover struct {
	Enabled                      bool
	ClusterStatusUpdateFrequency *string
	ClusterMonitorPeriod         *string
	ClusterMonitorGracePeriod    *string
	ClusterStartupGracePeriod    *string
	ClusterFailureThreshold      *string
	ClusterSuccessThreshold      *string
	GracefulEvictionTimeout      *string
}

// Descheduler is v1alpha1.DeschedulerSettings.
type Descheduler struct {
	Enabled                bool
	Replicas               *int32
	Interval               *string
	UnschedulableThreshold *string
	Process
}

// FeatureGate enables or disables a feature of Karmada.
type FeatureGate struct {
	Name    string
	Enabled bool
}

// ComponentsOf are the settings as the API shows them; nil for none.
func ComponentsOf(c *v1alpha1.InstanceComponents) *Components {
	if c == nil {
		return nil
	}
	out := &Components{
		Etcd: c.Etcd, AggregatedAPIServer: componentOf(c.AggregatedAPIServer),
		KubeControllerManager: componentOf(c.KubeControllerManager), ControllerManager: componentOf(c.ControllerManager),
		Scheduler: componentOf(c.Scheduler), Webhook: componentOf(c.Webhook),
		ImageRegistry: c.ImageRegistry, CRDTarballURL: c.CRDTarballURL,
	}
	if a := c.APIServer; a != nil {
		out.APIServer = &APIServer{
			Replicas: a.Replicas, ServiceType: object.Optional(a.ServiceType), CertSANs: a.CertSANs, Process: processOf(a.ProcessSettings),
		}
	}
	if m := c.MetricsAdapter; m != nil {
		out.MetricsAdapter = &MetricsAdapter{Enabled: m.Enabled, Replicas: m.Replicas, Process: processOf(m.ProcessSettings)}
	}
	if f := c.Failover; f != nil {
		out.Failover = &Failover{
			Enabled:                      f.Enabled,
			ClusterStatusUpdateFrequency: textOf(f.ClusterStatusUpdateFrequency),
			ClusterMonitorPeriod:         textOf(f.ClusterMonitorPeriod),
			ClusterMonitorGracePeriod:    textOf(f.ClusterMonitorGracePeriod),
			ClusterStartupGracePeriod:    textOf(f.ClusterStartupGracePeriod),
			ClusterFailureThreshold:      textOf(f.ClusterFailureThreshold),
			ClusterSuccessThreshold:      textOf(f.ClusterSuccessThreshold),
			GracefulEvictionTimeout:      textOf(f.GracefulEvictionTimeout),
		}
	}
	if d := c.Descheduler; d != nil {
		out.Descheduler = &Descheduler{
			Enabled: d.Enabled, Replicas: d.Replicas,
			Interval: textOf(d.Interval), UnschedulableThreshold: textOf(d.UnschedulableThreshold),
			Process: processOf(d.ProcessSettings),
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.FeatureGates)) {
		out.FeatureGates = append(out.FeatureGates, FeatureGate{Name: name, Enabled: c.FeatureGates[name]})
	}
	return out
}

// Settings are what the API was given, for the Instance resource; nil for none.
// The error names the input below argument that is no duration, or that is there
// twice; everything else the global cluster judges.
func (c *Components) Settings(argument string) (*v1alpha1.InstanceComponents, error) {
	if c == nil {
		return nil, nil //nolint:nilnil // None stays none.
	}
	arguments := arguments{argument: argument}
	out := &v1alpha1.InstanceComponents{
		Etcd:                  c.Etcd,
		AggregatedAPIServer:   c.AggregatedAPIServer.settings("aggregatedAPIServer", &arguments),
		KubeControllerManager: c.KubeControllerManager.settings("kubeControllerManager", &arguments),
		ControllerManager:     c.ControllerManager.settings("controllerManager", &arguments),
		Scheduler:             c.Scheduler.settings("scheduler", &arguments),
		Webhook:               c.Webhook.settings("webhook", &arguments),
		ImageRegistry:         c.ImageRegistry, CRDTarballURL: c.CRDTarballURL,
	}
	if m := c.MetricsAdapter; m != nil {
		out.MetricsAdapter = &v1alpha1.MetricsAdapterSettings{Enabled: m.Enabled, Replicas: m.Replicas, ProcessSettings: arguments.of("metricsAdapter", m.Process)}
	}
	if a := c.APIServer; a != nil {
		out.APIServer = &v1alpha1.APIServerSettings{Replicas: a.Replicas, CertSANs: a.CertSANs, ProcessSettings: arguments.of("apiServer", a.Process)}
		if a.ServiceType != nil {
			out.APIServer.ServiceType = *a.ServiceType
		}
	}
	durations := durations{argument: argument}
	if f := c.Failover; f != nil {
		out.Failover = &v1alpha1.FailoverSettings{
			Enabled:                      f.Enabled,
			ClusterStatusUpdateFrequency: durations.parse("failover.clusterStatusUpdateFrequency", f.ClusterStatusUpdateFrequency),
			ClusterMonitorPeriod:         durations.parse("failover.clusterMonitorPeriod", f.ClusterMonitorPeriod),
			ClusterMonitorGracePeriod:    durations.parse("failover.clusterMonitorGracePeriod", f.ClusterMonitorGracePeriod),
			ClusterStartupGracePeriod:    durations.parse("failover.clusterStartupGracePeriod", f.ClusterStartupGracePeriod),
			ClusterFailureThreshold:      durations.parse("failover.clusterFailureThreshold", f.ClusterFailureThreshold),
			ClusterSuccessThreshold:      durations.parse("failover.clusterSuccessThreshold", f.ClusterSuccessThreshold),
			GracefulEvictionTimeout:      durations.parse("failover.gracefulEvictionTimeout", f.GracefulEvictionTimeout),
		}
	}
	if d := c.Descheduler; d != nil {
		out.Descheduler = &v1alpha1.DeschedulerSettings{
			Enabled: d.Enabled, Replicas: d.Replicas,
			Interval:               durations.parse("descheduler.interval", d.Interval),
			UnschedulableThreshold: durations.parse("descheduler.unschedulableThreshold", d.UnschedulableThreshold),
			ProcessSettings:        arguments.of("descheduler", d.Process),
		}
	}
	if err := cmp.Or(durations.err, arguments.err); err != nil {
		return nil, err
	}
	for _, gate := range c.FeatureGates {
		if _, twice := out.FeatureGates[gate.Name]; twice {
			return nil, apierror.Invalid(argument+".featureGates", "feature gate %q is there twice", gate.Name)
		}
		if out.FeatureGates == nil {
			out.FeatureGates = map[string]bool{}
		}
		out.FeatureGates[gate.Name] = gate.Enabled
	}
	return out, nil
}

// durations parses one after another and keeps the first error.
type durations struct {
	argument string
	err      error
}

func (d *durations) parse(field string, text *string) *metav1.Duration {
	if text == nil {
		return nil
	}
	parsed, err := time.ParseDuration(*text)
	if err != nil && d.err == nil {
		d.err = apierror.Invalid(d.argument+"."+field, "%q is not a duration such as 30s or 1m30s", *text)
	}
	return &metav1.Duration{Duration: parsed}
}

func textOf(d *metav1.Duration) *string {
	if d == nil {
		return nil
	}
	text := d.Duration.String()
	return &text
}
