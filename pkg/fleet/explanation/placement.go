package explanation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	karmadautil "github.com/karmada-io/karmada/pkg/util"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/policy"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

// place is the workload in one of its clusters.
type place struct {
	*workload.PlacementStatus
	// failure is why the latest manifest could not be applied.
	failure string
	// pending is what of the override policies has not been applied.
	pending string
	work    *workv1alpha1.Work
}

// unsent reports whether nothing was sent to the cluster because dispatching is suspended.
func (p *place) unsent() bool { return p.Suspended && p.Health == workload.HealthUnpropagated }

// workMissing reports whether Karmada has not made a Work for the cluster yet.
func (p *place) workMissing() bool { return p.work == nil && !p.Applied && !p.Suspended && !p.Stale }

// since is when a condition of the Work began to be what it is.
func (p *place) since(condition string) *time.Time {
	if p.work == nil {
		return nil
	}
	if c := meta.FindStatusCondition(p.work.Status.Conditions, condition); c != nil {
		return object.Time(c.LastTransitionTime)
	}
	return nil
}

// placements explains the stages that each cluster passes separately.
func (in *inputs) placements() []Step {
	steps := []Step{notReached(StageOverride), notReached(StageDispatch), notReached(StageApply), notReached(StageRun)}
	if in.Binding == nil {
		return steps
	}
	for i := range in.Status.Placements {
		p := place{PlacementStatus: &in.Status.Placements[i]}
		if !p.Scheduled {
			continue
		}
		p.work = in.Works[p.Cluster]
		if item := in.reported(p.Cluster); item != nil && !item.Applied {
			p.failure = strings.TrimSpace(item.AppliedMessage)
		}
		if !p.Suspended && !p.Stale {
			p.pending = in.PendingOverrides(p.Cluster)
		}
		in.override(&steps[0], &p)
		in.dispatch(&steps[1], &p)
		in.apply(&steps[2], &p)
		in.run(&steps[3], &p)
	}
	return steps
}

// reported is what a cluster reported to Karmada; nil when it has not.
func (in *inputs) reported(cluster string) *workv1alpha2.AggregatedStatusItem {
	for i := range in.Binding.Status.AggregatedStatus {
		if item := &in.Binding.Status.AggregatedStatus[i]; item.ClusterName == cluster {
			return item
		}
	}
	return nil
}

// override explains which override policies change the workload in a cluster.
func (in *inputs) override(s *Step, p *place) {
	s.reach(StatePassed)
	if p.pending != "" {
		s.add(StateWaiting, inCluster(OverridePending, p.Cluster, p.pending))
	}
	applied := map[string]bool{}
	for _, o := range in.Overrides[p.Cluster] {
		namespace := in.Template.Namespace
		if o.ClusterScoped {
			namespace = ""
		}
		if key := namespace + "/" + o.PolicyName; !applied[key] {
			applied[key] = true
			s.Reasons = append(s.Reasons, in.applied(p.Cluster, namespace, o.PolicyName))
		}
	}
	member := in.Members[p.Cluster].Cluster
	if member == nil {
		return
	}
	for _, o := range in.Explainable.OverridePolicies {
		spec := o.OverrideSpec()
		if !applied[o.Common().Namespace()+"/"+o.Common().Name()] && in.overrides(spec) && !about(spec, member) {
			r := inCluster(OverrideOtherCluster, p.Cluster, described(o)+" selects it, and no rule of it is for this cluster")
			r.Override = o
			s.Reasons = append(s.Reasons, r)
		}
	}
}

// applied is the reason of an override that was applied in a cluster. A policy that the caller may not
// see is not named.
func (in *inputs) applied(cluster, namespace, name string) Reason {
	r := inCluster(OverrideApplied, cluster, "a ClusterOverridePolicy is applied")
	i := slices.IndexFunc(in.Explainable.OverridePolicies, func(o policy.OverridePolicyLike) bool {
		return o.Common().Namespace() == namespace && o.Common().Name() == name
	})
	switch {
	case i >= 0:
		r.Override = in.Explainable.OverridePolicies[i]
		r.Message = described(r.Override) + " is applied"
	case namespace != "":
		r.Message = fmt.Sprintf("OverridePolicy %s/%s was applied, and does not exist any more", namespace, name)
	}
	return r
}

// overrides reports whether an override policy selects the workload. One without selectors selects all.
func (in *inputs) overrides(spec *policyv1alpha1.OverrideSpec) bool {
	return len(spec.ResourceSelectors) == 0 || karmadautil.ResourceMatchSelectors(in.object, spec.ResourceSelectors...)
}

// about reports whether a rule of an override policy is for a cluster.
func about(spec *policyv1alpha1.OverrideSpec, c *clusterv1alpha1.Cluster) bool {
	matches := func(a *policyv1alpha1.ClusterAffinity) bool { return a == nil || karmadautil.ClusterMatches(c, *a) }
	if len(spec.OverrideRules) == 0 {
		return matches(spec.TargetCluster) //nolint:staticcheck // Karmada still applies it.
	}
	return slices.ContainsFunc(spec.OverrideRules, func(r policyv1alpha1.RuleWithCluster) bool { return matches(r.TargetCluster) })
}

// dispatch explains whether the workload was sent to a cluster.
func (in *inputs) dispatch(s *Step, p *place) {
	switch {
	case p.Suspended:
		s.add(StateWaiting, inCluster(DispatchSuspended, p.Cluster, p.Message))
		s.began(p.since(workv1alpha1.WorkDispatching))
	case p.workMissing() && p.failure == "" && p.Health != workload.HealthHealthy:
		s.add(StateWaiting, inCluster(WorkMissing, p.Cluster, p.Message))
	default:
		s.reach(StatePassed)
	}
}

// apply explains whether a cluster has taken the workload.
func (in *inputs) apply(s *Step, p *place) {
	switch {
	case p.unsent():
	case p.Stale && p.Applied, p.Health == workload.HealthHealthy:
		s.reach(StatePassed)
	case p.Stale:
		s.add(StateFailed, in.unobserved(p))
	case p.failure != "":
		r := inCluster(failureCode(p.failure), p.Cluster, p.Message)
		if r.Code == ApplyConflict {
			r.Message += in.inTheWay(p.Cluster)
		}
		s.add(StateFailed, r)
		s.began(p.since(workv1alpha1.WorkApplied))
	case p.workMissing():
	case !p.Applied && !p.Suspended:
		s.add(StateWaiting, inCluster(ApplyPending, p.Cluster, p.Message))
	default:
		s.reach(StatePassed)
	}
}

// unobserved is the reason of a cluster that cannot be observed.
func (in *inputs) unobserved(p *place) Reason {
	if _, member := in.Members[p.Cluster]; !member {
		return inCluster(ClusterGone, p.Cluster, p.Message)
	}
	return inCluster(ClusterNotReady, p.Cluster, p.Message)
}

// failurePatterns are parts of the messages with which applying fails, and their codes. The first that
// is found decides.
var failurePatterns = []struct {
	part string
	code Code
}{
	{"already exists in the cluster", ApplyConflict},
	{"failed calling webhook", ApplyFailed}, // The cluster answered: what it did not reach is the webhook.
	{"namespaces \"", ApplyNamespaceMissing},
	{"no matches for kind", ApplyAPIMissing},
	{"the server could not find the requested resource", ApplyAPIMissing},
	{"denied the request", ApplyRefused},
	{"is forbidden", ApplyRefused},
	{"is invalid", ApplyInvalid},
	{"Unauthorized", ApplyUnauthorized},
	{"provide credentials", ApplyUnauthorized},
	{"certificate", ApplyUnauthorized},
	{"connection refused", ApplyUnreachable},
	{"no route to host", ApplyUnreachable},
	{"no such host", ApplyUnreachable},
	{"i/o timeout", ApplyUnreachable},
	{"deadline exceeded", ApplyUnreachable},
	{"EOF", ApplyUnreachable},
}

// failureCode is what a message of a member cluster is about.
func failureCode(message string) Code {
	for _, p := range failurePatterns {
		if strings.Contains(message, p.part) && (p.code != ApplyNamespaceMissing || strings.Contains(message, "not found")) {
			return p.code
		}
	}
	return ApplyFailed
}
