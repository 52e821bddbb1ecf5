package write

import (
	"context"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	pathvalidation "k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"

	"github.com/kairship-io/kairship/internal/excerpt"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/object"
)

// Target is one object of any kind, as an input names it.
type Target struct {
	Group, Version, Resource string
	// Namespace is nil for objects without one.
	Namespace *string
	Name      string
}

// Find finds the kind of a target that the inputs group, version, resource,
// namespace and name say.
func (s *Site) Find(ctx context.Context, t Target) (Kind, string, error) {
	k, err := s.kindOf(ctx, schema.GroupVersionResource{Group: t.Group, Version: t.Version, Resource: t.Resource})
	if meta.IsNoMatchError(err) || (err == nil && k.Resource != t.Resource) {
		return Kind{}, "", apierror.In(apierror.Invalid("input.resource", "instance %q serves no %s in version %q of group %q",
			s.Instance, quote(t.Resource), t.Version, t.Group), s.Instance)
	}
	if err != nil {
		return Kind{}, "", err
	}
	namespace := ""
	switch {
	case k.Namespaced && (t.Namespace == nil || *t.Namespace == ""):
		return k, "", apierror.Invalid("input.namespace", "a %s is in a namespace: say which", k.Kind)
	case !k.Namespaced && t.Namespace != nil && *t.Namespace != "":
		return k, "", apierror.Invalid("input.namespace", "a %s has no namespace: leave it out", k.Kind)
	case k.Namespaced:
		namespace = *t.Namespace
	}
	if err := CheckNamespace(namespace, "input.namespace"); err != nil {
		return k, "", err
	}
	return k, namespace, CheckName(t.Name, "input.name")
}

// CheckName refuses what cannot be the name of any object: it becomes part of a path.
func CheckName(name, argument string) error {
	if problems := pathvalidation.IsValidPathSegmentName(name); name == "" || len(problems) > 0 {
		return apierror.Invalid(argument, "%q cannot be the name of an object", name)
	}
	return nil
}

// CheckNamespace refuses what cannot be the name of a namespace; "" is none.
func CheckNamespace(name, argument string) error {
	if name != "" && len(utilvalidation.IsDNS1123Label(name)) > 0 {
		return apierror.Invalid(argument, "%q cannot be the name of a namespace", name)
	}
	return nil
}

// CheckPreconditions refuses values of resourceVersion and uid that no object can have, before any
// request to an instance. An API server takes an empty value and version zero for no precondition,
// while a caller who sends them, such as from an unset variable, expects a conflict when the object
// has changed; and it fails on any other text.
func CheckPreconditions(resourceVersion, uid *string) error {
	if resourceVersion != nil && !isVersion(*resourceVersion) {
		return apierror.Invalid("input.resourceVersion",
			"%q cannot be the version of an object: give the resourceVersion that the change is based on, or leave it out where that is allowed", excerpt.Of(*resourceVersion, mostOfInstance))
	}
	if uid != nil && *uid == "" {
		return apierror.Invalid("input.uid", "no object has an empty uid: give the one that is meant, or leave it out")
	}
	return nil
}

// checkVersion refuses a resourceVersion in an object's own metadata that can be none.
func checkVersion(obj *unstructured.Unstructured, paths Paths) error {
	version := obj.GetResourceVersion()
	if version == "" || isVersion(version) {
		return nil
	}
	return apierror.Invalid(paths.Argument("metadata.resourceVersion"), "%q cannot be the version of an object: leave it out, or give the one that the change is based on", excerpt.Of(version, mostOfInstance))
}

// isVersion reports whether a text can be a resourceVersion: Kubernetes writes them as
// positive decimal numbers.
func isVersion(text string) bool {
	n, err := strconv.ParseUint(text, 10, 64)
	return err == nil && n > 0 && text[0] != '0'
}

// Map makes a map of labels or annotations, each key once.
func Map(pairs []object.Pair, argument string) (map[string]string, error) {
	if pairs == nil {
		return nil, nil
	}
	m := make(map[string]string, len(pairs))
	for i, p := range pairs {
		if _, twice := m[p.Key]; twice {
			return nil, apierror.Invalid(fmt.Sprintf("%s[%d].key", argument, i), "%q is given twice", p.Key)
		}
		m[p.Key] = p.Value
	}
	return m, nil
}
