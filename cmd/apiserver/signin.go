package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/kairship-io/kairship/graph/server/signin"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/consistency"
	"github.com/kairship-io/kairship/pkg/instanceproxy/passthrough"
)

// Who signed out everywhere is written down.
// +kubebuilder:rbac:groups="",resources=configmaps,namespace=kairship-system,verbs=create
// +kubebuilder:rbac:groups="",resources=configmaps,resourceNames=kairship-signed-out,namespace=kairship-system,verbs=get;update

// providerTimeout bounds a request to the OpenID Connect provider.
const providerTimeout = 10 * time.Second

// signIn is how people sign in, and which tokens are refused since.
type signIn struct {
	handler *signin.Handler
	tokens  interface {
		authz.Authenticator
		Recheck(ctx context.Context, c authz.Credentials) (authz.User, error)
	}
}

// newSignIn makes what signs people in, where there is a provider.
func (o *signInOptions) newSignIn(kube kubernetes.Interface, tokens *authz.TokenReviewAuthenticator, keys consistency.Keys, logger *slog.Logger) (signIn, error) {
	if o.issuer == "" {
		return signIn{tokens: tokens}, nil
	}
	client, err := o.client()
	if err != nil {
		return signIn{}, err
	}
	namespace, name, _ := strings.Cut(o.signedOut, "/")
	signedOut := &signin.ConfigMap{ConfigMaps: kube.CoreV1(), Namespace: namespace, Name: name, Life: o.lifetime, Now: time.Now}
	checked := signin.Authenticator{Tokens: tokens, Issuer: o.issuer, SignedOut: signedOut}
	return signIn{tokens: checked, handler: signin.New(signin.Options{
		Provider:  &signin.Provider{Issuer: o.issuer, ClientID: o.clientID, Secret: o.secret, Scopes: o.scopes, Client: client},
		Keys:      keys,
		Life:      o.lifetime,
		SignedOut: signedOut,
		Identify: func(ctx context.Context, token string) (authz.User, error) {
			return checked.Authenticate(ctx, authz.TokenCredentials(token))
		},
		Logger: logger,
		Now:    time.Now,
	})}, nil
}

// ofPages lets pages open terminals by their sessions. Requests that bring credentials of their own keep these.
func (s signIn) ofPages(native http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if passthrough.Credentials(r).Empty() {
			r = s.handler.Socket(r)
		}
		native.ServeHTTP(w, r)
	})
}

// client sends requests to the provider.
func (o *signInOptions) client() (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if o.caFile != "" {
		pem, err := os.ReadFile(o.caFile) //nolint:gosec // The operator names it.
		if err != nil {
			return nil, fmt.Errorf("--oidc-ca-file: %w", err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--oidc-ca-file: %s has no certificate", o.caFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return &http.Client{Transport: transport, Timeout: providerTimeout}, nil
}

// secret reads the client's secret.
func (o *signInOptions) secret() (string, error) {
	if o.clientSecretFile == "" {
		return "", nil
	}
	text, err := os.ReadFile(o.clientSecretFile)
	if err != nil {
		return "", fmt.Errorf("--oidc-client-secret-file: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
