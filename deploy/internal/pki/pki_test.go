package pki

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
)

func load(t *testing.T, path string) *x509.Certificate {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

func verify(t *testing.T, ca string, certificate *x509.Certificate, usage x509.ExtKeyUsage, name string) error {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(load(t, ca))
	_, err := certificate.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, KeyUsages: []x509.ExtKeyUsage{usage}})
	return err
}

func TestCertificates(t *testing.T) {
	alpha, beta := Cluster{Dir: filepath.Join(t.TempDir(), "alpha")}, Cluster{Dir: filepath.Join(t.TempDir(), "beta")}
	for name, cluster := range map[string]Cluster{"alpha": alpha, "beta": beta} {
		if err := cluster.Ensure(name, []string{"hook.system.svc"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := alpha.EnsureClient("admin", Identity{User: "root", Groups: []string{"system:masters"}}); err != nil {
		t.Fatal(err)
	}
	serving := load(t, alpha.File("serving/tls.crt"))
	for _, name := range []string{"127.0.0.1", "localhost", "hook.system.svc"} {
		if err := verify(t, alpha.File("ca.crt"), serving, x509.ExtKeyUsageServerAuth, name); err != nil {
			t.Errorf("as a server by the name %s: %v", name, err)
		}
	}
	if err := alpha.EnsureServer("hook", nil); err != nil {
		t.Fatal(err)
	}
	hook, _ := alpha.Server("hook")
	if err := verify(t, alpha.File("ca.crt"), load(t, hook), x509.ExtKeyUsageServerAuth, "127.0.0.1"); err != nil {
		t.Errorf("as another server: %v", err)
	}
	crt, key := alpha.Client("admin")
	client := load(t, crt)
	if err := verify(t, alpha.File("ca.crt"), client, x509.ExtKeyUsageClientAuth, ""); err != nil {
		t.Errorf("as a client: %v", err)
	}
	if client.Subject.CommonName != "root" || !cmp.Equal(client.Subject.Organization, []string{"system:masters"}) {
		t.Errorf("the client is %s, want user root of group system:masters", client.Subject)
	}
	if err := verify(t, beta.File("ca.crt"), client, x509.ExtKeyUsageClientAuth, ""); err == nil {
		t.Error("an administrator of alpha is one of beta, too: mixed up credentials would go unnoticed")
	}
	if err := verify(t, alpha.File("ca.crt"), load(t, alpha.File("front-proxy-client.crt")), x509.ExtKeyUsageClientAuth, ""); err == nil {
		t.Error("the aggregation layer's client is signed by the clients' authority: it could pose as any user")
	}
	for _, private := range []string{key, alpha.File("ca.key"), alpha.File("sa.key"), alpha.File("serving/tls.key")} {
		if info, err := os.Stat(private); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v (%v), want 0600", private, info.Mode(), err)
		}
	}
}

func TestEnsureKeepsWhatExists(t *testing.T) {
	cluster := Cluster{Dir: t.TempDir()}
	ensure := func() map[string]string {
		if err := cluster.Ensure("alpha", nil); err != nil {
			t.Fatal(err)
		}
		if err := cluster.EnsureClient("admin", Identity{User: "root"}); err != nil {
			t.Fatal(err)
		}
		content := map[string]string{}
		err := filepath.WalkDir(cluster.Dir, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			content[path] = string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	before := ensure()
	if diff := cmp.Diff(before, ensure()); diff != "" {
		t.Errorf("a second run changed credentials that running processes use:\n%s", diff)
	}
	lost := cluster.File("serving/tls.crt")
	if err := os.Remove(lost); err != nil {
		t.Fatal(err)
	}
	ensure()
	if err := verify(t, cluster.File("ca.crt"), load(t, lost), x509.ExtKeyUsageServerAuth, "localhost"); err != nil {
		t.Errorf("a certificate made later does not fit the authority made before: %v", err)
	}
}

func TestKubeconfigStandsAlone(t *testing.T) {
	cluster := Cluster{Dir: t.TempDir()}
	if err := cluster.Ensure("alpha", nil); err != nil {
		t.Fatal(err)
	}
	if err := cluster.EnsureClient("admin", Identity{User: "root"}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "sub", "alpha.yaml")
	if err := cluster.WriteClientKubeconfig(path, "alpha", "https://127.0.0.1:1", "admin"); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(cluster.Dir); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "https://127.0.0.1:1" || len(config.CAData) == 0 || len(config.CertData) == 0 || len(config.KeyData) == 0 {
		t.Error("the kubeconfig needs files beside it, or lacks its server")
	}
}
