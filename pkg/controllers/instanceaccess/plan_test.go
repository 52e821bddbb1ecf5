package instanceaccess

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz/roles"
)

func named(name string, role v1alpha1.Role, namespaces ...string) *binding {
	return &binding{InstanceRoleBinding: &v1alpha1.InstanceRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid-of-b"},
		Spec: v1alpha1.InstanceRoleBindingSpec{
			InstanceRef: v1alpha1.InstanceReference{Name: "alpha"},
			Subject:     v1alpha1.BindingSubject{Kind: v1alpha1.SubjectGroup, Name: "shop team"},
			Role:        role, Namespaces: namespaces,
		},
	}}
}

func TestWantedGrants(t *testing.T) {
	for _, c := range []struct {
		reason  string
		binding *binding
		want    []string // namespace and role
	}{
		{"one for the whole instance", named("b", v1alpha1.RoleEditor), []string{" kairship:editor"}},
		{"one for each namespace, in their order", named("b", v1alpha1.RoleEditor, "shop", "ops"), []string{"ops kairship:namespace-editor", "shop kairship:namespace-editor"}},
		{"one for a namespace that is named twice", named("b", v1alpha1.RoleViewer, "shop", "shop"), []string{"shop kairship:viewer"}},
		{"an empty list is the whole instance", named("b", v1alpha1.RoleAdmin, []string{}...), []string{" kairship:admin"}},
	} {
		var got []string
		for _, g := range wantedGrants(c.binding, "here") {
			got = append(got, g.namespace+" "+g.role.Name)
			if diff := cmp.Diff(map[string]string{
				"app.kubernetes.io/managed-by": "kairship", "kairship.io/instance": "alpha", "kairship.io/role-binding": "b",
				"kairship.io/owner-uid": "uid-of-b", "kairship.io/global-cluster": "here",
			}, g.labels); diff != "" {
				t.Errorf("%s: labels (-want +got):\n%s", c.reason, diff)
			}
			if diff := cmp.Diff([]rbacv1.Subject{{APIGroup: "rbac.authorization.k8s.io", Kind: "Group", Name: "shop team"}}, g.subjects); diff != "" {
				t.Errorf("%s: subjects (-want +got):\n%s", c.reason, diff)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}

// All editors of the instance share one RoleBinding in each namespace.
func TestWantedGrantsOfEditorsOfTheInstance(t *testing.T) {
	other := named("c", v1alpha1.RoleEditor)
	other.Spec.Subject.Name = "ops team"
	revoked := named("r", v1alpha1.RoleEditor)
	revoked.Spec.Revoked = true
	for _, c := range []struct {
		reason   string
		bindings []*binding
		want     map[string][]string // the subjects by namespace
	}{
		{"two of them", []*binding{named("b", v1alpha1.RoleEditor), other}, map[string][]string{"shop": {"shop team", "ops team"}, "ops": {"shop team", "ops team"}}},
		{"one that has two bindings", []*binding{named("b", v1alpha1.RoleEditor), named("d", v1alpha1.RoleEditor)}, map[string][]string{"shop": {"shop team"}, "ops": {"shop team"}}},
		{"one whose role was taken away", []*binding{revoked, other}, map[string][]string{"shop": {"ops team"}, "ops": {"ops team"}}},
		{"an admin has the whole instance", []*binding{named("b", v1alpha1.RoleAdmin)}, nil},
		{"a viewer reads the whole instance", []*binding{named("b", v1alpha1.RoleViewer)}, nil},
		{"an editor of a namespace has one there", []*binding{named("b", v1alpha1.RoleEditor, "shop")}, nil},
	} {
		s := &scope{name: "alpha", global: "here", instance: &v1alpha1.Instance{}, bindings: c.bindings, namespaces: []string{"shop", "ops"}}
		var got map[string][]string
		for _, g := range s.wantedGrants(s.wanted) {
			if g.name != roles.EditorsName("here", "alpha") {
				continue
			}
			if got == nil {
				got = map[string][]string{}
			}
			for _, subject := range g.subjects {
				got[g.namespace] = append(got[g.namespace], subject.Name)
			}
			if g.role.Name != "kairship:namespace-editor" || g.binding != nil {
				t.Errorf("%s: %+v", c.reason, g)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}

func TestPlanGrants(t *testing.T) {
	stored := func(change func(*grant), of ...*binding) map[place]*grant {
		found := map[place]*grant{}
		for _, b := range of {
			for _, g := range wantedGrants(b, "here") {
				g.version, g.uid, g.binding = "7", "stored", nil
				change(g)
				found[g.place] = g
			}
		}
		return found
	}
	same := func(*grant) {}
	type plan struct{ Remove, Update, Create []string }
	for _, c := range []struct {
		reason string
		wanted []*binding
		found  map[place]*grant
		want   plan
	}{
		{"nothing is wanted and nothing is there", nil, nil, plan{}},
		{"what is missing is created", []*binding{named("b", v1alpha1.RoleViewer)}, nil, plan{Create: []string{"/kairship:binding:b"}}},
		{"what is there is left alone", []*binding{named("b", v1alpha1.RoleViewer, "shop")}, stored(same, named("b", v1alpha1.RoleViewer, "shop")), plan{}},
		{"what no binding wants is removed", nil, stored(same, named("b", v1alpha1.RoleViewer, "shop")), plan{Remove: []string{"shop/kairship:binding:b"}}},
		{
			"fewer namespaces", []*binding{named("b", v1alpha1.RoleViewer, "shop")}, stored(same, named("b", v1alpha1.RoleViewer, "ops", "shop")),
			plan{Remove: []string{"ops/kairship:binding:b"}},
		},
		{
			"from a namespace to the whole instance", []*binding{named("b", v1alpha1.RoleViewer)}, stored(same, named("b", v1alpha1.RoleViewer, "shop")),
			plan{Remove: []string{"shop/kairship:binding:b"}, Create: []string{"/kairship:binding:b"}},
		},
		{
			"another role is another object", []*binding{named("b", v1alpha1.RoleViewer)}, stored(same, named("b", v1alpha1.RoleAdmin)),
			plan{Remove: []string{"/kairship:binding:b"}, Create: []string{"/kairship:binding:b"}},
		},
		{
			"another subject is put right", []*binding{named("b", v1alpha1.RoleViewer)},
			stored(func(g *grant) {
				g.subjects = append(slices.Clone(g.subjects), rbacv1.Subject{Kind: "User", Name: "mallory"})
			}, named("b", v1alpha1.RoleViewer)),
			plan{Update: []string{"/kairship:binding:b"}},
		},
		{
			"the rules of an earlier binding of this name are taken over", []*binding{named("b", v1alpha1.RoleViewer)},
			stored(func(g *grant) { g.labels[v1alpha1.OwnerUIDLabel] = "earlier" }, named("b", v1alpha1.RoleViewer)),
			plan{Update: []string{"/kairship:binding:b"}},
		},
		{
			"labels of others are left alone", []*binding{named("b", v1alpha1.RoleViewer)},
			stored(func(g *grant) { g.labels["team"] = "shop" }, named("b", v1alpha1.RoleViewer)), plan{},
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			var wanted []*grant
			for _, b := range c.wanted {
				wanted = append(wanted, wantedGrants(b, "here")...)
			}
			got := planGrants(wanted, c.found)
			names := func(grants []*grant) (out []string) {
				for _, g := range grants {
					out = append(out, g.namespace+"/"+g.name)
				}
				return out
			}
			if diff := cmp.Diff(c.want, plan{names(got.remove), names(got.update), names(got.create)}); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			for _, g := range got.update {
				if g.version != "7" {
					t.Errorf("the update of %s is not based on what was read", g.name)
				}
			}
			for _, g := range got.create {
				if g.version != "" {
					t.Errorf("%s is created with the version of another object", g.name)
				}
			}
		})
	}
}

func TestPlanRoles(t *testing.T) {
	stored := func(change func(name string, role *rbacv1.ClusterRole)) map[string]*rbacv1.ClusterRole {
		found := map[string]*rbacv1.ClusterRole{}
		all := roles.ClusterRoles()
		for i := range all {
			if all[i].AggregationRule != nil {
				all[i].Rules = []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}}
			}
			change(all[i].Name, &all[i])
			found[all[i].Name] = &all[i]
		}
		return found
	}
	only := func(name string, change func(*rbacv1.ClusterRole)) func(string, *rbacv1.ClusterRole) {
		return func(found string, role *rbacv1.ClusterRole) {
			if found == name {
				change(role)
			}
		}
	}
	type plan struct{ Create, Update, Remove int }
	all := len(roles.ClusterRoles())
	for _, c := range []struct {
		reason string
		wanted []rbacv1.ClusterRole
		found  map[string]*rbacv1.ClusterRole
		want   plan
	}{
		{"an instance that knows none gets all", roles.ClusterRoles(), nil, plan{Create: all}},
		{"what an instance has put together is left to it", roles.ClusterRoles(), stored(func(string, *rbacv1.ClusterRole) {}), plan{}},
		{"where no subject is bound any more they all go", nil, stored(func(string, *rbacv1.ClusterRole) {}), plan{Remove: all}},
		{"other rules are put right", roles.ClusterRoles(), stored(only("kairship:karmada-viewer", func(r *rbacv1.ClusterRole) { r.Rules[0].Verbs = []string{"*"} })), plan{Update: 1}},
		{"rules that are put together from too much are put right", roles.ClusterRoles(), stored(only("kairship:editor", func(r *rbacv1.ClusterRole) {
			r.AggregationRule.ClusterRoleSelectors = r.AggregationRule.ClusterRoleSelectors[:1]
		})), plan{Update: 1}},
		{"a missing label is put back", roles.ClusterRoles(), stored(only("kairship:karmada-viewer", func(r *rbacv1.ClusterRole) {
			delete(r.Labels, "kairship.io/aggregate-to-viewer")
		})), plan{Update: 1}},
	} {
		got := planRoles(c.wanted, c.found)
		if diff := cmp.Diff(c.want, plan{len(got.create), len(got.update), len(got.remove)}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
		for _, role := range got.update {
			if role.AggregationRule != nil && len(role.Rules) == 0 {
				t.Errorf("%s: what the instance has put together in %s is thrown away", c.reason, role.Name)
			}
		}
	}
}

func TestSome(t *testing.T) {
	for _, c := range []struct {
		reason string
		names  []string
		want   string
	}{
		{"one", []string{"a"}, "a"},
		{"as many as fit", []string{"a", "b", "c", "d", "e"}, "a, b, c, d, e"},
		{"more than fit", []string{"a", "b", "c", "d", "e", "f", "g"}, "a, b, c, d, e and 2 more"},
	} {
		if got := some(c.names); got != c.want {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
	}
}
