package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/rest"

	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/graph/server/readiness"
	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
)

// globalCluster is a global cluster that answers at once: it authenticates tokens that begin with
// alice, as users without permissions.
func globalCluster(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasSuffix(r.URL.Path, "/tokenreviews"):
		var review authenticationv1.TokenReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if strings.HasPrefix(review.Spec.Token, "alice") {
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: review.Spec.Token}}
		}
		json.NewEncoder(w).Encode(review) //nolint:errcheck // The test sees it.
	case strings.HasSuffix(r.URL.Path, "/selfsubjectreviews"):
		fmt.Fprintf(w, `{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1","status":{"userInfo":{"username":%q}}}`, r.Header.Get("Impersonate-User"))
	case strings.HasSuffix(r.URL.Path, "/selfsubjectrulesreviews"):
		fmt.Fprint(w, `{"kind":"SelfSubjectRulesReview","apiVersion":"authorization.k8s.io/v1","status":{"resourceRules":[],"nonResourceRules":[]}}`)
	default:
		fmt.Fprint(w, "ok")
	}
}

// TestFloodOfUnknownTokens sends invented tokens from many addresses, more than may be reviewed.
// Readiness, known users and their permissions are not affected, and no client waits long for its
// refusal.
func TestFloodOfUnknownTokens(t *testing.T) {
	const perSecond = 40
	var requests atomic.Int64
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		globalCluster(w, r)
	}))
	t.Cleanup(api.Close)
	ask, err := newGlobalClients(&rest.Config{Host: api.URL, QPS: perSecond, Burst: perSecond, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	authenticator := authz.NewAuthenticator(ask.kube.AuthenticationV1().TokenReviews(), time.Now)
	authenticator.ReviewLimiter = newTokenReviewLimiter(ask)
	permissions := authz.NewResolver(authz.NewRulesReviewer(ask.kube.AuthorizationV1().RESTClient()), nil, time.Now, nil)
	alice := authz.TokenCredentials("alice")
	known, err := authenticator.Authenticate(t.Context(), alice)
	if err != nil {
		t.Fatal(err)
	}
	handler, err := server.New(server.Config{
		Schema: emptySchema(), Authenticator: authenticator, Authorizer: permissions,
		Checks: []readiness.Check{
			{Name: "global-cluster", Required: true, Run: checkGlobal(ask.checks)},
			{Name: "authn", Required: true, Run: checkAuthn(ask.checks)},
		},
	})
	if err != nil {
		t.Fatal(err)
	}

	var floodRefused atomic.Int64
	flood, end := context.WithCancel(t.Context())
	defer end()
	for i := range 20 {
		go func() {
			from := authz.WithPeer(flood, &net.TCPAddr{IP: net.IPv4(192, 0, 2, byte(i)), Port: 40000})
			for n := 0; flood.Err() == nil; n++ {
				claims := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"sub":"system:serviceaccount:x:%d-%d"}`, i, n))
				go func() {
					if _, err := authenticator.Authenticate(from, authz.TokenCredentials("x."+claims+".x")); apierror.Is(err, apierror.CodeRateLimited) {
						floodRefused.Add(1)
					}
				}()
				time.Sleep(5 * time.Millisecond)
			}
		}()
	}
	poll.True(t, patience, "more tokens come than may be reviewed", func() bool { return floodRefused.Load() > 0 })
	refused := 0
	for n := range 10 {
		// A request that waited behind those of the flood would let a second's worth of them pass.
		notBehind := func(what string, do func()) {
			before := requests.Load()
			do()
			if passed := requests.Load() - before; passed > perSecond {
				t.Errorf("%s waited for %d requests", what, passed)
			}
		}
		notBehind("/readyz", func() {
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", http.NoBody))
			if answer.Code != http.StatusOK {
				t.Errorf("/readyz: HTTP %d %s", answer.Code, answer.Body)
			}
		})
		notBehind("alice's token", func() {
			if _, err := authenticator.Recheck(t.Context(), alice); err != nil {
				t.Errorf("alice's token: %v", err)
			}
		})
		notBehind("alice's permissions", func() {
			if _, err := permissions.Review(t.Context(), known); err != nil {
				t.Errorf("alice's permissions: %v", err)
			}
		})
		if _, err := authenticator.Authenticate(t.Context(), authz.TokenCredentials(fmt.Sprint("alice", n))); apierror.Is(err, apierror.CodeRateLimited) {
			refused++
		}
		time.Sleep(150 * time.Millisecond)
	}
	if refused == 0 {
		t.Error("there was a place for every stranger")
	}
}
