package workload

import (
	"context"

	configv1alpha1 "github.com/karmada-io/karmada/pkg/apis/config/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/drift"
	"github.com/kairship-io/kairship/pkg/fleet/whatif/interpreter"
	"github.com/kairship-io/kairship/pkg/index"
)

// Drift is where the object of a placement differs from what Karmada sent.
type Drift struct {
	*drift.Drift
	// In is the object in the member cluster.
	In *drift.Object
}

// Fields are the first fields that differ, by path.
func (d *Drift) Fields() []DriftField {
	fields := make([]DriftField, len(d.Drift.Fields))
	for i := range fields {
		fields[i] = DriftField{&d.Drift.Fields[i], d.In}
	}
	return fields
}

// DriftField is a field of an object in a member cluster that differs.
type DriftField struct {
	*drift.Field
	// In is the object.
	In *drift.Object
}

// Drift compares the object of a placement with what Karmada sent; nil where the index has not both.
//
// The Work is read regardless of the user's visibility: it carries what is between the template and the object,
// and the user sees both.
func (s *Service) Drift(ctx context.Context, p *Placement) (*Drift, error) {
	w := p.workload
	m, err := s.Object(ctx, p, index.Whole)
	if err != nil || m == nil {
		return nil, err
	}
	o, err := index.Find(ctx, s.evidence, workKey(w.Indexed, p.Cluster), index.Whole)
	if err != nil || o == nil {
		return nil, apierror.In(err, w.Instance)
	}
	work, err := index.Decode[workv1alpha1.Work](o)
	if err != nil {
		return nil, err
	}
	raw, err := m.Indexed.Text()
	if err != nil {
		return nil, err
	}
	customization, err := s.customizes(ctx, w, configv1alpha1.InterpreterOperationRetain)
	if err != nil {
		return nil, apierror.In(err, w.Instance)
	}
	found, err := driftIn(&p.PlacementStatus, w.gvk(), work, raw, customization)
	if err != nil || found == nil {
		return nil, err
	}
	gvr := memberObjectKey(w.Indexed, p.Cluster).Type
	return &Drift{found, &drift.Object{
		Instance: w.Instance, Member: p.Cluster, Group: gvr.Group, Version: gvr.Version, Resource: gvr.Resource, Namespace: w.Namespace(), Name: w.Name(), UID: m.UID(),
	}}, nil
}

// driftIn compares the object of a placement, as JSON, with the manifest in its Work. customization is the name of a
// ResourceInterpreterCustomization that retains fields of the kind; empty for none.
func driftIn(p *PlacementStatus, gvk schema.GroupVersionKind, work *workv1alpha1.Work, object []byte, customization string) (*drift.Drift, error) {
	u, err := unstructuredOf(object)
	if err != nil {
		return nil, err
	}
	u.SetGroupVersionKind(gvk)
	o := &drift.Observed{Work: work, Object: u, Leaving: !p.Scheduled, Interpreter: customization}
	if p.Stale {
		o.Unreachable = p.Message
	}
	return drift.Of(o)
}

// gvk is the kind of the objects.
func (w *Workload) gvk() schema.GroupVersionKind {
	if w.kind.Custom() {
		return schema.FromAPIVersionAndKind(w.Indexed.APIVersion, w.Indexed.Kind)
	}
	return w.kind.GVK()
}

// Drifted reports whether the object of a placement differs from what Karmada sent, and is not what Karmada leaves to
// the cluster: for some placement, Service.Drift has a Drift that is Drifted. The Works and the objects are those of the
// clusters, the objects as JSON too; customizations are those of the instance.
func (s *Status) Drifted(f *Facts, works map[string]*workv1alpha1.Work, objects map[string][]byte, customizations []*configv1alpha1.ResourceInterpreterCustomization) (bool, error) {
	gvk := f.Kind.GVK()
	retaining := interpreter.Customizes(customizations, gvk, configv1alpha1.InterpreterOperationRetain)
	for i := range s.Placements {
		p := &s.Placements[i]
		o, work, text := f.Objects[p.Cluster], works[p.Cluster], objects[p.Cluster]
		if o == nil || work == nil || text == nil || !o.BelongsTo(s.BindingID) {
			continue // Its placement has no drift.
		}
		d, err := driftIn(p, gvk, work, text, retaining)
		if err != nil {
			return false, err
		}
		if d != nil && d.Drifted {
			return true, nil
		}
	}
	return false, nil
}

func unstructuredOf(raw []byte) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	return u, utiljson.Unmarshal(raw, &u.Object)
}

// customizationsOf reads the customizations of an instance's resource interpreter.
var customizationsOf = ofNamespace(index.ResourceInterpreterCustomizations)

// interpretersOf is where the customizations are that hold for a workload.
func interpretersOf(row *index.Object) index.Part { return index.Part{Cluster: row.Cluster} }

// customizes returns the name of the customization that decides about an operation on a workload; empty for none.
// Its name is shown regardless of the user's visibility, because what Karmada does depends on it.
func (s *Service) customizes(ctx context.Context, w *Workload, operation configv1alpha1.InterpreterOperation) (string, error) {
	objects, err := allOf(ctx, s.evidence, interpretersOf(w.Indexed), customizationsOf)
	if err != nil {
		return "", err
	}
	all := make([]*configv1alpha1.ResourceInterpreterCustomization, len(objects))
	for i, o := range objects {
		if all[i], err = index.Decode[configv1alpha1.ResourceInterpreterCustomization](o); err != nil {
			return "", err
		}
	}
	return interpreter.Customizes(all, w.gvk(), operation), nil
}
