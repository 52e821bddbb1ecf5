// Package namespaces implements the mutations of the namespaces of an instance.
package namespaces

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/namespace"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

var kind = write.Kind{GroupVersionResource: corev1.SchemeGroupVersion.WithResource("namespaces"), Kind: "Namespace"}

// Service changes namespaces.
type Service struct {
	Writer *write.Writer
}

// CreateInput is the input of createNamespace.
type CreateInput struct {
	Instance    string
	Name        string
	Labels      []object.Pair
	Annotations []object.Pair
	DryRun      bool
}

// UpdateInput is the input of updateNamespace.
type UpdateInput struct {
	Instance        string
	Name            string
	ResourceVersion string
	Labels          []object.Pair
	DryRun          bool
}

// DeleteInput is the input of deleteNamespace.
type DeleteInput struct {
	Instance        string
	Name            string
	UID             *string
	ResourceVersion *string
	DryRun          bool
}

// Payload is a namespace that was changed.
type Payload struct {
	Namespace        *namespace.Namespace
	ConsistencyToken *string
}

// DeletePayload is what became of a deletion.
type DeletePayload struct {
	Payload
	// Deleted reports whether the namespace no longer exists; otherwise it is being emptied.
	Deleted bool
}

// site finds the instance, and whether the caller may do this there.
func (s *Service) site(ctx context.Context, instance string, verb authz.Verb, name string) (*write.Site, error) {
	site, err := s.Writer.To(ctx, instance)
	if err != nil {
		return nil, err
	}
	// Once more for the name: some namespaces are reserved.
	for _, of := range []string{"", name} {
		if err := site.Permit(ctx, verb, of); err != nil {
			return nil, err
		}
	}
	if name == "" {
		return nil, apierror.Invalid("input.name", "a namespace has a name")
	}
	return site, write.CheckNamespace(name, "input.name")
}

// Create creates a namespace.
func (s *Service) Create(ctx context.Context, in CreateInput) (*Payload, error) {
	site, err := s.site(ctx, in.Instance, authz.VerbCreate, in.Name)
	if err != nil {
		return nil, err
	}
	labels, err := write.Map(in.Labels, "input.labels")
	if err != nil {
		return nil, err
	}
	annotations, err := write.Map(in.Annotations, "input.annotations")
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind.GVK())
	u.SetName(in.Name)
	u.SetLabels(labels)
	u.SetAnnotations(annotations)
	out, err := site.Create(ctx, kind, u, write.Options{DryRun: in.DryRun, Paths: paths})
	if err != nil {
		return nil, err
	}
	return s.payload(ctx, in.Instance, out), nil
}

// paths are the inputs of a namespace. Kubernetes names metadata.labels as a
// whole when one label is wrong.
var paths = write.Paths{
	"": "input", "metadata.name": "input.name", "metadata.resourceVersion": "input.resourceVersion",
	"metadata.labels": "input.labels!", "metadata.annotations": "input.annotations!",
}

// Update replaces the labels of a namespace.
func (s *Service) Update(ctx context.Context, in UpdateInput) (*Payload, error) {
	site, err := s.site(ctx, in.Instance, authz.VerbUpdate, in.Name)
	if err != nil {
		return nil, err
	}
	if err := write.CheckPreconditions(&in.ResourceVersion, nil); err != nil {
		return nil, err
	}
	labels, err := write.Map(in.Labels, "input.labels")
	if err != nil {
		return nil, err
	}
	now, err := site.Get(ctx, kind, "", in.Name, paths)
	if err != nil {
		return nil, err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": in.ResourceVersion,
		"labels":          replace(now.GetLabels(), labels),
	}})
	if err != nil {
		return nil, err
	}
	out, err := site.Patch(ctx, kind, "", in.Name, types.MergePatchType, patch, write.Options{DryRun: in.DryRun, Paths: paths})
	if err != nil {
		return nil, err
	}
	return s.payload(ctx, in.Instance, out), nil
}

// replace is a merge patch that makes one map of labels out of another. The label
// with the namespace's own name is Kubernetes'.
func replace(from, to map[string]string) map[string]any {
	patch := map[string]any{}
	for key := range from {
		if _, keep := to[key]; !keep && key != corev1.LabelMetadataName {
			patch[key] = nil
		}
	}
	for key, value := range to {
		patch[key] = value
	}
	return patch
}

// Delete deletes a namespace and all that is in it.
func (s *Service) Delete(ctx context.Context, in DeleteInput) (*DeletePayload, error) {
	site, err := s.site(ctx, in.Instance, authz.VerbDelete, in.Name)
	if err != nil {
		return nil, err
	}
	if err := write.CheckPreconditions(in.ResourceVersion, in.UID); err != nil {
		return nil, err
	}
	var d write.Deletion
	p := write.Paths{"": "input", "metadata.name": "input.name", "metadata.resourceVersion": "input.resourceVersion"}
	if in.UID != nil {
		d.UID, p["metadata.resourceVersion"] = *in.UID, "input.uid"
	}
	if in.ResourceVersion != nil {
		d.ResourceVersion, p["metadata.resourceVersion"] = *in.ResourceVersion, "input.resourceVersion"
	}
	out, err := site.Delete(ctx, kind, "", in.Name, d, write.Options{DryRun: in.DryRun, Paths: p})
	if err != nil {
		return nil, err
	}
	return &DeletePayload{Payload: *s.payload(ctx, in.Instance, out), Deleted: out.Version.Deleted}, nil
}

func (s *Service) payload(ctx context.Context, instance string, out *write.Outcome) *Payload {
	p := &Payload{ConsistencyToken: s.Writer.Token(ctx, out)}
	if out.Object != nil {
		p.Namespace = namespace.New(instance, out.Object, freshness.Freshness{})
	}
	return p
}
