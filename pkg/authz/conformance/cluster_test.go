package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/apitest"
	"github.com/kairship-io/kairship/pkg/authz"
)

func TestMain(m *testing.M) { os.Exit(apitest.Run(m)) }

// global is the API server under test and what is created in it.
type global struct {
	t    *testing.T
	kube kubernetes.Interface
	made int
	// prefix keeps the objects of one test apart from another's.
	prefix string
}

func newGlobal(t *testing.T, prefix string) *global {
	t.Helper()
	kube, err := kubernetes.NewForConfig(apitest.Config(t))
	if err != nil {
		t.Fatal(err)
	}
	return &global{t: t, kube: kube, prefix: prefix}
}

func (g *global) resolver() *authz.Resolver {
	return authz.NewResolver(authz.NewRulesReviewer(g.kube.AuthorizationV1().RESTClient()), g.kube.AuthorizationV1().SubjectAccessReviews(), nil, nil)
}

// role creates a ClusterRole of these rules.
func (g *global) role(rules ...rbacv1.PolicyRule) string {
	g.t.Helper()
	g.made++
	name := fmt.Sprintf("%s:%d", g.prefix, g.made)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	if _, err := g.kube.RbacV1().ClusterRoles().Create(g.t.Context(), role, metav1.CreateOptions{}); err != nil {
		g.t.Fatal(err)
	}
	return name
}

// bind gives a ClusterRole to a user everywhere.
func (g *global) bind(role string, to rbacv1.Subject) string {
	g.t.Helper()
	g.made++
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s:binding:%d", g.prefix, g.made)},
		Subjects:   []rbacv1.Subject{to},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
	}
	if _, err := g.kube.RbacV1().ClusterRoleBindings().Create(g.t.Context(), binding, metav1.CreateOptions{}); err != nil {
		g.t.Fatal(err)
	}
	return binding.Name
}

// bindIn gives a ClusterRole to a user in a namespace.
func (g *global) bindIn(namespace, role string, to rbacv1.Subject) {
	g.t.Helper()
	g.made++
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s:binding:%d", g.prefix, g.made), Namespace: namespace},
		Subjects:   []rbacv1.Subject{to},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
	}
	if _, err := g.kube.RbacV1().RoleBindings(namespace).Create(g.t.Context(), binding, metav1.CreateOptions{}); err != nil {
		g.t.Fatal(err)
	}
}

func person(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}
}

func group(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: name}
}

// awaitRules waits until the API server authorizes by all roles and bindings that were created: it
// receives them in the order of their creation.
func (g *global) awaitRules() {
	g.t.Helper()
	marker := authz.User{Name: fmt.Sprintf("%s-marker-%d", g.prefix, g.made)}
	g.bind(g.role(rule("get", "markers", "")), person(marker.Name))
	g.eventually("a new role works", func(ctx context.Context) (bool, error) {
		return (&judge{g: g, known: map[asked]bool{}}).allows(ctx, marker, authorizationv1.ResourceAttributes{Group: "kairship.io", Verb: "get", Resource: "markers"})
	})
}

func (g *global) eventually(what string, ok func(context.Context) (bool, error)) {
	g.t.Helper()
	poll.Until(g.t, 30*time.Second, what, func(ctx context.Context) error {
		is, err := ok(ctx)
		if err == nil && !is {
			err = errors.New("not yet")
		}
		return err
	})
}

// rule writes a rule of group kairship.io; its lists are separated by spaces.
func rule(verbs, resources, names string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		APIGroups: []string{"kairship.io"}, Verbs: strings.Fields(verbs), Resources: strings.Fields(resources), ResourceNames: strings.Fields(names),
	}
}

func inGroups(groups string, r rbacv1.PolicyRule) rbacv1.PolicyRule {
	r.APIGroups = strings.Split(groups, " ")
	return r
}

// judge asks the API server about single decisions, each once.
type judge struct {
	g     *global
	mu    sync.Mutex
	known map[asked]bool
}

type asked struct {
	user       string
	attributes authorizationv1.ResourceAttributes
}

func (j *judge) allows(ctx context.Context, u authz.User, a authorizationv1.ResourceAttributes) (bool, error) {
	a.LabelSelector, a.FieldSelector = nil, nil
	key := asked{u.Name, a}
	j.mu.Lock()
	answer, ok := j.known[key]
	j.mu.Unlock()
	if ok {
		return answer, nil
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: u.Name, UID: u.UID, Groups: append([]string{"system:authenticated"}, u.Groups...), ResourceAttributes: &a,
	}}
	result, err := j.g.kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.known[key] = result.Status.Allowed
	return result.Status.Allowed, nil
}
