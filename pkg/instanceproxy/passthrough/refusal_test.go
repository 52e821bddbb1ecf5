package passthrough_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRefusalsNameTheRefuser(t *testing.T) {
	const (
		below   = "/instances/alpha/proxy"
		member  = below + "/apis/cluster.karmada.io/v1alpha1/clusters/m1/proxy"
		pods    = `pods is forbidden: User "alice" cannot list resource "pods"`
		proxies = `clusters.cluster.karmada.io "m1" is forbidden: User "alice" cannot get resource "clusters/proxy"`
	)
	status := func(message, group, kind string) string {
		s := metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Message: message,
			Reason: metav1.StatusReasonForbidden, Details: &metav1.StatusDetails{Group: group, Kind: kind}, Code: http.StatusForbidden,
		}
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	huge := `{"kind":"Status","message":"` + strings.Repeat("x", 100<<10) + `"}`
	for _, tt := range []struct {
		name, path, contentType, body string
		status                        int
		// message is the one of the Status that the client gets; empty where the body is as it was.
		message string
		why     string
	}{
		{"the instance", below + "/api/v1/namespaces/shop/pods", "application/json", status(pods, "", "pods"), 403, pods + ` (refused by instance "alpha")`, "no member is in between"},
		{"the instance, of its proxy", member + "/api/v1/namespaces/shop/pods", "application/json", status(proxies, "cluster.karmada.io", "clusters"), 403, proxies + ` (refused by instance "alpha")`, "the member was not asked"},
		{"the member", member + "/api/v1/namespaces/shop/pods", "application/json", status(pods, "", "pods"), 403, pods + ` (refused by member cluster "m1" of instance "alpha")`, "the instance let it through"},
		{"the member, of a path", member + "/version", "application/json", status("forbidden", "", ""), 403, `forbidden (refused by member cluster "m1" of instance "alpha")`, "a path is no resource"},
		{"the instance, of the Cluster", below + "/apis/cluster.karmada.io/v1alpha1/clusters/m1", "application/json", status("no", "cluster.karmada.io", "clusters"), 403, `no (refused by instance "alpha")`, "the object, not the proxy"},
		{"protobuf", below + "/api/v1/pods", "application/vnd.kubernetes.protobuf", status(pods, "", "pods"), 403, "", "it is not read"},
		{"another object", below + "/api/v1/pods", "application/json", `{"kind":"Config","message":"m"}`, 403, "", "no Status"},
		{"no JSON", below + "/api/v1/pods", "application/json", `{`, 403, "", "what can't be read is passed on"},
		{"more than a Status", below + "/api/v1/pods", "application/json", huge, 403, "", "it is not kept in memory"},
		{"no refusal", below + "/api/v1/pods", "application/json", status(pods, "", "pods"), 404, "", "only a refusal has a refuser"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", tt.contentType)
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.body))
			}, nil)
			response, body := s.do(t, "t-alice", http.MethodGet, tt.path, nil) //nolint:bodyclose // do closes it.
			if response.StatusCode != tt.status {
				t.Fatalf("got %d %s, want %d", response.StatusCode, body, tt.status)
			}
			if tt.message == "" {
				if body != tt.body {
					t.Errorf("got %.200s, want it as it came: %s", body, tt.why)
				}
				return
			}
			var got metav1.Status
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatalf("%v: %s", err, body)
			}
			if got.Message != tt.message || got.Reason != metav1.StatusReasonForbidden || got.Code != http.StatusForbidden || got.Details == nil {
				t.Errorf("got %+v, want the message %s: %s", got, tt.message, tt.why)
			}
		})
	}
}

// TestRefusalOfDiscoveryIsText asks as client-go does first of all: it reads no Status
// there, and kubectl would show "unknown".
func TestRefusalOfDiscoveryIsText(t *testing.T) {
	s := newScene(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","message":"no","details":{"group":"cluster.karmada.io","kind":"clusters"},"code":403}`))
	}, nil)
	const discovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
	response, body := s.do(t, "t-alice", http.MethodGet, //nolint:bodyclose // do closes it.
		"/instances/alpha/proxy/apis/cluster.karmada.io/v1alpha1/clusters/m1/proxy/api", nil, "Accept", discovery)
	if want := "no (refused by instance \"alpha\")\n"; body != want || !strings.HasPrefix(response.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("got %s %q, want the text %q", response.Header.Get("Content-Type"), body, want)
	}
}
