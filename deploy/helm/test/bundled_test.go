package test

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"net/url"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const bundledValues = "testdata/bundled.values.yaml"

// named returns the rendered object of a kind and name.
func named(t *testing.T, all []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	t.Helper()
	for _, o := range all {
		if o.GetKind() == kind && o.GetName() == name {
			return o
		}
	}
	t.Fatalf("no %s %s is rendered", kind, name)
	return nil
}

func text(t *testing.T, o *unstructured.Unstructured, path ...string) string {
	t.Helper()
	found, _, err := unstructured.NestedString(o.Object, path...)
	if err != nil || found == "" {
		t.Fatalf("%s %s has no %s (error %v)", o.GetKind(), o.GetName(), strings.Join(path, "."), err)
	}
	return found
}

// TestBundledVersions holds the images against the Clusterpedia that Kairship is tested with.
func TestBundledVersions(t *testing.T) {
	_, version := neighbour{module: "github.com/clusterpedia-io/clusterpedia", pinnedBy: "deploy/local/components/clusterpedia"}.pinned(t)
	all := objects(t, render(t, bundledValues))
	for _, name := range []string{"clusterpedia-apiserver", "clusterpedia-clustersynchro-manager"} {
		want := "registry.example.com/kairship/" + name + ":" + version
		if got := pod(t, named(t, all, "Deployment", name)).Spec.Containers[0].Image; got != want {
			t.Errorf("the image is %s, want %s", got, want)
		}
	}
	if got := pod(t, named(t, all, "StatefulSet", "kairship-postgresql")).Spec.Containers[0].Image; got != "registry.example.com/mirror/postgres:17" {
		t.Errorf("an image with a registry of its own became %s", got)
	}
}

// TestBundledPasswordsAgree: what the database is made with is what its clients have, and each rendering has others.
func TestBundledPasswordsAgree(t *testing.T) {
	seen := map[string]bool{}
	for range 2 {
		all := objects(t, render(t, bundledValues))
		stored, dsns := named(t, all, "Secret", "kairship-postgresql"), named(t, all, "Secret", "kairship-index-database")
		if got, want := text(t, named(t, all, "Secret", "clusterpedia-database"), "stringData", "password"), text(t, stored, "stringData", "clusterpedia"); got != want {
			t.Errorf("Clusterpedia has the password %q, its role %q", got, want)
		}
		for role, key := range map[string]string{"kairship": "writer", "kairship_reader": "reader"} {
			dsn, err := url.Parse(text(t, dsns, "stringData", key))
			if err != nil {
				t.Fatal(err)
			}
			password, _ := dsn.User.Password()
			if want := text(t, stored, "stringData", role); dsn.User.Username() != role || password != want || len(password) < 32 {
				t.Errorf("%s: %s has %q, its role %q", key, dsn.User.Username(), password, want)
			}
			if dsn.Host != "kairship-postgresql.kairship-system.svc:5432" || dsn.Path != "/clusterpedia" {
				t.Errorf("%s leads to %s%s", key, dsn.Host, dsn.Path)
			}
			if seen[password] {
				t.Errorf("the password of %s is not random", role)
			}
			seen[password] = true
		}
	}
}

// TestGeneratedCertificates verifies them as a client would, by the authority that it finds beside them.
func TestGeneratedCertificates(t *testing.T) {
	all := objects(t, render(t, bundledValues))
	aggregated := named(t, all, "APIService", "v1beta1.clusterpedia.io")
	for _, tt := range []struct {
		secret, authority string
		names             []string
	}{
		{"clusterpedia-apiserver-tls", text(t, aggregated, "spec", "caBundle"), []string{"clusterpedia-apiserver.clusterpedia-system.svc"}},
		{
			"kairship-apiserver-tls", text(t, named(t, all, "Secret", "kairship-apiserver-tls"), "data", "ca.crt"),
			[]string{"kairship-apiserver.kairship-system.svc", "localhost", "kairship.example.com", "10.0.0.1", "fd00::1"},
		},
	} {
		decoded := func(from string) []byte {
			raw, err := base64.StdEncoding.DecodeString(from)
			if err != nil {
				t.Fatal(err)
			}
			return raw
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(decoded(tt.authority)) {
			t.Fatalf("%s has no authority", tt.secret)
		}
		block, _ := pem.Decode(decoded(text(t, named(t, all, "Secret", tt.secret), "data", "tls.crt")))
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range tt.names {
			if _, err := certificate.Verify(x509.VerifyOptions{DNSName: name, Roots: roots}); err != nil {
				t.Errorf("%s: %v", tt.secret, err)
			}
		}
		if _, err := certificate.Verify(x509.VerifyOptions{DNSName: "another.example.com", Roots: roots}); err == nil {
			t.Errorf("%s is for any name", tt.secret)
		}
	}
}

// TestBundledReadsNoOthersSecrets: Clusterpedia gets what its own manifests give it far beyond.
func TestBundledReadsNoOthersSecrets(t *testing.T) {
	roles := 0
	for _, o := range objects(t, render(t, bundledValues)) {
		if o.GetKind() != "ClusterRole" || !strings.HasPrefix(o.GetName(), "clusterpedia-") {
			continue
		}
		roles++
		rules, _, _ := unstructured.NestedSlice(o.Object, "rules")
		for _, r := range rules {
			groups, _, _ := unstructured.NestedStringSlice(r.(map[string]any), "apiGroups")
			if len(groups) != 1 || groups[0] != "cluster.clusterpedia.io" {
				t.Errorf("%s may do %v in the whole cluster", o.GetName(), r)
			}
		}
	}
	if want := 2; roles != want {
		t.Errorf("there are %d roles, want %d", roles, want)
	}
}
