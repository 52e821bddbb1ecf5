package virtualclustersync

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers/internal/ownership"
	"github.com/kairship-io/kairship/pkg/controllers/internal/status"
)

// scope is the state that the phases of one reconciliation share.
type scope struct {
	instance *v1alpha1.Instance
	owner    ownership.Owner

	// foreign says why the control plane is not the Instance's own; nil when it is.
	foreign *metav1.Condition
	// to is how the instance is reached; set by connect.
	to connection.Connection
	// unproven is why the credentials are not used yet; set by connect.
	unproven error
	// cluster is the virtual Cluster as it is stored; set by register.
	cluster *v1alpha1.Cluster
	// indexed is the condition to write; nil keeps the stored one.
	indexed *metav1.Condition
	// again is the time until the next look; zero when a watch will trigger it.
	again time.Duration
	// gone means that the Instance has been released, so there is no object to write to.
	gone bool
}

func newScope(instance *v1alpha1.Instance) *scope {
	return &scope{instance: instance, owner: ownership.ByInstance(instance), foreign: instance.NotItsOwn()}
}

// close writes the condition, once, however the phases ended.
func (s *scope) close(ctx context.Context, r *Reconciler) error {
	if s.gone || s.indexed == nil {
		return nil
	}
	before := v1alpha1.InstanceStatus{Conditions: status.Pick(s.instance.Status.Conditions, v1alpha1.ConditionIndexed)}
	after := v1alpha1.InstanceStatus{Conditions: status.Conditions(before.Conditions, s.instance.Generation, *s.indexed)}
	if err := status.Apply(ctx, r.Client, s.instance, Name, &before, &after); err != nil {
		return err
	}
	status.Announce(r.Recorder, s.instance, "Sync", before.Conditions, after.Conditions)
	return nil
}
