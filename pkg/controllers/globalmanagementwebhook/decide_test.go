package globalmanagementwebhook

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	gm "github.com/kairship-io/kairship/pkg/globalmanagement"
)

var noon = time.UnixMilli(1767268800000)

// binding is one of global management at a sequence.
func binding(sequence int64, change ...func(*gm.Binding)) gm.Binding {
	b := gm.Binding{BindingID: "b-1", Sequence: sequence, Subject: gm.Subject{Kind: gm.User, Name: "alice"}, Role: gm.Editor, Instance: "alpha", Namespaces: []string{"shop", "ops"}}
	for _, f := range change {
		f(&b)
	}
	return b
}

// is gives what is stored of it: the event e-5 with sequence 5, signed at noon.
func is(change ...func(*v1alpha1.InstanceRoleBinding)) *v1alpha1.InstanceRoleBinding {
	spec := specOf(binding(5))
	spec.Source.EventID, spec.Source.DeliveryDigest, spec.Source.IssuedAt = "e-5", digest("5"), microTime(noon)
	stored := &v1alpha1.InstanceRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.BindingName("b-1")}, Spec: *spec}
	for _, f := range change {
		f(stored)
	}
	return stored
}

func digest(digit string) string { return strings.Repeat(digit, 64) }

func revoked(stored *v1alpha1.InstanceRoleBinding)    { stored.Spec.Revoked = true }
func byResync(stored *v1alpha1.InstanceRoleBinding)   { stored.Spec.Source.EventID = resyncEvent }
func byAPerson(stored *v1alpha1.InstanceRoleBinding)  { stored.Spec.Source = nil }
func ofAnother(stored *v1alpha1.InstanceRoleBinding)  { stored.Spec.Source.BindingID = "b-2" }
func neverDated(stored *v1alpha1.InstanceRoleBinding) { stored.Spec.Source.IssuedAt = nil }
func deleting(stored *v1alpha1.InstanceRoleBinding) {
	now := metav1.Now()
	stored.DeletionTimestamp = &now
}

func viewer(b *gm.Binding)     { b.Role = gm.Viewer }
func bob(b *gm.Binding)        { b.Subject.Name = "bob" }
func group(b *gm.Binding)      { b.Subject.Kind = gm.Group }
func beta(b *gm.Binding)       { b.Instance = "beta" }
func everywhere(b *gm.Binding) { b.Namespaces = nil }
func reordered(b *gm.Binding)  { b.Namespaces = []string{"ops", "shop"} }

// want is what a decision should be, in words.
type want struct {
	result gm.Result
	code   gm.Code
	// spec is what is written; nil when nothing is.
	spec *v1alpha1.InstanceRoleBindingSpec
}

func written(b gm.Binding, event, digest string, at time.Time, revoked bool) *v1alpha1.InstanceRoleBindingSpec {
	return &v1alpha1.InstanceRoleBindingSpec{
		InstanceRef: v1alpha1.InstanceReference{Name: b.Instance}, Subject: v1alpha1.BindingSubject{Kind: v1alpha1.SubjectKind(b.Subject.Kind), Name: b.Subject.Name},
		Role: v1alpha1.Role(b.Role), Namespaces: b.Namespaces, Revoked: revoked,
		Source: &v1alpha1.BindingSource{BindingID: b.BindingID, Sequence: b.Sequence, EventID: event, DeliveryDigest: digest, IssuedAt: microTime(at)},
	}
}

func compare(t *testing.T, want want, got decision, refused *refusal) {
	t.Helper()
	var code gm.Code
	if refused != nil {
		code = refused.Code
	}
	if code != want.code || got.result != want.result {
		t.Fatalf("got %q and refusal %q, want %q and %q", got.result, code, want.result, want.code)
	}
	if diff := cmp.Diff(want.spec, got.write); diff != "" {
		t.Errorf("what is written (-want +got):\n%s", diff)
	}
}

func TestDecideEvent(t *testing.T) {
	const bound, unbound = gm.Bound, gm.Unbound
	later := noon.Add(time.Minute)
	six := digest("6")
	for _, c := range []struct {
		reason  string
		stored  *v1alpha1.InstanceRoleBinding
		binding gm.Binding
		kind    gm.EventType
		event   string
		digest  string
		want    want
	}{
		{"the first event makes the binding", nil, binding(1), bound, "e-1", six, want{gm.Stored, "", written(binding(1), "e-1", six, later, false)}},
		{"a change may come before its beginning", nil, binding(3, viewer), gm.Changed, "e-3", six, want{gm.Stored, "", written(binding(3, viewer), "e-3", six, later, false)}},
		{"an end may come first too, and is kept, so that the beginning is late", nil, binding(2), unbound, "e-2", six, want{gm.Stored, "", written(binding(2), "e-2", six, later, true)}},
		{"a later event wins", is(), binding(6, viewer, everywhere), gm.Changed, "e-6", six, want{gm.Stored, "", written(binding(6, viewer, everywhere), "e-6", six, later, false)}},
		{"sequences may have gaps", is(), binding(60), bound, "e-60", six, want{gm.Stored, "", written(binding(60), "e-60", six, later, false)}},
		{"a later end takes the role away", is(), binding(6), unbound, "e-6", six, want{gm.Stored, "", written(binding(6), "e-6", six, later, true)}},
		{"what has ended may begin again", is(revoked), binding(6), bound, "e-6", six, want{gm.Stored, "", written(binding(6), "e-6", six, later, false)}},
		{"an earlier event is late", is(), binding(4, viewer), gm.Changed, "e-4", six, want{result: gm.Superseded}},
		{"an earlier event does not undo an end", is(revoked), binding(4), bound, "e-4", six, want{result: gm.Superseded}},
		{"the same event again, newly signed", is(), binding(5), bound, "e-5", six, want{result: gm.Duplicate}},
		{"the same event again, after a resync took the role away", is(revoked), binding(5), bound, "e-5", six, want{result: gm.Duplicate}},
		{"the same signed request again, at another replica", is(), binding(5), bound, "e-5", digest("5"), want{code: gm.Replay}},
		{"another event with that sequence: one of them is wrong", is(), binding(5, viewer), gm.Changed, "e-5b", six, want{code: gm.SequenceConflict}},
		{"another event with that sequence and the same to say: still wrong", is(), binding(5), bound, "e-5b", six, want{code: gm.SequenceConflict}},
		{"an event that a resync was faster than", is(byResync), binding(5, reordered), bound, "e-5", six, want{result: gm.Duplicate}},
		{"an event that contradicts a resync", is(byResync), binding(5, viewer), bound, "e-5", six, want{code: gm.SequenceConflict}},
		{"a binding cannot get another user", is(), binding(6, bob), gm.Changed, "e-6", six, want{code: gm.BindingConflict}},
		{"nor become a group's", is(), binding(6, group), gm.Changed, "e-6", six, want{code: gm.BindingConflict}},
		{"nor move", is(), binding(6, beta), gm.Changed, "e-6", six, want{code: gm.BindingConflict}},
		{"an end of another binding", is(), binding(6, bob), unbound, "e-6", six, want{code: gm.BindingConflict}},
		{"an object that a person made in its place", is(byAPerson), binding(6), bound, "e-6", six, want{code: gm.BindingConflict}},
		{"an object that was made for another binding", is(ofAnother), binding(6), bound, "e-6", six, want{code: gm.BindingConflict}},
		{"one that is being deleted is waited for", is(deleting), binding(6), bound, "e-6", six, want{code: gm.Unavailable}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			event := gm.Event{EventID: c.event, Type: c.kind, Binding: c.binding}
			got, refused := decideEvent(c.stored, event, gm.Delivery{IssuedAt: later, Digest: c.digest})
			compare(t, c.want, got, refused)
		})
	}
}

func TestDecideResync(t *testing.T) {
	before, after := noon.Add(-time.Minute), noon.Add(time.Minute)
	nine := digest("9")
	for _, c := range []struct {
		reason  string
		stored  *v1alpha1.InstanceRoleBinding
		binding gm.Binding
		asOf    time.Time
		want    want
	}{
		{"what is missing is made", nil, binding(5), after, want{gm.Stored, "", written(binding(5), resyncEvent, nine, after, false)}},
		{"what is the same stays", is(), binding(5), after, want{result: gm.Unchanged}},
		{"the order of namespaces says nothing", is(), binding(5, reordered), after, want{result: gm.Unchanged}},
		{"what is newer there is stored, also when an event before is late", is(), binding(7, viewer), before, want{gm.Stored, "", written(binding(7, viewer), resyncEvent, nine, before, false)}},
		{"the sequence follows though nothing else differs", is(), binding(7), after, want{gm.Stored, "", written(binding(7), resyncEvent, nine, after, false)}},
		{"a sequence never goes back", is(), binding(4, viewer), after, want{result: gm.Superseded}},
		{"what a resync took away wrongly comes back, and its event stays known", is(revoked), binding(5), after, want{gm.Stored, "", written(binding(5), "e-5", nine, after, false)}},
		{"what differs at the same sequence is as they say", is(), binding(5, viewer), after, want{gm.Stored, "", written(binding(5, viewer), "e-5", nine, after, false)}},
		{"but not by a resync from before", is(revoked), binding(5), before, want{result: gm.Superseded}},
		{"one without a date is older than any resync", is(revoked, neverDated), binding(5), before, want{gm.Stored, "", written(binding(5), "e-5", nine, before, false)}},
		{"a binding cannot get another user", is(), binding(5, bob), after, want{code: gm.BindingConflict}},
		{"one that is being deleted fails for now", is(deleting), binding(7), after, want{code: gm.Unavailable}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			got, refused := decideResync(c.stored, c.binding, c.asOf, gm.Delivery{IssuedAt: after.Add(time.Minute), Digest: nine})
			compare(t, c.want, got, refused)
		})
	}
}

func TestDecideAbsent(t *testing.T) {
	before, after := noon.Add(-time.Minute), noon.Add(time.Minute)
	nine := digest("9")
	end := written(binding(5), "e-5", nine, after, true)
	for _, c := range []struct {
		reason string
		stored *v1alpha1.InstanceRoleBinding
		asOf   time.Time
		want   want
	}{
		{"what they do not have loses its role, and keeps sequence and event", is(), after, want{gm.Revoked, "", end}},
		{"what they made since they looked stays", is(), before, want{result: gm.Kept}},
		{"what is over is over", is(revoked), after, want{result: gm.Unchanged}},
		{"what is being deleted loses its role anyway", is(deleting), after, want{result: gm.Unchanged}},
		{"what was deleted meanwhile", nil, after, want{result: gm.Unchanged}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			compare(t, c.want, decideAbsent(c.stored, c.asOf, gm.Delivery{IssuedAt: after, Digest: nine}), nil)
		})
	}
}

// TestWordsAreTheAPIs keeps the words of the protocol and of the custom resource
// the same: they are copied from one to the other.
func TestWordsAreTheAPIs(t *testing.T) {
	var roles []v1alpha1.Role
	for _, role := range []gm.Role{gm.Viewer, gm.Editor, gm.Admin} {
		roles = append(roles, v1alpha1.Role(role))
	}
	if diff := cmp.Diff(v1alpha1.Roles(), roles); diff != "" {
		t.Errorf("roles (-API +protocol):\n%s", diff)
	}
	if string(gm.User) != string(v1alpha1.SubjectUser) || string(gm.Group) != string(v1alpha1.SubjectGroup) {
		t.Error("the kinds of subjects differ")
	}
}
