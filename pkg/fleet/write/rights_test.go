package write

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
)

type reviews func(authorizationv1.SubjectAccessReviewSpec) (authorizationv1.SubjectAccessReviewStatus, error)

func (f reviews) Create(_ context.Context, r *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	status, err := f(r.Spec)
	return &authorizationv1.SubjectAccessReview{Status: status}, err
}

func TestChangeMembership(t *testing.T) {
	alice := authz.WithUser(t.Context(), authz.User{Name: "alice", UID: "1", Groups: []string{"dev"}, Extra: map[string][]string{"scope": {"a", "b"}}})
	for _, tt := range []struct {
		reason string
		ctx    context.Context
		answer authorizationv1.SubjectAccessReviewStatus
		err    error
		want   apierror.Code
	}{
		{"the global cluster allows it", alice, authorizationv1.SubjectAccessReviewStatus{Allowed: true}, nil, ""},
		{"no role allows it", alice, authorizationv1.SubjectAccessReviewStatus{}, nil, apierror.CodeForbidden},
		{"a denial outweighs a role", alice, authorizationv1.SubjectAccessReviewStatus{Allowed: true, Denied: true}, nil, apierror.CodeForbidden},
		{"without an answer nothing is decided", alice, authorizationv1.SubjectAccessReviewStatus{}, errors.New("connection refused"), apierror.CodeTimeout},
		{"the caller is not known", t.Context(), authorizationv1.SubjectAccessReviewStatus{Allowed: true}, nil, apierror.CodeUnauthenticated},
	} {
		var asked authorizationv1.SubjectAccessReviewSpec
		rights := Rights{Reviews: reviews(func(spec authorizationv1.SubjectAccessReviewSpec) (authorizationv1.SubjectAccessReviewStatus, error) {
			asked = spec
			return tt.answer, tt.err
		})}
		err := rights.ChangeMembership(tt.ctx, "m1", "input.cluster")
		if tt.want == "" && err != nil || tt.want != "" && !apierror.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %q", tt.reason, err, tt.want)
		}
		if tt.want == apierror.CodeForbidden && (!strings.HasPrefix(err.Error(), "input.cluster: ") || !strings.Contains(err.Error(), `"m1"`)) {
			t.Errorf("%s: the error does not name the input and the cluster: %v", tt.reason, err)
		}
		if tt.want == apierror.CodeUnauthenticated {
			continue
		}
		if diff := cmp.Diff(authorizationv1.SubjectAccessReviewSpec{
			User: "alice", UID: "1", Groups: []string{"dev"}, Extra: map[string]authorizationv1.ExtraValue{"scope": {"a", "b"}},
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Group: "kairship.io", Version: "v1alpha1", Resource: "clusters", Subresource: "membership", Verb: "update", Name: "m1",
			},
		}, asked); diff != "" {
			t.Errorf("%s: asked (-want +got):\n%s", tt.reason, diff)
		}
	}
}
