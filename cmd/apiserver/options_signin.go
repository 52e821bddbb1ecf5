package main

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kairship-io/kairship/cmd/internal/flags"
)

// signInOptions are how people sign in to the pages.
type signInOptions struct {
	issuer, clientID string
	clientSecretFile string
	caFile           string
	scopes           []string
	lifetime         time.Duration
	// signedOut is namespace/name.
	signedOut string
}

func (o *signInOptions) define(f *pflag.FlagSet) {
	f.StringVar(&o.issuer, "oidc-issuer-url", "", "`URL` of the OpenID Connect provider at which people sign in, as in its tokens; the global cluster has to trust it too; without one, pages take tokens alone")
	f.StringVar(&o.clientID, "oidc-client-id", "kairship", "what the provider knows Kairship as; the audience that the global cluster expects in tokens")
	f.StringVar(&o.clientSecretFile, "oidc-client-secret-file", "", "`file` with the secret of that client; read again for each use; without one, the client is a public one")
	f.StringVar(&o.caFile, "oidc-ca-file", "", "`file` with the authorities that the provider's certificate is verified with, in PEM; when empty, those of the system")
	f.StringSliceVar(&o.scopes, "oidc-scopes", []string{"profile", "email"}, "`scopes` to ask for beside openid; many providers let people stay signed in with offline_access alone")
	f.DurationVar(&o.lifetime, "sign-in-lifetime", 12*time.Hour, "how long a person stays signed in, at most")
	f.StringVar(&o.signedOut, "signed-out-configmap", "kairship-system/kairship-signed-out", "`namespace/name` of the ConfigMap with who signed out everywhere, which all replicas share; the first one that needs it makes it")
}

// validate finds what is wrong.
func (o *signInOptions) validate(problems *flags.Problems) {
	check := problems.Checkf
	if o.issuer == "" {
		return
	}
	u, err := url.Parse(o.issuer)
	check(err == nil && u.Scheme == "https" && u.Host != "" && u.RawQuery == "" && u.Fragment == "" && u.User == nil,
		"--oidc-issuer-url: must be an https address such as https://login.example.com, not %q", o.issuer)
	check(o.clientID != "", "--oidc-client-id: give the client that the provider knows Kairship as")
	check(!slices.Contains(o.scopes, ""), "--oidc-scopes: a scope is empty")
	check(o.lifetime >= time.Minute, "--sign-in-lifetime: must be at least a minute, not %s", o.lifetime)
	namespace, name, ok := strings.Cut(o.signedOut, "/")
	check(ok && namespace != "" && name != "", "--signed-out-configmap: must be namespace/name, not %q", o.signedOut)
}
