package escalation

import (
	"context"
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// permitted gives a person rights in the global cluster for the length of the test, and
// returns the person's own way to it.
func permitted(t *testing.T, p *person, rules ...rbacv1.PolicyRule) client.Client {
	t.Helper()
	f := fleet.Open(t)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: unique()}, Rules: rules}
	made(t, f.Client(t, "global"), role)
	made(t, f.Client(t, "global"), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: p.user}},
	})
	config := rest.AnonymousClientConfig(f.Config(t, "global"))
	config.BearerToken = p.token
	return clientOf(t, config)
}

// TestMembershipIsARightOfItsOwn has two admins of alpha: one may write an entry of the
// inventory, and neither join it nor take it out; the other one may do that, and not
// change where the entry leads.
func TestMembershipIsARightOfItsOwn(t *testing.T) {
	s := &scene{T: t, Fleet: fleet.Open(t)}
	global := s.Client(t, "global")
	entry := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: unique()}, Spec: v1alpha1.ClusterSpec{
		Type: v1alpha1.ClusterTypePhysical, APIEndpoint: "https://127.0.0.1:1",
		CredentialsSecretRef: &v1alpha1.ClusterCredentialsReference{SecretReference: v1alpha1.SecretReference{Name: "none"}},
	}}
	made(t, global, entry)
	joinedTo := func() string {
		t.Helper()
		var now v1alpha1.Cluster
		if err := global.Get(t.Context(), client.ObjectKeyFromObject(entry), &now); err != nil {
			t.Fatal(err)
		}
		if now.Spec.InstanceRef == nil {
			return ""
		}
		return now.Spec.InstanceRef.Name
	}
	patch := func(ctx context.Context, as client.Client, name, body string) error {
		c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		return as.Patch(ctx, c, client.RawPatch(types.MergePatchType, []byte(body)), client.DryRunAll)
	}
	membership := func(as *person, mutation, cluster string, dryRun bool) []gql.Error {
		_, errs := s.mutate(as.graphql, mutation, "requested", map[string]any{"instance": "alpha", "cluster": cluster, "dryRun": dryRun})
		return errs
	}
	refused := func(errs []gql.Error, code string) {
		t.Helper()
		if len(errs) != 1 || errs[0].Extensions.Code != code || errs[0].Extensions.Argument != "input.cluster" {
			t.Errorf("got %v, want %s at input.cluster", errs, code)
		}
	}
	const move, join = `{"spec": {"apiEndpoint": "https://127.0.0.1:2"}}`, `{"spec": {"instanceRef": {"name": "alpha"}}}`
	rule := func(resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{v1alpha1.GroupName}, Resources: []string{resource}, Verbs: verbs, ResourceNames: []string{entry.Name, "m1"}}
	}

	writer := newPerson(t, v1alpha1.RoleAdmin)
	own := permitted(t, writer, rule("clusters", "get", "update", "patch", "delete"))
	eventually(t, "where the entry leads is changed", func(ctx context.Context) error { return patch(ctx, own, entry.Name, move) })
	for name, body := range map[string]string{entry.Name: join, "m1": `{"spec": {"instanceRef": null}}`} {
		if err := patch(t.Context(), own, name, body); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "clusters/membership") {
			t.Errorf("%s: got %v, want Forbidden that names clusters/membership", name, err)
		}
	}
	// The writer sees the members of alpha, and no free cluster.
	refused(membership(writer, "joinCluster", entry.Name, false), "NOT_FOUND")
	refused(membership(writer, "unjoinCluster", "m1", true), "FORBIDDEN")

	keeper := newPerson(t, v1alpha1.RoleAdmin)
	own = permitted(t, keeper, rule("clusters/membership", "update"))
	eventually(t, "the entry is joined", func(context.Context) error {
		if errs := membership(keeper, "joinCluster", entry.Name, false); len(errs) > 0 {
			return fmt.Errorf("%v", errs)
		}
		return nil
	})
	if got := joinedTo(); got != "alpha" {
		t.Errorf("it is joined to %q", got)
	}
	for _, body := range []string{move, join} {
		if err := patch(t.Context(), own, entry.Name, body); !apierrors.IsForbidden(err) {
			t.Errorf("%s: got %v, want Forbidden", body, err)
		}
	}
	if errs := membership(keeper, "unjoinCluster", entry.Name, false); len(errs) > 0 || joinedTo() != "" {
		t.Errorf("it is joined to %q: %v", joinedTo(), errs)
	}
	refused(membership(keeper, "joinCluster", "m3", true), "NOT_FOUND")
}
