package members

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

func TestPolicyOfAJoin(t *testing.T) {
	block, force := v1alpha1.RemovalBlock, v1alpha1.RemovalForce
	for _, c := range []struct {
		reason      string
		now         v1alpha1.RemovalPolicy
		join, force bool
		want        *v1alpha1.RemovalPolicy
	}{
		{"what protects already is not written", block, true, false, nil},
		{"a join takes back what let it go before", force, true, false, &block},
		{"a person's own choice stays when it leaves", force, false, false, nil},
		{"a cluster that is forced", block, false, true, &force},
		{"one that is forced again", force, false, true, nil},
	} {
		cluster := &v1alpha1.Cluster{Spec: v1alpha1.ClusterSpec{Join: &v1alpha1.ClusterJoin{RemovalPolicy: c.now}}}
		if diff := cmp.Diff(c.want, policy(cluster, c.join, c.force)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
	if got := policy(&v1alpha1.Cluster{}, true, false); got != nil {
		t.Errorf("nothing is said, which protects: %q", *got)
	}
}

func TestOwnerLabelsCannotBeChanged(t *testing.T) {
	now := map[string]string{v1alpha1.ManagedByLabel: "kairship", v1alpha1.OwnerUIDLabel: "uid", "tier": "gold"}
	given := map[string]string{"tier": "silver", v1alpha1.OwnerUIDLabel: "other", v1alpha1.ClusterLabel: "x"}
	before := maps.Clone(given)
	want := map[string]string{"tier": "silver", v1alpha1.ManagedByLabel: "kairship", v1alpha1.OwnerUIDLabel: "uid"}
	if diff := cmp.Diff(want, marked(given, now)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, given); diff != "" {
		t.Errorf("what the caller gave was changed:\n%s", diff)
	}
}
