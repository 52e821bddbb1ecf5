// Package activity adds what controllers change to the activity, beside what users do. A controller records a change after
// the write that made it, and only one that changed something, so that a restart repeats none.
package activity

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/projection"
)

// Change is a change that a controller made to an object.
type Change struct {
	// Instance and InstanceUID are those of the instance that it is about.
	Instance, InstanceUID string
	Verb                  projection.ActivityVerb
	Group, Kind           string
	Namespace, Name       string
}

// Recorder records a change of one controller. It neither waits nor fails. A nil one records nothing.
type Recorder func(Change)

// Record records a change.
func (r Recorder) Record(c Change) {
	if r != nil {
		r(c)
	}
}

// InInstance is a change of an object in an instance.
func InInstance(instance *v1alpha1.Instance, verb projection.ActivityVerb, group, kind string, object metav1.Object) Change {
	return Change{
		Instance: instance.Name, InstanceUID: string(instance.UID), Verb: verb, Group: group, Kind: kind,
		Namespace: object.GetNamespace(), Name: object.GetName(),
	}
}

// Role is a change of the rules of a role on an instance. Its kind is shown to those who manage access alone.
func Role(instance, uid string, verb projection.ActivityVerb, binding string) Change {
	return Change{
		Instance: instance, InstanceUID: uid, Verb: verb, Group: v1alpha1.GroupName, Kind: projection.KindRoleBinding, Name: binding,
	}
}
