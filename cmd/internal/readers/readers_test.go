package readers_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kairship-io/kairship/cmd/internal/readers"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
)

// authenticatorFunc is an authenticator of one method.
type authenticatorFunc func(authz.Credentials) (authz.User, error)

func (f authenticatorFunc) Authenticate(_ context.Context, c authz.Credentials) (authz.User, error) {
	return f(c)
}

func TestOnly(t *testing.T) {
	known := authenticatorFunc(func(authz.Credentials) (authz.User, error) {
		return authz.User{Name: "prometheus", Groups: []string{"g"}, Extra: map[string][]string{"k": {"v"}}}, nil
	})
	fails := func(code apierror.Code) authenticatorFunc {
		return func(authz.Credentials) (authz.User, error) { return authz.User{}, apierror.New(code, "no") }
	}
	for _, tt := range []struct {
		reason        string
		authenticator authz.Authenticator
		allowed       bool
		silent        bool
		want          int
	}{
		{"a user who may get /metrics", known, true, false, http.StatusOK},
		{"a user who may not", known, false, false, http.StatusForbidden},
		{"an unknown user", fails(apierror.CodeUnauthenticated), true, false, http.StatusUnauthorized},
		{"the token review fails", fails(apierror.CodeTimeout), true, false, http.StatusServiceUnavailable},
		{"the access review fails", known, true, true, http.StatusServiceUnavailable},
	} {
		kube := fake.NewClientset()
		kube.PrependReactor("create", "subjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
			if tt.silent {
				return true, nil, apierrors.NewServiceUnavailable("away")
			}
			review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview)
			asked := review.Spec
			review.Status.Allowed = tt.allowed && asked.User == "prometheus" && asked.Groups[0] == "g" && asked.Extra["k"][0] == "v" &&
				*asked.NonResourceAttributes == authorizationv1.NonResourceAttributes{Path: "/metrics", Verb: "get"}
			return true, review, nil
		})
		served := false
		next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served = true })
		w := httptest.NewRecorder()
		readers.Only(next, tt.authenticator, kube.AuthorizationV1().SubjectAccessReviews()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
		if w.Code != tt.want || served != (tt.want == http.StatusOK) {
			t.Errorf("%s: got %d, served is %v; want %d", tt.reason, w.Code, served, tt.want)
		}
		if got := w.Header().Get("X-Content-Type-Options"); got != "nosniff" {
			t.Errorf("%s: X-Content-Type-Options is %q, want nosniff", tt.reason, got)
		}
	}
}
