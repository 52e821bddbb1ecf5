package conformance_test

import (
	"context"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/apitest"
	"github.com/kairship-io/kairship/pkg/authz"
)

// own are the permissions that Kairship's identity needs for all of this package.
var own = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"users", "groups", "serviceaccounts"}, Verbs: []string{"impersonate"}},
	// UIDs, and userextras under any key: no wildcard covers a subresource but this one.
	{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"*"}, Verbs: []string{"impersonate"}},
	{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}, Verbs: []string{"create"}},
}

// as is a connection with the permissions of rules, and no other.
func (g *global) as(name string, rules ...rbacv1.PolicyRule) *kubernetes.Clientset {
	g.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := g.kube.CoreV1().ServiceAccounts("default").Create(g.t.Context(), account, metav1.CreateOptions{}); err != nil {
		g.t.Fatal(err)
	}
	g.bind(g.role(rules...), rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: "default", Name: name})
	token, err := g.kube.CoreV1().ServiceAccounts("default").CreateToken(g.t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		g.t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(apitest.Config(g.t))
	config.BearerToken = token.Status.Token
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		g.t.Fatal(err)
	}
	return kube
}

func TestOwnPermissionsSuffice(t *testing.T) {
	g := newGlobal(t, "own")
	limited := g.as("kairship", own...)
	powerless := g.as("powerless", rule("get", "instances", ""))
	alice := authz.User{
		Name: "own-alice", UID: "u-1", Groups: []string{"dev", "system:authenticated"},
		Extra: map[string][]string{"authentication.kubernetes.io/credential-id": {"JTI=1"}, "scopes": {"a"}},
	}
	g.bind(g.role(rule("get list watch", "instances instances/resources", "alpha")), person(alice.Name))
	g.awaitRules()

	reviewer := authz.NewRulesReviewer(limited.AuthorizationV1().RESTClient())
	for name, rules := range map[string]authz.RulesReviewer{"listed": reviewer, "one by one": incomplete{reviewer}} {
		v, err := authz.NewResolver(rules, limited.AuthorizationV1().SubjectAccessReviews(), nil, nil).Visibility(t.Context(), alice, instances...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if g, ok := v.Instance("alpha"); !ok || !g.CanRead("shop") || v.Sees("beta") {
			t.Errorf("%s: alpha: %v, beta: %v", name, ok, v.Sees("beta"))
		}
	}

	_, err := authz.NewResolver(authz.NewRulesReviewer(powerless.AuthorizationV1().RESTClient()), nil, nil, nil).Visibility(t.Context(), alice)
	if apierror.CodeOf(err) != apierror.CodeTimeout {
		t.Errorf("without permission to impersonate: got %v, want %s: the user is not at fault", err, apierror.CodeTimeout)
	}
}

// A user whose name differs by a space is another user.
func TestNamesThatDifferByASpaceAreOtherUsers(t *testing.T) {
	g := newGlobal(t, "space")
	g.bind(g.role(rule("*", "*", "")), person("space-alice"))
	g.bind(g.role(rule("*", "*", "")), group("space-admins"))
	g.awaitRules()
	for _, u := range []authz.User{
		{Name: "space-alice "}, {Name: " space-alice"}, {Name: "space-mallory", Groups: []string{"space-admins "}}, {},
	} {
		v, err := g.resolver().Visibility(t.Context(), u, "alpha")
		if apierror.CodeOf(err) != apierror.CodeForbidden || v != nil {
			t.Errorf("%+v: got %v, %v, want %s", u, v, err, apierror.CodeForbidden)
		}
	}
}

func TestRolesComeAndGo(t *testing.T) {
	g := newGlobal(t, "come")
	u := authz.User{Name: "come-alice", Groups: []string{"system:authenticated"}}
	resolver := g.resolver()
	sees := func(ctx context.Context) (bool, error) {
		resolver.Flush()
		v, err := resolver.Visibility(ctx, u, "alpha")
		return err == nil && v.Sees("alpha"), err
	}
	if visible, err := sees(t.Context()); visible || err != nil {
		t.Fatalf("before the binding: %v, %v", visible, err)
	}
	binding := g.bind(g.role(rule("get", "instances", "alpha")), person(u.Name))
	g.eventually("a new role shows", sees)
	if err := g.kube.RbacV1().ClusterRoleBindings().Delete(t.Context(), binding, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	g.eventually("a revoked role does not", func(ctx context.Context) (bool, error) {
		visible, err := sees(ctx)
		return !visible, err
	})
}
