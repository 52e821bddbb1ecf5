package moves

import (
	"fmt"
	"slices"
	"strings"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/moving"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

// plan is how the policy of a workload changes when the workload moves.
type plan struct {
	// before, during and after are the member clusters that the policy names.
	before, during, after []string
	// gradual reports whether the policy names the old and the new clusters until the workload is ready in the
	// new ones. Otherwise Karmada would divide the replicas among all of them at once.
	gradual bool
	// begun reports whether the policy has been changed to during already.
	begun bool
}

// planOf finds how a policy changes. Its errors name the inputs.
func planOf(p *policyv1alpha1.PropagationPolicy, w workload.Named, from, to []string) (*plan, error) {
	if err := check(from, to); err != nil {
		return nil, err
	}
	a := p.Spec.Placement.ClusterAffinity
	switch {
	case a == nil || len(a.ClusterNames) == 0 || len(p.Spec.Placement.ClusterAffinities) > 0:
		return nil, apierror.Invalid("input.name", "policy %q names no member clusters that could be exchanged: it chooses them in another way, so change it with a mutation of policies", p.Name)
	case !alone(p, w):
		return nil, apierror.Invalid("input.name", "policy %q may send other workloads too, which would move with it: give this one a policy of its own, or change the policy", p.Name)
	}
	out := &plan{before: slices.Clone(a.ClusterNames), gradual: gradual(&p.Spec.Placement)}
	under := moving.Of(p)
	switch {
	case under != nil && !under.Is(from, to):
		return nil, apierror.At(apierror.New(apierror.CodeConflict, "it is moving from %s to %s: wait until that is done, or cancel it",
			strings.Join(under.From, ", "), strings.Join(under.To, ", ")), "input.from")
	case under != nil:
		out.begun, out.before = true, under.Before
	}
	for i, name := range from {
		if !slices.Contains(out.before, name) {
			return nil, apierror.Invalid(fmt.Sprintf("input.from[%d]", i), "policy %q does not send it to %q; it names %s", p.Name, name, strings.Join(out.before, ", "))
		}
	}
	out.after = moving.Without(out.before, from)
	out.during = slices.Clone(out.before)
	for _, name := range to {
		if !slices.Contains(out.after, name) {
			out.after = append(out.after, name)
		}
		if !slices.Contains(out.during, name) {
			out.during = append(out.during, name)
		}
	}
	return out, nil
}

func check(from, to []string) error {
	for argument, names := range map[string][]string{"input.from": from, "input.to": to} {
		if len(names) == 0 {
			return apierror.Invalid(argument, "name one member cluster at least")
		}
		for i, name := range names {
			switch {
			case name == "" || strings.Contains(name, ","):
				return apierror.Invalid(fmt.Sprintf("%s[%d]", argument, i), "%q cannot be the name of a member cluster", name)
			case slices.Contains(names[:i], name):
				return apierror.Invalid(fmt.Sprintf("%s[%d]", argument, i), "%q is given twice", name)
			}
		}
	}
	for i, name := range to {
		if slices.Contains(from, name) {
			return apierror.Invalid(fmt.Sprintf("input.to[%d]", i), "it cannot move from %q to %q", name, name)
		}
	}
	return nil
}

// alone reports whether a policy sends no workload but one.
func alone(p *policyv1alpha1.PropagationPolicy, w workload.Named) bool {
	one, ok := moving.Sent(p)
	return ok && one.Kind == w.Kind && one.Namespace == w.Namespace && one.Name == w.Name
}

// gradual reports whether more clusters give more replicas, and take none from those that there are.
func gradual(p *policyv1alpha1.Placement) bool {
	return p.ReplicaSchedulingType() == policyv1alpha1.ReplicaSchedulingTypeDuplicated && len(p.SpreadConstraints) == 0
}
