package kubeconfig_test

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/fleet/kubeconfig"
)

// ruled gives everybody rules by their name.
type ruled map[string][]authorizationv1.ResourceRule

func (r ruled) Rules(_ context.Context, u authz.User) (*authorizationv1.SubjectRulesReviewStatus, error) {
	if u.Name == "nobody-knows" {
		return nil, errors.New("the global cluster is away")
	}
	return &authorizationv1.SubjectRulesReviewStatus{ResourceRules: r[u.Name]}, nil
}

func rule(resource string, verbs ...string) authorizationv1.ResourceRule {
	return authorizationv1.ResourceRule{Verbs: verbs, APIGroups: []string{"kairship.io"}, Resources: []string{resource}, ResourceNames: []string{"alpha"}}
}

var people = ruled{
	"editor": {rule("instances", "get"), rule("instances/proxy", "get", "create")},
	"viewer": {rule("instances", "get")},
	"writer": {rule("instances", "get"), rule("instances/proxy", "create")},
	"blind":  {rule("instances/proxy", "get")},
}

func service() *kubeconfig.Service {
	reviews := fake.NewClientset().AuthorizationV1().SubjectAccessReviews()
	return &kubeconfig.Service{Access: access.New(authz.NewResolver(people, reviews, nil, nil)), ExternalURL: "https://kairship.example.com/platform/"}
}

func as(name string) context.Context {
	return authz.WithUser(context.Background(), authz.User{Name: name})
}

func TestWhoGetsOne(t *testing.T) {
	for _, tt := range []struct {
		person, instance string
		want             apierror.Code
		why              string
	}{
		{"editor", "alpha", "", "editors may use the native API"},
		{"editor", "beta", apierror.CodeNotFound, "the user may not see it, or there is none"},
		{"viewer", "alpha", apierror.CodeForbidden, "viewers read through GraphQL"},
		{"writer", "alpha", apierror.CodeForbidden, "who may not read through it has no use for kubectl"},
		{"blind", "alpha", apierror.CodeNotFound, "nothing is permitted on what may not be seen"},
		{"stranger", "alpha", apierror.CodeNotFound, "no rules, nothing"},
		{"nobody-knows", "alpha", apierror.CodeTimeout, "undecided is not permitted"},
	} {
		got, err := service().Of(as(tt.person), tt.instance)
		switch {
		case tt.want == "" && (err != nil || got == nil):
			t.Errorf("%s of %s: %v, want a kubeconfig: %s", tt.person, tt.instance, err, tt.why)
		case tt.want != "" && (apierror.CodeOf(err) != tt.want || got != nil):
			t.Errorf("%s of %s: %v, %v, want %s: %s", tt.person, tt.instance, got, err, tt.want, tt.why)
		}
	}
}

// TestFile reads the file as kubectl does.
func TestFile(t *testing.T) {
	s := service()
	ca := certificate()
	s.CertificateAuthority = func() []byte { return ca }
	got, err := s.Of(as("editor"), "alpha")
	if err != nil {
		t.Fatal(err)
	}
	const server = "https://kairship.example.com/platform/instances/alpha/proxy"
	if got.Server != server || got.CertificateAuthority == nil || *got.CertificateAuthority != string(ca) {
		t.Errorf("server %s, authority %v", got.Server, got.CertificateAuthority)
	}
	config, err := clientcmd.Load([]byte(got.YAML))
	if err != nil {
		t.Fatalf("%v\n%s", err, got.YAML)
	}
	want := clientcmdapi.NewConfig()
	want.Clusters["kairship-alpha"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	want.Contexts["kairship-alpha"] = &clientcmdapi.Context{Cluster: "kairship-alpha", AuthInfo: "kairship"}
	want.AuthInfos["kairship"] = &clientcmdapi.AuthInfo{TokenFile: "kairship-token"} // And no credentials.
	want.CurrentContext = "kairship-alpha"
	if diff := cmp.Diff(*want, *config, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Extensions" }, cmp.Ignore())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := clientcmd.Validate(*config); err != nil {
		t.Error(err)
	}
}

// TestAddress is what the file says where no address is configured.
func TestAddress(t *testing.T) {
	for _, tt := range []struct {
		host string
		tls  bool
		want string
		why  string
	}{
		{"kairship.example.com", true, "https://kairship.example.com/instances/alpha/proxy", "the sender reached it there"},
		{"127.0.0.1:8080", false, "http://127.0.0.1:8080/instances/alpha/proxy", "plain HTTP is what it was"},
		{"[::1]:8443", true, "https://[::1]:8443/instances/alpha/proxy", "an IPv6 address"},
		{"", true, "", "HTTP/1.0 names no host"},
		{"evil.example/path?", true, "", "a host that is more than a host"},
		{"user@evil.example", true, "", "nor one with a user"},
		{"a b", true, "", "nor one that is no host at all"},
	} {
		r := httptest.NewRequest(http.MethodPost, "/graphql", http.NoBody).WithContext(as("editor"))
		r.Host, r.TLS = tt.host, nil
		if tt.tls {
			r.TLS = &tls.ConnectionState{}
		}
		s := service()
		s.ExternalURL = ""
		got, err := s.Of(kubeconfig.WithAddress(r).Context(), "alpha")
		switch {
		case tt.want == "" && apierror.CodeOf(err) != apierror.CodeInternal:
			t.Errorf("host %q: %v, %v, want an error: %s", tt.host, got, err, tt.why)
		case tt.want != "" && (err != nil || got.Server != tt.want):
			t.Errorf("host %q: %v, %v, want %s: %s", tt.host, got, err, tt.want, tt.why)
		}
	}
}

func TestCertificates(t *testing.T) {
	ca := string(certificate())
	const key = "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n"
	for _, tt := range []struct {
		file, want string
		why        string
	}{
		{ca, ca, "as it is"},
		{"# comment\n" + ca + "\n" + ca, ca + ca, "what is around the certificates is dropped"},
		{ca + key, "", "a key must not go to everybody"},
		{key, "", "nor alone"},
		{"no PEM", "", "nothing to verify with"},
		{"", "", "nothing at all"},
		{strings.Replace(ca, "MII", "MIA", 1), "", "a certificate that is none"},
	} {
		got, err := kubeconfig.Certificates([]byte(tt.file))
		if string(got) != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%.40q: %q, %v: %s", tt.file, got, err, tt.why)
		}
	}
}

// certificate is some certificate, in PEM.
func certificate() []byte {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}
