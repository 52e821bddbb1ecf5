package passthrough_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// The creation of a namespace is answered once its creator may write in it.
func TestNewNamespace(t *testing.T) {
	const namespaces = "/api/v1/namespaces"
	for _, tt := range []struct {
		reason, token, method, path, name string
		status, asked                     int
	}{
		{"an editor waits for the rights", "t-editor", "POST", namespaces, "shop", http.StatusCreated, 3},
		{"so by server-side apply", "t-editor", "PATCH", namespaces + "/shop", "shop", http.StatusCreated, 3},
		{"it was there", "t-editor", "PATCH", namespaces + "/shop", "shop", http.StatusOK, 0},
		{"nothing is made", "t-editor", "POST", namespaces + "?dryRun=All", "shop", http.StatusCreated, 0},
		{"something else is made", "t-editor", "POST", namespaces + "/shop/configmaps", "shop", http.StatusCreated, 0},
		{"an editor gets no rights in a reserved one", "t-editor", "POST", namespaces, "kube-shop", http.StatusCreated, 0},
		{"a caller gets none who has none in others", "t-alice", "POST", namespaces, "shop", http.StatusCreated, 0},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			asked := 0
			body := fmt.Sprintf(`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":%q}}`, tt.name)
			s := newScene(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews") {
					asked++
					w.WriteHeader(http.StatusCreated)
					fmt.Fprintf(w, `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":%t}}`, asked > 2)
					return
				}
				w.WriteHeader(tt.status)
				fmt.Fprint(w, body)
			}, nil)
			response, got := s.do(t, tt.token, tt.method, "/instances/alpha/proxy"+tt.path, strings.NewReader(body)) //nolint:bodyclose // do has read and closed it.
			if response.StatusCode != tt.status || got != body || asked != tt.asked {
				t.Errorf("%d %s after %d questions for rights, want %d %s after %d", response.StatusCode, got, asked, tt.status, body, tt.asked)
			}
		})
	}
}
