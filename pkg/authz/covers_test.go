package authz

import (
	"testing"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz/roles"
)

func TestCovers(t *testing.T) {
	of := func(role v1alpha1.Role, namespaces ...string) Grant {
		return GrantOf(roles.Global(role, "alpha", namespaces), "alpha")
	}
	const viewer, editor, admin = v1alpha1.RoleViewer, v1alpha1.RoleEditor, v1alpha1.RoleAdmin
	for _, c := range []struct {
		have, give Grant
		want       bool
		why        string
	}{
		{of(admin), of(admin), true, "an admin gives every role"},
		{of(admin), of(editor, "shop"), true, "an admin gives a role in a namespace"},
		{of(viewer), of(editor), false, "an editor writes"},
		{of(editor), of(admin), false, "an admin manages access"},
		{of(editor, "shop"), of(viewer, "shop"), true, "an editor of a namespace reads it"},
		{of(editor, "shop"), of(viewer, "shop", "ops"), false, "nothing in ops"},
		{of(editor, "shop"), of(viewer), false, "nothing outside of shop"},
		{GrantOf(roles.Grantable(), "alpha"), of(admin), true, "who may grant all roles covers them"},
		{GrantOf(roles.Global(admin, "beta", nil), "alpha"), of(viewer), false, "another instance"},
		{Grant{}, of(viewer, "shop"), false, "nothing covers no role"},
		{of(viewer), Grant{}, true, "every role covers nothing"},
	} {
		if got := c.have.Covers(c.give); got != c.want {
			t.Errorf("%s: %v, want %v", c.why, got, c.want)
		}
	}
}
