package passthrough_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kairship-io/kairship/pkg/instanceproxy/passthrough"
)

// written are the writes that were recorded, as text.
type written chan string

// RecordNative implements passthrough.History.
func (w written) RecordNative(_ context.Context, one *passthrough.Written) {
	w <- strings.TrimSpace(fmt.Sprintf("%s as %s: %s %s/%s/%s %s/%s of %s %s", one.User, one.As, one.Verb, one.Group, one.Version, one.Resource, one.Namespace, one.Name, one.Instance, one.Code))
}

// TestWritesAreRecorded sends requests, and expects of each what is recorded; nothing of reads, of what was not to be
// stored, of reviews, and of users who may not know of the instance.
func TestWritesAreRecorded(t *testing.T) {
	recorded := make(written, 10)
	instance := func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "refused") {
			w.WriteHeader(http.StatusConflict)
		}
	}
	s := newScene(t, instance, func(c *passthrough.Config) { c.History = recorded })
	const web = "/apis/apps/v1/namespaces/shop/deployments/web"
	for _, tt := range []struct {
		token, method, path string
		header              []string
		want                string
	}{
		{token: "t-alice", method: http.MethodPatch, path: web, want: "alice as alice: PATCH apps/v1/deployments shop/web of alpha"},
		{token: "t-alice", method: http.MethodPatch, path: web, header: []string{"Content-Type", "application/apply-patch+yaml"}, want: "alice as alice: APPLY apps/v1/deployments shop/web of alpha"},
		{token: "t-alice", method: http.MethodPut, path: web + "/scale", want: "alice as alice: UPDATE apps/v1/deployments shop/web of alpha"},
		{token: "t-admin", method: http.MethodDelete, path: web, header: []string{"Impersonate-User", "alice"}, want: "admin as alice: DELETE apps/v1/deployments shop/web of alpha"},
		{token: "t-alice", method: http.MethodDelete, path: "/apis/cluster.karmada.io/v1alpha1/clusters/m1", want: "alice as alice: DELETE cluster.karmada.io/v1alpha1/clusters /m1 of alpha"},
		{token: "t-alice", method: http.MethodGet, path: web},
		{token: "t-alice", method: http.MethodPatch, path: web + "?dryRun=All"},
		{token: "t-alice", method: http.MethodPut, path: web + "/status"},
		{token: "t-alice", method: http.MethodPut, path: "/apis/apps/v1/namespaces/shop/deployments/refused", want: "alice as alice: UPDATE apps/v1/deployments shop/refused of alpha CONFLICT"},
		{token: "t-alice", method: http.MethodPost, path: "/apis/apps/v1/namespaces/shop/deployments", want: "alice as alice: CREATE apps/v1/deployments shop/ of alpha"},
		{token: "t-alice", method: http.MethodDelete, path: "/apis/apps/v1/namespaces/shop/deployments", want: "alice as alice: DELETE apps/v1/deployments shop/ of alpha"},
		{token: "t-alice", method: http.MethodPost, path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"},
		{token: "t-reader", method: http.MethodPatch, path: web, want: "reader as : PATCH apps/v1/deployments shop/web of alpha FORBIDDEN"},
		{token: "t-mallory", method: http.MethodPatch, path: web},
	} {
		s.do(t, tt.token, tt.method, passthrough.PathOf("alpha")+tt.path, nil, tt.header...) //nolint:bodyclose // It is closed there.
		got := ""
		wait := 20 * time.Millisecond
		if tt.want != "" {
			wait = 10 * time.Second
		}
		select {
		case got = <-recorded:
		case <-time.After(wait):
		}
		if got != tt.want {
			t.Errorf("%s %s of %s: recorded %q, want %q", tt.method, tt.path, tt.token, got, tt.want)
		}
	}
}
