package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
)

func TestListed(t *testing.T) {
	template := func(image string) map[string]any {
		return map[string]any{"spec": map[string]any{
			"initContainers": []any{map[string]any{"image": "init:1"}}, "containers": []any{map[string]any{"image": image}},
		}}
	}
	cause := "a better one"
	got := listed([]MemberRevisions{
		{Cluster: "m1", Revisions: []Revision{{Number: 9, Template: template("web:1")}, {Number: 10, Template: template("web:2"), ChangeCause: &cause}}},
		{Cluster: "m2", Revisions: []Revision{{Number: 1, Template: template("eu/web:2")}}, Overrides: []policyv1alpha1.Overriders{{}}},
		{Cluster: "m3"},
	})
	want := []*ListedRevision{
		{ClusterName: "m1", Number: 10, ChangeCause: &cause, Images: []string{"web:2", "init:1"}, Current: true},
		{ClusterName: "m1", Number: 9, Images: []string{"web:1", "init:1"}},
		{ClusterName: "m2", Number: 1, Images: []string{"eu/web:2", "init:1"}, Current: true, Overridden: true},
	}
	if diff := cmp.Diff(want, got.Nodes); diff != "" || got.Message != nil {
		t.Errorf("%v (-want +got):\n%s", got.Message, diff)
	}
}

// A kind without revisions is not read at all.
func TestUnlisted(t *testing.T) {
	got, err := (&Service{}).ListRevisions(t.Context(), "alpha", KindJob, "shop", "once")
	if err != nil || got.Nodes != nil || got.Message == nil {
		t.Errorf("%+v, %v", got, err)
	}
}
