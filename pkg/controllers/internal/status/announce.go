package status

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// silent are the reasons that get no event: a user requested a deletion and its consequences,
// pending and progressing states soon have another reason, and condition Reachable reports what is
// unreachable.
var silent = map[string]bool{
	v1alpha1.ReasonDeleting:    true,
	v1alpha1.ReasonCleaningUp:  true,
	v1alpha1.ReasonUnreachable: true,
	v1alpha1.ReasonPending:     true,
	v1alpha1.ReasonRevoking:    true,

	v1alpha1.ReasonInstalling:      true,
	v1alpha1.ReasonUpdating:        true,
	v1alpha1.ReasonUninstalling:    true,
	v1alpha1.ReasonCleaningUpFirst: true,
	v1alpha1.ReasonRemovable:       true,
}

// Announce emits an event for every condition that changed its status or its reason. The action is
// what the controller was doing, in one word.
func Announce(recorder events.EventRecorder, object runtime.Object, action string, before, after []metav1.Condition) {
	for _, now := range after {
		old := meta.FindStatusCondition(before, now.Type)
		if silent[now.Reason] || old != nil && old.Status == now.Status && old.Reason == now.Reason {
			continue
		}
		kind := corev1.EventTypeWarning
		if now.Status == metav1.ConditionTrue || now.Reason == v1alpha1.ReasonRevoked { // As it was asked for.
			kind = corev1.EventTypeNormal
		}
		recorder.Eventf(object, nil, kind, now.Reason, action, "%s: %s", now.Type, now.Message)
	}
}
