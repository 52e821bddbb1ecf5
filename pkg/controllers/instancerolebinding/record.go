package instancerolebinding

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/activity"
	"github.com/kairship-io/kairship/pkg/projection"
)

// wrote notes a change of one of the rules. Different ones are an update of the role.
func (s *scope) wrote(verb projection.ActivityVerb) {
	if s.changed != "" && s.changed != verb {
		verb = projection.ActivityUpdate
	}
	s.changed = verb
}

// record records the change of the rules, if there was one.
func (r *Reconciler) record(ctx context.Context, s *scope) {
	if s.changed == "" || r.Activity == nil {
		return
	}
	name := s.binding.Spec.InstanceRef.Name
	instance := &v1alpha1.Instance{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: name}, instance); err != nil {
		instance.UID = "" // There is none, or none any more: those who read all instances see it.
	}
	r.Activity.Record(activity.Role(name, string(instance.UID), s.changed, s.binding.Name))
}
