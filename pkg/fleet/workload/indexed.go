package workload

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/kairship-io/kairship/pkg/index"
)

// indexed is the Source of a workload that the index is asked for.
type indexed struct {
	service *Service
	ctx     context.Context //nolint:containedctx // It lives as long as the one call that makes it.
	*Workload
	setting *setting
}

// Binding implements Source.
func (i *indexed) Binding() (*workv1alpha2.ResourceBinding, error) {
	if i.observed != nil {
		return decodeBinding(i.observed.Binding)
	}
	b, err := decodedOptional[workv1alpha2.ResourceBinding](i, bindingKey(i.Indexed), index.Whole)
	if err != nil || b == nil || !i.ofAnyKind || boundTo(b, &i.Object) {
		return b, err
	}
	return nil, nil //nolint:nilnil // It is another template's.
}

// Policy implements Source. It reads the policy regardless of the user's visibility, as OverridePolicies does.
func (i *indexed) Policy(ref *PolicyRef) (*policyv1alpha1.PropagationPolicy, error) {
	o, err := index.Find(i.ctx, i.service.evidence, policyKey(i.Indexed.Cluster, ref), index.Whole)
	if err != nil || o == nil {
		return nil, err
	}
	return index.Decode[policyv1alpha1.PropagationPolicy](o)
}

// Members implements Source.
func (i *indexed) Members() (map[string]Member, error) {
	err := i.service.look(i.ctx, i.setting)
	return i.setting.members, err
}

// OverridePolicies implements Source. It reads them regardless of the user's visibility, because
// the state of a workload is the same for all users who see it; nothing else of them is shown.
func (i *indexed) OverridePolicies() ([]*policyv1alpha1.OverridePolicy, error) {
	found, err := forEachCluster(slices.Compact([]string{"", i.Namespace()}), func(namespace string) (*[]*policyv1alpha1.OverridePolicy, error) {
		return i.service.overridePolicies(i.ctx, index.Part{Cluster: i.Indexed.Cluster, Value: namespace})
	})
	if err != nil {
		return nil, err
	}
	all := *found[""]
	if i.Namespace() != "" {
		all = slices.Concat(all, *found[i.Namespace()])
	}
	return all, nil
}

// policiesAtOnce is how many policies of a namespace are read at a time.
const policiesAtOnce = 500

// ofNamespace reads policies of some types in a namespace.
func ofNamespace(types ...index.Type) index.ListQuery {
	return index.ListQuery{
		Types: types, PartField: []string{"metadata", "namespace"}, Order: index.Order{Field: index.OrderByName}, Limit: policiesAtOnce,
	}
}

var (
	overridePoliciesOf    = ofNamespace(index.OverridePolicies, index.ClusterOverridePolicies)
	propagationPoliciesOf = ofNamespace(index.PropagationPolicies, index.ClusterPropagationPolicies)
)

// allOf reads all pages of a part. Concurrent calls for several parts share a request.
func allOf(ctx context.Context, reader index.Reader, of index.Part, q index.ListQuery) ([]*index.Object, error) {
	var all []*index.Object
	for {
		page, err := reader.PageOf(ctx, of, q)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if !page.HasNext {
			return all, nil
		}
		last := index.PositionOf(page.Items[len(page.Items)-1])
		q.After = &last
	}
}

// overridePolicies reads the override policies of a namespace; the empty one stands for the
// ClusterOverridePolicies.
func (s *Service) overridePolicies(ctx context.Context, of index.Part) (*[]*policyv1alpha1.OverridePolicy, error) {
	objects, err := allOf(ctx, s.evidence, of, overridePoliciesOf)
	if err != nil {
		return nil, err
	}
	all := make([]*policyv1alpha1.OverridePolicy, len(objects))
	for i, o := range objects {
		if all[i], err = index.Decode[policyv1alpha1.OverridePolicy](o); err != nil { // Both kinds have the same spec.
			return nil, err
		}
	}
	return &all, nil
}

// Objects implements Source.
func (i *indexed) Objects(clusters []string) (map[string]*Object, error) {
	// Nothing is collected from a foreign member.
	collected := i.service.collected(i.ctx, i.setting)
	clusters = slices.DeleteFunc(slices.Clone(clusters), func(cluster string) bool { _, held := collected[cluster]; return !held })
	return forEachCluster(clusters, func(cluster string) (*Object, error) {
		return decodedOptional[Object](i, memberObjectKey(i.Indexed, cluster), index.Known)
	})
}

// Works implements Source.
func (i *indexed) Works(clusters []string) (map[string]*metav1.ObjectMeta, error) {
	return forEachCluster(clusters, func(cluster string) (*metav1.ObjectMeta, error) {
		o, err := i.service.optional(i.ctx, workKey(i.Indexed, cluster), index.Metadata)
		if err != nil || o == nil {
			return nil, err
		}
		return &o.Meta, nil
	})
}

// forEachCluster calls read for each cluster concurrently, so that the reads share requests. clustersOf
// without a value are missing in the result.
func forEachCluster[T any](clusters []string, read func(cluster string) (*T, error)) (map[string]*T, error) {
	found := make([]*T, len(clusters))
	var g errgroup.Group
	for i, cluster := range clusters {
		g.Go(func() (err error) {
			found[i], err = read(cluster)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	all := make(map[string]*T, len(clusters))
	for i, one := range found {
		if one != nil {
			all[clusters[i]] = one
		}
	}
	return all, nil
}

// decodedOptional is an object that may be missing; nil when it is.
func decodedOptional[T any](i *indexed, key index.Key, detail index.Detail) (*T, error) {
	o, err := i.service.optional(i.ctx, key, detail)
	if err != nil || o == nil {
		return nil, err
	}
	return index.Decode[T](o)
}
