package instancelifecycle

import (
	"context"

	operatorv1alpha1 "github.com/karmada-io/karmada/operator/pkg/apis/operator/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/instancelifecycle/conversion"
	"github.com/kairship-io/kairship/pkg/controllers/internal/ownership"
	"github.com/kairship-io/kairship/pkg/controllers/internal/status"
)

// scope is the state that the phases of one reconciliation share.
type scope struct {
	instance *v1alpha1.Instance
	owner    ownership.Owner

	// cluster is the host; set by findHost.
	cluster *v1alpha1.Cluster
	// host describes the cluster for the operator; set by findHost.
	host conversion.Host
	// karmada is the stored Karmada, nil while there is none; set by findKarmada and ask.
	karmada *operatorv1alpha1.Karmada
	// concern is a message for people although the Karmada is as it should be.
	concern string

	// after is the status to write.
	after v1alpha1.InstanceStatus
	// gone means that the Instance has been released, so there is no object to write to.
	gone bool
}

func newScope(instance *v1alpha1.Instance) *scope {
	return &scope{instance: instance, owner: ownership.ByInstance(instance), after: own(instance.Status)}
}

// own is the part of the status that this controller writes.
func own(all v1alpha1.InstanceStatus) v1alpha1.InstanceStatus {
	return v1alpha1.InstanceStatus{
		Conditions:          status.Pick(all.Conditions, v1alpha1.ConditionInstalled, v1alpha1.ConditionRemovable),
		KubeconfigSecretRef: all.KubeconfigSecretRef,
	}
}

// installed is the condition Installed as it was before, nil for none.
func (s *scope) installed() *metav1.Condition {
	return meta.FindStatusCondition(s.instance.Status.Conditions, v1alpha1.ConditionInstalled)
}

// tell sets a condition, and keeps the other one.
func (s *scope) tell(condition metav1.Condition) {
	merged := status.Conditions(s.instance.Status.Conditions, s.instance.Generation, condition)
	for _, other := range s.after.Conditions {
		if other.Type != condition.Type {
			merged = append(merged, other)
		}
	}
	s.after.Conditions = merged
}

// close writes the status, once, however the phases ended.
func (s *scope) close(ctx context.Context, r *Reconciler) error {
	if s.gone {
		r.Metrics.count(s.instance.Name, "")
		return nil
	}
	if installed := meta.FindStatusCondition(s.after.Conditions, v1alpha1.ConditionInstalled); installed != nil {
		r.Metrics.count(s.instance.Name, installed.Reason)
	}
	before := own(s.instance.Status)
	s.after.Conditions = status.Pick(s.after.Conditions, v1alpha1.ConditionInstalled, v1alpha1.ConditionRemovable)
	if err := status.Apply(ctx, r.Client, s.instance, Name, &before, &s.after); err != nil {
		return err
	}
	status.Announce(r.Recorder, s.instance, "Manage", before.Conditions, s.after.Conditions)
	return nil
}
