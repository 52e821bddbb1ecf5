package suite

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

const anyQuery = "{ instances { nodes { name } } }"

// unknownToken looks like one of the fleet's tokens and is none of them.
const unknownToken = "suite-0123456789abcdef0123456789abcdef"

// TestWithoutAValidTokenThereIsNoAnswer sends what is no token, or no user's.
func TestWithoutAValidTokenThereIsNoAnswer(t *testing.T) {
	on := open(t)
	for _, tt := range []struct{ name, authorization string }{
		{"no token", ""},
		{"unknown token", "Bearer " + unknownToken},
		{"empty token", "Bearer "},
		{"no scheme", on.fleet.Token(t, "admin")},
		{"password", "Basic YWRtaW46YWRtaW4="},
		{"token of an instance", "Bearer " + serviceAccountToken(t, on, "alpha")},
		{"without a signature", "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQ6YTpiIn0."},
	} {
		for _, accept := range []string{gql.JSON, gql.Response} {
			t.Run(tt.name+" "+accept, func(t *testing.T) {
				r := sendAs(t, on, tt.authorization, accept)
				refused(t, r, http.StatusUnauthorized, "UNAUTHENTICATED")
			})
		}
	}
	raw, err := os.ReadFile(on.log)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{unknownToken, on.fleet.Token(t, "admin"), "YWRtaW46YWRtaW4="} {
		if strings.Contains(string(raw), secret) {
			t.Error("the log has a token or a password")
		}
	}
}

// TestPeopleWithoutARoleSeeNothing asks as users without a role.
func TestPeopleWithoutARoleSeeNothing(t *testing.T) {
	on := open(t)
	for _, accept := range []string{gql.JSON, gql.Response} {
		r := sendAs(t, on, "Bearer "+on.fleet.Token(t, "mallory"), accept)
		if r.Status != http.StatusOK || len(r.Errors) > 0 || sees(r) {
			t.Errorf("mallory gets HTTP %d: %s", r.Status, r.Body)
		}
	}
	if r := sendAs(t, on, "Bearer "+on.fleet.Token(t, "admin"), gql.JSON); r.Status != http.StatusOK || len(r.Errors) > 0 || !sees(r) {
		t.Errorf("admin gets HTTP %d: %s", r.Status, r.Body)
	}
}

// sees reports whether an answer to anyQuery shows an instance.
func sees(r *gql.Result) bool { return strings.Contains(string(r.Body), `"name":`) }

// refused checks an answer that tells nothing but why there is none.
func refused(t *testing.T, r *gql.Result, status int, code string) {
	t.Helper()
	if r.Status != status {
		t.Errorf("HTTP %d, want %d", r.Status, status)
	}
	if r.HasData || len(r.Errors) != 1 || r.Errors[0].Extensions.Code != code {
		t.Errorf("want no data and one error %s, got %s", code, r.Body)
	}
}

// sendAs asks with an Authorization header as it is.
func sendAs(t *testing.T, on *target, authorization, accept string) *gql.Result {
	t.Helper()
	c := gql.New(on.url, "")
	c.HTTP.Transport = withHeader{"Authorization", authorization}
	return c.Must(t, gql.Request{Query: anyQuery, Accept: accept})
}

// withHeader adds a header to every request.
type withHeader struct{ name, value string }

func (h withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	if h.value != "" {
		r = r.Clone(r.Context())
		r.Header.Set(h.name, h.value)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// serviceAccountToken makes a token of a new service account in a cluster.
func serviceAccountToken(t *testing.T, on *target, cluster string) string {
	t.Helper()
	token, _ := newServiceAccount(t, on, cluster)
	return token
}

func newServiceAccount(t *testing.T, on *target, cluster string) (token string, account *corev1.ServiceAccount) {
	t.Helper()
	c := on.fleet.Client(t, cluster)
	account = &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "suite-"}}
	if err := c.Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.IgnoreNotFound(c.Delete(context.Background(), account)) })
	return on.fleet.NewToken(t, cluster, account), account
}

// forgotten is how long Kairship may go on with what it was told of a token or
// of a role.
const forgotten = 30 * time.Second

// TestATokenThatIsRevokedAndARoleThatIsGivenAreNoticed follows one service
// account: without a role, with one, without again, and gone.
func TestATokenThatIsRevokedAndARoleThatIsGivenAreNoticed(t *testing.T) {
	on := open(t)
	global := on.fleet.Client(t, "global")
	token, account := newServiceAccount(t, on, "global")
	until := func(what string, status int, instances bool) {
		t.Helper()
		poll.Until(t, forgotten, what, func(context.Context) error {
			if r := sendAs(t, on, "Bearer "+token, gql.JSON); r.Status != status || sees(r) != instances {
				return fmt.Errorf("HTTP %d, want %d with instances: %v: %s", r.Status, status, instances, r.Body)
			}
			return nil
		})
	}
	until("an account without a role sees nothing", http.StatusOK, false)
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: account.Namespace, Name: account.Name}},
	}
	if err := global.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.IgnoreNotFound(global.Delete(context.Background(), binding)) })
	until("an account that is given a role sees instances", http.StatusOK, true)
	if err := global.Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	until("an account whose role is taken away sees nothing", http.StatusOK, false)
	if err := global.Delete(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	until("the token of a deleted account is invalid", http.StatusUnauthorized, false)
}

// TestViewerTellsWhoAsks compares with what the global cluster makes of the token.
func TestViewerTellsWhoAsks(t *testing.T) {
	on := open(t)
	type answer struct {
		Viewer struct {
			Username string
			Groups   []string
		}
	}
	data, _ := gql.MustQuery[answer](t, on.kairship, "{ viewer { username groups } }", nil)
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: on.fleet.Token(t, "admin")}}
	if err := on.fleet.Client(t, "global").Create(t.Context(), review); err != nil {
		t.Fatal(err)
	}
	if data.Viewer.Username != review.Status.User.Username || strings.Join(data.Viewer.Groups, ",") != strings.Join(review.Status.User.Groups, ",") {
		t.Errorf("got %v, the global cluster says %v", data.Viewer, review.Status.User)
	}
}

// TestHealthAndGraphiQLNeedNoToken reads what everybody may.
func TestHealthAndGraphiQLNeedNoToken(t *testing.T) {
	on := open(t)
	for path, want := range map[string]int{
		"/healthz": http.StatusOK, "/readyz": http.StatusOK, "/graphiql": http.StatusOK, "/": http.StatusOK,
		"/graphql?query=%7Bviewer%7Busername%7D%7D": http.StatusUnauthorized, "/metrics": http.StatusNotFound, "/debug/pprof/": http.StatusNotFound,
	} {
		got, err := statusOf(t.Context(), on.url+path)
		if err != nil || got != want {
			t.Errorf("GET %s: HTTP %d, %v; want %d", path, got, err, want)
		}
	}
}

func statusOf(ctx context.Context, url string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, errors.Join(resp.Body.Close())
}
