package object

import (
	"encoding/json"
	"time"

	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/index"
)

// Name names an object of a kind in an instance.
type Name struct {
	Instance string
	// Namespace is empty for objects without one.
	Namespace, Name string
}

// Object is an object that was read from the index.
type Object struct {
	// Instance that it belongs to.
	Instance string
	// Indexed is the object as the index gave it.
	Indexed *index.Object
	// Fresh is how old it may be.
	Fresh freshness.Freshness
}

// New makes an Object. One that its cluster itself has just shown is as fresh as that.
func New(instance string, o *index.Object, fresh freshness.Freshness) Object {
	if at, live := o.Live(); live {
		fresh = freshness.LiveAt(at)
	}
	return Object{Instance: instance, Indexed: o, Fresh: fresh}
}

// InstanceName is the name of the instance that it belongs to.
func (o *Object) InstanceName() string { return o.Instance }

// APIVersion is the group and version.
func (o *Object) APIVersion() string { return o.Indexed.APIVersion }

// ObjectKind is Kubernetes' name of its kind.
func (o *Object) ObjectKind() string { return o.Indexed.Kind }

// Name of the object.
func (o *Object) Name() string { return o.Indexed.Meta.Name }

// Namespace of the object; empty when it has none.
func (o *Object) Namespace() string { return o.Indexed.Meta.Namespace }

// UID of the object.
func (o *Object) UID() string { return string(o.Indexed.Meta.UID) }

// Labels of the object, by key.
func (o *Object) Labels() []Pair { return Pairs(o.Indexed.Meta.Labels) }

// Annotations of the object, by key.
func (o *Object) Annotations() []Pair { return Pairs(o.Indexed.Meta.Annotations) }

// CreatedAt is when it was created.
func (o *Object) CreatedAt() time.Time { return o.Indexed.Meta.CreationTimestamp.UTC() }

// ResourceVersion for optimistic concurrency.
func (o *Object) ResourceVersion() string { return o.Indexed.Meta.ResourceVersion }

// Deleting reports whether it is being deleted.
func (o *Object) Deleting() bool { return o.Indexed.Meta.DeletionTimestamp != nil }

// Freshness returns how old it may be.
func (o *Object) Freshness() freshness.Freshness { return o.Fresh }

// Manifest is the whole object as JSON.
func (o *Object) Manifest() (json.RawMessage, error) { return o.Indexed.Text() }

// Yaml is the whole object as YAML.
func (o *Object) Yaml() (string, error) {
	m, err := o.Indexed.Manifest()
	if err != nil {
		return "", err
	}
	return marshalYAML(m)
}
