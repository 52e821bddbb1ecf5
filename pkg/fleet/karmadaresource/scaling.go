package karmadaresource

import (
	"slices"
	"time"

	autoscalingv1alpha1 "github.com/karmada-io/karmada/pkg/apis/autoscaling/v1alpha1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
)

// Spec is what it scales, by what and within which limits.
func (h *FederatedHPA) Spec() *autoscalingv1alpha1.FederatedHPASpec { return &h.karmada.Spec }

// Target is the workload it scales, if that is one.
func (h *FederatedHPA) Target() (workload.Named, bool) {
	return target(h.Instance, h.Namespace(), h.karmada.Spec.ScaleTargetRef)
}

// CurrentReplicas is how many there were when it last looked.
func (h *FederatedHPA) CurrentReplicas() int32 { return h.karmada.Status.CurrentReplicas }

// DesiredReplicas is how many it last wanted.
func (h *FederatedHPA) DesiredReplicas() int32 { return h.karmada.Status.DesiredReplicas }

// LastScaleTime is when it last changed the number of replicas.
func (h *FederatedHPA) LastScaleTime() *time.Time { return timeOf(h.karmada.Status.LastScaleTime) }

// Conditions are its state in detail.
func (h *FederatedHPA) Conditions() []object.Condition {
	in := make([]metav1.Condition, len(h.karmada.Status.Conditions))
	for i, c := range h.karmada.Status.Conditions {
		in[i] = metav1.Condition{
			Type: string(c.Type), Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message, LastTransitionTime: c.LastTransitionTime,
		}
	}
	return object.Conditions(in)
}

// Metric is a metric of a FederatedHPA with the value that it wants and the one that it last saw.
type Metric struct {
	Type      autoscalingv2.MetricSourceType
	Name      string
	Container *string
	Target    autoscalingv2.MetricTarget
	Current   *autoscalingv2.MetricValueStatus
}

// Metrics are what it measures, in the order of the spec.
func (h *FederatedHPA) Metrics() []Metric {
	out := make([]Metric, 0, len(h.karmada.Spec.Metrics))
	for i := range h.karmada.Spec.Metrics {
		m, described, ok := wanted(&h.karmada.Spec.Metrics[i])
		if !ok {
			continue // Its type is of a later Kubernetes; the spec and the manifest show it.
		}
		for j := range h.karmada.Status.CurrentMetrics {
			seen, of, current := measured(&h.karmada.Status.CurrentMetrics[j])
			if current != nil && seen.Type == m.Type && seen.Name == m.Name && of == described && container(seen) == container(m) {
				m.Current = current
				break
			}
		}
		out = append(out, m)
	}
	return out
}

func container(m Metric) string {
	if m.Container == nil {
		return ""
	}
	return *m.Container
}

// wanted is a metric of a spec, and the object that it is about.
func wanted(s *autoscalingv2.MetricSpec) (Metric, autoscalingv2.CrossVersionObjectReference, bool) {
	none := autoscalingv2.CrossVersionObjectReference{}
	switch {
	case s.Object != nil:
		return Metric{Type: s.Type, Name: s.Object.Metric.Name, Target: s.Object.Target}, s.Object.DescribedObject, true
	case s.Pods != nil:
		return Metric{Type: s.Type, Name: s.Pods.Metric.Name, Target: s.Pods.Target}, none, true
	case s.Resource != nil:
		return Metric{Type: s.Type, Name: string(s.Resource.Name), Target: s.Resource.Target}, none, true
	case s.ContainerResource != nil:
		r := s.ContainerResource
		return Metric{Type: s.Type, Name: string(r.Name), Container: &r.Container, Target: r.Target}, none, true
	case s.External != nil:
		return Metric{Type: s.Type, Name: s.External.Metric.Name, Target: s.External.Target}, none, true
	}
	return Metric{}, none, false
}

// measured is a metric of a status, the object that it is about and its value.
func measured(s *autoscalingv2.MetricStatus) (Metric, autoscalingv2.CrossVersionObjectReference, *autoscalingv2.MetricValueStatus) {
	none := autoscalingv2.CrossVersionObjectReference{}
	switch {
	case s.Object != nil:
		return Metric{Type: s.Type, Name: s.Object.Metric.Name}, s.Object.DescribedObject, &s.Object.Current
	case s.Pods != nil:
		return Metric{Type: s.Type, Name: s.Pods.Metric.Name}, none, &s.Pods.Current
	case s.Resource != nil:
		return Metric{Type: s.Type, Name: string(s.Resource.Name)}, none, &s.Resource.Current
	case s.ContainerResource != nil:
		r := s.ContainerResource
		return Metric{Type: s.Type, Name: string(r.Name), Container: &r.Container}, none, &r.Current
	case s.External != nil:
		return Metric{Type: s.Type, Name: s.External.Metric.Name}, none, &s.External.Current
	}
	return Metric{}, none, nil
}

// Spec is what it scales and when.
func (c *CronFederatedHPA) Spec() *autoscalingv1alpha1.CronFederatedHPASpec { return &c.karmada.Spec }

// Target is the workload it scales, if that is one.
func (c *CronFederatedHPA) Target() (workload.Named, bool) {
	return target(c.Instance, c.Namespace(), c.karmada.Spec.ScaleTargetRef)
}

// ExecutionHistory is what a rule did.
type ExecutionHistory struct {
	RuleName                             string
	NextExecutionTime, LastExecutionTime *time.Time
	SuccessfulExecutions                 []SuccessfulExecution
	FailedExecutions                     []FailedExecution
}

// SuccessfulExecution is a time that a rule scaled.
type SuccessfulExecution struct {
	ScheduleTime, ExecutionTime                             *time.Time
	AppliedReplicas, AppliedMinReplicas, AppliedMaxReplicas *int32
}

// FailedExecution is a time that a rule failed.
type FailedExecution struct {
	ScheduleTime, ExecutionTime *time.Time
	Message                     string
}

// ExecutionHistories are what each rule did.
func (c *CronFederatedHPA) ExecutionHistories() []ExecutionHistory {
	out := make([]ExecutionHistory, len(c.karmada.Status.ExecutionHistories))
	for i := range c.karmada.Status.ExecutionHistories {
		out[i] = historyOf(&c.karmada.Status.ExecutionHistories[i])
	}
	return out
}

func historyOf(in *autoscalingv1alpha1.ExecutionHistory) ExecutionHistory {
	h := ExecutionHistory{
		RuleName: in.RuleName, NextExecutionTime: timeOf(in.NextExecutionTime),
		SuccessfulExecutions: make([]SuccessfulExecution, len(in.SuccessfulExecutions)),
		FailedExecutions:     make([]FailedExecution, len(in.FailedExecutions)),
	}
	for i, e := range in.SuccessfulExecutions {
		h.SuccessfulExecutions[i] = SuccessfulExecution{timeOf(e.ScheduleTime), timeOf(e.ExecutionTime), e.AppliedReplicas, e.AppliedMinReplicas, e.AppliedMaxReplicas}
		h.LastExecutionTime = later(h.LastExecutionTime, timeOf(e.ExecutionTime))
	}
	for i, e := range in.FailedExecutions {
		h.FailedExecutions[i] = FailedExecution{timeOf(e.ScheduleTime), timeOf(e.ExecutionTime), e.Message}
		h.LastExecutionTime = later(h.LastExecutionTime, timeOf(e.ExecutionTime))
	}
	slices.SortStableFunc(h.SuccessfulExecutions, func(a, b SuccessfulExecution) int { return latestFirst(a.ExecutionTime, b.ExecutionTime) })
	slices.SortStableFunc(h.FailedExecutions, func(a, b FailedExecution) int { return latestFirst(a.ExecutionTime, b.ExecutionTime) })
	return h
}

// latestFirst orders moments; those that are not known come last.
func latestFirst(a, b *time.Time) int {
	at := func(t *time.Time) time.Time {
		if t == nil {
			return time.Time{}
		}
		return *t
	}
	return at(b).Compare(at(a))
}

func later(a, b *time.Time) *time.Time {
	if latestFirst(a, b) > 0 {
		return b
	}
	return a
}

// TargetsOf are the workloads that some FederatedHPAs or CronFederatedHPAs scale, each once.
func TargetsOf(objects []*index.Object) []workload.Named {
	var out []workload.Named
	seen := map[workload.Named]bool{}
	for _, o := range objects {
		var ref autoscalingv2.CrossVersionObjectReference
		if o.Kind == index.FederatedHPAs.Kind {
			if h, err := index.Decode[autoscalingv1alpha1.FederatedHPA](o); err == nil {
				ref = h.Spec.ScaleTargetRef
			}
		} else if h, err := index.Decode[autoscalingv1alpha1.CronFederatedHPA](o); err == nil {
			ref = h.Spec.ScaleTargetRef
		}
		if named, ok := target(v1alpha1.InstanceOfVirtualCluster(o.Cluster), o.Meta.Namespace, ref); ok && !seen[named] {
			seen[named] = true
			out = append(out, named)
		}
	}
	return out
}

// target is the workload that a reference names, if that is one.
func target(instance, namespace string, ref autoscalingv2.CrossVersionObjectReference) (workload.Named, bool) {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return workload.Named{}, false
	}
	kind, ok := workload.KindFromGVK(gv.WithKind(ref.Kind))
	if !ok {
		kind, ok = workload.CustomKind(gv.WithKind(ref.Kind).GroupKind())
	}
	return workload.Named{Instance: instance, Kind: kind, Namespace: namespace, Name: ref.Name}, ok && ref.Name != ""
}

func timeOf(t *metav1.Time) *time.Time {
	if t == nil {
		return nil
	}
	return object.Time(*t)
}
