package authz

import (
	"context"
	"sync/atomic"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

// fakeTokenReviews counts reviews and lets a test answer them. It knows no
// tokens: what a real cluster answers about one is tested against a real cluster.
type fakeTokenReviews struct {
	authenticationclient.TokenReviewInterface
	answer func(context.Context, string) (authenticationv1.TokenReviewStatus, error)
	count  atomic.Int64
}

func (f *fakeTokenReviews) Create(ctx context.Context, r *authenticationv1.TokenReview, _ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	f.count.Add(1)
	status, err := f.answer(ctx, r.Spec.Token)
	if err != nil {
		return nil, err
	}
	return &authenticationv1.TokenReview{Status: status}, nil
}

// fakeAccessReviews does the same for permissions.
type fakeAccessReviews struct {
	authorizationclient.SubjectAccessReviewInterface
	answer func(context.Context, authorizationv1.SubjectAccessReviewSpec) (bool, error)
	count  atomic.Int64
}

func (f *fakeAccessReviews) Create(ctx context.Context, r *authorizationv1.SubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SubjectAccessReview, error) {
	f.count.Add(1)
	allowed, err := f.answer(ctx, r.Spec)
	if err != nil {
		return nil, err
	}
	return &authorizationv1.SubjectAccessReview{Status: authorizationv1.SubjectAccessReviewStatus{Allowed: allowed}}, nil
}

// clock stands still until a test moves it.
type clock struct{ t time.Time }

func (c *clock) now() time.Time          { return c.t }
func (c *clock) advance(d time.Duration) { c.t = c.t.Add(d) }
