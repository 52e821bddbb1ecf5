package resources

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// made is what the documents of a call make that others of them may need.
type made struct {
	kinds      map[schema.GroupKind]write.Kind
	namespaces map[string]bool
}

func makes(documents []document) made {
	m := made{kinds: map[schema.GroupKind]write.Kind{}, namespaces: map[string]bool{}}
	for _, d := range documents {
		switch {
		case rank(d.object) == 1:
			m.namespaces[d.object.GetName()] = true
		case rank(d.object) == 0:
			group, _, _ := unstructured.NestedString(d.object.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(d.object.Object, "spec", "names", "kind")
			plural, _, _ := unstructured.NestedString(d.object.Object, "spec", "names", "plural")
			scope, _, _ := unstructured.NestedString(d.object.Object, "spec", "scope")
			if len(validation.IsDNS1123Subdomain(group)) > 0 || len(validation.IsDNS1035Label(plural)) > 0 {
				continue // They become parts of a path, and they were not checked yet.
			}
			m.kinds[schema.GroupKind{Group: group, Kind: kind}] = write.Kind{
				GroupVersionResource: schema.GroupVersionResource{Group: group, Resource: plural}, Kind: kind, Namespaced: scope == "Namespaced",
			}
		}
	}
	return m
}

// plan finds the kind, the namespace and the permission of every document. A document that cannot be applied has an error in its step.
func (s *Service) plan(ctx context.Context, site *write.Site, documents []document, options WriteOptions) ([]*step, error) {
	has := makes(documents)
	steps := make([]*step, len(documents))
	seen := map[string]string{}
	for i, d := range documents {
		st := &step{document: d, result: &Result{
			Document: d.number, Argument: d.argument(), APIVersion: d.object.GetAPIVersion(), Kind: d.object.GetKind(), Name: d.object.GetName(),
		}}
		steps[i] = st
		if err := s.locate(ctx, site, st, has, options); err != nil {
			if away(err) {
				return nil, err
			}
			st.fail(err)
			continue
		}
		identity := fmt.Sprint(st.kind.GroupResource(), "/", st.namespace, "/", st.object.GetName())
		if first, twice := seen[identity]; twice {
			st.fail(apierror.Invalid(d.argument(), "%s is about the same object", first))
		}
		seen[identity] = d.argument()
	}
	return steps, nil
}

func (s *Service) locate(ctx context.Context, site *write.Site, st *step, has made, options WriteOptions) error {
	gvk := st.object.GroupVersionKind()
	k, err := site.Kind(ctx, gvk)
	if meta.IsNoMatchError(err) {
		own, ok := has.kinds[gvk.GroupKind()]
		if !ok || len(validation.IsDNS1035Label(gvk.Version)) > 0 {
			return apierror.Invalid(st.argument()+".kind", "instance %q does not serve kind %s in %s, and no document of this call brings it", site.Instance, gvk.Kind, st.object.GetAPIVersion())
		}
		k, err = own, nil
		k.Version = gvk.Version
		st.waitsFor = "the CustomResourceDefinition of its kind"
	}
	if err != nil {
		return err
	}
	st.kind, st.namespace = k, st.object.GetNamespace()
	switch {
	case k.Namespaced && st.namespace == "" && options.Namespace != nil && *options.Namespace != "":
		st.namespace = *options.Namespace
	case k.Namespaced && st.namespace == "":
		st.namespace = "default"
	case !k.Namespaced && st.namespace != "":
		return apierror.Invalid(st.argument()+".metadata.namespace", "a %s has no namespace: leave it out", k.Kind)
	}
	if err := write.CheckNamespace(st.namespace, st.argument()+".metadata.namespace"); err != nil {
		return err
	}
	if err := write.CheckName(st.object.GetName(), st.argument()+".metadata.name"); err != nil {
		return err
	}
	if k.Namespaced {
		st.object.SetNamespace(st.namespace)
		st.result.Namespace = &st.namespace
	}
	if st.waitsFor == "" && k.Namespaced && has.namespaces[st.namespace] {
		st.waitsFor = "namespace " + st.namespace
	}
	for _, verb := range options.verbs() {
		if err := site.Permit(ctx, verb, st.namespace); err != nil {
			return apierror.At(err, st.argument())
		}
	}
	return nil
}

// verbs are what the caller must be allowed to do with every object. What may be
// undone must be allowed before anything is done.
func (t WriteOptions) verbs() []authz.Verb {
	verbs := []authz.Verb{authz.VerbCreate}
	if !t.Create {
		verbs = append(verbs, authz.VerbUpdate)
	}
	if t.Rollback {
		verbs = append(verbs, authz.VerbDelete)
	}
	return verbs
}
