package proxy

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestRefusals is who may not, and what they learn by it.
func TestRefusals(t *testing.T) {
	w := open(t)
	pods := "/api/v1/namespaces/shop/configmaps"
	for _, tt := range []struct {
		person, instance string
		header           []string
		status           int
		code             string
		why              string
	}{
		{"alice", "alpha", nil, http.StatusOK, "", "she is an editor there"},
		{"bob", "beta", nil, http.StatusForbidden, "FORBIDDEN", "a viewer sees the instance, and reads through GraphQL"},
		{"bob", "alpha", nil, http.StatusNotFound, "NOT_FOUND", "he may not know of it"},
		{"alice", "beta", nil, http.StatusNotFound, "NOT_FOUND", "neither may she"},
		{"mallory", "alpha", nil, http.StatusNotFound, "NOT_FOUND", "she has no role anywhere"},
		{"mallory", "none", nil, http.StatusNotFound, "NOT_FOUND", "there is no such instance"},
		{"admin", "none", nil, http.StatusNotFound, "NOT_FOUND", "not for the administrator either"},
		{"", "alpha", nil, http.StatusUnauthorized, "UNAUTHENTICATED", "an empty user is no user"},
		{"alice", "alpha", []string{"Impersonate-User", "admin"}, http.StatusForbidden, "FORBIDDEN", "she may not impersonate"},
		{"alice", "alpha", []string{"impersonate-user", "alice"}, http.StatusForbidden, "FORBIDDEN", "not even herself"},
		{"alice", "alpha", []string{"Impersonate-Group", "system:masters"}, http.StatusForbidden, "FORBIDDEN", "groups without a user are no identity"},
		{"alice", "alpha", []string{"Impersonate-Extra-Scopes", "all"}, http.StatusForbidden, "FORBIDDEN", "nor are extras"},
		{"alice", "alpha", []string{"Impersonate-Anything", "x"}, http.StatusForbidden, "FORBIDDEN", "nor is what Kubernetes will know one day"},
		{"admin", "alpha", []string{"Impersonate-User", "alice"}, http.StatusOK, "", "the administrator may impersonate, and then is alice"},
		{"admin", "alpha", []string{"Impersonate-User", "mallory"}, http.StatusNotFound, "NOT_FOUND", "or mallory, who sees nothing"},
		{"alice", "alpha", []string{"X-Remote-User", "admin", "X-Remote-Group", "system:masters"}, http.StatusOK, "", "what else claims an identity is dropped"},
		{"alice", "alpha", []string{"Origin", "https://evil.example", "Upgrade", "websocket", "Connection", "Upgrade"}, http.StatusForbidden, "FORBIDDEN", "pages of other sites open no streams"},
	} {
		token := ""
		if tt.person != "" {
			token = w.Token(t, tt.person)
		}
		status, body, err := w.get(t.Context(), token, "/instances/"+tt.instance+"/proxy"+pods, tt.header...)
		if err != nil {
			t.Fatal(err)
		}
		if status != tt.status {
			t.Errorf("%s of %s %v: HTTP %d, want %d: %s\n%.300s", tt.person, tt.instance, tt.header, status, tt.status, tt.why, body)
			continue
		}
		if tt.code == "" {
			continue
		}
		var s metav1.Status
		if err := json.Unmarshal([]byte(body), &s); err != nil || s.Kind != "Status" || s.Details == nil || len(s.Details.Causes) != 1 || string(s.Details.Causes[0].Type) != tt.code {
			t.Errorf("%s of %s %v: not a Status with %s: %v\n%s", tt.person, tt.instance, tt.header, tt.code, err, body)
		}
	}
}

// TestHiddenIsMissing compares every byte of the two.
func TestHiddenIsMissing(t *testing.T) {
	w := open(t)
	token := w.Token(t, "mallory")
	_, hidden, err := w.get(t.Context(), token, "/instances/alpha/proxy/api/v1/pods")
	if err != nil {
		t.Fatal(err)
	}
	_, missing, err := w.get(t.Context(), token, "/instances/omega/proxy/api/v1/pods")
	if err != nil {
		t.Fatal(err)
	}
	if strings.ReplaceAll(hidden, "alpha", "omega") != missing {
		t.Errorf("hidden\n%s\nmissing\n%s", hidden, missing)
	}
}

// TestKubectlIsRefused shows what people see who may not.
func TestKubectlIsRefused(t *testing.T) {
	w := open(t)
	w.kubectl(t, "bob", "beta").refused(t, []string{"get", "pods", "-n", "billing"}, "bob", "instances/proxy")
	w.kubectl(t, "mallory", "alpha").refused(t, []string{"get", "pods", "-n", "shop"}, "NotFound")
	w.kubectl(t, "alice", "alpha").refused(t, []string{"get", "pods", "-n", "shop", "--as", "admin"}, "cannot impersonate")
}
