// Package members implements the mutations of member clusters: the instance that a cluster of the
// inventory is joined to, and its settings in Karmada.
package members

import (
	"context"
	"maps"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/operation"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
)

// kind is Karmada's Cluster.
var kind = write.Kind{
	GroupVersionResource: schema.GroupVersion(clusterv1alpha1.GroupVersion).WithResource(clusterv1alpha1.ResourcePluralCluster),
	Kind:                 clusterv1alpha1.ResourceKindCluster,
}

// attempts is how often a change is made anew that is right whatever else
// changed, when something else did: Karmada writes the status of its clusters
// every few seconds, and Kairship that of the inventory's.
const attempts = 10

// Service changes member clusters.
type Service struct {
	Writer    *write.Writer
	Instances *instance.Service
	Inventory *Inventory
	// Operations makes the IDs under which joins and removals are followed; nil for none.
	Operations *operation.Service
	// Previews checks what changes are expected to do.
	Previews Previews
}

// Previews refuses changes that would not do what the preview with a fingerprint says.
type Previews interface {
	ExpectCordon(ctx context.Context, instance, cluster, fingerprint string) error
	ExpectTaints(ctx context.Context, instance, cluster string, taints []TaintInput, fingerprint string) error
}

// UpdateInput is the input of updateMemberCluster. What is nil stays.
type UpdateInput struct {
	Instance        string
	Name            string
	ResourceVersion string
	Labels          []object.Pair
	Taints          []TaintInput
	Provider        *string
	Region          *string
	Zones           []string
	// Expect is the fingerprint of the preview that the taints were decided by; nil for none.
	Expect *string
	DryRun bool
}

// CordonInput is the input of cordonMemberCluster and of uncordonMemberCluster.
type CordonInput struct {
	Instance        string
	Name            string
	ResourceVersion *string
	// Expect is the fingerprint of the preview that was decided by; nil for none.
	Expect *string
	DryRun bool
}

// Payload is a member cluster that was changed.
type Payload struct {
	MemberCluster    *membercluster.MemberCluster
	ConsistencyToken *string
}

// paths are the inputs of a member cluster. Kubernetes names metadata.labels as a
// whole when one label is wrong, and Karmada writes Zones with a capital.
var paths = write.Paths{
	"": "input", "metadata.name": "input.name", "metadata.resourceVersion": "input.resourceVersion", "metadata.labels": "input.labels!",
	"spec.taints": "input.taints", "spec.provider": "input.provider", "spec.region": "input.region", "spec.zones": "input.zones", "spec.Zones": "input.zones",
}

// Update changes what policies choose a member cluster by.
func (s *Service) Update(ctx context.Context, in UpdateInput) (*Payload, error) {
	labels, err := write.Map(in.Labels, "input.labels")
	if err != nil {
		return nil, err
	}
	if in.Expect != nil {
		if in.Taints == nil {
			return nil, apierror.Invalid("input.expect", "a preview is about taints: give those too, or leave this out")
		}
		if err := s.Previews.ExpectTaints(ctx, in.Instance, in.Name, in.Taints, *in.Expect); err != nil {
			return nil, err
		}
	}
	return s.change(ctx, in.Instance, in.Name, &in.ResourceVersion, in.DryRun, func(u *unstructured.Unstructured) error {
		if labels != nil {
			u.SetLabels(marked(labels, u.GetLabels()))
		}
		if in.Taints != nil {
			now, err := taintsOf(u)
			if err != nil {
				return err
			}
			taints, err := replaced(now, in.Taints)
			if err != nil {
				return err
			}
			if err := setTaints(u, taints); err != nil {
				return err
			}
		}
		for field, value := range map[string]*string{"provider": in.Provider, "region": in.Region} {
			if value != nil {
				if err := unstructured.SetNestedField(u.Object, *value, "spec", field); err != nil {
					return err
				}
			}
		}
		if in.Zones == nil {
			return nil
		}
		// The older field and this one exclude each other.
		unstructured.RemoveNestedField(u.Object, "spec", "zone")
		return unstructured.SetNestedStringSlice(u.Object, in.Zones, "spec", "zones")
	})
}

// marked are the labels that a member cluster is given, with those by which
// Kairship knows that it joined it: they must not be changed.
func marked(given, now map[string]string) map[string]string {
	labels := maps.Clone(given)
	for _, mark := range []string{
		v1alpha1.ManagedByLabel, v1alpha1.ClusterLabel, v1alpha1.InstanceLabel, v1alpha1.OwnerUIDLabel, v1alpha1.GlobalClusterLabel,
		v1alpha1.MembershipLabel,
	} {
		if value, is := now[mark]; is {
			labels[mark] = value
		} else {
			delete(labels, mark)
		}
	}
	return labels
}

// Cordon has nothing new scheduled to a member cluster.
func (s *Service) Cordon(ctx context.Context, in CordonInput) (*Payload, error) {
	if in.Expect != nil {
		if err := s.Previews.ExpectCordon(ctx, in.Instance, in.Name, *in.Expect); err != nil {
			return nil, err
		}
	}
	return s.cordon(ctx, in, true)
}

// Uncordon undoes Cordon.
func (s *Service) Uncordon(ctx context.Context, in CordonInput) (*Payload, error) {
	return s.cordon(ctx, in, false)
}

func (s *Service) cordon(ctx context.Context, in CordonInput, want bool) (*Payload, error) {
	return s.change(ctx, in.Instance, in.Name, in.ResourceVersion, in.DryRun, func(u *unstructured.Unstructured) error {
		now, err := taintsOf(u)
		if err != nil {
			return err
		}
		return setTaints(u, cordoned(now, want))
	})
}

// change applies edit to the stored member cluster, for callers who may update objects in the
// instance; they may change nothing else of it. Without a version it repeats that on the new state
// when another client changed the cluster in between.
func (s *Service) change(ctx context.Context, instance, name string, version *string, dryRun bool, edit func(*unstructured.Unstructured) error) (*Payload, error) {
	site, err := s.Writer.To(ctx, instance)
	if err != nil {
		return nil, err
	}
	if err := site.Permit(ctx, authz.VerbUpdate, ""); err != nil {
		return nil, err
	}
	if err := write.CheckName(name, "input.name"); err != nil {
		return nil, err
	}
	if err := write.CheckPreconditions(version, nil); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		u, err := site.Get(ctx, kind, "", name, paths)
		if err != nil {
			return nil, err
		}
		if err := edit(u); err != nil {
			return nil, apierror.In(err, instance)
		}
		if version != nil {
			u.SetResourceVersion(*version)
		}
		u.SetManagedFields(nil)
		// Sent as Kairship: a person who may write a Cluster may have Karmada use any Secret for it.
		out, err := site.Update(instanceproxy.AsKairship(ctx), kind, u, write.Options{DryRun: dryRun, Paths: paths})
		if version == nil && try < attempts && apierror.Is(err, apierror.CodeConflict) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return s.payload(ctx, instance, out)
	}
}

func (s *Service) payload(ctx context.Context, instance string, out *write.Outcome) (*Payload, error) {
	p := &Payload{ConsistencyToken: s.Writer.Token(ctx, out)}
	if out.Object == nil {
		return p, nil
	}
	var err error
	p.MemberCluster, err = membercluster.New(instance, out.Object, freshness.Freshness{})
	return p, err
}

func taintsOf(u *unstructured.Unstructured) ([]corev1.Taint, error) {
	var c clusterv1alpha1.Cluster
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &c); err != nil {
		return nil, err
	}
	return c.Spec.Taints, nil
}

func setTaints(u *unstructured.Unstructured, taints []corev1.Taint) error {
	list := make([]any, len(taints))
	for i := range taints {
		t, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&taints[i])
		if err != nil {
			return err
		}
		list[i] = t
	}
	return unstructured.SetNestedSlice(u.Object, list, "spec", "taints")
}
