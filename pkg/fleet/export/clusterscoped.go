package export

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/authz/roles"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/fleet/write/promotion"
)

// ClusterScoped is what an instance has without a namespace.
type ClusterScoped struct{ Application }

// firstKinds are the kinds that are written before all others, in this order: what others are in or are of, and policies.
var firstKinds = []string{"CustomResourceDefinition", kindNamespace, kindWideOverride, kindWidePropagation}

// wanted are the names of objects without a namespace, by kind; nil for all of the kind.
type wanted map[schema.GroupVersionKind]map[string]bool

// ClusterScoped reads what has no namespace as the caller, with one request for each kind.
func (e *Instance) ClusterScoped(ctx context.Context) (*ClusterScoped, error) {
	if err := e.site.Permit(ctx, authz.VerbView, ""); err != nil {
		return nil, err
	}
	want, err := e.wantedKinds(ctx)
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	var omitted []Omission
	for gvk, names := range want {
		found, why, err := e.withoutNamespace(ctx, gvk)
		if err != nil {
			return nil, err
		}
		for name := range names {
			if why != "" {
				omitted = append(omitted, Omission{Kind: gvk.Kind, Name: name, Message: why})
			}
		}
		for _, u := range found {
			if !madeByServer(u) && (names == nil || names[u.GetName()]) {
				u = promotion.Clean(u)
				withoutDefaults(u)
				all = append(all, u)
			}
		}
	}
	if err := e.checkObjects(len(all)); err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(place(a)-place(b), compare(a.GetKind(), a.GetName(), b.GetKind(), b.GetName()))
	})
	slices.SortFunc(omitted, func(a, b Omission) int { return compare(a.Kind, a.Name, b.Kind, b.Name) })
	application, err := written(all, omitted)
	if err != nil {
		return nil, err
	}
	return &ClusterScoped{*application}, nil
}

// place is where objects of a kind are written.
func place(u *unstructured.Unstructured) int {
	if at := slices.Index(firstKinds, u.GetKind()); at >= 0 {
		return at
	}
	return len(firstKinds)
}

// wantedKinds are the exported Namespaces, the cluster-wide policies where they are wanted, and what they propagate.
func (e *Instance) wantedKinds(ctx context.Context) (wanted, error) {
	namespaces := map[string]bool{}
	want := wanted{{Version: "v1", Kind: kindNamespace}: namespaces}
	for _, n := range e.Namespaces {
		namespaces[n.Namespace] = true
	}
	if e.in.Policies {
		for _, kind := range []string{kindWideOverride, kindWidePropagation} {
			want[schema.GroupVersionKind{Group: "policy.karmada.io", Version: "v1alpha1", Kind: kind}] = nil
		}
	}
	k, err := e.site.Kind(ctx, wideBindings)
	if err != nil {
		return nil, err
	}
	type binding struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     struct {
			Resource struct {
				APIVersion string `json:"apiVersion"`
				Kind       string `json:"kind"`
				Name       string `json:"name"`
			} `json:"resource"`
		} `json:"spec"`
	}
	more, err := write.Each(ctx, e.site.Client(), write.Listing{Kind: k, Paths: write.Paths{"": namespacesArgument + "!"}}, func(b *binding) error {
		of := b.Spec.Resource
		gvk := schema.FromAPIVersionAndKind(of.APIVersion, of.Kind)
		if gvk.Kind == kindNamespace && roles.Reserved(of.Name) || b.Metadata.DeletionTimestamp != nil {
			return nil
		}
		if want[gvk] == nil {
			want[gvk] = map[string]bool{}
		}
		want[gvk][of.Name] = true
		return nil
	})
	if more && err == nil {
		err = e.tooLarge("policies propagate more than %d objects without a namespace", write.MostListed)
	}
	return want, err
}

// withoutNamespace lists the objects of a kind. Where it cannot be read, it says why: the others are exported without it.
func (e *Instance) withoutNamespace(ctx context.Context, gvk schema.GroupVersionKind) (found []*unstructured.Unstructured, why string, err error) {
	k, err := e.site.Kind(ctx, gvk)
	if meta.IsNoMatchError(err) {
		return nil, "the instance does not serve its kind any more", nil
	}
	if err != nil {
		return nil, "", err
	}
	found, more, err := list(ctx, e.site, write.Listing{Kind: k, Paths: write.Paths{"": namespacesArgument + "!"}})
	switch {
	case apierror.Is(err, apierror.CodeForbidden):
		return nil, "the instance does not let you read objects of this kind; ask a user who may for an export", nil
	case more && err == nil:
		return nil, "", e.tooLarge("the instance has more than %d objects of kind %s", write.MostListed, gvk.Kind)
	}
	return found, "", err
}
