package signin_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// fakeProvider is a provider that does what a good one never would. The real one is in the fleet.
type fakeProvider struct {
	*httptest.Server

	t   *testing.T
	key *ecdsa.PrivateKey

	mu sync.Mutex
	// codes and refreshes are what may be exchanged, each once: a code for its challenge and nonce.
	codes     map[string][2]string
	refreshes map[string]bool
	revoked   []string
	issued    int
	// subject, nonce and audience replace what a token has; status what the token endpoint answers.
	subject, nonce, audience string
	status                   int
}

func newFakeProvider(t *testing.T) *fakeProvider {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &fakeProvider{t: t, key: key, codes: map[string][2]string{}, refreshes: map[string]bool{}, subject: "alice", audience: "kairship"}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		p.write(w, http.StatusOK, map[string]any{
			"issuer": p.URL, "authorization_endpoint": p.URL + "/auth", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
			"revocation_endpoint": p.URL + "/revoke", "end_session_endpoint": p.URL + "/end", "id_token_signing_alg_values_supported": []string{"ES256"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		p.write(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "1", Algorithm: "ES256", Use: "sig"}}})
	})
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("POST /revoke", func(_ http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.revoked = append(p.revoked, r.FormValue("token"))
	})
	p.Server = httptest.NewTLSServer(mux)
	t.Cleanup(p.Close)
	return p
}

func (p *fakeProvider) write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		p.t.Error(err)
	}
}

// authorize is a person who signs in: it returns the query with which the provider sends them back.
func (p *fakeProvider) authorize(at string) url.Values {
	p.t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		p.t.Fatal(err)
	}
	query := u.Query()
	if query.Get("code_challenge_method") != "S256" || query.Get("response_type") != "code" {
		p.t.Errorf("it asks with %s", query)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	code := rand.Text()
	p.codes[code] = [2]string{query.Get("code_challenge"), query.Get("nonce")}
	return url.Values{"code": {code}, "state": {query.Get("state")}}
}

func (p *fakeProvider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var nonce string
	var known bool
	if refresh := r.FormValue("refresh_token"); refresh != "" {
		known = p.refreshes[refresh]
		delete(p.refreshes, refresh)
	} else {
		code := p.codes[r.FormValue("code")]
		delete(p.codes, r.FormValue("code"))
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		known, nonce = base64.RawURLEncoding.EncodeToString(sum[:]) == code[0], code[1]
	}
	switch {
	case p.status != 0:
		p.write(w, p.status, map[string]string{"error": "temporarily_unavailable"})
		return
	case !known:
		p.write(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant", "error_description": "secret-of-the-provider"})
		return
	}
	if p.nonce != "" {
		nonce = p.nonce
	}
	refresh := rand.Text()
	p.refreshes[refresh] = true
	p.issued++
	p.write(w, http.StatusOK, map[string]any{"access_token": "a", "token_type": "Bearer", "expires_in": 300, "refresh_token": refresh, "id_token": p.sign(nonce)})
}

func (p *fakeProvider) sign(nonce string) string {
	p.t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: p.key, KeyID: "1"}}, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	now := time.Now()
	text, err := jwt.Signed(signer).Claims(jwt.Claims{
		Issuer: p.URL, Subject: p.subject, Audience: jwt.Audience{p.audience}, IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(5 * time.Minute)),
	}).Claims(map[string]any{"nonce": nonce, "n": p.issued}).Serialize()
	if err != nil {
		p.t.Fatal(err)
	}
	return text
}
