package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"

	"k8s.io/client-go/util/cert"

	"github.com/kairship-io/kairship/pkg/reload"
)

// clientAuthorities are those whose client certificates are accepted, as their file says
// now. Nil are none: clients then have tokens alone.
type clientAuthorities struct {
	file *reload.File[*authorities]
}

// authorities are what the file held at one moment.
type authorities struct {
	pool  *x509.CertPool
	roots map[string]struct{} // DER
}

func parseAuthorities(pem []byte) (*authorities, error) {
	certificates, err := cert.ParseCertsPEM(pem)
	if err != nil {
		return nil, err
	}
	a := &authorities{pool: x509.NewCertPool(), roots: make(map[string]struct{}, len(certificates))}
	for _, certificate := range certificates {
		a.pool.AddCert(certificate)
		a.roots[string(certificate.Raw)] = struct{}{}
	}
	return a, nil
}

// clientAuthorities reads the file, and reads it again until the context ends.
func (o *options) clientAuthorities(ctx context.Context, logger *slog.Logger) (*clientAuthorities, error) {
	if o.clientCAFile == "" {
		return nil, nil //nolint:nilnil // Nil are none.
	}
	file, err := reload.Watch(ctx, reload.Options[*authorities]{Setting: "client-ca-file", Path: o.clientCAFile, Parse: parseAuthorities, Logger: logger})
	if err != nil {
		return nil, err
	}
	return &clientAuthorities{file: file}, nil
}

// accept reports whether one of the chains that a handshake found ends at an authority
// that is accepted now. A connection lasts longer than its handshake.
func (c *clientAuthorities) accept(chains [][]*x509.Certificate) bool {
	if c == nil {
		return false
	}
	roots := c.file.Get().roots
	for _, chain := range chains {
		if len(chain) == 0 {
			continue
		}
		if _, ok := roots[string(chain[len(chain)-1].Raw)]; ok {
			return true
		}
	}
	return false
}

// serve makes handshakes request a client certificate, which is optional because a token
// authenticates too.
func (c *clientAuthorities) serve(config *tls.Config) {
	if c == nil {
		return
	}
	// net/http adds them to the configuration that it knows, not to those made here.
	config.NextProtos = []string{"h2", "http/1.1"}
	base := config.Clone()
	base.ClientAuth = tls.VerifyClientCertIfGiven
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		now := base.Clone()
		now.ClientCAs = c.file.Get().pool
		return now, nil
	}
}
