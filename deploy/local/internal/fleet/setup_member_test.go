package fleet

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kairship-io/kairship/deploy/local/internal/topology"
)

// TestMemberReaders looks at who reads in a member: the admins of its instance, and
// neither its editors nor its viewers, whom the instance does not let through.
func TestMemberReaders(t *testing.T) {
	for _, c := range topology.WithRole(topology.Member) {
		bindings := memberReaders(c)
		if len(bindings) != 1 {
			t.Fatalf("%s has %d bindings, want the admin's alone", c.Name, len(bindings))
		}
		role, _, _ := unstructured.NestedString(bindings[0].Object, "roleRef", "name")
		subjects, _, _ := unstructured.NestedSlice(bindings[0].Object, "subjects")
		if role != "view" || len(subjects) != 1 || subjects[0].(map[string]any)["name"] != "admin" {
			t.Errorf("%s: the role %q is given to %v", c.Name, role, subjects)
		}
	}
}
