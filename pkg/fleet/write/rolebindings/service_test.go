package rolebindings

import (
	"context"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/authz/roles"
	"github.com/kairship-io/kairship/pkg/fleet/access"
)

// permissions are the rules of the people of these tests.
type permissions struct{}

func (permissions) Rules(_ context.Context, u authz.User) (*authorizationv1.SubjectRulesReviewStatus, error) {
	rules := roles.Global(v1alpha1.Role(u.Name), "alpha", nil)
	if u.Name == "gatekeeper" { // Manages access and reads, by rules of its own.
		rules = roles.Global(v1alpha1.RoleAdmin, "alpha", nil)[4:5]
		rules = append(rules, roles.Global(v1alpha1.RoleViewer, "alpha", nil)...)
	}
	var out authorizationv1.SubjectRulesReviewStatus
	for _, r := range rules {
		out.ResourceRules = append(out.ResourceRules, authorizationv1.ResourceRule{Verbs: r.Verbs, APIGroups: r.APIGroups, Resources: r.Resources, ResourceNames: r.ResourceNames})
	}
	return &out, nil
}

func service(t *testing.T, objects ...client.Object) *Service {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: "alpha"}})...).Build()
	return &Service{Access: access.New(authz.NewResolver(permissions{}, nil, func() (now time.Time) { return now }, nil)), Global: kube, Watched: kube}
}

func as(t *testing.T, name string) context.Context {
	return authz.WithUser(t.Context(), authz.User{Name: name})
}

func TestGrant(t *testing.T) {
	in := GrantInput{Instance: "alpha", SubjectKind: v1alpha1.SubjectUser, Subject: "bob", Role: v1alpha1.RoleEditor, Namespaces: []string{"shop", "ops", "shop"}}
	of := func(change func(*GrantInput)) GrantInput {
		changed := in
		change(&changed)
		return changed
	}
	for _, c := range []struct {
		who  string
		in   GrantInput
		code apierror.Code
		why  string
	}{
		{"admin", in, "", "admins give every role"},
		{"editor", in, apierror.CodeForbidden, "editors give none"},
		{"viewer", in, apierror.CodeForbidden, "viewers give none"},
		{"mallory", in, apierror.CodeNotFound, "the instance does not exist for others"},
		{"admin", of(func(i *GrantInput) { i.Instance = "beta" }), apierror.CodeNotFound, "nor another one for its admin"},
		{"gatekeeper", in, apierror.CodeForbidden, "a reader who manages access does not let others write"},
		{"gatekeeper", of(func(i *GrantInput) { i.Role = v1alpha1.RoleViewer }), "", "but lets them read"},
	} {
		s := service(t)
		got, err := s.Grant(as(t, c.who), c.in)
		if c.code != "" {
			if !apierror.Is(err, c.code) {
				t.Errorf("%s as %s: %v, want %s", c.why, c.who, err, c.code)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", c.why, err)
		}
		if b := got.Binding; got.Unchanged || strings.Join(b.Namespaces(), " ") != "ops shop" || *b.GrantedBy() != c.who || strings.HasPrefix(b.Name, "gm-") {
			t.Errorf("%s: %+v", c.why, b.InstanceRoleBinding)
		}
		if again, err := s.Grant(as(t, c.who), c.in); err != nil || !again.Unchanged || again.Binding.Name != got.Binding.Name {
			t.Errorf("given again: %+v, %v, want the same binding", again, err)
		}
	}
}

func TestRevoke(t *testing.T) {
	binding := func(name, instance string) *v1alpha1.InstanceRoleBinding {
		return &v1alpha1.InstanceRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid-of-it"}, Spec: v1alpha1.InstanceRoleBindingSpec{
			InstanceRef: v1alpha1.InstanceReference{Name: instance}, Role: v1alpha1.RoleViewer,
		}}
	}
	platform := binding("gm-0", "alpha")
	platform.Spec.Source = &v1alpha1.BindingSource{BindingID: "id-at-the-platform"}
	for _, c := range []struct {
		who, binding, version string
		code                  apierror.Code
		says, why             string
	}{
		{"admin", "direct", "", "", "", "a binding of a person is deleted"},
		{"admin", "direct", "1", apierror.CodeConflict, "has changed since", "it was read earlier"},
		{"admin", "gm-0", "", apierror.CodeInvalid, "id-at-the-platform", "it is changed where it comes from"},
		{"admin", "of-beta", "", apierror.CodeNotFound, "", "a binding on another instance does not exist here"},
		{"admin", "none", "", apierror.CodeNotFound, "", "a binding that does not exist"},
		{"admin", "../alpha", "", apierror.CodeNotFound, "", "no name at all"},
		{"editor", "direct", "", apierror.CodeForbidden, "", "editors take none away"},
		{"editor", "none", "", apierror.CodeForbidden, "", "and do not learn which exist"},
		{"mallory", "direct", "", apierror.CodeNotFound, "", "the instance does not exist for others"},
	} {
		s := service(t, binding("direct", "alpha"), binding("of-beta", "beta"), platform.DeepCopy())
		in := RevokeInput{Instance: "alpha", Binding: c.binding}
		if c.version != "" {
			in.ResourceVersion = &c.version
		}
		_, err := s.Revoke(as(t, c.who), in)
		if (c.code == "") != (err == nil) || err != nil && (!apierror.Is(err, c.code) || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, want %q with %q", c.why, err, c.code, c.says)
		}
		var left v1alpha1.InstanceRoleBindingList
		if err := s.Global.List(t.Context(), &left); err != nil {
			t.Fatal(err)
		}
		if want := 3; c.code == "" && len(left.Items) != want-1 || c.code != "" && len(left.Items) != want {
			t.Errorf("%s: %d bindings are left", c.why, len(left.Items))
		}
	}
}
