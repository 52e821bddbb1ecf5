package authz

import (
	"context"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// forgetful is an API server that remembers for ever what it found out about a token
// and some audiences, as a real one does for ten seconds.
type forgetful struct {
	authenticationclient.TokenReviewInterface
	// valid are the audiences of each token that is valid.
	valid      map[string][]string
	remembered map[string]authenticationv1.TokenReviewStatus
	asked      [][]string
}

func (f *forgetful) Create(_ context.Context, r *authenticationv1.TokenReview, _ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	f.asked = append(f.asked, r.Spec.Audiences)
	about := r.Spec.Audiences
	if len(about) == 0 {
		about = []string{"https://kubernetes.default.svc", "second"}
	}
	key := r.Spec.Token + " " + strings.Join(about, " ")
	if known, ok := f.remembered[key]; ok {
		return &authenticationv1.TokenReview{Status: known}, nil
	}
	var common []string
	for _, a := range f.valid[r.Spec.Token] {
		if slices.Contains(about, a) {
			common = append(common, a)
		}
	}
	if len(common) == 0 {
		return &authenticationv1.TokenReview{}, nil
	}
	status := authenticationv1.TokenReviewStatus{Authenticated: true, Audiences: common, User: authenticationv1.UserInfo{Username: "somebody"}}
	f.remembered[key] = status
	return &authenticationv1.TokenReview{Status: status}, nil
}

// TestRevokedTokenOfServiceAccount checks that each review of such a token looks at the account,
// whatever the API server has cached, and that other tokens are reviewed normally.
func TestRevokedTokenOfServiceAccount(t *testing.T) {
	own, second, other := jwt(`{"sub":"system:serviceaccount:ci:a"}`), jwt(`{"sub":"system:serviceaccount:ci:b"}`), jwt(`{"sub":"alice"}`)
	kubernetes := []string{"https://kubernetes.default.svc"}
	server := &forgetful{
		valid:      map[string][]string{own: kubernetes, second: {"second"}, other: kubernetes},
		remembered: map[string]authenticationv1.TokenReviewStatus{},
	}
	a := NewAuthenticator(server, nil)
	check := func(step, token string, want bool, reviews int) {
		t.Helper()
		server.asked = nil
		_, err := a.Recheck(t.Context(), TokenCredentials(token))
		if want != (err == nil) || (err != nil && !apierror.Is(err, apierror.CodeUnauthenticated)) {
			t.Errorf("%s: got %v", step, err)
		}
		if len(server.asked) != reviews {
			t.Errorf("%s: %d reviews, want %d: %q", step, len(server.asked), reviews, server.asked)
		}
	}
	check("the first one teaches the audiences", own, true, 1)
	check("from then on it is asked anew", own, true, 1)
	if len(server.asked) != 1 || len(server.asked[0]) != 2 || server.asked[0][0] != kubernetes[0] {
		t.Errorf("asked about %q", server.asked)
	}
	before := server.asked[0][1]
	check("and anew", own, true, 1)
	if server.asked[0][1] == before {
		t.Error("the same question twice")
	}
	check("a token of another audience of the same API server", second, true, 2)
	check("which is known then", second, true, 1)
	check("of another user", other, true, 1)
	if len(server.asked[0]) != 0 {
		t.Errorf("asked about %q", server.asked)
	}
	clear(server.valid)
	check("revoked", own, false, 2)
	check("revoked, of another audience", second, false, 2)
	check("of another user, as the API server remembers", other, true, 1)
	check("a token that was never valid", jwt(`{"sub":"system:serviceaccount:ci:c"}`), false, 2)
}
