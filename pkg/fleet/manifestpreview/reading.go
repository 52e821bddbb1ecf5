package manifestpreview

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	configv1alpha1 "github.com/karmada-io/karmada/pkg/apis/config/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/util"
	"github.com/karmada-io/karmada/pkg/util/names"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/resource"
	"github.com/kairship-io/kairship/pkg/fleet/whatif/interpreter"
	"github.com/kairship-io/kairship/pkg/fleet/whatif/manifest"
	"github.com/kairship-io/kairship/pkg/fleet/whatif/snapshot"
	"github.com/kairship-io/kairship/pkg/index"
)

const (
	// mostObjects is how many objects of one kind a preview reads.
	mostObjects = 5000
	// mostManifests is how many manifests a preview makes.
	mostManifests = 2000
	// pageSize is how many objects that manifests depend on are read at a time.
	pageSize = 500
)

// reading reads what the manifests of some templates depend on.
type reading struct {
	*Service

	ctx      context.Context //nolint:containedctx // of one preview, which it does not outlive
	instance string
	preview  *Preview
}

func (s *Service) reading(ctx context.Context, instance string) *reading {
	r := &reading{Service: s, ctx: ctx, instance: instance, preview: &Preview{Instance: instance}}
	r.preview.Freshness = s.Freshness.Of(ctx, r.cluster())
	return r
}

// cluster is the index's name of the instance.
func (r *reading) cluster() string { return v1alpha1.VirtualClusterName(r.instance) }

// all returns all objects of a kind that the caller may see.
func (r *reading) all(of index.Type, f *resource.Filter, detail index.Detail) ([]*index.Object, error) {
	found, fresh, err := r.Resources.All(r.ctx, r.instance, of.GroupVersionResource(), f, detail, mostObjects)
	if errors.Is(err, listing.ErrTooMany) {
		return nil, apierror.In(apierror.Invalid("input", "instance %q has more than %d %s to look at; a preview reads no more", r.instance, mostObjects, of.Resource), r.instance)
	}
	if err == nil && fresh.Stale {
		r.preview.Freshness = fresh
	}
	return found, err
}

// evident returns all objects of some kinds in a namespace, "" for those without one.
func (r *reading) evident(namespace string, types ...index.Type) ([]*index.Object, error) {
	q := index.ListQuery{
		Types: types, PartField: []string{"metadata", "namespace"}, Order: index.Order{Field: index.OrderByName}, Limit: pageSize,
	}
	var all []*index.Object
	for {
		page, err := r.Evidence.PageOf(r.ctx, index.Part{Cluster: r.cluster(), Value: namespace}, q)
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

// policies are the member clusters, and the override policies of some namespaces and those without one: as they
// are, and as they would be after a change; nil for none.
func (r *reading) policies(namespaces []string, c *change) (now, then client.Client, err error) {
	found, err := r.evident("", index.MemberClusters, index.ClusterOverridePolicies)
	if err != nil {
		return nil, nil, err
	}
	for _, namespace := range namespaces {
		if namespace == "" {
			continue
		}
		more, err := r.evident(namespace, index.OverridePolicies)
		if err != nil {
			return nil, nil, err
		}
		found = append(found, more...)
	}
	var before, after []client.Object
	for _, o := range found {
		decoded, err := decode(o)
		if err != nil {
			return nil, nil, err
		}
		before = append(before, decoded)
		if c == nil || c.before == nil || !same(c.before, decoded) {
			after = append(after, decoded)
		}
	}
	if c != nil && c.after != nil {
		after = append(after, c.after)
	}
	if now, err = snapshot.New(scheme(), before...); err == nil {
		then, err = snapshot.New(scheme(), after...)
	}
	return now, then, err
}

// same reports whether two objects are the same policy.
func same(a, b client.Object) bool {
	return a.GetNamespace() == b.GetNamespace() && a.GetName() == b.GetName() && fmt.Sprintf("%T", a) == fmt.Sprintf("%T", b)
}

func decode(o *index.Object) (client.Object, error) {
	switch o.Kind {
	case index.MemberClusters.Kind:
		return index.Decode[clusterv1alpha1.Cluster](o)
	case index.ClusterOverridePolicies.Kind:
		return index.Decode[policyv1alpha1.ClusterOverridePolicy](o)
	}
	return index.Decode[policyv1alpha1.OverridePolicy](o)
}

var scheme = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clusterv1alpha1.Install(s))
	utilruntime.Must(policyv1alpha1.Install(s))
	return s
})

// pair is a template with its binding.
type pair struct {
	template *unstructured.Unstructured
	binding  *workv1alpha2.ResourceBinding
	// indexed reports whether the template is from the index, which does not have kubectl's copy of it.
	indexed bool
}

// completed is the template with kubectl's copy, which Karmada sends too, where the index does not have it.
func (p *pair) completed(works map[string]*workv1alpha1.Work) (*unstructured.Unstructured, error) {
	if !p.indexed {
		return p.template, nil
	}
	for _, work := range works {
		sent, err := manifest.Sent(work, p.template)
		if err != nil {
			return nil, err
		}
		if sent == nil {
			continue
		}
		if said, ok := sent.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; ok {
			u := p.template.DeepCopy()
			util.MergeAnnotation(u, corev1.LastAppliedConfigAnnotation, said)
			return u, nil
		}
	}
	return p.template, nil
}

// compare compares the manifests of some templates with those that Karmada sent. Where an interpreter of the instance
// revises a kind, they are compared with those from the policies before, and left out where these are nil.
func (r *reading) compare(pairs []pair, before, after client.Client) error {
	customized, err := r.customized()
	if err != nil {
		return err
	}
	pairs = slices.DeleteFunc(pairs, func(p pair) bool {
		name := customized(&p)
		if name == "" {
			return false
		}
		if before != nil {
			r.assumed(fmt.Sprintf("ResourceInterpreterCustomization %s is not run: what it does to the replicas of %s is neither in the manifests before nor in those after.", name, p.template.GetKind()))
			return false
		}
		r.preview.NotCompared++
		r.assumed(fmt.Sprintf("ResourceInterpreterCustomization %s is not run, so that objects of the kind %s are not compared.", name, p.template.GetKind()))
		return true
	})
	works, err := r.works(pairs)
	if err != nil {
		return err
	}
	var all []manifest.Comparison
	for i := range pairs {
		p := &pairs[i]
		template, err := p.completed(works[i])
		if err != nil {
			return err
		}
		source := &manifest.Source{Template: template, Binding: p.binding, Policies: after}
		if customized(p) != "" {
			all = append(all, manifest.CompareWith(&manifest.Source{Template: template, Binding: p.binding, Policies: before}, source, works[i])...)
			continue
		}
		compared, err := manifest.Compare(source, works[i])
		if err != nil {
			return err
		}
		all = append(all, compared...)
	}
	r.preview.Objects = len(pairs)
	r.assumed("No resource interpreter webhook of the instance changes the replicas of manifests, and the scheduler decides nothing anew.")
	r.preview.finish(all)
	return nil
}

// works reads the Works that carry templates, of each by cluster, in one request.
func (r *reading) works(pairs []pair) ([]map[string]*workv1alpha1.Work, error) {
	var keys []index.Key
	for i := range pairs {
		for _, target := range manifest.Targets(&pairs[i].binding.Spec) {
			keys = append(keys, r.workKey(pairs[i].template, target.Name))
		}
	}
	if len(keys) > mostManifests {
		return nil, apierror.In(apierror.Invalid("input", "the change concerns %d manifests; a preview makes no more than %d", len(keys), mostManifests), r.instance)
	}
	r.Evidence.Prefetch(r.ctx, keys, index.Whole, nil)
	found := make([]map[string]*workv1alpha1.Work, len(pairs))
	for i := range pairs {
		found[i] = map[string]*workv1alpha1.Work{}
		for _, target := range manifest.Targets(&pairs[i].binding.Spec) {
			o, err := r.Evidence.Get(r.ctx, r.workKey(pairs[i].template, target.Name), index.Whole)
			if apierror.Is(err, apierror.CodeNotFound) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if found[i][target.Name], err = index.Decode[workv1alpha1.Work](o); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

func (r *reading) workKey(t *unstructured.Unstructured, cluster string) index.Key {
	return index.Key{
		Cluster: r.cluster(), Type: index.Works, Namespace: names.GenerateExecutionSpaceName(cluster),
		Name: names.GenerateWorkName(t.GetKind(), t.GetName(), t.GetNamespace()),
	}
}

// customized finds the ResourceInterpreterCustomization that revises the replicas of a template; empty for none.
func (r *reading) customized() (func(*pair) string, error) {
	objects, err := r.evident("", index.ResourceInterpreterCustomizations)
	if err != nil {
		return nil, err
	}
	customizations := make([]*configv1alpha1.ResourceInterpreterCustomization, len(objects))
	for i, o := range objects {
		if customizations[i], err = index.Decode[configv1alpha1.ResourceInterpreterCustomization](o); err != nil {
			return nil, err
		}
	}
	return func(p *pair) string {
		if !p.binding.Spec.IsWorkload() {
			return ""
		}
		return interpreter.Customizes(customizations, p.template.GroupVersionKind(), configv1alpha1.InterpreterOperationReviseReplica)
	}, nil
}

// assumed adds an assumption once.
func (r *reading) assumed(text string) {
	if !slices.Contains(r.preview.Assumptions, text) {
		r.preview.Assumptions = append(r.preview.Assumptions, text)
	}
}
