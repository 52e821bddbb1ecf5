package promotion

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/fleet/write/resources"
)

// dependencies are the objects that a promoted object names.
type dependencies struct {
	// given are those to write.
	given []resources.Given
	// notWritten are the results for those that are not written.
	notWritten []resources.Result
	// sent are those of given that the policy names, because Karmada does not send them along.
	sent []*unstructured.Unstructured
}

// merge adds others, each object once.
func (d *dependencies) merge(others dependencies) {
	for _, o := range others.given {
		if !slices.ContainsFunc(d.given, func(g resources.Given) bool {
			return g.Object.GroupVersionKind() == o.Object.GroupVersionKind() && g.Object.GetName() == o.Object.GetName()
		}) {
			d.given = append(d.given, o)
		}
	}
	for _, o := range others.notWritten {
		if !slices.ContainsFunc(d.notWritten, func(r resources.Result) bool {
			return r.APIVersion == o.APIVersion && r.Kind == o.Kind && r.Name == o.Name
		}) {
			d.notWritten = append(d.notWritten, o)
		}
	}
}

// dependencies finds what an object names, reads it from the member and compares
// it with what the instance has.
func (s *Service) dependencies(ctx context.Context, site *write.Site, member string, live *unstructured.Unstructured) (dependencies, error) {
	named, err := References(live)
	if err != nil {
		return dependencies{}, err
	}
	var found dependencies
	for _, r := range named {
		k, err := site.Kind(ctx, schema.GroupVersionKind{Version: "v1", Kind: r.Kind})
		if err != nil {
			return dependencies{}, err
		}
		if isSecret(k) {
			if err := site.PermitSecrets(ctx, r.Namespace); err != nil {
				return dependencies{}, apierror.At(err, dependenciesArgument)
			}
		}
		given, notWritten, err := dependency(ctx, site, member, k, r)
		switch {
		case err != nil:
			return dependencies{}, err
		case notWritten != nil:
			found.notWritten = append(found.notWritten, *notWritten)
		default:
			found.given = append(found.given, *given)
		}
	}
	return found, nil
}

// inDependencies are the inputs that the fields of a dependency come from.
var inDependencies = write.Paths{"": dependenciesArgument + "!", "metadata.namespace": "input.namespace"}

// dependency returns one dependency as it is to be written, or the result for one that is not.
func dependency(ctx context.Context, site *write.Site, member string, k write.Kind, r Reference) (*resources.Given, *resources.Result, error) {
	live, err := site.FromMember(ctx, member, clusterArgument, k, r.Namespace, r.Name, inDependencies)
	if apierror.Is(err, apierror.CodeNotFound) {
		return nil, notWritten(r, resources.ActionSkipped, "member cluster %q has none: the pods can do without it, or wait for it", member), nil
	}
	if err != nil {
		return nil, nil, err
	}
	if kind, _, _ := unstructured.NestedString(live.Object, "type"); isSecret(k) && kind == string(corev1.SecretTypeServiceAccountToken) {
		return nil, notWritten(r, resources.ActionSkipped, "it is a token of member cluster %q, which makes it itself", member), nil
	}
	return compared(ctx, site, member, k, live, dependenciesArgument)
}

// compared returns an object of a member as it is to be written, or the result where the instance has it
// already. One that the instance has and that says something else is a conflict at the argument that asks for it.
func compared(ctx context.Context, site *write.Site, member string, k write.Kind, live *unstructured.Unstructured, argument string) (*resources.Given, *resources.Result, error) {
	namespace, name := live.GetNamespace(), live.GetName()
	paths := write.Paths{"": argument + "!", "metadata.namespace": "input.namespace"}
	template := Clean(live)
	there, err := site.Get(ctx, k, namespace, name, paths)
	if apierror.Is(err, apierror.CodeNotFound) {
		return &resources.Given{Argument: argument, Paths: paths, Object: template}, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if !same(template, Clean(there)) {
		e := apierror.New(apierror.CodeConflict, "instance %q has a %s %q in namespace %q that says something else than the one in member cluster %q, which would be overwritten; make them equal, or promote without %s",
			site.Instance, k.Kind, name, namespace, member, strings.TrimPrefix(argument, "input."))
		return nil, nil, apierror.In(apierror.At(e, argument), site.Instance)
	}
	return nil, leftAlone(live, argument, resources.ActionUnchanged, "instance %q has the same already", site.Instance), nil
}

// leftAlone is the result of an object that is not written.
func leftAlone(live *unstructured.Unstructured, argument string, action resources.Action, format string, args ...any) *resources.Result {
	message, namespace := fmt.Sprintf(format, args...), live.GetNamespace()
	return &resources.Result{
		Argument: argument, APIVersion: live.GetAPIVersion(), Kind: live.GetKind(), Namespace: &namespace, Name: live.GetName(),
		Action: action, Message: &message,
	}
}

// same reports whether two objects say the same, whatever is noted about them.
func same(a, b *unstructured.Unstructured) bool {
	a, b = a.DeepCopy(), b.DeepCopy()
	delete(a.Object, "metadata")
	delete(b.Object, "metadata")
	return reflect.DeepEqual(a.Object, b.Object)
}

func notWritten(r Reference, action resources.Action, format string, args ...any) *resources.Result {
	message := fmt.Sprintf(format, args...)
	return &resources.Result{
		Argument: dependenciesArgument, APIVersion: "v1", Kind: r.Kind, Namespace: &r.Namespace, Name: r.Name,
		Action: action, Message: &message,
	}
}
