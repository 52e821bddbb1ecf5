package manifestpreview

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/util/names"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/whatif/interpreter"
	"github.com/kairship-io/kairship/pkg/fleet/write/resources"
	"github.com/kairship-io/kairship/pkg/index"
)

// ApplyInput are manifests to be applied, as applyManifests takes them.
type ApplyInput struct {
	Manifests string
	// Namespace is for documents that name none.
	Namespace *string
	Force     bool
}

// Apply returns what applying manifests would make of the manifests in member clusters. It refuses what
// applyManifests would refuse.
func (s *Service) Apply(ctx context.Context, instance string, in ApplyInput) (*Preview, error) {
	tried, err := s.Applies.Try(ctx, resources.ApplyInput{Instance: instance, Manifests: in.Manifests, Namespace: in.Namespace, Force: in.Force})
	if err != nil {
		return nil, err
	}
	r := s.reading(ctx, instance)
	if len(tried.Unverified) > 0 {
		r.preview.NotCompared = len(tried.Unverified)
		r.assumed(strings.Join(tried.Unverified, ", ") + " can't be tried, because other documents bring their namespace or kind.")
	}
	pairs, err := r.bound(tried)
	if err != nil {
		return nil, apierror.In(err, instance)
	}
	namespaces := map[string]bool{}
	for i := range pairs {
		namespaces[pairs[i].template.GetNamespace()] = true
		if pairs[i].binding, err = r.scaled(pairs[i]); err != nil {
			return nil, err
		}
	}
	_, policies, err := r.policies(slices.Sorted(maps.Keys(namespaces)), nil)
	if err != nil {
		return nil, apierror.In(err, instance)
	}
	if err := r.compare(pairs, nil, policies); err != nil {
		return nil, apierror.In(err, instance)
	}
	return r.preview, nil
}

// bound finds the bindings of templates in one request. Who may write a template sees where it goes.
func (r *reading) bound(tried *resources.Tried) ([]pair, error) {
	keys := make([]index.Key, len(tried.Objects))
	for i, u := range tried.Objects {
		keys[i] = index.Key{Cluster: r.cluster(), Type: index.ResourceBindings, Namespace: u.GetNamespace(), Name: names.GenerateBindingName(u.GetKind(), u.GetName())}
		if u.GetNamespace() == "" {
			keys[i].Type = index.ClusterResourceBindings
		}
	}
	r.Evidence.Prefetch(r.ctx, keys, index.Whole, nil)
	var pairs []pair
	for i, u := range tried.Objects {
		if !tried.Site.Reads(u.GetNamespace()) {
			r.preview.NotCompared++
			r.assumed("Your roles do not let you read all of the objects.")
			continue
		}
		o, err := r.Evidence.Get(r.ctx, keys[i], index.Whole)
		if apierror.Is(err, apierror.CodeNotFound) {
			r.preview.NotPropagated++
			continue
		}
		if err != nil {
			return nil, err
		}
		b, err := index.Decode[workv1alpha2.ResourceBinding](o)
		if err != nil {
			return nil, err
		}
		if of := &b.Spec.Resource; of.Kind != u.GetKind() || of.Name != u.GetName() || schema.FromAPIVersionAndKind(of.APIVersion, of.Kind).Group != u.GroupVersionKind().Group {
			r.preview.NotPropagated++ // The binding is another object's.
			continue
		}
		pairs = append(pairs, pair{template: u, binding: b})
	}
	return pairs, nil
}

// scaled is the binding of a template that asks for another number of replicas. Where each cluster gets all
// of them, that is known without the scheduler.
func (r *reading) scaled(p pair) (*workv1alpha2.ResourceBinding, error) {
	replicas, known, err := interpreter.Replicas(p.template)
	if err != nil || !known || replicas == p.binding.Spec.Replicas {
		return p.binding, err
	}
	b := p.binding.DeepCopy()
	b.Spec.Replicas = replicas
	if placement := b.Spec.Placement; placement == nil || placement.ReplicaSchedulingType() == policyv1alpha1.ReplicaSchedulingTypeDivided {
		r.assumed(fmt.Sprintf("%s %s: the scheduler divides %d replicas instead of %d anew; the manifests have the replicas that each cluster has now.",
			p.template.GetKind(), p.template.GetName(), replicas, p.binding.Spec.Replicas))
		return b, nil
	}
	for i := range b.Spec.Clusters {
		b.Spec.Clusters[i].Replicas = replicas
	}
	return b, nil
}

// whole is a template with its integers.
func whole(o *index.Object, gvk schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	raw, err := o.Text()
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(raw, &u.Object); err != nil {
		return nil, err
	}
	u.SetGroupVersionKind(gvk)
	return u, nil
}
