package access_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/access"
)

// wholeMeta is metadata as a client and its tools leave it.
func wholeMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
		Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "note": "kept"},
	}
}

// managing are users who manage an instance.
var managing = map[string][]authorizationv1.ResourceRule{
	"owner": append(role("alpha", true), rule("update", "instances/management", "alpha")),
}

func TestWholeInstance(t *testing.T) {
	a := access.New(authz.NewResolver(&fakeRules{more: managing}, nil, standing, nil))
	i := &v1alpha1.Instance{ObjectMeta: wholeMeta("alpha")}
	i.Spec.Mode = v1alpha1.InstanceModeManaged
	for person, sees := range map[string]bool{
		"admin": true, "owner": true, "alice": false, "bob": false, "shop": false, "shopper": false, "namespaces": false, "seen": false, "nobody": false, "mallory": false,
	} {
		got, err := a.WholeInstance(as(t, person), i)
		if err != nil || (got != nil) != sees {
			t.Errorf("%s sees %v, %v", person, got, err)
		}
		if got == nil {
			continue
		}
		want := map[string]any{"name": "alpha", "annotations": map[string]any{"note": "kept"}}
		if diff := cmp.Diff(want, got["metadata"]); diff != "" || got["kind"] != "Instance" || got["apiVersion"] != "kairship.io/v1alpha1" {
			t.Errorf("it is %v (-want +got):\n%s", got, diff)
		}
	}
	if len(i.ManagedFields) == 0 || len(i.Annotations) != 2 {
		t.Error("the object of the cache was changed")
	}
}

func TestWholeCluster(t *testing.T) {
	a := access.New(authz.NewResolver(&fakeRules{more: managing}, nil, standing, nil))
	cluster := func(instance, member, reason string) *v1alpha1.Cluster {
		c := &v1alpha1.Cluster{ObjectMeta: wholeMeta("m1")}
		c.Spec.Type = v1alpha1.ClusterTypePhysical
		if instance != "" {
			c.Spec.InstanceRef = &v1alpha1.InstanceReference{Name: instance}
		}
		if member != "" {
			c.Status.Membership = &v1alpha1.ClusterMembership{Instance: member}
		}
		c.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionJoined, Reason: reason}}
		return c
	}
	for _, tt := range []struct {
		reason  string
		cluster *v1alpha1.Cluster
		sees    string
	}{
		{"a member", cluster("alpha", "alpha", v1alpha1.ReasonJoined), "admin alice both owner"},
		{"one that is to be a member", cluster("beta", "", v1alpha1.ReasonJoining), "admin bob both mixed"},
		{"a free one", cluster("", "", v1alpha1.ReasonFree), "admin"},
		{"one that leaves", cluster("", "alpha", v1alpha1.ReasonLeaving), "admin"},
		{"one that moves", cluster("alpha", "beta", v1alpha1.ReasonLeaving), "admin"},
		{"a member of an instance that Kairship does not know", cluster("alpha", "", v1alpha1.ReasonJoinedElsewhere), "admin"},
	} {
		sees := map[string]bool{}
		for person := range strings.FieldsSeq(tt.sees) {
			sees[person] = true
		}
		for _, person := range []string{"admin", "owner", "alice", "bob", "both", "mixed", "shop", "shopper", "namespaces", "seen", "nobody", "mallory"} {
			got, err := a.WholeCluster(as(t, person), tt.cluster)
			if err != nil || (got != nil) != sees[person] {
				t.Errorf("%s: %s sees %v, %v", tt.reason, person, got, err)
			}
		}
	}
}
