// Package certtest makes authorities and certificates for tests.
package certtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"testing"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// Authority signs certificates.
type Authority struct {
	Certificate *x509.Certificate
	// PEM is the certificate as files hold it.
	PEM []byte
	key *ecdsa.PrivateKey
}

// New makes an authority.
func New(tb testing.TB, name string) *Authority {
	tb.Helper()
	a := &Authority{}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		tb.Fatal(err)
	}
	if a.Certificate, err = cert.NewSelfSignedCACert(cert.Config{CommonName: name}, a.key); err != nil {
		tb.Fatal(err)
	}
	if a.PEM, err = cert.EncodeCertificates(a.Certificate); err != nil {
		tb.Fatal(err)
	}
	return a
}

// Issue makes a certificate for an hour and its key, in PEM: of a client of that name,
// and of a server on this machine.
func (a *Authority) Issue(tb testing.TB, name string) (certificate, key []byte) {
	tb.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}, a.Certificate, private.Public(), a.key)
	if err != nil {
		tb.Fatal(err)
	}
	if certificate, err = cert.EncodeCertificates(&x509.Certificate{Raw: der}); err != nil {
		tb.Fatal(err)
	}
	if key, err = keyutil.MarshalPrivateKeyToPEM(private); err != nil {
		tb.Fatal(err)
	}
	return certificate, key
}

// Pair is what Issue makes, as a client sends it.
func (a *Authority) Pair(tb testing.TB, name string) *tls.Certificate {
	tb.Helper()
	pair, err := tls.X509KeyPair(a.Issue(tb, name))
	if err != nil {
		tb.Fatal(err)
	}
	return &pair
}
