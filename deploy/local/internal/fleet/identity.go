package fleet

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/kairship-io/kairship/deploy/local/internal/topology"
)

const (
	// identityProvider is the OpenID Connect provider at which the fleet's people sign in.
	identityProvider = "identity-provider"
	// oidcClient is what it knows Kairship as.
	oidcClient = "kairship"
)

// installedProvider is the folder of the provider; empty where Node.js, or the packages that `make ui` installs, are
// missing. People then have tokens alone.
func installedProvider(repository string) string {
	folder := filepath.Join(repository, "deploy", "local", "identityprovider")
	if _, err := os.Stat(filepath.Join(folder, "node_modules", "oidc-provider")); err != nil {
		return ""
	}
	if _, err := exec.LookPath("node"); err != nil {
		return ""
	}
	return folder
}

// identityProvider lists the provider, where it is installed.
func (f *Fleet) identityProvider() []process {
	if f.settings.Provider == "" {
		return nil
	}
	crt, key := f.pki("global").Server(identityProvider)
	args := []string{
		filepath.Join(f.settings.Provider, "provider.mjs"),
		fmt.Sprintf("--port=%d", f.ports.Of("identity/api")),
		"--cert=" + crt, "--key=" + key, "--passwords=" + f.paths.Passwords(), "--client=" + oidcClient,
	}
	for _, page := range []string{"http://" + f.ports.Addr("kairship/api"), f.ports.URL("kairship/tls")} {
		args = append(args, "--redirect="+page+"/session/callback", "--home="+page+"/")
	}
	args = append(args, "--redirect=http://"+f.ports.Addr("identity/plugin"))
	node, err := exec.LookPath("node")
	if err != nil {
		node = "node" // Starting it then fails, and names it.
	}
	return []process{{
		name:   identityProvider,
		binary: node,
		args:   args,
		ports:  []string{"identity/api"},
		ready:  probe{url: f.ports.URL("identity/api") + "/.well-known/openid-configuration", cluster: "global"},
	}}
}

// trustsProvider are the global apiserver's arguments by which it takes the provider's tokens.
func (f *Fleet) trustsProvider() []string {
	if f.settings.Provider == "" {
		return nil
	}
	return []string{
		"--oidc-issuer-url=" + f.ports.URL("identity/api"),
		"--oidc-client-id=" + oidcClient,
		"--oidc-ca-file=" + f.pki("global").File("ca.crt"),
		// The people have the names that they have by their tokens.
		"--oidc-username-claim=preferred_username",
		"--oidc-username-prefix=-",
	}
}

// signsIn are the arguments by which people sign in to Kairship at the provider.
func (f *Fleet) signsIn() []string {
	if f.settings.Provider == "" {
		return nil
	}
	return []string{
		"--oidc-issuer-url=" + f.ports.URL("identity/api"),
		"--oidc-client-id=" + oidcClient,
		"--oidc-ca-file=" + f.pki("global").File("ca.crt"),
		"--oidc-scopes=profile",
	}
}

// prepareIdentityProvider makes its certificate and a password for each person.
func (f *Fleet) prepareIdentityProvider() error {
	if err := f.pki("global").EnsureServer(identityProvider, nil); err != nil {
		return err
	}
	for _, person := range topology.People() {
		path := f.paths.Password(person)
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			if err != nil {
				return err
			}
			continue
		}
		password, err := newToken()
		if err != nil {
			return err
		}
		if err := writeSecret(path, password[:passwordLength]); err != nil {
			return err
		}
	}
	return nil
}

// passwordLength is that of a person's password; people type it.
const passwordLength = 16
