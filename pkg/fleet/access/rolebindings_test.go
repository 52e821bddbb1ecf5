package access_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/access"
)

// Those who manage access see all bindings of an instance, others their own on instances that they see.
func TestWatchedRoleBindings(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	binding := func(name, instance string, kind v1alpha1.SubjectKind, subject string) *v1alpha1.InstanceRoleBinding {
		return &v1alpha1.InstanceRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.InstanceRoleBindingSpec{
			InstanceRef: v1alpha1.InstanceReference{Name: instance}, Subject: v1alpha1.BindingSubject{Kind: kind, Name: subject}, Role: v1alpha1.RoleViewer,
		}}
	}
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		binding("a-alice", "alpha", v1alpha1.SubjectUser, "alice"), binding("b-group", "alpha", v1alpha1.SubjectGroup, "shoppers"),
		binding("c-alice", "beta", v1alpha1.SubjectUser, "alice"), binding("d-bob", "beta", v1alpha1.SubjectUser, "bob"),
		binding("e-as-group", "alpha", v1alpha1.SubjectGroup, "alice"), binding("f-as-user", "alpha", v1alpha1.SubjectUser, "shoppers"),
	).Build()
	w := access.NewWatched(kube, authz.NewResolver(&fakeRules{}, nil, standing, nil))
	for _, c := range []struct {
		person, why string
		groups      []string
		want        []string
	}{
		{"admin", "admin manages access everywhere", nil, []string{"a-alice", "b-group", "c-alice", "d-bob", "e-as-group", "f-as-user"}},
		{"alice", "an editor sees their own; what is on an instance that they do not see stays hidden", nil, []string{"a-alice"}},
		{"shop", "a user of one namespace sees that of their group", []string{"shoppers"}, []string{"b-group"}},
		{"bob", "a viewer sees their own", []string{"shoppers"}, []string{"d-bob"}},
		{"eve", "a user without a role sees none", []string{"shoppers"}, nil},
	} {
		var list v1alpha1.InstanceRoleBindingList
		ctx := authz.WithUser(t.Context(), authz.User{Name: c.person, Groups: c.groups})
		if err := w.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range list.Items {
			got = append(got, list.Items[i].Name)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s (-want +got):\n%s", c.person, c.why, d)
		}
	}
}
