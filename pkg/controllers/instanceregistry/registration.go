package instanceregistry

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz/roles"
)

// specOf is how an Instance is registered.
func specOf(instance *v1alpha1.Instance) v1alpha1.InstanceRegistrationSpec {
	return v1alpha1.InstanceRegistrationSpec{
		Alias:    instance.DisplayName(),
		Endpoint: instance.Status.APIEndpoint,
		Roles:    roles.Bindable(instance.Name),
	}
}

// statusOf is how the Instance is, in as much as a binding depends on it. It is
// taken over word for word, its times included, so that both say the same.
func statusOf(instance *v1alpha1.Instance) v1alpha1.InstanceRegistrationStatus {
	state := instance.Status.State
	if state == "" {
		state = v1alpha1.InstanceStateUnknown // It was not checked yet.
	}
	if !instance.DeletionTimestamp.IsZero() {
		state = v1alpha1.InstanceStateTerminating
	}
	found := v1alpha1.InstanceRegistrationStatus{State: state, ObservedGeneration: instance.Generation}
	if ready := meta.FindStatusCondition(instance.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		found.Conditions = []metav1.Condition{*ready}
	}
	return found
}
