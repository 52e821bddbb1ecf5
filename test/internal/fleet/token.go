package fleet

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"os"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
)

// NewToken asks a cluster for a token of a service account.
func (f *Fleet) NewToken(t testing.TB, cluster string, account *corev1.ServiceAccount) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{}
	if err := f.Client(t, cluster).SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// Resign changes claims of a cluster's token and signs it again, as the cluster
// itself would have.
func (f *Fleet) Resign(t testing.TB, cluster, token string, change map[string]any) string {
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
	maps.Copy(claims, change)
	if raw, err = json.Marshal(claims); err != nil {
		t.Fatal(err)
	}
	signed := parts[0] + "." + base64.RawURLEncoding.EncodeToString(raw)
	key := f.signingKey(t, cluster)
	hash := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, key, hash[:])
	if err != nil {
		t.Fatal(err)
	}
	size := (key.Curve.Params().BitSize + 7) / 8
	signature := append(r.FillBytes(make([]byte, size)), s.FillBytes(make([]byte, size))...)
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// signingKey is the key that a cluster signs tokens with.
func (f *Fleet) signingKey(t testing.TB, cluster string) *ecdsa.PrivateKey {
	t.Helper()
	raw, err := os.ReadFile(f.PKI(cluster, "sa.key"))
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
