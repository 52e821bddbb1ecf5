package workload

import (
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
)

// TypeName is what the noun's cursors and IDs begin with.
const TypeName = "Workload"

// Any is a workload of any kind: one of the types below.
type Any interface {
	IsNode()
	// Base is what all kinds have.
	Base() *Workload
}

// Connection is a page of workloads.
type Connection = page.Connection[Any]

// Edge is a workload with its place in the list.
type Edge = page.Edge[Any]

// The kinds, as types of their own because the schema has a type for each.
type (
	// Deployment is a Deployment of an instance.
	Deployment struct{ *Workload }
	// StatefulSet is a StatefulSet of an instance.
	StatefulSet struct{ *Workload }
	// DaemonSet is a DaemonSet of an instance.
	DaemonSet struct{ *Workload }
	// Job is a Job of an instance.
	Job struct{ *Workload }
	// CronJob is a CronJob of an instance.
	CronJob struct{ *Workload }
	// CustomWorkload is a custom resource of an instance that has a binding.
	CustomWorkload struct{ *Workload }
)

// Workload is the template of a workload in an instance, whatever its kind.
type Workload struct {
	object.Object
	kind    Kind
	setting *setting
	// observed is what the watches on the instance show; nil for what was read.
	observed *Observed
	// ofAnyKind reports whether it is a template of any kind, whose state is computed from what the index has of it.
	ofAnyKind bool

	// status is computed by the first field that needs it; the others wait for it.
	statusOnce sync.Once
	status     *Status
	statusErr  error
}

// newWorkload makes the workload of an object; nil when the object is none.
func newWorkload(in *setting, o *index.Object) Any {
	w := &Workload{Object: object.New(in.instance, o, in.fresh), setting: in}
	if kind, ok := customKindOf(o); ok {
		w.kind = kind
		c := &CustomWorkload{w}
		in.add(c)
		return c
	}
	switch o.Kind {
	case index.Deployments.Kind:
		w.kind = KindDeployment
		return &Deployment{w}
	case index.StatefulSets.Kind:
		w.kind = KindStatefulSet
		return &StatefulSet{w}
	case index.DaemonSets.Kind:
		w.kind = KindDaemonSet
		return &DaemonSet{w}
	case index.Jobs.Kind:
		w.kind = KindJob
		return &Job{w}
	case index.CronJobs.Kind:
		w.kind = KindCronJob
		return &CronJob{w}
	}
	return nil
}

// IsNode marks it as a Node.
func (*Workload) IsNode() {}

// Base is what all kinds have.
func (w *Workload) Base() *Workload { return w }

// ID is its global ID.
func (w *Workload) ID() string {
	return nodeid.New(TypeName, w.Instance, string(w.kind), w.Namespace(), w.Name())
}

// Kind of the workload, as the API names it.
func (w *Workload) Kind() Kind { return w.kind.Shown() }

// StoredKind is its kind in the projection, which names custom kinds too.
func (w *Workload) StoredKind() Kind { return w.kind }

// errNoTemplate is a mistake of ours: a field needs more than the metadata, and
// Needs did not say so. It is better seen than answered with nothing.
var errNoTemplate = errors.New("only the metadata of the workload was read")

// decoded is the template as the state's computation reads it.
func (w *Workload) decoded() (*Object, error) {
	if w.Indexed.MetadataOnly() {
		return nil, errNoTemplate
	}
	return decodeObject(w.Indexed)
}

// decodeObject reads a template, or an object that was made of one in a member cluster.
func decodeObject(o *index.Object) (*Object, error) {
	if _, known := KindFromGVK(schema.FromAPIVersionAndKind(o.APIVersion, o.Kind)); known {
		return index.Decode[Object](o)
	}
	c, err := index.Decode[customObject](o)
	if err != nil {
		return nil, err
	}
	return c.object, nil
}

// Images of the template's containers.
func (w *Workload) Images() ([]string, error) {
	t, err := w.decoded()
	if err != nil {
		return nil, err
	}
	return t.Images(), nil
}

// Schedule is when it runs, in cron syntax.
func (c *CronJob) Schedule() (string, error) {
	t, err := c.decoded()
	if err != nil {
		return "", err
	}
	return t.Spec.Schedule, nil
}

// CustomKind is the name of its kind and of the group of that, as filters take it.
func (c *CustomWorkload) CustomKind() string { return string(c.kind) }

// Completions is how many pods should complete.
func (j *Job) Completions() (*int, error) {
	t, err := j.decoded()
	if err != nil || t.Spec.Completions == nil {
		return nil, err
	}
	n := int(*t.Spec.Completions)
	return &n, nil
}

// indexType is the kind's type in the index.
func (k Kind) indexType() index.Type {
	gvr := k.GVR()
	return index.Type{Group: gvr.Group, Version: gvr.Version, Resource: gvr.Resource, Kind: k.GVK().Kind}
}

// TypesOf are the types of some kinds, of all where kinds is nil. Custom ones have none.
func TypesOf(kinds []Kind) []index.Type {
	if kinds == nil {
		kinds = Kinds()
	}
	types := make([]index.Type, 0, len(kinds))
	for _, k := range kinds {
		if k != KindCustom {
			types = append(types, k.indexType())
		}
	}
	return types
}

// KindOf returns the kind of a workload that was read; false for anything else.
func KindOf(o *index.Object) (Kind, bool) {
	if kind, ok := customKindOf(o); ok {
		return kind, true
	}
	return KindFromGVK(schema.FromAPIVersionAndKind(o.APIVersion, o.Kind))
}

// customKindOf returns the kind of a custom workload; false for anything else.
func customKindOf(o *index.Object) (Kind, bool) {
	return CustomKind(schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).GroupKind())
}
