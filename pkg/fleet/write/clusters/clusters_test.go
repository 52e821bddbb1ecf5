package clusters

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/connection"
)

func TestRead(t *testing.T) {
	const kubeconfig = `{apiVersion: v1, kind: Config, current-context: x, contexts: [{name: x, context: {cluster: x, user: x}}],
		clusters: [{name: x, cluster: {server: "https://10.0.0.1:6443", insecure-skip-tls-verify: true}}], users: [{name: x, user: {token: hunter2}}]}`
	for _, tt := range []struct {
		name, argument string
		in             Credentials
		want           string
	}{
		{name: "a kubeconfig", in: Credentials{Kubeconfig: new(kubeconfig)}, want: "https://10.0.0.1:6443"},
		{name: "a token", in: Credentials{Token: new("hunter2"), APIEndpoint: new("https://10.0.0.2:6443/")}, want: "https://10.0.0.2:6443"},
		{name: "nothing", argument: "input.kubeconfig"},
		{name: "both", in: Credentials{Kubeconfig: new(kubeconfig), Token: new("hunter2")}, argument: "input.token"},
		{name: "a token for no server", in: Credentials{Token: new("hunter2")}, argument: "input.apiEndpoint"},
		{name: "a token for what is no server", in: Credentials{Token: new("hunter2"), APIEndpoint: new("10.0.0.2")}, argument: "input.token"},
		{name: "a CA beside a kubeconfig", in: Credentials{Kubeconfig: new(kubeconfig), CertificateAuthority: new("x")}, argument: "input.certificateAuthority"},
		{name: "a token sent elsewhere", in: Credentials{Kubeconfig: new(kubeconfig), APIEndpoint: new("https://evil.example.com")}, argument: "input.kubeconfig"},
		{name: "through a proxy", in: Credentials{Kubeconfig: new(strings.Replace(kubeconfig, "server:", "proxy-url: \"http://10.0.0.9:3128\", server:", 1))}, argument: "input.kubeconfig"},
	} {
		to, stored, err := tt.in.read()
		e, _ := errors.AsType[*apierror.Error](err)
		switch {
		case tt.argument == "" && (err != nil || to.Endpoint != tt.want || !strings.Contains(string(stored), "hunter2")):
			t.Errorf("%s: got %s, %v", tt.name, to.Endpoint, err)
		case tt.argument != "" && (e == nil || e.Code != apierror.CodeInvalid || e.Argument != tt.argument || strings.Contains(e.Message, "hunter2")):
			t.Errorf("%s: got %v", tt.name, err)
		}
	}
}

// TestTry tries tokens against a server that knows three of them.
func TestTry(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		switch {
		case token == "wrong":
			w.WriteHeader(http.StatusUnauthorized)
		case token == "blind":
			w.WriteHeader(http.StatusForbidden)
		case token == "web":
			_, _ = w.Write([]byte("<html>"))
		case r.Method == http.MethodGet:
			_, _ = w.Write([]byte(`{"apiVersion": "v1", "kind": "Namespace", "metadata": {"uid": "u1"}}`))
		default:
			var review authorizationv1.SelfSubjectAccessReview
			_ = json.NewDecoder(r.Body).Decode(&review)
			a := review.Spec.ResourceAttributes
			review.Status.Allowed = token == "admin" || a.Verb != "*" && (token == "viewer" || a.Resource != "nodes")
			w.WriteHeader(http.StatusCreated)
			_ = json.NewEncoder(w).Encode(review)
		}
	}))
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for _, tt := range []struct {
		token    string
		without  bool
		mayJoin  bool
		missing  string
		refusal  string
		argument string
	}{
		{token: "admin", mayJoin: true},
		{token: "viewer"},
		{token: "half", missing: "list nodes,watch nodes"},
		{token: "wrong", refusal: "does not accept these credentials", argument: "input.token"},
		{token: "blind", refusal: "may not get the namespace kube-system", argument: "input.token"},
		{token: "web", refusal: "does not answer as an API server", argument: "input.apiEndpoint"},
		{token: "admin", without: true, refusal: "unknown authority", argument: "input.token"},
	} {
		to := connection.Connection{Endpoint: server.URL, Token: tt.token, CAData: ca}
		if tt.without {
			to.CAData = nil
		}
		found, err := Try(t.Context(), to, nil)
		if tt.refusal != "" {
			e, _ := errors.AsType[*apierror.Error](refusal(err, to.Endpoint, "input.token"))
			if err == nil || e.Argument != tt.argument || !strings.Contains(e.Message, tt.refusal) {
				t.Errorf("%s: got %v", tt.token, e)
			}
			continue
		}
		if err != nil || found.KubeSystemID != "u1" || found.MayJoin != tt.mayJoin || strings.Join(found.Missing, ",") != tt.missing {
			t.Errorf("%s: got %+v, %v", tt.token, found, err)
		}
	}
	server.Close()
	_, err := Try(t.Context(), connection.Connection{Endpoint: server.URL, Token: "admin", CAData: ca}, nil)
	if e, _ := errors.AsType[*apierror.Error](refusal(err, server.URL, "input.token")); e == nil || !strings.Contains(e.Message, "does not answer within") {
		t.Errorf("got %v", e)
	}
}

func TestLacking(t *testing.T) {
	e, _ := errors.AsType[*apierror.Error](lacking([]string{"a", "b", "c", "d", "e", "f", "g"}, "input.token"))
	if e == nil || !strings.Contains(e.Message, "a, b, c, d, e, 2 more") {
		t.Errorf("got %v", e)
	}
}
