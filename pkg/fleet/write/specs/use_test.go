package specs

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// The error names some of many, and counts all that it knows of.
func TestInUse(t *testing.T) {
	policy := &unstructured.Unstructured{Object: map[string]any{"kind": "PropagationPolicy"}}
	policy.SetNamespace("shop")
	policy.SetName("web")
	policy.SetResourceVersion("7")
	for _, tt := range []struct {
		reason string
		users  int
		more   bool
		want   string
	}{
		{"one", 1, false, "is in use by 1: Deployment shop/a0. Set allowInUse"},
		{"as many as are named", mostUsers, false, fmt.Sprintf("is in use by %d: Deployment shop/a0, ", mostUsers)},
		{"more than are named", mostUsers + 5, false, fmt.Sprintf("a%d, and others. Set", mostUsers-1)},
		{"more than were counted", mostUsers, true, "is in use by at least 20: "},
		{"none among those that were looked at", 0, true, "is in use by at least 0: and others."},
	} {
		use := &Use{More: tt.more}
		for i := range tt.users {
			use.Add(User{"apps/v1", "Deployment", "shop", fmt.Sprint("a", i)})
		}
		e, ok := errors.AsType[*apierror.Error](inUse(policy, use))
		if !ok || e.Code != apierror.CodeConflict || e.Argument != "input.allowInUse" || e.CurrentVersion != "7" {
			t.Errorf("%s: got %#v", tt.reason, e)
		} else if !strings.Contains(e.Message, tt.want) || strings.Contains(e.Message, fmt.Sprint("a", mostUsers)) {
			t.Errorf("%s: got %q, want %q in it", tt.reason, e.Message, tt.want)
		}
		if use.Count != tt.users || len(use.Users) > mostUsers {
			t.Errorf("%s: %d counted and %d named", tt.reason, use.Count, len(use.Users))
		}
	}
}
