package suite

import (
	"context"
	"slices"
	"testing"

	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// roleBindingItems are the bindings on alpha.
func (w *world) roleBindingItems(ctx context.Context, t testing.TB) ([]item, error) {
	t.Helper()
	all, err := listItems(ctx, w.fleet.Client(t, "global"), &kairshipv1alpha1.InstanceRoleBindingList{}, "")
	return slices.DeleteFunc(all, func(i item) bool { return roleBindingOf(i).Spec.InstanceRef.Name != "alpha" }), err
}

func roleBindingOf(i item) *kairshipv1alpha1.InstanceRoleBinding {
	b, _ := i.Object.(*kairshipv1alpha1.InstanceRoleBinding)
	return b
}

func roleBindingCases() []filterCase {
	subject := func(names ...string) func(item) bool {
		return func(i item) bool { return slices.Contains(names, roleBindingOf(i).Spec.Subject.Name) }
	}
	role := func(of kairshipv1alpha1.Role) func(item) bool {
		return func(i item) bool { return roleBindingOf(i).Spec.Role == of }
	}
	platform := func(i item) bool { return roleBindingOf(i).Spec.Source != nil }
	return []filterCase{
		{argument: "filter.subjects", value: []string{"alice"}, match: subject("alice"), why: "one subject"},
		{argument: "filter.subjects", value: []string{"alice", "none-such"}, match: subject("alice"), why: "values are joined by OR"},
		{argument: "filter.subjects", value: []string{}, match: nothing, why: "no subject at all"},
		{argument: "filter.roles", value: []string{"EDITOR"}, match: role(kairshipv1alpha1.RoleEditor), why: "one role"},
		{argument: "filter.roles", value: []string{"VIEWER", "ADMIN"}, match: func(i item) bool {
			return role(kairshipv1alpha1.RoleViewer)(i) || role(kairshipv1alpha1.RoleAdmin)(i)
		}, why: "two roles"},
		{argument: "filter.source", value: "PLATFORM", match: platform, why: "of global management"},
		{argument: "filter.source", value: "DIRECT", match: func(i item) bool { return !platform(i) }, why: "of people"},
	}
}
