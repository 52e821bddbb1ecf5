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
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/rest"

	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/graph/server/readiness"
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
	api := httptest.NewServer(http.HandlerFunc(globalCluster))
	t.Cleanup(api.Close)
	ask, err := newGlobalClients(&rest.Config{Host: api.URL, QPS: 40, Burst: 40, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
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

	flood, end := context.WithCancel(t.Context())
	defer end()
	for i := range 20 {
		go func() {
			from := authz.WithPeer(flood, &net.TCPAddr{IP: net.IPv4(192, 0, 2, byte(i)), Port: 40000})
			for n := 0; flood.Err() == nil; n++ {
				claims := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"sub":"system:serviceaccount:x:%d-%d"}`, i, n))
				go authenticator.Authenticate(from, authz.TokenCredentials("x."+claims+".x")) //nolint:errcheck // Others are looked at.
				time.Sleep(5 * time.Millisecond)
			}
		}()
	}
	time.Sleep(500 * time.Millisecond) // What may be asked at once has been.
	const soon = time.Second
	refused := 0
	for n := range 10 {
		begun := time.Now()
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", http.NoBody))
		if took := time.Since(begun); answer.Code != http.StatusOK || took > soon {
			t.Errorf("/readyz after %s: HTTP %d %s", took, answer.Code, answer.Body)
		}
		begun = time.Now()
		if _, err := authenticator.Recheck(t.Context(), alice); err != nil || time.Since(begun) > soon {
			t.Errorf("alice's token after %s: %v", time.Since(begun), err)
		}
		begun = time.Now()
		if _, err := permissions.Review(t.Context(), known); err != nil || time.Since(begun) > soon {
			t.Errorf("alice's permissions after %s: %v", time.Since(begun), err)
		}
		if _, err := authenticator.Authenticate(t.Context(), authz.TokenCredentials(fmt.Sprint("alice", n))); apierror.Is(err, apierror.CodeRateLimited) {
			refused++
		}
		time.Sleep(150 * time.Millisecond)
	}
	if refused == 0 {
		t.Error("there was a place for every stranger")
	}
}
