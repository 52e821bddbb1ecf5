package proxy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kairship-io/kairship/test/internal/gql"
)

// kubeconfigOf asks the API for a kubeconfig; the code of the error where there
// is one.
func (w *world) kubeconfigOf(t *testing.T, person, instance string) (text, code string) {
	t.Helper()
	r, err := gql.New(w.KairshipURL, w.Token(t, person)).Do(t.Context(), gql.Request{
		Query:     `query Kubeconfig($instance: String!) { instance(name: $instance) { kubeconfig { yaml server certificateAuthority } } }`,
		Variables: map[string]any{"instance": instance},
	})
	if err != nil {
		t.Fatal(err)
	}
	var data struct {
		Instance *struct {
			Kubeconfig *struct {
				YAML                 string `json:"yaml"`
				Server               string `json:"server"`
				CertificateAuthority string `json:"certificateAuthority"`
			} `json:"kubeconfig"`
		} `json:"instance"`
	}
	if err := json.Unmarshal(r.Data, &data); err != nil {
		t.Fatalf("%v: %s", err, r.Body)
	}
	if len(r.Errors) > 0 {
		code = r.Errors[0].Extensions.Code
	}
	if data.Instance == nil || data.Instance.Kubeconfig == nil {
		return "", code
	}
	k := data.Instance.Kubeconfig
	if want := w.instanceURL(instance); k.Server != want || k.CertificateAuthority != string(w.ca) {
		t.Errorf("%s of %s: server %s, want %s; authority %q", person, instance, k.Server, want, k.CertificateAuthority)
	}
	return k.YAML, code
}

// TestKubeconfig hands what the API says to kubectl, without a change.
func TestKubeconfig(t *testing.T) {
	w := open(t)
	text, code := w.kubeconfigOf(t, "alice", "alpha")
	if code != "" || text == "" {
		t.Fatalf("alice gets none: %s", code)
	}
	for _, person := range []string{"admin", "alice", "bob", "mallory"} {
		if strings.Contains(text, w.Token(t, person)) {
			t.Errorf("the token of %s is in it", person)
		}
	}
	config, err := clientcmd.Load([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for name, user := range config.AuthInfos {
		if user.Token != "" || len(user.ClientKeyData) > 0 || user.Password != "" || user.Exec != nil || user.AuthProvider != nil {
			t.Errorf("user %s has credentials", name)
		}
	}

	file := filepath.Join(t.TempDir(), "alpha.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	k, get := w.kubectlWith(t, file), []string{"get", "deployments", "-n", "shop"}
	with := func(token string) []string { return append([]string{"--token", token}, get...) }
	k.refused(t, get, "kairship-token", "no such file")
	k.run(t, "", with(w.Token(t, "alice")), "frontend")
	// The file says where, and not who.
	k.refused(t, with(w.Token(t, "mallory")), "not found")
	k.refused(t, with("nonsense"), "logged in")
	token := filepath.Join(filepath.Dir(file), "kairship-token")
	if err := os.WriteFile(token, []byte(w.Token(t, "alice")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	k.run(t, "", get, "frontend")
	k.run(t, "", []string{"auth", "whoami"}, "alice")

	// What the head of the file states about a plugin.
	const plugin = "kairship-login"
	bin := t.TempDir()
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	script := "#!/bin/sh\necho '" + `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"` + w.Token(t, "admin") + `"}}` + "'\n"
	if err := os.WriteFile(filepath.Join(bin, plugin), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	k.run(t, "", []string{"config", "delete-user", "kairship"}, "deleted")
	k.run(t, "", []string{
		"config", "set-credentials", "kairship", "--exec-command", plugin,
		"--exec-api-version", "client.authentication.k8s.io/v1", "--exec-interactive-mode", "IfAvailable",
	}, "set")
	k.run(t, "", []string{"auth", "whoami"}, "admin")
}

// TestKubeconfigIsForTheProxysUsers is who gets one.
func TestKubeconfigIsForTheProxysUsers(t *testing.T) {
	w := open(t)
	for _, tt := range []struct {
		person, instance string
		given            bool
		code             string
		why              string
	}{
		{"admin", "alpha", true, "", "everything"},
		{"admin", "beta", true, "", "everything"},
		{"admin", "none", false, "", "there is no such instance"},
		{"alice", "alpha", true, "", "an editor"},
		{"alice", "beta", false, "", "she may not know of it"},
		{"alice", "none", false, "", "there is none: the same"},
		{"bob", "beta", false, "FORBIDDEN", "a viewer reads through GraphQL"},
		{"bob", "alpha", false, "", "he may not know of it"},
		{"mallory", "alpha", false, "", "she has no role"},
	} {
		text, code := w.kubeconfigOf(t, tt.person, tt.instance)
		if (text != "") != tt.given || code != tt.code {
			t.Errorf("%s of %s: given %v, %q, want %v, %q: %s", tt.person, tt.instance, text != "", code, tt.given, tt.code, tt.why)
		}
	}
}
