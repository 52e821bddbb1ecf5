package globalmanagementwebhook

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	gm "github.com/kairship-io/kairship/pkg/globalmanagement"
)

// resyncEvent is the event ID of a binding that came by a resync and not by an event.
const resyncEvent = "resync"

// decision is what has to happen to a binding.
type decision struct {
	result gm.Result
	// write is what the binding has to become; nil when it stays as it is.
	write *v1alpha1.InstanceRoleBindingSpec
}

// grants reports whether the write gives a role, which needs an instance.
func (v decision) grants() bool { return v.write != nil && !v.write.Revoked }

// decideEvent compares an event with what is stored; stored is nil when nothing
// is.
func decideEvent(stored *v1alpha1.InstanceRoleBinding, event gm.Event, delivery gm.Delivery) (decision, *refusal) {
	write := specOf(event.Binding)
	write.Revoked = event.Type == gm.Unbound
	write.Source.EventID = event.EventID
	write.Source.DeliveryDigest = delivery.Digest
	write.Source.IssuedAt = microTime(delivery.IssuedAt)
	if stored == nil {
		return decision{gm.Stored, write}, nil
	}
	if refused := sameBinding(stored, event.Binding); refused != nil {
		return decision{}, refused
	}
	source := stored.Spec.Source
	switch order := cmp.Compare(event.Sequence, source.Sequence); {
	case source.DeliveryDigest == delivery.Digest:
		// Another replica received it, or this one before it was restarted.
		return decision{}, replayed()
	case order > 0:
		return decision{gm.Stored, write}, nil
	case order < 0:
		return decision{result: gm.Superseded}, nil
	case source.EventID == event.EventID, source.EventID == resyncEvent && sameContent(&stored.Spec, write):
		return decision{result: gm.Duplicate}, nil
	default:
		return decision{}, refuse(gm.SequenceConflict, "sequence", "%d is that of event %q already: every event of a binding has a sequence of its own", event.Sequence, source.EventID)
	}
}

// decideResync compares a binding of a resync with what is stored. Of the same
// sequence, the later resync is right: the one before may have been wrong.
func decideResync(stored *v1alpha1.InstanceRoleBinding, binding gm.Binding, asOf time.Time, delivery gm.Delivery) (decision, *refusal) {
	write := specOf(binding)
	write.Source.EventID = resyncEvent
	write.Source.DeliveryDigest = delivery.Digest
	write.Source.IssuedAt = microTime(asOf)
	if stored == nil {
		return decision{gm.Stored, write}, nil
	}
	if refused := sameBinding(stored, binding); refused != nil {
		return decision{}, refused
	}
	source := stored.Spec.Source
	switch {
	case binding.Sequence > source.Sequence:
		return decision{gm.Stored, write}, nil
	case binding.Sequence < source.Sequence:
		return decision{result: gm.Superseded}, nil
	case sameContent(&stored.Spec, write):
		return decision{result: gm.Unchanged}, nil
	case issuedAt(stored).After(asOf):
		return decision{result: gm.Superseded}, nil
	default:
		// The event stays known, so that it is a duplicate when it comes again.
		write.Source.EventID = source.EventID
		return decision{gm.Stored, write}, nil
	}
}

// decideAbsent says what happens to a stored binding that a resync does not have.
func decideAbsent(stored *v1alpha1.InstanceRoleBinding, asOf time.Time, delivery gm.Delivery) decision {
	switch {
	case stored == nil, stored.Spec.Revoked, !stored.DeletionTimestamp.IsZero():
		return decision{result: gm.Unchanged}
	case issuedAt(stored).After(asOf):
		return decision{result: gm.Kept}
	}
	write := stored.Spec.DeepCopy()
	write.Revoked = true
	write.Source.DeliveryDigest = delivery.Digest
	write.Source.IssuedAt = microTime(asOf)
	return decision{gm.Revoked, write}
}

// sameBinding refuses events of another binding than the one that is stored.
func sameBinding(stored *v1alpha1.InstanceRoleBinding, reported gm.Binding) *refusal {
	switch is := stored.Spec; {
	case is.Source == nil || is.Source.BindingID != reported.BindingID:
		return refuse(gm.BindingConflict, "bindingID", "the InstanceRoleBinding %s was not made for this binding; delete it to go on", stored.Name)
	case is.Subject.Kind != v1alpha1.SubjectKind(reported.Subject.Kind) || is.Subject.Name != reported.Subject.Name:
		return refuse(gm.BindingConflict, "subject", "the binding is that of %s %q: another subject needs another binding", is.Subject.Kind, is.Subject.Name)
	case is.InstanceRef.Name != reported.Instance:
		return refuse(gm.BindingConflict, "instance", "the binding is on instance %s: another instance needs another binding", is.InstanceRef.Name)
	case !stored.DeletionTimestamp.IsZero():
		// Once it is removed, it can be made anew.
		return unavailable(fmt.Errorf("the InstanceRoleBinding %s is being deleted", stored.Name))
	}
	return nil
}

// sameContent reports whether two specs of one binding give the same.
func sameContent(a, b *v1alpha1.InstanceRoleBindingSpec) bool {
	return a.Role == b.Role && a.Revoked == b.Revoked && slices.Equal(slices.Sorted(slices.Values(a.Namespaces)), slices.Sorted(slices.Values(b.Namespaces)))
}

func specOf(b gm.Binding) *v1alpha1.InstanceRoleBindingSpec {
	return &v1alpha1.InstanceRoleBindingSpec{
		InstanceRef: v1alpha1.InstanceReference{Name: b.Instance},
		Subject:     v1alpha1.BindingSubject{Kind: v1alpha1.SubjectKind(b.Subject.Kind), Name: b.Subject.Name},
		Role:        v1alpha1.Role(b.Role),
		Namespaces:  b.Namespaces,
		Source:      &v1alpha1.BindingSource{BindingID: b.BindingID, Sequence: b.Sequence},
	}
}

func issuedAt(stored *v1alpha1.InstanceRoleBinding) time.Time {
	if stored.Spec.Source == nil || stored.Spec.Source.IssuedAt == nil {
		return time.Time{}
	}
	return stored.Spec.Source.IssuedAt.Time
}

func microTime(at time.Time) *metav1.MicroTime {
	stamp := metav1.NewMicroTime(at.UTC())
	return &stamp
}
