package export

import (
	"fmt"
	"slices"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	"github.com/karmada-io/karmada/pkg/util"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/write/promotion"
)

// choice says which objects of a namespace are exported.
type choice struct {
	Input
	// selector matches labels; labels.Nothing where none was given.
	selector labels.Selector
	// namespaceArgument is the input that errors about the namespace are about.
	namespaceArgument string
}

// whole reports whether the whole namespace is exported.
func (c *choice) whole() bool { return c.Objects == nil && c.LabelSelector == nil }

// key names an object of a namespace.
type key struct{ kind, name string }

func keyOf(u *unstructured.Unstructured) key { return key{u.GetKind(), u.GetName()} }

// choose returns the objects to write, cleaned and in the order of kinds, and what is left out.
func (c *choice) choose(all []*unstructured.Unstructured) ([]*unstructured.Unstructured, []Omission, error) {
	there := map[key]*unstructured.Unstructured{}
	for _, u := range all {
		if !madeByServer(u) {
			there[keyOf(u)] = u
		}
	}
	chosen := map[key]bool{}
	for i, o := range c.Objects {
		k := key{o.Kind, o.Name}
		if there[k] == nil {
			return nil, nil, apierror.In(apierror.Invalid(fmt.Sprintf("%s[%d]", objectsArgument, i),
				"namespace %q has no %s %q that can be exported", c.Namespace, o.Kind, o.Name), c.Instance)
		}
		chosen[k] = true
	}
	for k, u := range there {
		if c.whole() || c.selector.Matches(labels.Set(u.GetLabels())) {
			chosen[k] = true
		}
	}
	var omitted []Omission
	if c.Dependencies {
		missing, err := follow(there, chosen)
		if err != nil {
			return nil, nil, err
		}
		for _, r := range missing {
			omitted = append(omitted, c.missing(r))
		}
	}
	if c.Policies {
		more, err := withPolicies(there, chosen)
		if err != nil {
			return nil, nil, err
		}
		omitted = append(omitted, more...)
	}
	var out []*unstructured.Unstructured
	for _, u := range all { // In the order of kinds, and of names within each.
		if chosen[keyOf(u)] && there[keyOf(u)] != nil {
			cleaned := promotion.Clean(u)
			withoutDefaults(cleaned)
			out = append(out, cleaned)
		}
	}
	return out, omitted, nil
}

// missing says why a needed object is not exported.
func (c *choice) missing(r promotion.Reference) Omission {
	message := "an object names it, and the instance does not have it in this namespace"
	if r.Kind == kindSecret && !c.Secrets {
		message = "Secrets are exported with their values, and only with secrets: true; make it where you deploy the application"
	}
	return Omission{Kind: r.Kind, Name: r.Name, Message: message}
}

// madeByServer reports whether Kubernetes makes an object in every namespace, or a controller made it.
func madeByServer(u *unstructured.Unstructured) bool {
	if metav1.GetControllerOf(u) != nil || u.GetDeletionTimestamp() != nil {
		return true
	}
	switch u.GetKind() {
	case "ConfigMap":
		return u.GetName() == "kube-root-ca.crt"
	case "ServiceAccount":
		return u.GetName() == "default"
	case kindSecret:
		typ, _, _ := unstructured.NestedString(u.Object, "type")
		return typ == string(corev1.SecretTypeServiceAccountToken)
	}
	return false
}

func isPolicy(kind string) bool { return kind == kindPropagation || kind == kindOverride }

// follow adds what the chosen objects name, the Services that select their pods, and the Ingresses of
// these. It returns what is named and not there.
func follow(there map[key]*unstructured.Unstructured, chosen map[key]bool) ([]promotion.Reference, error) {
	for k, u := range there {
		if k.kind == kindService && selectsAny(u, there, chosen) {
			chosen[k] = true
		}
	}
	for k, u := range there {
		if k.kind == kindIngress && slices.ContainsFunc(backends(u), func(service string) bool { return chosen[key{kindService, service}] }) {
			chosen[k] = true
		}
	}
	named := map[promotion.Reference]bool{}
	for k := range chosen {
		of, err := promotion.References(there[k])
		if err != nil {
			return nil, err
		}
		for _, r := range of {
			named[r] = true
		}
	}
	var missing []promotion.Reference
	for r := range named {
		if k := (key{r.Kind, r.Name}); there[k] != nil {
			chosen[k] = true
		} else {
			missing = append(missing, r)
		}
	}
	slices.SortFunc(missing, func(a, b promotion.Reference) int { return compare(a.Kind, a.Name, b.Kind, b.Name) })
	return missing, nil
}

// selectsAny reports whether a Service selects the pods of a chosen object.
func selectsAny(service *unstructured.Unstructured, there map[key]*unstructured.Unstructured, chosen map[key]bool) bool {
	selector, _, _ := unstructured.NestedStringMap(service.Object, "spec", "selector")
	if len(selector) == 0 {
		return false
	}
	for k := range chosen {
		pods, found, _ := unstructured.NestedStringMap(there[k].Object, "spec", "template", "metadata", "labels")
		if found && labels.SelectorFromSet(selector).Matches(labels.Set(pods)) {
			return true
		}
	}
	return false
}

// backends are the Services that an Ingress sends requests to.
func backends(ingress *unstructured.Unstructured) []string {
	var out []string
	add := func(of map[string]any, path ...string) {
		if name, found, _ := unstructured.NestedString(of, append(path, "service", "name")...); found {
			out = append(out, name)
		}
	}
	add(ingress.Object, "spec", "defaultBackend")
	rules, _, _ := unstructured.NestedSlice(ingress.Object, "spec", "rules")
	for _, r := range rules {
		rule, _ := r.(map[string]any)
		paths, _, _ := unstructured.NestedSlice(rule, "http", "paths")
		for _, p := range paths {
			if path, ok := p.(map[string]any); ok {
				add(path, "backend")
			}
		}
	}
	return out
}

// withPolicies adds the policies of the namespace that are about the chosen objects. It returns the
// cluster-wide ones that propagate them.
func withPolicies(there map[key]*unstructured.Unstructured, chosen map[key]bool) ([]Omission, error) {
	var objects []*unstructured.Unstructured
	wide := map[string]bool{}
	for k := range chosen {
		u := there[k]
		if isPolicy(k.kind) {
			continue
		}
		objects = append(objects, u)
		if name := u.GetAnnotations()[policyv1alpha1.ClusterPropagationPolicyAnnotation]; name != "" {
			wide[name] = true
		}
	}
	for k, u := range there {
		if !isPolicy(k.kind) || chosen[k] {
			continue
		}
		about, err := aboutAny(u, objects)
		if err != nil {
			return nil, err
		}
		if about {
			chosen[k] = true
		}
	}
	var omitted []Omission
	for name := range wide {
		omitted = append(omitted, Omission{
			Kind: kindWidePropagation, Name: name,
			Message: "it propagates objects of the application, and is about more than this namespace: give the other instance one, or a PropagationPolicy",
		})
	}
	slices.SortFunc(omitted, func(a, b Omission) int { return compare(a.Kind, a.Name, b.Kind, b.Name) })
	return omitted, nil
}

// aboutAny reports whether a policy selects one of some objects. An override policy without selectors
// is about all.
func aboutAny(policy *unstructured.Unstructured, objects []*unstructured.Unstructured) (bool, error) {
	var spec struct {
		ResourceSelectors []policyv1alpha1.ResourceSelector `json:"resourceSelectors"`
	}
	found, _, err := unstructured.NestedMap(policy.Object, "spec")
	if err != nil {
		return false, err
	}
	delete(found, "overrideRules") // Nothing of it is read.
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found, &spec); err != nil {
		return false, err
	}
	if len(spec.ResourceSelectors) == 0 {
		return policy.GetKind() == kindOverride && len(objects) > 0, nil
	}
	for _, selector := range spec.ResourceSelectors {
		if slices.ContainsFunc(objects, func(u *unstructured.Unstructured) bool { return util.ResourceMatches(u, selector) }) {
			return true, nil
		}
	}
	return false, nil
}
