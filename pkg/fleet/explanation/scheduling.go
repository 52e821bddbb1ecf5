package explanation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/scheduler/framework"
	"github.com/karmada-io/karmada/pkg/scheduler/framework/plugins/apienablement"
	"github.com/karmada-io/karmada/pkg/scheduler/framework/plugins/clusteraffinity"
	"github.com/karmada-io/karmada/pkg/scheduler/framework/plugins/spreadconstraint"
	"github.com/karmada-io/karmada/pkg/scheduler/framework/plugins/tainttoleration"
	karmadautil "github.com/karmada-io/karmada/pkg/util"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

// mostClusters is how many member clusters are named that a workload does not go to.
const mostClusters = 20

// defaultScheduler is the name of Karmada's own scheduler, unless it was started with another one.
const defaultScheduler = "default-scheduler"

// failures are the codes of the reasons for which the scheduler gives up.
var failures = map[string]Code{
	workv1alpha2.BindingReasonNoClusterFit: NoClusterFits, workv1alpha2.BindingReasonUnschedulable: NotEnoughResources,
	workv1alpha2.BindingReasonQuotaExceeded: QuotaExceeded,
}

// scheduling explains which clusters the scheduler chose.
func (in *inputs) scheduling() Step {
	if in.Binding == nil {
		return notReached(StageScheduling)
	}
	s := Step{Stage: StageScheduling, State: StatePassed, Reasons: []Reason{}}
	spec := &in.Binding.Spec
	condition := meta.FindStatusCondition(in.Binding.Status.Conditions, workv1alpha2.Scheduled)
	if condition != nil {
		s.began(object.Time(condition.LastTransitionTime))
	}
	placed := slices.ContainsFunc(in.Status.Placements, func(p workload.PlacementStatus) bool { return p.Scheduled })
	pending, text := in.PendingDecision()
	switch {
	case spec.SchedulingSuspended():
		s.add(StateWaiting, Reason{Code: SchedulingSuspended, Message: "its scheduling is suspended"})
	case in.Unmanaged() && !placed:
		return notReached(StageScheduling)
	case in.Unmanaged():
	case pending == workload.PendingScheduling:
		s.add(StateWaiting, in.waiting(text))
	case condition != nil && condition.Status == metav1.ConditionFalse:
		code, known := failures[condition.Reason]
		if !known {
			code = SchedulerError
		}
		s.add(StateFailed, Reason{Code: code, Message: object.JoinReason(condition.Reason, condition.Message)})
	case placed:
	case condition == nil || condition.Status == metav1.ConditionUnknown:
		s.add(StateWaiting, in.waiting("waiting for Karmada's scheduler"))
	default:
		s.add(StateFailed, Reason{Code: NoClusterChosen, Message: "the scheduler chose no cluster"})
	}
	for i := range in.Status.Placements {
		if p := &in.Status.Placements[i]; !p.Scheduled {
			code := ClusterLeaving
			if p.Evicting {
				code = ClusterEvicting
			}
			s.Reasons = append(s.Reasons, inCluster(code, p.Cluster, p.Message))
		}
	}
	s.Reasons = append(s.Reasons, in.elsewhere(s.State == StatePassed)...)
	return s
}

// waiting is the reason of a scheduler that has not decided. Karmada's own ignores a binding for another one.
func (in *inputs) waiting(text string) Reason {
	if name := in.Binding.Spec.SchedulerName; name != "" && name != defaultScheduler {
		return Reason{Code: SchedulerOther, Message: fmt.Sprintf("%s; it is left to the scheduler %q", text, name)}
	}
	return Reason{Code: SchedulerPending, Message: text}
}

// filter is one of the scheduler's filter plugins.
type filter struct {
	code   Code
	plugin framework.FilterPlugin
}

// filters are the scheduler's filter plugins, by name. The one about evictions is not among them,
// because the placements say that, nor those about the affinity of workloads, which need all bindings.
var filters = []filter{
	{ClusterAPIMissing, &apienablement.APIEnablement{}},
	{ClusterAffinity, &clusteraffinity.ClusterAffinity{}},
	{ClusterSpread, &spreadconstraint.SpreadConstraint{}},
	{ClusterTaint, &tainttoleration.TaintToleration{}},
}

// elsewhere are the reasons why the workload does not go to each of the other member clusters. decided
// reports that the scheduler chose some.
func (in *inputs) elsewhere(decided bool) []Reason {
	if in.Binding.Spec.Placement == nil || in.Unmanaged() {
		return nil // No scheduler looks at it.
	}
	var fit []*clusterv1alpha1.Cluster
	refused := map[string][]Reason{}
	for _, name := range slices.Sorted(maps.Keys(in.Members)) {
		c := in.Members[name].Cluster
		here := func(p workload.PlacementStatus) bool { return p.Cluster == name }
		if c == nil || slices.ContainsFunc(in.Status.Placements, here) {
			continue
		}
		if refused[name] = in.refusals(c); len(refused[name]) == 0 {
			fit = append(fit, c)
		}
	}
	for _, c := range fit {
		if code, text := in.notChosen(c, decided); code != "" {
			refused[c.Name] = []Reason{inCluster(code, c.Name, text)}
		}
	}
	var all []Reason
	for _, name := range slices.Sorted(maps.Keys(refused)) {
		all = append(all, refused[name]...)
	}
	if !in.SeesMembers {
		return counted(all)
	}
	var out []Reason
	for _, code := range []Code{ClusterAffinity, ClusterAPIMissing, ClusterDeleting, ClusterSpread, ClusterTaint, ClusterWeightZero, ClusterNotChosen} {
		out = append(out, few(slices.DeleteFunc(slices.Clone(all), func(r Reason) bool { return r.Code != code }), mostClusters, "member clusters")...)
	}
	return out
}

// counted are reasons without the names of their clusters.
func counted(all []Reason) []Reason {
	var out []Reason
	clusters := map[Reason]int{}
	for _, r := range all {
		r.ClusterName = nil
		clusters[r]++
		if clusters[r] == 1 {
			out = append(out, r)
		}
	}
	for i, r := range out {
		out[i].Message = fmt.Sprintf("%d member clusters: %s", clusters[r], r.Message)
	}
	return out
}

// refusals are the reasons of all plugins that refuse a cluster. The scheduler itself stops at the
// first.
func (in *inputs) refusals(c *clusterv1alpha1.Cluster) []Reason {
	if !c.DeletionTimestamp.IsZero() {
		return []Reason{inCluster(ClusterDeleting, c.Name, "the cluster is leaving the instance")}
	}
	var all []Reason
	for _, f := range filters {
		if text := in.refusal(f, c); text != "" {
			all = append(all, inCluster(f.code, c.Name, text))
		}
	}
	return all
}

func (in *inputs) refusal(f filter, c *clusterv1alpha1.Cluster) string {
	spec, status := &in.Binding.Spec, &in.Binding.Status
	if f.code == ClusterAffinity && spec.Placement.ClusterAffinity == nil {
		return in.refusedByAll(f, c)
	}
	result := f.plugin.Filter(context.Background(), spec, status, c)
	switch {
	case result.IsSuccess():
		return ""
	case f.code == ClusterAffinity:
		return "the cluster does not meet the cluster affinity: " + strings.Join(workload.UnmetTerms(spec.Placement.ClusterAffinity, c), ", ")
	case f.code == ClusterAPIMissing:
		return fmt.Sprintf("the cluster does not serve %s of %s", spec.Resource.Kind, spec.Resource.APIVersion)
	}
	return strings.ReplaceAll(strings.Join(result.Reasons(), ", "), "cluster(s)", "the cluster")
}

// refusedByAll says why a cluster meets none of several affinities: the scheduler tries one after the
// other.
func (in *inputs) refusedByAll(f filter, c *clusterv1alpha1.Cluster) string {
	terms := in.Binding.Spec.Placement.ClusterAffinities
	notes := make([]string, len(terms))
	for i := range terms {
		status := workv1alpha2.ResourceBindingStatus{SchedulerObservedAffinityName: terms[i].AffinityName}
		if f.plugin.Filter(context.Background(), &in.Binding.Spec, &status, c).IsSuccess() {
			return ""
		}
		notes[i] = fmt.Sprintf("%q asks for %s", terms[i].AffinityName, strings.Join(workload.UnmetTerms(&terms[i].ClusterAffinity, c), ", "))
	}
	if len(notes) == 0 {
		return ""
	}
	return "the cluster meets none of the cluster affinities: " + strings.Join(notes, "; ")
}

// notChosen says why the scheduler left out a cluster that fits.
func (in *inputs) notChosen(c *clusterv1alpha1.Cluster, decided bool) (Code, string) {
	if weights := in.staticWeights(); weights != nil && weightOf(weights, c) == 0 {
		for i := range in.Binding.Spec.Clusters {
			if other := in.Members[in.Binding.Spec.Clusters[i].Name].Cluster; other != nil && weightOf(weights, other) > 0 {
				return ClusterWeightZero, "the cluster has no weight in the policy's static weights"
			}
		}
	}
	if decided && len(in.Binding.Spec.Clusters) > 0 {
		return ClusterNotChosen, "the cluster fits; the scheduler chose others"
	}
	return "", ""
}

// staticWeights are those by which replicas are divided; nil where they are not.
func (in *inputs) staticWeights() []policyv1alpha1.StaticClusterWeight {
	p := in.Binding.Spec.Placement
	r := p.ReplicaScheduling
	if p.ReplicaSchedulingType() != policyv1alpha1.ReplicaSchedulingTypeDivided || r.ReplicaDivisionPreference != policyv1alpha1.ReplicaDivisionPreferenceWeighted ||
		r.WeightPreference == nil || r.WeightPreference.DynamicWeight != "" {
		return nil
	}
	return r.WeightPreference.StaticWeightList
}

func weightOf(weights []policyv1alpha1.StaticClusterWeight, c *clusterv1alpha1.Cluster) int64 {
	var weight int64
	for i := range weights {
		if karmadautil.ClusterMatches(c, weights[i].TargetCluster) {
			weight = max(weight, weights[i].Weight)
		}
	}
	return weight
}
