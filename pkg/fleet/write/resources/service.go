// Package resources implements the mutations of objects of any kind.
package resources

import (
	"context"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/operation"
	"github.com/kairship-io/kairship/pkg/fleet/resource"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// Service changes objects of any kind.
type Service struct {
	Writer *write.Writer
	// Operations makes the IDs under which the progress of what is written is
	// followed; nil for none.
	Operations *operation.Service
}

// PatchType is how a patch is read. The values are those of the schema's enum.
type PatchType string

// The types of patches.
const (
	PatchJSON      PatchType = "JSON"
	PatchMerge     PatchType = "MERGE"
	PatchStrategic PatchType = "STRATEGIC"
	PatchApply     PatchType = "APPLY"
)

// PatchInput is the input of patchResource.
type PatchInput struct {
	Instance                 string
	Group, Version, Resource string
	Namespace                *string
	Name                     string
	Type                     PatchType
	Patch                    any
	ResourceVersion          *string
	Force                    bool
	DryRun                   bool
}

// Payload is one object that was changed.
type Payload struct {
	Resource         *resource.Resource
	ConsistencyToken *string
}

// Patch changes one object.
func (s *Service) Patch(ctx context.Context, in PatchInput) (*Payload, error) {
	site, err := s.Writer.To(ctx, in.Instance)
	if err != nil {
		return nil, err
	}
	if err := site.Permit(ctx, authz.VerbUpdate, named(in.Namespace)); err != nil {
		return nil, err
	}
	if err := write.CheckPreconditions(in.ResourceVersion, nil); err != nil {
		return nil, err
	}
	k, namespace, err := site.Find(ctx, in.target())
	if err != nil {
		return nil, err
	}
	if err := in.permitReading(ctx, site, k, namespace); err != nil {
		return nil, err
	}
	o := write.Options{DryRun: in.DryRun, Paths: write.Paths{
		"": "input.patch", "metadata.name": "input.name", "metadata.namespace": "input.namespace",
	}}
	if in.ResourceVersion != nil {
		o.Paths["metadata.resourceVersion"] = "input.resourceVersion"
	}
	var out *write.Outcome
	if in.Type == PatchApply {
		out, err = s.applyPatch(ctx, site, k, namespace, in, o)
	} else {
		out, err = s.patch(ctx, site, k, namespace, in, o)
	}
	if err != nil {
		return nil, err
	}
	return &Payload{Resource: shown(in.Instance, k, out), ConsistencyToken: s.Writer.Token(ctx, out)}, nil
}

func (s *Service) patch(ctx context.Context, site *write.Site, k write.Kind, namespace string, in PatchInput, o write.Options) (*write.Outcome, error) {
	of := map[PatchType]types.PatchType{PatchJSON: types.JSONPatchType, PatchMerge: types.MergePatchType, PatchStrategic: types.StrategicMergePatchType}[in.Type]
	if in.Type == PatchJSON {
		o.Paths[""] = "input.patch!"
	}
	patch, err := in.versioned()
	if err != nil {
		return nil, err
	}
	return site.Patch(ctx, k, namespace, in.Name, of, patch, o)
}

func (s *Service) applyPatch(ctx context.Context, site *write.Site, k write.Kind, namespace string, in PatchInput, o write.Options) (*write.Outcome, error) {
	if err := site.Permit(ctx, authz.VerbCreate, namespace); err != nil {
		return nil, err
	}
	patch, err := in.versioned()
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	// Integers stay whole, however large.
	if err := utiljson.Unmarshal(patch, &u.Object); err != nil {
		return nil, err
	}
	u.SetGroupVersionKind(k.GVK())
	u.SetName(in.Name)
	u.SetNamespace(namespace)
	return site.Apply(ctx, k, u, in.Force, o)
}

func (in PatchInput) target() write.Target {
	return write.Target{Group: in.Group, Version: in.Version, Resource: in.Resource, Namespace: in.Namespace, Name: in.Name}
}

// versioned is the patch with the resourceVersion that it is based on, which has
// the instance refuse it when the object moved. What it says otherwise is not
// decoded: numbers would lose digits.
func (in PatchInput) versioned() ([]byte, error) {
	raw, err := json.Marshal(in.Patch)
	if err != nil {
		return nil, apierror.Invalid("input.patch", "the patch cannot be written as JSON")
	}
	if in.Type == PatchJSON {
		var steps []map[string]json.RawMessage
		if err := json.Unmarshal(raw, &steps); err != nil {
			return nil, apierror.Invalid("input.patch", "a JSON patch is a list of steps, such as {op: \"replace\", path: \"/spec/replicas\", value: 3}")
		}
		if in.ResourceVersion == nil {
			return raw, nil
		}
		all := make([]any, 0, len(steps)+1)
		for _, step := range steps {
			all = append(all, step)
		}
		// A step that sets it is judged like an update; one that tests it would fail
		// as if the patch were wrong.
		return json.Marshal(append(all, map[string]string{"op": "replace", "path": "/metadata/resourceVersion", "value": *in.ResourceVersion}))
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil || object == nil {
		return nil, apierror.Invalid("input.patch", "a patch of this type is an object with the fields to change")
	}
	if in.ResourceVersion == nil {
		return raw, nil
	}
	meta := map[string]json.RawMessage{}
	if said, ok := object["metadata"]; ok {
		if err := json.Unmarshal(said, &meta); err != nil {
			return nil, apierror.Invalid("input.patch.metadata", "metadata is an object")
		}
	}
	if meta == nil { // It said null.
		meta = map[string]json.RawMessage{}
	}
	if meta["resourceVersion"], err = json.Marshal(*in.ResourceVersion); err != nil {
		return nil, err
	}
	if object["metadata"], err = json.Marshal(meta); err != nil {
		return nil, err
	}
	return json.Marshal(object)
}

// Propagation is what becomes of what an object owns. The values are those of the
// schema's enum.
type Propagation string

// The propagations.
const (
	PropagationBackground Propagation = "BACKGROUND"
	PropagationForeground Propagation = "FOREGROUND"
	PropagationOrphan     Propagation = "ORPHAN"
)

// propagations are Kubernetes' words for them.
var propagations = map[Propagation]metav1.DeletionPropagation{
	PropagationBackground: metav1.DeletePropagationBackground,
	PropagationForeground: metav1.DeletePropagationForeground,
	PropagationOrphan:     metav1.DeletePropagationOrphan,
}

// DeleteInput is the input of deleteResource.
type DeleteInput struct {
	Instance                 string
	Group, Version, Resource string
	Namespace                *string
	Name                     string
	PropagationPolicy        *Propagation
	UID                      *string
	ResourceVersion          *string
	DryRun                   bool
}

// DeletePayload is what became of a deletion.
type DeletePayload struct {
	Payload
	// Deleted reports whether the object no longer exists; otherwise it is marked.
	Deleted bool
}

// Delete deletes one object.
func (s *Service) Delete(ctx context.Context, in DeleteInput) (*DeletePayload, error) {
	site, err := s.Writer.To(ctx, in.Instance)
	if err != nil {
		return nil, err
	}
	if err := site.Permit(ctx, authz.VerbDelete, named(in.Namespace)); err != nil {
		return nil, err
	}
	if err := write.CheckPreconditions(in.ResourceVersion, in.UID); err != nil {
		return nil, err
	}
	k, namespace, err := site.Find(ctx, write.Target{Group: in.Group, Version: in.Version, Resource: in.Resource, Namespace: in.Namespace, Name: in.Name})
	if err != nil {
		return nil, err
	}
	d := write.Deletion{}
	paths := write.Paths{"": "input", "metadata.name": "input.name", "metadata.namespace": "input.namespace"}
	if in.PropagationPolicy != nil {
		policy := propagations[*in.PropagationPolicy]
		d.Propagation = &policy
	}
	if in.UID != nil {
		d.UID = *in.UID
		paths["metadata.resourceVersion"] = "input.uid"
	}
	if in.ResourceVersion != nil {
		d.ResourceVersion = *in.ResourceVersion
		paths["metadata.resourceVersion"] = "input.resourceVersion"
	}
	out, err := site.Delete(ctx, k, namespace, in.Name, d, write.Options{DryRun: in.DryRun, Paths: paths})
	if err != nil {
		return nil, err
	}
	return &DeletePayload{
		Payload: Payload{Resource: shown(in.Instance, k, out), ConsistencyToken: s.Writer.Token(ctx, out)},
		Deleted: out.Version.Deleted,
	}, nil
}

// named is the namespace that an input says. What is permitted is judged by it
// before the instance is asked about the kind; Find sees that the kind agrees.
func named(namespace *string) string {
	if namespace == nil {
		return ""
	}
	return *namespace
}

// shown is what the caller may see of an outcome; nil when there is nothing.
func shown(instance string, k write.Kind, out *write.Outcome) *resource.Resource {
	if out == nil || out.Object == nil {
		return nil
	}
	of := resource.Kind{Group: k.Group, Version: k.Version, Resource: k.Resource}
	return resource.New(instance, of, out.Object, freshness.Freshness{})
}
