package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clientauthv1 "k8s.io/client-go/pkg/apis/clientauthentication/v1"
	"k8s.io/client-go/tools/clientcmd"
)

// provider is an OpenID Connect provider with one person, and one code.
type provider struct {
	*httptest.Server

	t   *testing.T
	key *ecdsa.PrivateKey

	mu               sync.Mutex
	challenge, nonce string
	signIns, renewed int
	life             time.Duration
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{t: t, key: key, life: time.Hour}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		p.write(w, map[string]any{
			"issuer": p.URL, "authorization_endpoint": p.URL + "/auth", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"ES256"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		p.write(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "1", Algorithm: "ES256", Use: "sig"}}})
	})
	mux.HandleFunc("POST /token", p.token)
	p.Server = httptest.NewTLSServer(mux)
	t.Cleanup(p.Close)
	return p
}

func (p *provider) write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		p.t.Error(err)
	}
}

func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	nonce := ""
	if r.FormValue("refresh_token") == "r" {
		p.renewed++
	} else {
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		if r.FormValue("code") != "c" || base64.RawURLEncoding.EncodeToString(sum[:]) != p.challenge {
			http.Error(w, `{"error": "invalid_grant"}`, http.StatusBadRequest)
			return
		}
		p.signIns++
		nonce = p.nonce
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: p.key, KeyID: "1"}}, nil)
	if err != nil {
		p.t.Error(err)
		return
	}
	text, err := jwt.Signed(signer).Claims(jwt.Claims{
		Issuer: p.URL, Subject: "alice", Audience: jwt.Audience{"kairship"}, Expiry: jwt.NewNumericDate(time.Now().Add(p.life)),
	}).Claims(map[string]any{"nonce": nonce}).Serialize()
	if err != nil {
		p.t.Error(err)
	}
	p.write(w, map[string]any{"access_token": "a", "token_type": "Bearer", "refresh_token": "r", "id_token": text})
}

// browser signs the person in at the address that it finds in what the command writes.
type browser struct {
	p     *provider
	link  *regexp.Regexp
	mu    sync.Mutex
	codes []int
}

func (b *browser) Write(text []byte) (int, error) {
	if found := b.link.Find(text); found != nil {
		go b.visit(string(found))
	}
	return len(text), nil
}

func (b *browser) visit(address string) {
	u, err := url.Parse(address)
	if err != nil {
		b.p.t.Error(err)
		return
	}
	query := u.Query()
	b.p.mu.Lock()
	b.p.challenge, b.p.nonce = query.Get("code_challenge"), query.Get("nonce")
	b.p.mu.Unlock()
	// A page of another site guesses first.
	for _, state := range []string{"guessed", query.Get("state")} {
		back, err := http.Get(query.Get("redirect_uri") + "?" + url.Values{"code": {"c"}, "state": {state}}.Encode())
		if err != nil {
			continue
		}
		back.Body.Close()
		b.mu.Lock()
		b.codes = append(b.codes, back.StatusCode)
		b.mu.Unlock()
	}
}

// TestLogin signs in, keeps the token, renews it, and has kubectl ask for it.
func TestLogin(t *testing.T) {
	p := newProvider(t)
	home := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", home)
	t.Setenv("HOME", home)
	t.Setenv("KUBECONFIG", filepath.Join(home, "config"))
	ca := filepath.Join(home, "ca.crt")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	b := &browser{p: p, link: regexp.MustCompile(`https://\S+`)}
	login := func(args ...string) string {
		streams, _, out, _ := genericiooptions.NewTestIOStreams()
		streams.ErrOut = b
		root := newRoot(streams)
		root.SetArgs(append([]string{"login", "--issuer", p.URL, "--client-id", "kairship", "--issuer-ca-file", ca}, args...))
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if out := login(); out != "user kairship\n" || p.signIns != 1 {
		t.Errorf("got %s after %d", out, p.signIns)
	}
	b.mu.Lock()
	if len(b.codes) == 0 || b.codes[0] != http.StatusBadRequest {
		t.Errorf("a guessed state is answered with %v", b.codes)
	}
	b.mu.Unlock()
	config, err := clientcmd.LoadFromFile(filepath.Join(home, "config"))
	if err != nil || config.AuthInfos["kairship"].Exec == nil || config.AuthInfos["kairship"].Exec.Args[1] != "login" {
		t.Errorf("got %v, %v", config, err)
	}
	var credential clientauthv1.ExecCredential
	if err := json.Unmarshal([]byte(login("--exec-credential")), &credential); err != nil || credential.Status.Token == "" || credential.Kind != "ExecCredential" || p.signIns != 1 {
		t.Errorf("got %v, %v after %d", credential, err, p.signIns)
	}
	files, err := filepath.Glob(filepath.Join(home, "kubectl-kairship", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("got %v, %v", files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
	if err := writeKept(files[0], kept{ID: "old", Refresh: "r", Expiry: time.Now()}); err != nil {
		t.Fatal(err)
	}
	login("--exec-credential")
	if p.renewed != 1 || p.signIns != 1 {
		t.Errorf("renewed %d, signed in %d", p.renewed, p.signIns)
	}
	if err := writeKept(files[0], kept{ID: "old", Refresh: "wrong", Expiry: time.Now()}); err != nil {
		t.Fatal(err)
	}
	login("--exec-credential")
	if p.signIns != 2 {
		t.Errorf("signed in %d times", p.signIns)
	}
}
