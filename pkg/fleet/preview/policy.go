package preview

import (
	"context"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/whatif"
	"github.com/kairship-io/kairship/pkg/fleet/write/specs"
)

// PolicyVerb is what is done to a policy.
type PolicyVerb string

// The verbs.
const (
	Create PolicyVerb = "CREATE"
	Update PolicyVerb = "UPDATE"
	Delete PolicyVerb = "DELETE"
)

var verbs = map[PolicyVerb]authz.Verb{Create: authz.VerbCreate, Update: authz.VerbUpdate, Delete: authz.VerbDelete}

// PolicyInput is a change of a PropagationPolicy, or of a ClusterPropagationPolicy where Namespace is nil.
type PolicyInput struct {
	Verb      PolicyVerb
	Namespace *string
	Name      string
	// Spec is what the policy is to say; nil for a deletion.
	Spec   *policyv1alpha1.PropagationSpec
	Assume *Assumptions
}

// Policy returns what a change of a policy would do. It refuses what the mutation would refuse.
func (s *Service) Policy(ctx context.Context, instance string, in PolicyInput) (*Preview, error) {
	if (in.Spec == nil) != (in.Verb == Delete) {
		return nil, apierror.Invalid("input.spec", "a policy that is created or changed has a spec, and one that is deleted has none")
	}
	return s.policy(ctx, instance, in)
}

func (s *Service) policy(ctx context.Context, instance string, in PolicyInput) (*Preview, error) {
	change, err := s.try(ctx, instance, in)
	if err != nil {
		return nil, err
	}
	r := &reading{Service: s, ctx: ctx, instance: instance}
	if r.world.Settings, err = s.settings(ctx, instance, in.Assume); err != nil {
		return nil, err
	}
	for _, read := range []func() error{
		r.clusters,
		func() error { return r.policies(change.Ref().Namespace) },
		func() error { return r.overrides(*change) },
		func() error { return r.templates(*change) },
		r.bindings,
	} {
		if err := read(); err != nil {
			return nil, apierror.In(err, instance)
		}
	}
	report, err := whatif.PolicyChange(&r.world, *change) //nolint:contextcheck // It is a pure function: the plugins of Karmada that it runs take a context and make nothing of it.
	if err != nil {
		return nil, err
	}
	report.Assumptions = append(report.Assumptions, r.unserved()...)
	return newPreview(instance, report, r.fresh), nil
}

// try has the instance check the change, which completes it.
func (s *Service) try(ctx context.Context, instance string, in PolicyInput) (*whatif.Change, error) {
	attempt := specs.Attempt[policyv1alpha1.PropagationSpec]{Verb: verbs[in.Verb], Instance: instance, Name: in.Name, Spec: in.Spec}
	var tried *specs.Tried
	var err error
	if in.Namespace == nil {
		tried, err = s.Policies.ClusterPropagation.Try(ctx, attempt)
	} else {
		attempt.Namespace = *in.Namespace
		tried, err = s.Policies.Propagation.Try(ctx, attempt)
	}
	if err != nil {
		return nil, err
	}
	if !tried.Site.Reads(attempt.Namespace) {
		return nil, apierror.In(apierror.New(apierror.CodeForbidden,
			"your roles do not let you read the objects of instance %q that the policy is for, which a preview needs", instance), instance)
	}
	c := &whatif.Change{}
	if c.Before, err = policyOf(tried.Before); err != nil {
		return nil, err
	}
	c.After, err = policyOf(tried.After)
	return c, err
}

// policyOf is a policy as the instance has it; nil for nil.
func policyOf(u *unstructured.Unstructured) (*whatif.Policy, error) {
	if u == nil {
		return nil, nil //nolint:nilnil // None stays none.
	}
	// Both kinds have the same fields.
	var p policyv1alpha1.PropagationPolicy
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &p); err != nil {
		return nil, err
	}
	return &whatif.Policy{ObjectMeta: p.ObjectMeta, Spec: p.Spec}, nil
}

// ExpectPolicy refuses a change of a policy that would not do what the preview with a fingerprint says. A nil
// spec leaves that of the policy as it is.
func (s *Service) ExpectPolicy(ctx context.Context, verb authz.Verb, instance, namespace, name string, spec *policyv1alpha1.PropagationSpec, fingerprint string) error {
	in := PolicyInput{Name: name, Spec: spec}
	if namespace != "" {
		in.Namespace = &namespace
	}
	for of, is := range verbs {
		if is == verb {
			in.Verb = of
		}
	}
	var err error
	if in.Assume, err = assumed(fingerprint); err != nil {
		return err
	}
	p, err := s.policy(ctx, instance, in)
	if err == nil && p.Fingerprint != fingerprint {
		err = apierror.In(moved("policyPreview"), instance)
	}
	return err
}
