package rolebinding

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

func bound(name string, kind v1alpha1.SubjectKind, role v1alpha1.Role, namespaces ...string) *RoleBinding {
	return New(&v1alpha1.InstanceRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name + "-" + string(role)}, Spec: v1alpha1.InstanceRoleBindingSpec{
		InstanceRef: v1alpha1.InstanceReference{Name: "alpha"}, Subject: v1alpha1.BindingSubject{Kind: kind, Name: name}, Role: role, Namespaces: namespaces,
	}})
}

func TestWhoCan(t *testing.T) {
	const user, group = v1alpha1.SubjectUser, v1alpha1.SubjectGroup
	revoked := bound("former", user, v1alpha1.RoleAdmin)
	revoked.Spec.Revoked = true
	bindings := []*RoleBinding{
		bound("root", user, v1alpha1.RoleAdmin), bound("root", user, v1alpha1.RoleViewer), bound("edna", user, v1alpha1.RoleEditor),
		bound("vera", group, v1alpha1.RoleViewer), bound("shop-team", group, v1alpha1.RoleEditor, "shop"), bound("chief", user, v1alpha1.RoleAdmin, "shop"), revoked,
	}
	for _, c := range []struct {
		namespace string
		verb      Verb
		resource  string
		want      string
		why       string
	}{
		{"shop", VerbPatch, "deployments.apps", "shop-team chief edna root", "editors and admins, of the namespace and of all"},
		{"ops", VerbPatch, "deployments.apps", "edna root", "a role in shop is none in ops"},
		{"shop", VerbList, "deployments.apps", "shop-team vera chief edna root", "all read, and each is named once"},
		{"shop", VerbGet, "secrets", "shop-team chief edna root", "a viewer does not read Secrets"},
		{"karmada-cluster", VerbGet, "secrets", "root", "the credentials of the members are for admins of the instance"},
		{"", VerbList, "clusters.cluster.karmada.io", "vera edna root", "a role in namespaces does not cover what has none"},
		{"", VerbCreate, "customresourcedefinitions.apiextensions.k8s.io", "root", "only admins of the instance"},
		{"shop", VerbCreate, "rolebindings.rbac.authorization.k8s.io", "chief root", "admins of the namespace too"},
		{"shop", VerbGet, "nonesuch.example.com", "", "no role knows the kind"},
	} {
		asked, err := Question{Namespace: c.namespace, Verb: c.verb, Resource: c.resource}.parse()
		if err != nil {
			t.Fatal(err)
		}
		got, err := asked.answer(slices.Clone(bindings))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, s := range got.Subjects {
			names = append(names, s.Name)
		}
		if text := strings.Join(names, " "); text != c.want {
			t.Errorf("%s %s in %q: %q, want %q: %s", c.verb, c.resource, c.namespace, text, c.want, c.why)
		}
	}
	for _, wrong := range []string{"", "Pods", "pods.", "apps/v1/deployments", "pods;drop"} {
		if _, err := (Question{Verb: VerbGet, Resource: wrong}).parse(); !apierror.Is(err, apierror.CodeInvalid) {
			t.Errorf("resource %q: %v, want INVALID", wrong, err)
		}
	}
}
