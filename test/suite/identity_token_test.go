package suite

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kairship-io/kairship/test/internal/gql"
)

// TestAnExpiredTokenIsNoToken signs a token once more with another end of its
// life, as the global cluster itself would have: nothing else is wrong with it.
func TestAnExpiredTokenIsNoToken(t *testing.T) {
	on := open(t)
	token := serviceAccountToken(t, on, "global")
	key := signingKey(t, on)
	now := time.Now()
	for _, tt := range []struct {
		name   string
		change map[string]any
		status int
	}{
		{"the same again", nil, http.StatusOK},
		{"expired an hour ago", map[string]any{"iat": now.Add(-2 * time.Hour).Unix(), "nbf": now.Add(-2 * time.Hour).Unix(), "exp": now.Add(-time.Hour).Unix()}, http.StatusUnauthorized},
		{"valid from tomorrow on", map[string]any{"nbf": now.Add(24 * time.Hour).Unix(), "exp": now.Add(25 * time.Hour).Unix()}, http.StatusUnauthorized},
		{"for another service", map[string]any{"aud": []string{"https://elsewhere.example.com"}}, http.StatusUnauthorized},
		{"from another issuer", map[string]any{"iss": "https://elsewhere.example.com"}, http.StatusUnauthorized},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := sendAs(t, on, "Bearer "+resign(t, token, key, tt.change), gql.Response)
			if tt.status == http.StatusUnauthorized {
				refused(t, r, tt.status, "UNAUTHENTICATED")
			} else if r.Status != tt.status {
				t.Errorf("HTTP %d, want %d: %s", r.Status, tt.status, r.Body)
			}
		})
	}
}

// signingKey is the key that the global cluster signs tokens with.
func signingKey(t *testing.T, on *target) *ecdsa.PrivateKey {
	t.Helper()
	raw, err := os.ReadFile(on.fleet.PKI("global", "sa.key"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(raw)
	if block == nil {
		t.Fatal("the signing key is no PEM")
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// resign changes claims of a token and signs it again.
func resign(t *testing.T, token string, key *ecdsa.PrivateKey, change map[string]any) string {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatal("the token is no JWT")
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	claims := map[string]any{}
	if err := json.Unmarshal(raw, &claims); err != nil {
		t.Fatal(err)
	}
	for name, value := range change {
		claims[name] = value
	}
	raw, err = json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed := parts[0] + "." + base64.RawURLEncoding.EncodeToString(raw)
	hash := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, key, hash[:])
	if err != nil {
		t.Fatal(err)
	}
	size := (key.Curve.Params().BitSize + 7) / 8
	signature := append(r.FillBytes(make([]byte, size)), s.FillBytes(make([]byte, size))...)
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}
