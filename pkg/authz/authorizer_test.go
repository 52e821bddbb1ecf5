package authz

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apierror"
)

func TestCanServeAsksForEveryInstance(t *testing.T) {
	var got authorizationv1.SubjectAccessReviewSpec
	reviews := &fakeAccessReviews{answer: func(_ context.Context, spec authorizationv1.SubjectAccessReviewSpec) (bool, error) {
		got = spec
		return true, nil
	}}
	u := User{Name: "alice", UID: "u-1", Groups: []string{"dev"}, Extra: map[string][]string{"scopes": {"a"}}}
	if err := NewAuthorizer(reviews, nil).CanServe(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	want := authorizationv1.SubjectAccessReviewSpec{
		User: "alice", UID: "u-1", Groups: []string{"dev"}, Extra: map[string]authorizationv1.ExtraValue{"scopes": {"a"}},
		// No name: who may get one instance alone may not get them all.
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Group: "kairship.io", Resource: "instances"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("review (-want +got):\n%s", d)
	}
}

func TestCanServe(t *testing.T) {
	for _, tt := range []struct {
		name        string
		allowed     bool
		err         error
		pauses      []time.Duration
		want        apierror.Code
		wantReviews int64
		why         string
	}{
		{name: "allowed", allowed: true, pauses: []time.Duration{9 * time.Second}, wantReviews: 1, why: "a decision serves ten seconds"},
		{name: "allowed, later", allowed: true, pauses: []time.Duration{10 * time.Second}, wantReviews: 2, why: "a removed role stops working within ten seconds"},
		{name: "refused", pauses: []time.Duration{4 * time.Second}, want: apierror.CodeForbidden, wantReviews: 1, why: "refusals are remembered too"},
		{name: "refused, later", pauses: []time.Duration{5 * time.Second}, want: apierror.CodeForbidden, wantReviews: 2, why: "a new role works soon"},
		{
			name: "cluster away", err: errors.New("connection refused"), pauses: []time.Duration{0},
			want: apierror.CodeTimeout, wantReviews: 2, why: "no answer is no refusal, and is not remembered",
		},
		{
			name: "Kairship may not ask", err: apierrors.NewForbidden(schema.GroupResource{Resource: "subjectaccessreviews"}, "", nil),
			want: apierror.CodeInternal, wantReviews: 1, why: "this 403 is about Kairship; the caller must not read it as theirs",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &clock{}
			reviews := &fakeAccessReviews{answer: func(context.Context, authorizationv1.SubjectAccessReviewSpec) (bool, error) {
				return tt.allowed, tt.err
			}}
			a := NewAuthorizer(reviews, c.now)
			check := func() {
				err := a.CanServe(t.Context(), User{Name: "alice"})
				if (tt.want == "") != (err == nil) || (err != nil && apierror.CodeOf(err) != tt.want) {
					t.Errorf("got %v, want %q: %s", err, tt.want, tt.why)
				}
			}
			check()
			for _, pause := range tt.pauses {
				c.advance(pause)
				check()
			}
			if n := reviews.count.Load(); n != tt.wantReviews {
				t.Errorf("got %d reviews, want %d: %s", n, tt.wantReviews, tt.why)
			}
		})
	}
}

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
