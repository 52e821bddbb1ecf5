package authz

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// globalCluster answers the two reviews, and records the user of each as an API server reads it
// from the headers.
type globalCluster struct {
	// deaf drops the headers, as a proxy might.
	deaf bool
	seen []string
	from []User
	spec authorizationv1.SelfSubjectRulesReviewSpec
}

func (g *globalCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.seen = append(g.seen, r.Method+" "+r.URL.Path)
	u := User{Name: "kairship"}
	if !g.deaf {
		u = impersonated(r.Header)
	}
	g.from = append(g.from, u)
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/apis/authentication.k8s.io/v1/selfsubjectreviews":
		review := authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: u.Name}}}
		review.APIVersion, review.Kind = "authentication.k8s.io/v1", "SelfSubjectReview"
		_ = json.NewEncoder(w).Encode(review)
	case "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews":
		var review authorizationv1.SelfSubjectRulesReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		g.spec = review.Spec
		review.Status = authorizationv1.SubjectRulesReviewStatus{ResourceRules: viewerRules("alpha")}
		_ = json.NewEncoder(w).Encode(review)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// impersonated reads the headers as k8s.io/apiserver does.
func impersonated(h http.Header) User {
	u := User{Name: h.Get("Impersonate-User"), UID: h.Get("Impersonate-Uid"), Groups: h["Impersonate-Group"]}
	for name, values := range h {
		if key, ok := strings.CutPrefix(name, "Impersonate-Extra-"); ok {
			key, err := url.PathUnescape(strings.ToLower(key))
			if err != nil {
				key = "undecodable"
			}
			if u.Extra == nil {
				u.Extra = map[string][]string{}
			}
			u.Extra[key] = values
		}
	}
	return u
}

func reviewer(t *testing.T, g *globalCluster) RulesReviewer {
	t.Helper()
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	kube, err := kubernetes.NewForConfig(&rest.Config{
		Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"},
		// What the process itself is configured to be must not shine through.
		Impersonate: rest.ImpersonationConfig{UserName: "somebody-else", Groups: []string{"system:masters"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return NewRulesReviewer(kube.AuthorizationV1().RESTClient())
}

func TestRulesAreAskedAsTheUser(t *testing.T) {
	for _, tt := range []struct {
		user User
		why  string
	}{
		{User{Name: "alice", UID: "u-1", Groups: []string{"dev", "system:authenticated"}, Extra: map[string][]string{"scopes": {"a", "b"}}}, "everything that RBAC and webhooks judge by"},
		{User{Name: "system:serviceaccount:ci:deployer"}, "service accounts have no other form"},
		{User{Name: "müller", Groups: []string{"größe"}}, "names may be in any language"},
		{User{Name: "alice", Extra: map[string][]string{"authentication.kubernetes.io/credential-id": {"JTI=x"}, "UPPER%case key": {"v"}}}, "keys keep their case and signs"},
		{User{Name: "a,b", Groups: []string{"c,d"}}, "a comma does not make two"},
	} {
		g := &globalCluster{}
		status, err := reviewer(t, g).Rules(t.Context(), tt.user)
		if err != nil {
			t.Fatalf("%s: %v", tt.why, err)
		}
		if d := cmp.Diff(viewerRules("alpha"), status.ResourceRules); d != "" {
			t.Errorf("rules (-want +got):\n%s", d)
		}
		for _, got := range g.from {
			if d := cmp.Diff(tt.user, got); d != "" {
				t.Errorf("%s: sent as (-want +got):\n%s", tt.why, d)
			}
		}
		if len(validation.IsDNS1123Label(g.spec.Namespace)) == 0 || g.spec.Namespace == "" {
			t.Errorf("asked about namespace %q, in which a user may hold a Role", g.spec.Namespace)
		}
	}
}

func TestRulesOfOneClientAreForManyUsers(t *testing.T) {
	g := &globalCluster{}
	r := reviewer(t, g)
	for _, name := range []string{"alice", "bob"} {
		if _, err := r.Rules(t.Context(), User{Name: name, Groups: []string{"of-" + name}}); err != nil {
			t.Fatal(err)
		}
	}
	want := []User{
		{Name: "alice", Groups: []string{"of-alice"}}, {Name: "alice", Groups: []string{"of-alice"}}, {Name: "bob", Groups: []string{"of-bob"}},
	}
	if d := cmp.Diff(want, g.from); d != "" {
		t.Errorf("the check of impersonation and two reviews are sent as (-want +got):\n%s", d)
	}
}

func TestRulesRefuseImpersonators(t *testing.T) {
	for _, tt := range []struct {
		user User
		why  string
	}{
		{User{}, "without a user, the rules would be Kairship's own"},
		{User{Name: "alice "}, "HTTP cuts the space off, and alice is another user"},
		{User{Name: "\talice"}, "HTTP cuts the tab off"},
		{User{Name: "alice\r\nImpersonate-Group: system:masters"}, "a line break ends a header"},
		{User{Name: "alice", Groups: []string{"dev", "admins "}}, "HTTP cuts the space off, and admins are others"},
		{User{Name: "alice", Groups: []string{""}}, "no binding names an empty group"},
		{User{Name: "alice", UID: " "}, "it would be sent as none"},
		{User{Name: "alice", Extra: map[string][]string{"scopes": {"a\x00b"}}}, "a header can't carry it"},
	} {
		g := &globalCluster{}
		_, err := reviewer(t, g).Rules(t.Context(), tt.user)
		if apierror.CodeOf(err) != apierror.CodeForbidden || err == nil {
			t.Errorf("%+v: got %v, want %s: %s", tt.user, err, apierror.CodeForbidden, tt.why)
		}
		if len(g.seen) != 0 {
			t.Errorf("%+v: sent %q", tt.user, g.seen)
		}
	}
}

func TestRulesNoticeThatImpersonationIsNotHeeded(t *testing.T) {
	g := &globalCluster{deaf: true}
	r := reviewer(t, g)
	for range 2 {
		_, err := r.Rules(t.Context(), User{Name: "mallory"})
		if apierror.CodeOf(err) != apierror.CodeInternal {
			t.Errorf("got %v, want %s", err, apierror.CodeInternal)
		}
	}
	if slices.ContainsFunc(g.seen, func(s string) bool { return strings.HasSuffix(s, "rulesreviews") }) {
		t.Errorf("the rules of another user were asked for: %q", g.seen)
	}
	g.deaf = false
	if _, err := r.Rules(t.Context(), User{Name: "mallory"}); err != nil {
		t.Errorf("after it was repaired: %v", err)
	}
}
