package main

import (
	"bytes"
	"crypto/tls"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/util/cert"
)

// TestCertificateIsReadAgain replaces the serving certificate as whoever renews it does.
func TestCertificateIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	o := &options{tlsCertFile: filepath.Join(dir, "tls.crt"), tlsKeyFile: filepath.Join(dir, "tls.key")}
	write := func() []byte {
		certificate, key, err := cert.GenerateSelfSignedCertKey("kairship.example.com", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for file, content := range map[string][]byte{o.tlsCertFile: certificate, o.tlsKeyFile: key} {
			if err := os.WriteFile(file, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			t.Fatal(err)
		}
		return pair.Certificate[0]
	}
	first := write()
	config, err := o.tlsConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	served := func() []byte {
		c, err := config.GetCertificate(&tls.ClientHelloInfo{})
		if err != nil {
			t.Fatal(err)
		}
		return c.Certificate[0]
	}
	if !bytes.Equal(served(), first) {
		t.Fatal("another certificate is served than that of the file")
	}
	second := write()
	for deadline := time.Now().Add(time.Minute); !bytes.Equal(served(), second); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the new certificate is not served")
		}
	}
}
