// Package kubeconfig makes the files with which kubectl reaches an instance through the native
// passthrough. They contain no secret: their user still has to log in.
package kubeconfig

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/instanceproxy/passthrough"
)

// userName is the name of the user in all of them, so that a person who has merged those of several
// instances logs in only once.
const userName = "kairship"

// tokenFile is where the user's token is read from, beside the kubeconfig itself. A
// user without any credentials would have kubectl ask for a name and a password.
const tokenFile = "kairship-token"

// Kubeconfig is such a file.
type Kubeconfig struct {
	// Server is the address of the instance's native API at Kairship.
	Server string
	// CertificateAuthority verifies Kairship's certificate, in PEM; nil where clients
	// trust it anyway.
	CertificateAuthority *string
	// YAML is the file.
	YAML string
}

// Service makes them.
type Service struct {
	Access *access.Access
	// ExternalURL is where clients reach Kairship; when empty, it is where the request
	// was sent to (WithAddress).
	ExternalURL string
	// CertificateAuthority gives what verifies Kairship's certificate, in PEM; nil
	// where clients trust it anyway.
	CertificateAuthority func() []byte
}

// Of makes the file of an instance for the caller. The error is *apierror.Error:
// CodeNotFound when they may not know of the instance, CodeForbidden when they
// may not use the passthrough.
func (s *Service) Of(ctx context.Context, instance string) (*Kubeconfig, error) {
	grant, visible, err := s.Access.Instance(ctx, instance)
	switch {
	case err != nil:
		return nil, err
	case !visible:
		audit.From(ctx).Refuse(instance)
		return nil, apierror.NotFound("Instance", instance)
	case !grant.Can(authz.VerbProxy, ""):
		audit.From(ctx).Refuse(instance)
		return nil, apierror.In(apierror.New(apierror.CodeForbidden,
			"you cannot get instances/proxy of instance %q: the native API is for editors and admins; read through GraphQL instead", instance), instance)
	}
	base, err := s.base(ctx)
	if err != nil {
		return nil, err
	}
	return s.write(instance, strings.TrimRight(base, "/")+passthrough.PathOf(instance))
}

var errNoAddress = errors.New("the request does not tell where Kairship was reached, and --external-url is not set")

func (s *Service) base(ctx context.Context) (string, error) {
	if s.ExternalURL != "" {
		return s.ExternalURL, nil
	}
	if address, ok := ctx.Value(addressKey{}).(string); ok {
		return address, nil
	}
	return "", apierror.Wrap(errNoAddress, apierror.CodeInternal, "internal error")
}

func (s *Service) write(instance, server string) (*Kubeconfig, error) {
	name := "kairship-" + instance // Unique among what else a person has in one file.
	var authority []byte
	if s.CertificateAuthority != nil {
		authority = s.CertificateAuthority()
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: authority}
	config.AuthInfos[userName] = &clientcmdapi.AuthInfo{TokenFile: tokenFile}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: userName}
	config.CurrentContext = name
	body, err := clientcmd.Write(*config)
	if err != nil {
		return nil, apierror.Wrap(err, apierror.CodeInternal, "internal error")
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, head, instance)
	text.Write(body)
	k := &Kubeconfig{Server: server, YAML: text.String()}
	if len(authority) > 0 {
		ca := string(authority)
		k.CertificateAuthority = &ca
	}
	return k, nil
}

// head begins the file, for its readers.
const head = `# The native Kubernetes API of instance %[1]s, through Kairship.
# There is no secret in here. Your token of Kairship's global cluster is read from the file ` + tokenFile + `
# beside this one, whenever it changes; or bring it yourself:
#   kubectl --kubeconfig FILE --token "$TOKEN" get deployments -A
# Where a plugin logs you in, have kubectl use that:
#   kubectl --kubeconfig FILE config delete-user ` + userName + `
#   kubectl --kubeconfig FILE config set-credentials ` + userName + ` --exec-command PLUGIN \
#     --exec-api-version client.authentication.k8s.io/v1 --exec-interactive-mode IfAvailable
`

// Certificates keeps of a file what every user may read: its certificates, in PEM. A
// key that was put beside them would go to everybody.
func Certificates(file []byte) ([]byte, error) {
	var kept bytes.Buffer
	for block, rest := pem.Decode(file); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("it holds a block %q: only certificates may be handed out", block.Type)
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return nil, err
		}
		if err := pem.Encode(&kept, &pem.Block{Type: block.Type, Bytes: block.Bytes}); err != nil {
			return nil, err
		}
	}
	if kept.Len() == 0 {
		return nil, errors.New("it holds no certificate in PEM")
	}
	return kept.Bytes(), nil
}

type addressKey struct{}

// WithAddress notes where a request was sent to, as its sender knows Kairship.
// The Host header is what the sender wrote, and is passed on to no other.
func WithAddress(r *http.Request) *http.Request {
	address := url.URL{Scheme: "http", Host: r.Host}
	if r.TLS != nil {
		address.Scheme = "https"
	}
	text := address.String()
	if again, err := url.Parse(text); err != nil || r.Host == "" || again.Host != r.Host || again.Hostname() == "" {
		return r
	}
	return r.WithContext(context.WithValue(r.Context(), addressKey{}, text))
}
