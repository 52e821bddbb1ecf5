package instancerolebinding

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

func TestSummary(t *testing.T) {
	const generation = 3
	now := func(condition metav1.Condition) *metav1.Condition {
		condition.ObservedGeneration = generation
		return &condition
	}
	earlier := func(condition metav1.Condition) *metav1.Condition {
		condition.ObservedGeneration = generation - 1
		return &condition
	}
	deleted := metav1.Now()
	bound, inside := v1alpha1.GlobalBound("bound"), v1alpha1.InstanceBound("bound")
	globalGone := v1alpha1.GlobalNotBound(v1alpha1.ReasonRevoked, "gone from the global cluster")
	insideGone := v1alpha1.InstanceNotBound(v1alpha1.ReasonRevoked, "gone from the instance")
	away := v1alpha1.InstanceBoundUnknown(v1alpha1.ReasonUnreachable, "it does not answer")
	for _, c := range []struct {
		reason         string
		global, inside *metav1.Condition
		revoked        bool
		deleted        *metav1.Time
		want, says     string
	}{
		{reason: "both are there", global: now(bound), inside: now(inside), want: "True/Bound"},
		{reason: "it was not checked yet", want: "False/Pending", says: "not been looked at"},
		{reason: "the instance is still to come", global: now(bound), want: "False/Pending"},
		{reason: "what was said of an earlier form does not count", global: now(bound), inside: earlier(inside), want: "False/Pending"},
		{reason: "nor in the global cluster", global: earlier(bound), inside: now(inside), want: "False/Pending"},
		{reason: "the instance does not answer", global: now(bound), inside: now(away), want: "False/Unreachable", says: "it does not answer"},
		{
			reason: "what the global cluster refuses comes first", global: now(v1alpha1.GlobalNotBound(v1alpha1.ReasonNotAllowed, "may not")), inside: now(away),
			want: "False/NotAllowed", says: "may not",
		},
		{reason: "revoked everywhere", revoked: true, global: now(globalGone), inside: now(insideGone), want: "False/Revoked", says: "nothing is left"},
		{reason: "revoked, and the instance does not know yet", revoked: true, global: now(globalGone), inside: earlier(inside), want: "False/Revoking"},
		{
			reason: "revoked, and the instance does not answer", revoked: true, global: now(globalGone),
			inside: now(v1alpha1.InstanceNotBound(v1alpha1.ReasonRevoking, "it does not answer")), want: "False/Revoking", says: "it does not answer",
		},
		{
			reason: "revoked, and the global cluster refuses", revoked: true, global: now(v1alpha1.GlobalNotBound(v1alpha1.ReasonNotAllowed, "may not")), inside: now(insideGone),
			want: "False/Revoking", says: "may not",
		},
		{reason: "a role that was revoked before is not revoked now", revoked: true, global: earlier(globalGone), inside: earlier(insideGone), want: "False/Revoking"},
		{
			reason: "deleted, and the instance does not answer", deleted: &deleted, global: now(v1alpha1.GlobalNotBound(v1alpha1.ReasonDeleting, "gone")), inside: now(away),
			want: "False/Deleting", says: "it does not answer",
		},
		{
			reason: "deleted, and the global cluster refuses", deleted: &deleted, global: now(v1alpha1.GlobalNotBound(v1alpha1.ReasonNotAllowed, "may not")), inside: now(insideGone),
			want: "False/Deleting", says: "may not",
		},
	} {
		binding := &v1alpha1.InstanceRoleBinding{}
		binding.Generation, binding.DeletionTimestamp, binding.Spec.Revoked = generation, c.deleted, c.revoked
		var ours []metav1.Condition
		if c.global != nil {
			ours = append(ours, *c.global)
		}
		if c.inside != nil {
			binding.Status.Conditions = append(binding.Status.Conditions, *c.inside)
		}
		got := summary(binding, ours)
		if word := string(got.Status) + "/" + got.Reason; word != c.want || !strings.Contains(got.Message, c.says) {
			t.Errorf("%s: %s %q, want %s with %q", c.reason, word, got.Message, c.want, c.says)
		}
	}
}
