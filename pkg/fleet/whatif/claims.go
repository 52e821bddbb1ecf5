package whatif

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	"github.com/karmada-io/karmada/pkg/detector"
	"github.com/karmada-io/karmada/pkg/util"
	"github.com/karmada-io/karmada/pkg/util/fedinformer/keys"
	"github.com/karmada-io/karmada/pkg/util/helper"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/fleet/whatif/snapshot"
)

// Change is a change of one policy: Before is nil when it is created, After when it is deleted. Both have
// the same kind and name.
type Change struct{ Before, After *Policy }

// Ref names the policy that is changed.
func (c Change) Ref() PolicyRef {
	if c.After != nil {
		return c.After.Ref()
	}
	return c.Before.Ref()
}

// skippedNamespaces are those of which Karmada propagates nothing, unless its flag
// --skipped-propagating-namespaces names others.
var skippedNamespaces = []*regexp.Regexp{regexp.MustCompile("^kube-.*$")}

// scheme has Karmada's policies.
var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := policyv1alpha1.Install(s); err != nil {
		panic("whatif: " + err.Error())
	}
	return s
}()

// claim is the policy of a template before and after a change; nil for none.
type claim struct {
	template      *unstructured.Unstructured
	before, after *Policy
	// beforeRef is the claim that the template has, also of a policy that does not exist any more.
	beforeRef *PolicyRef
	// freed reports whether Karmada removed the claim before it looked for another policy.
	freed bool
	// waiting reports whether the policy that would claim it waits for override policies.
	waiting bool
}

// detection computes claims as the detector of karmada-controller-manager does.
type detection struct {
	detector detector.ResourceDetector
	reader   client.Client
	// policies are those after the change.
	policies map[PolicyRef]*Policy
	settings Settings
	bindings bindings
}

func newDetection(w *World, c Change, bs bindings) (*detection, error) {
	d := &detection{policies: make(map[PolicyRef]*Policy, len(w.Policies)+1), settings: w.Settings, bindings: bs}
	objects := slices.Clone(w.Overrides)
	for _, p := range w.Policies {
		d.policies[p.Ref()] = p
	}
	if c.After == nil {
		delete(d.policies, c.Ref())
	} else {
		d.policies[c.Ref()] = c.After
	}
	for _, p := range d.policies {
		objects = append(objects, p.object())
	}
	reader, err := snapshot.New(scheme, objects...)
	d.reader = reader
	d.detector = detector.ResourceDetector{Client: reader, SkippedPropagatingNamespaces: skippedNamespaces}
	return d, err
}

// claims returns the claims that a change concerns: those that change, and those that the policy keeps.
func (d *detection) claims(w *World, c Change) ([]claim, error) {
	was := make(map[PolicyRef]*Policy, len(w.Policies))
	for _, p := range w.Policies {
		was[p.Ref()] = p
	}
	if c.Before != nil {
		was[c.Ref()] = c.Before
	}
	waits, err := d.waits(c.After)
	if err != nil {
		return nil, err
	}
	var out []claim
	for _, t := range w.Templates {
		if t.GetDeletionTimestamp() != nil || t.GetLabels()[util.ResourceTemplateClaimedByLabel] != "" || !d.detector.EventFilter(t) {
			continue
		}
		one := claim{template: t}
		if one.beforeRef = claimOf(t); one.beforeRef != nil {
			one.before = was[*one.beforeRef]
		}
		if err := d.claim(&one, c, waits); err != nil {
			return nil, err
		}
		own := one.beforeRef != nil && *one.beforeRef == c.Ref() && c.Before != nil
		if own || one.waiting || one.before != one.after && (one.before != nil || one.after != nil) {
			out = append(out, one)
		}
	}
	return out, nil
}

// claim computes the claim of one template. It follows HandlePropagationPolicyCreationOrUpdate and
// HandleClusterPropagationPolicyCreationOrUpdate, handlePolicyDeletion and propagateResource.
func (d *detection) claim(one *claim, c Change, waits bool) error {
	t := one.template
	one.after = one.before
	if one.before != nil && one.before.Ref() == c.Ref() {
		one.after = c.After
	}
	selected := c.After != nil && c.After.Selects(t)
	if c.Before != nil && c.Before.Claims(t) {
		switch b := d.bindings.of(t); {
		case c.After == nil:
			one.freed = c.Before.selectsKindOf(t)
		case !selected:
			one.freed = b != nil && b.Labels[idLabel(c.Ref().Namespace)] == c.Before.id()
		}
	}
	if one.freed || one.beforeRef == nil && selected {
		found, waiting, err := d.match(t)
		if err != nil {
			return err
		}
		one.after, one.waiting = found, waiting
	}
	if one.after == nil || waits || !d.settings.PolicyPreemption {
		return nil
	}
	for _, p := range d.preempting(c) {
		if p.named(t) && d.takes(p, one.after) {
			one.after, one.freed = p, false
		}
	}
	return nil
}

// selectsKindOf reports whether a selector is of the kind and namespace of an object: Karmada looks there
// for the claims of a policy that is deleted.
func (p *Policy) selectsKindOf(t *unstructured.Unstructured) bool {
	return slices.ContainsFunc(p.Spec.ResourceSelectors, func(s policyv1alpha1.ResourceSelector) bool {
		return s.APIVersion == t.GetAPIVersion() && s.Kind == t.GetKind() && (s.Namespace == "" || s.Namespace == t.GetNamespace())
	})
}

// match returns the policy that claims an unclaimed template, with Karmada's own matching; nil for none, and
// where the policy waits for override policies.
func (d *detection) match(t *unstructured.Unstructured) (found *Policy, waiting bool, err error) {
	key, err := keys.ClusterWideKeyFunc(t)
	if err != nil {
		return nil, false, err
	}
	pp, err := d.detector.LookForMatchedPolicy(t, key)
	if err != nil {
		return nil, false, err
	}
	if pp != nil {
		found = d.policies[PolicyRef{pp.Namespace, pp.Name}]
	} else {
		cpp, err := d.detector.LookForMatchedClusterPolicy(t, key)
		if err != nil || cpp == nil {
			return nil, false, err
		}
		found = d.policies[PolicyRef{Name: cpp.Name}]
	}
	if waiting, err = d.waits(found); waiting {
		found = nil
	}
	return found, waiting, err
}

// waits reports whether a policy waits for override policies that do not exist.
func (d *detection) waits(p *Policy) (bool, error) {
	if p == nil || len(p.Spec.DependentOverrides) == 0 {
		return false, nil
	}
	var present bool
	var err error
	switch o := p.object().(type) {
	case *policyv1alpha1.PropagationPolicy:
		present, err = helper.IsDependentOverridesPresent(d.reader, o)
	case *policyv1alpha1.ClusterPropagationPolicy:
		present, err = helper.IsDependentClusterOverridesPresent(d.reader, o)
	default:
		err = fmt.Errorf("%T is no propagation policy", o)
	}
	return !present, err
}

// preempting returns the policies that take over from others after a change, in the order in which they do:
// the changed one, and when its priority fell those between (HandleDeprioritizedPropagationPolicy).
func (d *detection) preempting(c Change) []*Policy {
	if c.After == nil {
		return nil
	}
	var out []*Policy
	if c.Before != nil && c.After.priority() < c.Before.priority() {
		for _, p := range d.policies {
			if p.Namespace == c.After.Namespace && p.preempts() && p.Spec.Priority != nil && p.priority() > c.After.priority() && p.priority() < c.Before.priority() {
				out = append(out, p)
			}
		}
		slices.SortFunc(out, func(a, b *Policy) int {
			return cmp.Or(cmp.Compare(b.priority(), a.priority()), cmp.Compare(a.Name, b.Name))
		})
	}
	if c.After.preempts() {
		out = append([]*Policy{c.After}, out...)
	}
	return out
}

// takes reports whether a policy takes a template over from another one: a PropagationPolicy from any
// ClusterPropagationPolicy, else by priority (preemptPropagationPolicy and preemptClusterPropagationPolicy).
func (d *detection) takes(p, from *Policy) bool {
	switch {
	case p.Ref() == from.Ref():
		return false
	case p.Namespace != "" && from.Namespace == "":
		return true
	case p.Namespace == "" && from.Namespace != "":
		return false
	}
	return p.priority() > from.priority()
}
