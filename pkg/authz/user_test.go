package authz

import "testing"

func TestIdentity(t *testing.T) {
	base := User{Name: "a", UID: "u", Groups: []string{"g", "h"}, Extra: map[string][]string{"k": {"v", "w"}, "l": nil}}
	same := User{Name: "a", UID: "u", Groups: []string{"g", "h"}, Extra: map[string][]string{"l": nil, "k": {"v", "w"}}}
	if base.identity() != same.identity() {
		t.Error("the order of a map changes the identity")
	}
	for _, tt := range []struct {
		other User
		why   string
	}{
		{User{Name: "b", UID: "u", Groups: base.Groups, Extra: base.Extra}, "another name"},
		{User{Name: "a", UID: "v", Groups: base.Groups, Extra: base.Extra}, "a later user of the same name"},
		{User{Name: "au", Groups: base.Groups, Extra: base.Extra}, "name and UID run together"},
		{User{Name: "a", UID: "u", Groups: []string{"gh"}, Extra: base.Extra}, "two groups run together"},
		{User{Name: "a", UID: "u", Groups: []string{"g"}, Extra: base.Extra}, "a group is missing"},
		{User{Name: "a", UID: "u", Groups: []string{"g", "h", "k"}, Extra: map[string][]string{"l": nil}}, "an extra key as a group"},
		{User{Name: "a", UID: "u", Groups: base.Groups, Extra: map[string][]string{"k": {"v"}, "l": {"w"}}}, "a value under another key"},
	} {
		if base.identity() == tt.other.identity() {
			t.Errorf("%s: the identities are the same, so one would get the other's permissions", tt.why)
		}
	}
}
