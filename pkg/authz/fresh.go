package authz

import (
	"context"
	"crypto/rand"
	"slices"
	"sync/atomic"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
)

// A Kubernetes API server caches the answer about a token for ten seconds, without a setting for
// it, so it reports a token as valid for so long after the account was deleted. Its cache is keyed
// by the requested audiences. A review of a service account's token therefore requests the API
// server's own audiences and a random one: that combination is never cached, and the API server
// looks at the account. Other tokens are reviewed normally: either nothing revokes them sooner
// (OIDC, a file), or a webhook decides how often it is asked.

// serviceAccountPrefix begins the names of service accounts.
const serviceAccountPrefix = "system:serviceaccount:"

// maxAudiences limits how many of the API server's audiences are kept.
const maxAudiences = 8

// fresh reviews tokens.
type fresh struct {
	// audiences are those that the API server reported for valid tokens.
	audiences atomic.Pointer[[]string]
}

// review reviews a token. It ignores status.error.
func (f *fresh) review(ctx context.Context, reviews authenticationclient.TokenReviewInterface, token string) (*authenticationv1.TokenReviewStatus, error) {
	known := f.known()
	if !TokenCredentials(token).ofServiceAccount() {
		return ask(ctx, reviews, token, nil)
	}
	if len(known) > 0 {
		status, err := ask(ctx, reviews, token, append(slices.Clone(known), "never-asked-before-"+rand.Text()))
		if err != nil {
			return nil, err
		}
		// A token that is valid for none of the audiences that were asked about is not valid.
		if status.Authenticated && intersect(status.Audiences, known) {
			return status, nil
		}
	}
	status, err := ask(ctx, reviews, token, nil)
	if err != nil || !status.Authenticated {
		return status, err
	}
	if len(known) > 0 && subset(status.Audiences, known) {
		// This answer was cached.
		return &authenticationv1.TokenReviewStatus{}, nil
	}
	f.learn(status.Audiences)
	return status, nil
}

func ask(ctx context.Context, reviews authenticationclient.TokenReviewInterface, token string, audiences []string) (*authenticationv1.TokenReviewStatus, error) {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: audiences}}
	result, err := reviews.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return &result.Status, nil
}

func (f *fresh) known() []string {
	if p := f.audiences.Load(); p != nil {
		return *p
	}
	return nil
}

// learn remembers audiences of the API server.
func (f *fresh) learn(more []string) {
	all := slices.Compact(slices.Sorted(slices.Values(slices.Concat(f.known(), more))))
	if len(all) > 0 && len(all) <= maxAudiences {
		f.audiences.Store(&all)
	}
}

func intersect(a, b []string) bool {
	return slices.ContainsFunc(a, func(one string) bool { return slices.Contains(b, one) })
}

func subset(a, of []string) bool {
	return !slices.ContainsFunc(a, func(one string) bool { return !slices.Contains(of, one) })
}
