package webhook

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// TestPeople sees that the fleet's people have their roles from the platform, and
// that no one has written access rules for them by hand.
func TestPeople(t *testing.T) {
	s := begin(t)
	got := map[string][]string{}
	for _, b := range s.all(t.Context()) {
		if !strings.HasPrefix(b.Spec.Source.BindingID, "local-fleet/") {
			continue
		}
		if !meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionReady) {
			t.Errorf("%s has not taken effect: %+v", b.Spec.Source.BindingID, b.Status.Conditions)
		}
		got[b.Spec.Subject.Name] = append(got[b.Spec.Subject.Name], string(b.Spec.Role)+" on "+b.Spec.InstanceRef.Name)
	}
	slices.Sort(got["admin"])
	want := map[string][]string{"admin": {"admin on alpha", "admin on beta"}, "alice": {"editor on alpha"}, "bob": {"viewer on beta"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("roles (-want +got):\n%s", diff)
	}
	for _, cluster := range []string{"global", "alpha", "beta"} {
		list := &rbacv1.ClusterRoleBindingList{}
		if err := s.fleet.Client(t, cluster).List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			for _, subject := range list.Items[i].Subjects {
				if person := subject.Name; (person == "alice" || person == "bob" || person == "mallory") && !strings.HasPrefix(list.Items[i].Name, "kairship:binding:gm-") {
					t.Errorf("%s: ClusterRoleBinding %s is about %s", cluster, list.Items[i].Name, person)
				}
			}
		}
	}
}
