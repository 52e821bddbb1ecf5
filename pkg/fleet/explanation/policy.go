package explanation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	karmadautil "github.com/karmada-io/karmada/pkg/util"
	"github.com/karmada-io/karmada/pkg/util/names"

	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/policy"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

// mostPolicies is how many policies that do not claim a workload are named.
const mostPolicies = 5

// pendingCodes are the codes of what the detector has not decided yet.
var pendingCodes = map[workload.PendingDecision]Code{
	workload.PendingBinding: BindingPending, workload.PendingClaim: PolicyDeleting,
	workload.PendingPolicy: PolicyChangePending, workload.PendingReplicas: BindingPending,
}

// policy explains which policy claims the workload.
func (in *inputs) policy() Step {
	s := Step{Stage: StagePolicy, State: StatePassed, Reasons: []Reason{}}
	ref := workload.PolicyRefOf(in.Template)
	pending, text := in.PendingDecision()
	switch code, ofDetector := pendingCodes[pending]; {
	case in.Template.Deleting():
		s.add(StateWaiting, Reason{Code: TemplateDeleting, Message: in.Status.Message})
		s.began(object.Time(*in.Template.DeletionTimestamp))
	case in.Binding == nil && ref == nil:
		s.add(StateFailed, Reason{Code: PolicyNone, Message: "no propagation policy selects it"})
		s.began(object.Time(in.Template.CreationTimestamp))
		in.nearMisses(&s)
	case in.Unmanaged():
		s.add(StateFailed, Reason{Code: PolicyClaimLost, Message: "no propagation policy claims it any more"})
		in.nearMisses(&s)
	case ref == nil:
		s.add(StatePassed, Reason{Code: PolicyDependency, Message: "it is propagated together with what requires it"})
	case in.Binding == nil:
		s.add(StateWaiting, in.claim(ref, BindingPending, "Karmada has not made its binding yet"))
		in.claimed(&s, ref)
	case ofDetector:
		s.add(StateWaiting, in.claim(ref, code, text))
		in.claimed(&s, ref)
	default:
		s.add(StatePassed, in.claim(ref, PolicyClaimed, ""))
		in.claimed(&s, ref)
	}
	return s
}

// find is the policy of a claim among those that the caller may see; nil when it is not there.
func (in *inputs) find(ref *workload.PolicyRef) policy.PropagationPolicyLike {
	i := slices.IndexFunc(in.Policies, func(p policy.PropagationPolicyLike) bool {
		return p.Common().Name() == ref.Name && p.Common().Namespace() == ref.Namespace
	})
	if i < 0 {
		return nil
	}
	return in.Policies[i]
}

// claim is a reason about the policy that claims the workload. One that the caller may not see is not
// named.
func (in *inputs) claim(ref *workload.PolicyRef, code Code, more string) Reason {
	found := in.find(ref)
	text := "a ClusterPropagationPolicy claims it"
	switch {
	case found != nil:
		text = described(found) + " claims it, " + in.ruleOf(found)
	case !ref.ClusterScoped():
		text = ref.String() + " claims it"
	}
	if more != "" {
		text += "; " + more
	}
	return Reason{Code: code, Message: text, Policy: found}
}

// claimed adds what is peculiar about a claim, and the policies that would claim the workload too.
func (in *inputs) claimed(s *Step, ref *workload.PolicyRef) {
	claimer := in.find(ref)
	if claimer == nil {
		if !ref.ClusterScoped() || in.SeesMembers {
			s.Reasons = append(s.Reasons, Reason{Code: PolicyGone, Message: ref.String() + " does not exist any more; its claim is left on the template"})
		}
		return
	}
	if in.rank(claimer) == karmadautil.PriorityMisMatch && (!in.Kind.Custom() || !selectsByLabels(claimer)) {
		s.Reasons = append(s.Reasons, Reason{Code: PolicyNoLongerSelects, Message: described(claimer) + " does not select it any more; its claim is left on the template", Policy: claimer})
	}
	if in.Binding == nil {
		in.hindered(s, claimer)
	}
	var others []Reason
	for _, p := range in.Policies {
		if p == claimer || p.Common().Deleting() || in.rank(p) == karmadautil.PriorityMisMatch {
			continue
		}
		if in.before(p, claimer) {
			others = append(others, Reason{
				Code: PolicyNotPreempting, Policy: p,
				Message: fmt.Sprintf("%s would come first, %s, and does not take over what another policy has claimed (preemption %s)", described(p), in.ruleOf(p), cmp.Or(string(p.PropagationSpec().Preemption), string(policyv1alpha1.PreemptNever))),
			})
			continue
		}
		others = append(others, Reason{Code: PolicyOutranked, Policy: p, Message: fmt.Sprintf("%s selects it too, %s, and comes after the one that claims it", described(p), in.ruleOf(p))})
	}
	s.Reasons = append(s.Reasons, few(others, mostPolicies, "policies")...)
}

// selectsByLabels reports whether a policy has a label selector. The labels of a custom workload are not
// known where its kind is not collected.
func selectsByLabels(p policy.PropagationPolicyLike) bool {
	return slices.ContainsFunc(p.PropagationSpec().ResourceSelectors, func(s policyv1alpha1.ResourceSelector) bool { return s.Name == "" && s.LabelSelector != nil })
}

// hindered adds why a policy that selects the workload makes no binding.
func (in *inputs) hindered(s *Step, p policy.PropagationPolicyLike) {
	spec := p.PropagationSpec()
	if spec.ActivationPreference == policyv1alpha1.LazyActivation {
		s.Reasons = append(s.Reasons, Reason{Code: PolicyLazy, Message: described(p) + " is activated lazily", Policy: p})
	}
	var missing []string
	for _, name := range spec.DependentOverrides {
		if !slices.ContainsFunc(in.Explainable.OverridePolicies, func(o policy.OverridePolicyLike) bool {
			return o.Common().Name() == name && o.Common().Namespace() == p.Common().Namespace()
		}) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		s.Reasons = append(s.Reasons, Reason{Code: PolicyOverridesMissing, Message: described(p) + " waits for override policies that do not exist: " + strings.Join(missing, ", "), Policy: p})
	}
}

// rank is how well a policy selects the workload, as Karmada's detector sees it.
func (in *inputs) rank(p policy.PropagationPolicyLike) karmadautil.ImplicitPriority {
	return karmadautil.ResourceMatchSelectorsPriority(in.object, p.PropagationSpec().ResourceSelectors...)
}

// rules name the ranks.
var rules = map[karmadautil.ImplicitPriority]string{
	karmadautil.PriorityMatchAll: "among all of its kind", karmadautil.PriorityMatchLabelSelector: "by labels", karmadautil.PriorityMatchName: "by name",
}

// ruleOf says by which rule a policy selects the workload.
func (in *inputs) ruleOf(p policy.PropagationPolicyLike) string {
	return fmt.Sprintf("%s with priority %d", cmp.Or(rules[in.rank(p)], "by no selector"), p.PropagationSpec().ExplicitPriority())
}

// before reports whether Karmada would rather choose a than b for a workload that none claims: a
// PropagationPolicy before a ClusterPropagationPolicy, then by priority, by how exactly it selects,
// and by name.
func (in *inputs) before(a, b policy.PropagationPolicyLike) bool {
	scope := func(p policy.PropagationPolicyLike) int {
		if isClusterPolicy(p) {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(scope(a), scope(b)),
		cmp.Compare(b.PropagationSpec().ExplicitPriority(), a.PropagationSpec().ExplicitPriority()),
		cmp.Compare(in.rank(b), in.rank(a)),
		cmp.Compare(a.Common().Name(), b.Common().Name()),
	) < 0
}

// nearMisses adds the policies that select the workload and have not claimed it, and those that
// nearly do.
func (in *inputs) nearMisses(s *Step) {
	namespace := in.Template.Namespace
	if names.IsReservedNamespace(namespace) || strings.HasPrefix(namespace, "kube-") {
		s.add(StateFailed, Reason{Code: NamespaceNeverPropagated, Message: "Karmada does not propagate what is in namespace " + namespace})
		return
	}
	var selecting, near []Reason
	for _, p := range in.Policies {
		switch {
		case in.rank(p) == karmadautil.PriorityMisMatch:
			if r, ok := in.nearMiss(p); ok {
				near = append(near, r)
			}
		case p.Common().Deleting():
			selecting = append(selecting, Reason{Code: PolicyDeleting, Message: described(p) + " selects it, and is being deleted", Policy: p})
		default:
			selecting = append(selecting, Reason{Code: PolicyClaimPending, Message: described(p) + " selects it, " + in.ruleOf(p) + "; Karmada has not claimed it yet", Policy: p})
			in.hindered(s, p)
			if in.Binding == nil {
				// It is only that Karmada has not come to it.
				s.State = StateWaiting
				s.Reasons = slices.DeleteFunc(s.Reasons, func(r Reason) bool { return r.Code == PolicyNone })
			}
		}
	}
	s.Reasons = append(s.Reasons, few(selecting, mostPolicies, "policies")...)
	s.Reasons = append(s.Reasons, few(near, mostPolicies, "policies")...)
}

// few are the first of some reasons with one code, and one that counts the others.
func few(all []Reason, most int, noun string) []Reason {
	if len(all) <= most {
		return all
	}
	last := all[most]
	return append(all[:most:most], Reason{Code: last.Code, ClusterName: sharedCluster(all), Message: fmt.Sprintf("and %d more %s", len(all)-most, noun)})
}

// sharedCluster is the cluster that all of some reasons are about; nil when there is none.
func sharedCluster(all []Reason) *string {
	for i := range all {
		if all[i].ClusterName == nil || *all[i].ClusterName != *all[0].ClusterName {
			return nil
		}
	}
	return all[0].ClusterName
}
