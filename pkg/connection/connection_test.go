package connection_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kairship-io/kairship/pkg/connection"
)

// secretWord is in everything that is secret in these tests: no error may say it.
const secretWord = "hunter2"

var notAfter = time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)

// newPair is a certificate, good as a CA too, and its key, both PEM.
func newPair(t *testing.T) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: notAfter.AddDate(-10, 0, 0), NotAfter: notAfter,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER})
}

// kubeconfig is one with these lines for its cluster and its user.
func kubeconfig(cluster, user string) map[string][]byte {
	text := "apiVersion: v1\nkind: Config\ncurrent-context: c\n" +
		"contexts: [{name: c, context: {cluster: a, user: b}}, {name: other, context: {cluster: x, user: bob}}]\n" +
		"clusters:\n- name: a\n  cluster: {" + cluster + "}\n- name: x\n  cluster: {server: 'https://other'}\n" +
		"users:\n- name: b\n  user: {" + user + "}\n- name: bob\n  user: {exec: {command: rm, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}}\n"
	return map[string][]byte{"kubeconfig": []byte(text)}
}

func TestParse(t *testing.T) {
	certificate, key := newPair(t)
	_, otherKey := newPair(t)
	b64 := base64.StdEncoding.EncodeToString
	const server = "server: 'https://10.0.0.1:6443'"
	const token = "token: " + secretWord
	for _, c := range []struct {
		reason string
		data   map[string][]byte
		source connection.Source
		want   connection.Connection
		is     error
		says   []string
	}{
		{
			reason: "a kubeconfig's current context counts, the others do not",
			data:   kubeconfig(server+", tls-server-name: kube, proxy-url: 'http://proxy:3128', certificate-authority-data: "+b64(certificate), token),
			want: connection.Connection{
				Endpoint: "https://10.0.0.1:6443", ServerName: "kube", CAData: certificate, Token: secretWord, ProxyURL: "http://proxy:3128",
			},
		},
		{
			reason: "a kubeconfig may have a client certificate",
			data:   kubeconfig(server+", insecure-skip-tls-verify: true", "client-certificate-data: "+b64(certificate)+", client-key-data: "+b64(key)),
			want:   connection.Connection{Endpoint: "https://10.0.0.1:6443", Insecure: true, CertData: certificate, KeyData: key},
		},
		{
			reason: "endpoint and proxy of the object go before the kubeconfig's",
			data:   kubeconfig(server+", proxy-url: 'http://proxy:3128', certificate-authority-data: "+b64(certificate), token),
			source: connection.Source{Endpoint: "https://other:6443/", ProxyURL: "socks5://other:1080"},
			want:   connection.Connection{Endpoint: "https://other:6443", Token: secretWord, CAData: certificate, ProxyURL: "socks5://other:1080"},
		},
		{
			reason: "without a CA the token of a kubeconfig is for its own server",
			data:   kubeconfig(server, token), source: connection.Source{Endpoint: "https://10.0.0.1:6443/", ProxyURL: "http://proxy:3128"},
			want: connection.Connection{Endpoint: "https://10.0.0.1:6443", Token: secretWord, ProxyURL: "http://proxy:3128"},
		},
		{
			reason: "and for no other", is: connection.ErrInvalid, says: []string{"it has no CA", "apiEndpoint"},
			data: kubeconfig(server, token), source: connection.Source{Endpoint: "https://10.0.0.2:6443"},
		},
		{
			reason: "a kubeconfig without check has no CA either", is: connection.ErrInvalid, says: []string{"it has no CA"},
			data: kubeconfig(server+", insecure-skip-tls-verify: true", token), source: connection.Source{Endpoint: "https://10.0.0.2:6443"},
		},
		{
			reason: "a proxy could read what is sent without check", is: connection.ErrInvalid, says: []string{"proxyURL"},
			data: kubeconfig(server+", insecure-skip-tls-verify: true", token), source: connection.Source{Endpoint: "https://10.0.0.1:6443", ProxyURL: "http://proxy:3128"},
		},
		{
			reason: "unless it is the kubeconfig's own",
			data:   kubeconfig(server+", insecure-skip-tls-verify: true, proxy-url: 'http://proxy:3128'", token), source: connection.Source{ProxyURL: "http://proxy:3128"},
			want: connection.Connection{Endpoint: "https://10.0.0.1:6443", Insecure: true, Token: secretWord, ProxyURL: "http://proxy:3128"},
		},
		{
			reason: "a client certificate tells a foreign server nothing",
			data:   map[string][]byte{"tls.crt": certificate, "tls.key": key}, source: connection.Source{Endpoint: "https://m1"},
			want: connection.Connection{Endpoint: "https://m1", CertData: certificate, KeyData: key},
		},
		{
			reason: "a token without CA is sent nowhere", is: connection.ErrInvalid, says: []string{`the token in key "token": it has no CA`, `"caBundle"`, `"server"`},
			data: map[string][]byte{"token": []byte(secretWord)}, source: connection.Source{Endpoint: "https://m1"},
		},
		{
			reason: "unless the Secret says where to",
			data:   map[string][]byte{"token": []byte(secretWord), "server": []byte("https://m1\n")}, source: connection.Source{Endpoint: "https://m1"},
			want: connection.Connection{Endpoint: "https://m1", Token: secretWord},
		},
		{
			reason: "which is then the only server", is: connection.ErrInvalid, says: []string{"it has no CA"},
			data: map[string][]byte{"token": []byte(secretWord), "server": []byte("https://m1")}, source: connection.Source{Endpoint: "https://m1.example.com"},
		},
		{
			reason: "with a CA the server may be found at another address",
			data:   map[string][]byte{"token": []byte(secretWord), "caBundle": certificate, "server": []byte("https://m1")}, source: connection.Source{Endpoint: "https://m1.example.com"},
			want: connection.Connection{Endpoint: "https://m1.example.com", Token: secretWord, CAData: certificate},
		},
		{
			reason: "a kubeconfig may have a key of its own",
			data:   map[string][]byte{"admin.conf": kubeconfig(server, token)["kubeconfig"], "token": []byte("other")},
			source: connection.Source{KubeconfigKey: "admin.conf"},
			want:   connection.Connection{Endpoint: "https://10.0.0.1:6443", Token: secretWord},
		},
		{
			reason: "a token comes with its CA, and often with a newline",
			data:   map[string][]byte{"token": []byte(secretWord + "\n"), "caBundle": certificate},
			source: connection.Source{Endpoint: "https://m1"},
			want:   connection.Connection{Endpoint: "https://m1", Token: secretWord, CAData: certificate},
		},
		{
			reason: "a client certificate comes with its CA",
			data:   map[string][]byte{"tls.crt": certificate, "tls.key": key, "caBundle": certificate},
			source: connection.Source{Endpoint: "https://m1"},
			want:   connection.Connection{Endpoint: "https://m1", CertData: certificate, KeyData: key, CAData: certificate},
		},
		{reason: "an empty Secret has none", data: nil, is: connection.ErrMissing, says: []string{`"kubeconfig", "token", or "tls.crt" with "tls.key"`}},
		{
			reason: "a key that is asked for has no substitute",
			data:   kubeconfig(server, token), source: connection.Source{KubeconfigKey: "admin.conf"},
			is: connection.ErrMissing, says: []string{`no key "admin.conf"`},
		},
		{
			reason: "what is no YAML is not quoted",
			data:   map[string][]byte{"kubeconfig": []byte("{" + secretWord)}, is: connection.ErrInvalid, says: []string{`the kubeconfig in key "kubeconfig": it cannot be parsed (line 1)`},
		},
		{
			reason: "what is YAML and no kubeconfig is not quoted",
			data:   map[string][]byte{"kubeconfig": []byte("clusters: " + secretWord)}, is: connection.ErrInvalid, says: []string{"it cannot be parsed (field Config.clusters)"},
		},
		{
			reason: "which context is meant must be said",
			data:   map[string][]byte{"kubeconfig": []byte("apiVersion: v1\nkind: Config")}, is: connection.ErrInvalid, says: []string{"no current-context"},
		},
		{
			reason: "the current context must exist",
			data:   map[string][]byte{"kubeconfig": []byte("apiVersion: v1\nkind: Config\ncurrent-context: c")}, is: connection.ErrInvalid, says: []string{"not among its contexts"},
		},
		{
			reason: "cluster and user must exist, and both are named at once",
			data:   map[string][]byte{"kubeconfig": []byte("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: a, user: b}}]")},
			is:     connection.ErrInvalid, says: []string{"not among its clusters", "not among its users"},
		},
		{
			reason: "a program must not be run", is: connection.ErrInvalid, says: []string{"exec would run a program"},
			data: kubeconfig(server, "exec: {command: "+secretWord+", apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}"),
		},
		{
			reason: "files must not be read, and all are named at once", is: connection.ErrInvalid,
			data: kubeconfig(server+", certificate-authority: /etc/ca", "client-certificate: /etc/crt, client-key: /etc/key, tokenFile: /etc/"+secretWord),
			says: []string{"certificate-authority names a file", "client-certificate names a file", "client-key names a file", "tokenFile names a file"},
		},
		{reason: "an auth provider is a program too", is: connection.ErrInvalid, says: []string{"auth-provider"}, data: kubeconfig(server, "auth-provider: {name: gcp}")},
		{reason: "passwords are not supported", is: connection.ErrInvalid, says: []string{"username and password"}, data: kubeconfig(server, "username: me, password: "+secretWord)},
		{reason: "who calls must not be changed", is: connection.ErrInvalid, says: []string{"as-groups"}, data: kubeconfig(server, token+", as-groups: [system:masters]")},
		{reason: "there must be some credentials", is: connection.ErrInvalid, says: []string{"neither a token nor a client certificate"}, data: kubeconfig(server, "")},
		{reason: "a certificate needs its key", is: connection.ErrInvalid, says: []string{"without its key"}, data: map[string][]byte{"tls.crt": certificate}, source: connection.Source{Endpoint: "https://m1"}},
		{reason: "a key needs its certificate", is: connection.ErrInvalid, says: []string{"without its certificate"}, data: map[string][]byte{"tls.key": key}, source: connection.Source{Endpoint: "https://m1"}},
		{
			reason: "the key must be that of the certificate", is: connection.ErrInvalid, says: []string{"not a PEM pair"},
			data: map[string][]byte{"tls.crt": certificate, "tls.key": otherKey}, source: connection.Source{Endpoint: "https://m1"},
		},
		{
			reason: "the CA must be PEM", is: connection.ErrInvalid, says: []string{"its CA is not a PEM certificate"},
			data: map[string][]byte{"token": []byte(secretWord), "caBundle": []byte(secretWord)}, source: connection.Source{Endpoint: "https://m1"},
		},
		{
			reason: "a CA that is not used is a mistake", is: connection.ErrInvalid, says: []string{"remove one"},
			data: kubeconfig(server+", insecure-skip-tls-verify: true, certificate-authority-data: "+b64(certificate), token),
		},
		{
			reason: "a token must fit into a header", is: connection.ErrInvalid, says: []string{"characters that cannot be sent"},
			data: map[string][]byte{"token": []byte("a\r\nX-Remote-User: " + secretWord)}, source: connection.Source{Endpoint: "https://m1"},
		},
		{reason: "a token needs an endpoint", is: connection.ErrInvalid, says: []string{"names no server"}, data: map[string][]byte{"token": []byte(secretWord)}},
		{reason: "plain http would show the credentials", is: connection.ErrInvalid, says: []string{"not an https URL"}, data: kubeconfig("server: 'http://10.0.0.1'", token)},
		{reason: "a server is a URL", is: connection.ErrInvalid, says: []string{"not a URL"}, data: kubeconfig("server: '10.0.0.1:6443'", token)},
		{reason: "credentials do not belong into a URL", is: connection.ErrInvalid, says: []string{"credentials, a query"}, data: kubeconfig("server: 'https://me:"+secretWord+"@a'", token)},
		{reason: "a proxy is a URL", is: connection.ErrInvalid, says: []string{"its proxy"}, data: kubeconfig(server+", proxy-url: 'ftp://proxy'", token)},
	} {
		t.Run(c.reason, func(t *testing.T) {
			got, err := connection.Parse(c.data, c.source)
			if !errors.Is(err, c.is) || (c.is == nil) != (err == nil) {
				t.Fatalf("got error %v, want %v", err, c.is)
			}
			for _, part := range c.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not say %q: %v", part, err)
				}
			}
			if err != nil && strings.Contains(err.Error(), secretWord) {
				t.Errorf("the error shows a secret: %v", err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("connection (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKubeconfigIsReadBackAsItWas(t *testing.T) {
	certificate, key := newPair(t)
	for _, want := range []connection.Connection{
		{Endpoint: "https://a", Token: secretWord},
		{Endpoint: "https://a", ServerName: "b", CAData: certificate, CertData: certificate, KeyData: key, ProxyURL: "http://proxy:1"},
		{Endpoint: "https://a", Insecure: true, Token: secretWord},
	} {
		text, err := want.Kubeconfig()
		if err != nil {
			t.Fatal(err)
		}
		again, err := want.Kubeconfig()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(text), string(again)); diff != "" {
			t.Errorf("the same connection gives another kubeconfig:\n%s", diff)
		}
		got, err := connection.Parse(map[string][]byte{"kubeconfig": text}, connection.Source{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("connection (-want +got):\n%s", diff)
		}
		// This is how Clusterpedia reads it.
		client, err := clientcmd.RESTConfigFromKubeConfig(text)
		if err != nil {
			t.Fatal(err)
		}
		if client.Insecure != want.Insecure {
			t.Errorf("insecure is %v, want %v", client.Insecure, want.Insecure)
		}
	}
}

func TestFingerprintTellsEveryPart(t *testing.T) {
	base := connection.Connection{Endpoint: "https://a"}
	seen := map[string]string{base.Fingerprint(): "base"}
	for name, change := range map[string]func(*connection.Connection){
		"endpoint":    func(c *connection.Connection) { c.Endpoint = "https://b" },
		"server name": func(c *connection.Connection) { c.ServerName = "x" },
		"ca":          func(c *connection.Connection) { c.CAData = []byte("x") },
		"insecure":    func(c *connection.Connection) { c.Insecure = true },
		"token":       func(c *connection.Connection) { c.Token = "x" },
		"certificate": func(c *connection.Connection) { c.CertData = []byte("x") },
		"key":         func(c *connection.Connection) { c.KeyData = []byte("x") },
		"proxy":       func(c *connection.Connection) { c.ProxyURL = "x" },
	} {
		changed := base
		change(&changed)
		if other, found := seen[changed.Fingerprint()]; found {
			t.Errorf("a change of %s is taken for %s", name, other)
		}
		seen[changed.Fingerprint()] = name
	}
}

func TestExpireTime(t *testing.T) {
	certificate, key := newPair(t)
	jwt := func(claims string) string {
		return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
	}
	for _, c := range []struct {
		reason     string
		connection connection.Connection
		want       time.Time
	}{
		{"an opaque token does not say", connection.Connection{Token: secretWord}, time.Time{}},
		{"a JWT may not say", connection.Connection{Token: jwt(`{"sub":"me"}`)}, time.Time{}},
		{"three parts are not always a JWT", connection.Connection{Token: "a.b.c"}, time.Time{}},
		{"a JWT's exp claim counts", connection.Connection{Token: jwt(fmt.Sprintf(`{"exp":%d}`, notAfter.Unix()))}, notAfter},
		{"a certificate's end counts", connection.Connection{CertData: certificate, KeyData: key}, notAfter},
		{"the first end counts", connection.Connection{CertData: certificate, KeyData: key, Token: jwt(`{"exp":1000}`)}, time.Unix(1000, 0)},
	} {
		if got := c.connection.ExpireTime(); !got.Equal(c.want) {
			t.Errorf("%s: got %v, want %v", c.reason, got, c.want)
		}
	}
}

func TestHTTPClient(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/redirect" {
			http.Redirect(w, r, "/", http.StatusFound)
			return
		}
		fmt.Fprint(w, r.Header.Get("Authorization"))
	}))
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})

	get := func(c connection.Connection, path string) (int, string, error) {
		client, err := c.HTTPClient(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer client.CloseIdleConnections()
		response, err := client.Get(server.URL + path)
		if err != nil {
			return 0, "", err
		}
		defer response.Body.Close()
		body := make([]byte, 100)
		n, _ := response.Body.Read(body)
		return response.StatusCode, string(body[:n]), nil
	}

	if _, body, err := get(connection.Connection{Token: "t", CAData: ca}, "/"); err != nil || body != "Bearer t" {
		t.Errorf("got %q and %v, want the token to arrive", body, err)
	}
	if _, _, err := get(connection.Connection{Token: "t"}, "/"); err == nil {
		t.Error("without a CA the host's trust store must refuse the test server")
	}
	if code, _, err := get(connection.Connection{Token: "t", CAData: ca}, "/redirect"); err != nil || code != http.StatusFound {
		t.Errorf("got %d and %v, want the redirect not to be followed", code, err)
	}
}
