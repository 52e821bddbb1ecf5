// Package pki makes the certificates of a fleet or a real node. Every cluster has a certificate authority and
// service account keys of its own, so that credentials of one cluster are worth nothing at another:
// a program that mixes up its clusters fails here as it would in the field.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// validity is long: a fleet is thrown away rather than renewed.
const validity = 10 * 365 * 24 * time.Hour

// clockSkew is how far clocks of containers may lag.
const clockSkew = time.Hour

// Identity is a client certificate: its user and its groups.
type Identity struct {
	User   string
	Groups []string
}

// Cluster is the folder with one cluster's keys and certificates.
type Cluster struct{ Dir string }

// File returns the path of a file in the folder.
func (c Cluster) File(name string) string { return filepath.Join(c.Dir, name) }

// Ensure makes what is missing: the authority (ca), the authority of the aggregation layer
// (front-proxy-ca) with its client, the serving certificate for loopback and the given names and addresses,
// and the service account key pair (sa.key, sa.pub).
func (c Cluster) Ensure(name string, names []string) error {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return err
	}
	ca, err := c.authority("ca", "kairship-local-"+name)
	if err != nil {
		return err
	}
	frontProxy, err := c.authority("front-proxy-ca", "kairship-local-"+name+"-front-proxy")
	if err != nil {
		return err
	}
	if err := c.issue("front-proxy-client", frontProxy, template("front-proxy-client", nil, x509.ExtKeyUsageClientAuth)); err != nil {
		return err
	}
	serving := template("kairship-local-"+name, nil, x509.ExtKeyUsageServerAuth)
	serve(serving, names)
	// Karmada's webhook finds its certificate by fixed file names in a folder.
	if err := c.issue("serving/tls", ca, serving); err != nil {
		return err
	}
	return c.serviceAccountKeys()
}

// EnsureClient makes a client certificate of the cluster's authority, in <name>.crt and <name>.key.
func (c Cluster) EnsureClient(name string, identity Identity) error {
	ca, err := c.authority("ca", "")
	if err != nil {
		return err
	}
	return c.issue("clients/"+name, ca, template(identity.User, identity.Groups, x509.ExtKeyUsageClientAuth))
}

// serve makes a template one for loopback and the given names and addresses.
func serve(t *x509.Certificate, names []string) {
	t.DNSNames = []string{"localhost"}
	t.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
			continue
		}
		t.DNSNames = append(t.DNSNames, name)
	}
}

// EnsureServer makes a serving certificate for loopback and the given names and addresses, of a server
// that is not the cluster's own.
func (c Cluster) EnsureServer(name string, names []string) error {
	ca, err := c.authority("ca", "")
	if err != nil {
		return err
	}
	serving := template(name, nil, x509.ExtKeyUsageServerAuth)
	serve(serving, names)
	return c.issue("servers/"+name, ca, serving)
}

// Server returns the paths of such a certificate and its key.
func (c Cluster) Server(name string) (crt, key string) {
	return c.File("servers/" + name + ".crt"), c.File("servers/" + name + ".key")
}

// Client returns the paths of a client certificate and its key.
func (c Cluster) Client(name string) (crt, key string) {
	return c.File("clients/" + name + ".crt"), c.File("clients/" + name + ".key")
}

// CA returns the authority's certificate in PEM.
func (c Cluster) CA() ([]byte, error) { return os.ReadFile(c.File("ca.crt")) }

type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
}

// authority loads a certificate authority, or makes it when its files are missing.
func (c Cluster) authority(file, name string) (authority, error) {
	certificates, err := cert.CertsFromFile(c.File(file + ".crt"))
	if errors.Is(err, fs.ErrNotExist) && name != "" {
		return c.newAuthority(file, name)
	}
	var key any
	if err == nil {
		key, err = keyutil.PrivateKeyFromFile(c.File(file + ".key"))
	}
	if err != nil {
		return authority{}, fmt.Errorf("%w: remove %s to have new certificates made", err, c.Dir)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return authority{}, fmt.Errorf("%s.key holds a key that cannot sign", c.File(file))
	}
	return authority{certificates[0], signer}, nil
}

func (c Cluster) newAuthority(file, name string) (authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return authority{}, err
	}
	certificate, err := cert.NewSelfSignedCACert(cert.Config{CommonName: name, NotBefore: time.Now().Add(-clockSkew)}, key)
	if err != nil {
		return authority{}, err
	}
	return authority{certificate, key}, c.write(file, certificate, key)
}

// issue signs a certificate unless its file exists.
func (c Cluster) issue(file string, by authority, t *x509.Certificate) error {
	if _, err := os.Stat(c.File(file + ".crt")); err == nil {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.CreateCertificate(rand.Reader, t, by.certificate, key.Public(), by.key)
	if err != nil {
		return err
	}
	return c.write(file, &x509.Certificate{Raw: der}, key)
}

// write stores a certificate and its key; the key first, so that a certificate that exists is usable.
func (c Cluster) write(file string, certificate *x509.Certificate, key *ecdsa.PrivateKey) error {
	private, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return err
	}
	if err := keyutil.WriteKey(c.File(file+".key"), private); err != nil {
		return err
	}
	public, err := cert.EncodeCertificates(certificate)
	if err != nil {
		return err
	}
	return cert.WriteCert(c.File(file+".crt"), public)
}

func (c Cluster) serviceAccountKeys() error {
	if _, err := os.Stat(c.File("sa.pub")); err == nil {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	private, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	if err := keyutil.WriteKey(c.File("sa.key"), private); err != nil {
		return err
	}
	return os.WriteFile(c.File("sa.pub"), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}), 0o644)
}

func template(name string, groups []string, usages ...x509.ExtKeyUsage) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		panic(err) // the system's random source is broken
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name, Organization: groups},
		NotBefore:    now.Add(-clockSkew),
		NotAfter:     now.Add(validity),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage:  usages,
	}
}
