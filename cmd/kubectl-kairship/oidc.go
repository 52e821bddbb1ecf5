package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const (
	// signInTime is how long a person may take in the browser.
	signInTime = 5 * time.Minute
	// earlier is how long before its end a token is replaced.
	earlier = 30 * time.Second
)

// kept are the tokens between two calls.
type kept struct {
	ID      string    `json:"idToken"`
	Refresh string    `json:"refreshToken,omitempty"`
	Expiry  time.Time `json:"expiry"`
}

// signIn returns tokens: those that are kept, new ones of the provider, or those that a person signs in for.
func (o *options) signIn(ctx context.Context, f *loginFlags) (*oauth2.Token, error) {
	file, err := cacheFile(f)
	if err != nil {
		return nil, err
	}
	had := readKept(file)
	if time.Now().Add(earlier).Before(had.Expiry) {
		return (&oauth2.Token{Expiry: had.Expiry}).WithExtra(map[string]any{"id_token": had.ID}), nil
	}
	client, err := providerClient(f.caFile)
	if err != nil {
		return nil, err
	}
	ctx = oidc.ClientContext(ctx, client)
	provider, err := oidc.NewProvider(ctx, f.issuer)
	if err != nil {
		return nil, fmt.Errorf("asking the provider: %w", err)
	}
	config := &oauth2.Config{ClientID: f.clientID, Endpoint: provider.Endpoint(), Scopes: append([]string{oidc.ScopeOpenID}, f.scopes...)}
	verifier := provider.Verifier(&oidc.Config{ClientID: f.clientID})
	var token *oauth2.Token
	if had.Refresh != "" {
		token, _ = config.TokenSource(ctx, &oauth2.Token{RefreshToken: had.Refresh}).Token() // Without one, the person signs in again.
	}
	if token == nil {
		if token, err = o.inBrowser(ctx, config, verifier, f.listenPort); err != nil {
			return nil, err
		}
	}
	id, err := idToken(token)
	if err != nil {
		return nil, err
	}
	of, err := verifier.Verify(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("the provider's token: %w", err)
	}
	token.Expiry = of.Expiry
	return token, writeKept(file, kept{ID: id, Refresh: token.RefreshToken, Expiry: of.Expiry})
}

// inBrowser has a person sign in, by the authorization code flow with PKCE and an address of this machine (RFC 8252).
func (o *options) inBrowser(ctx context.Context, config *oauth2.Config, verifier *oidc.IDTokenVerifier, port uint16) (*oauth2.Token, error) {
	ctx, cancel := context.WithTimeout(ctx, signInTime)
	defer cancel()
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, fmt.Errorf("waiting for the browser: %w", err)
	}
	config.RedirectURL = "http://" + listener.Addr().String()
	state, nonce, secret := rand.Text(), rand.Text(), oauth2.GenerateVerifier()
	answers := make(chan answered, 1)
	server := &http.Server{Handler: callback(state, answers), ReadHeaderTimeout: signInTime}
	go server.Serve(listener) //nolint:errcheck // It ends with the sign-in.
	defer server.Close()      //nolint:errcheck // See above.
	fmt.Fprintf(o.ErrOut, "Sign in at:\n\n  %s\n\n", config.AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(secret)))
	select {
	case <-ctx.Done():
		return nil, errors.New("the sign-in took too long")
	case answer := <-answers:
		if answer.failed != "" {
			return nil, fmt.Errorf("the provider refuses: %s", answer.failed)
		}
		token, err := config.Exchange(ctx, answer.code, oauth2.VerifierOption(secret))
		if err != nil {
			return nil, fmt.Errorf("exchanging the code: %w", err)
		}
		id, err := idToken(token)
		if err != nil {
			return nil, err
		}
		if of, err := verifier.Verify(ctx, id); err != nil || of.Nonce != nonce {
			return nil, errors.New("the provider's token is not of this sign-in")
		}
		return token, nil
	}
}

// answered is what the provider sends a person back with.
type answered struct{ code, failed string }

// callback takes the first answer that belongs to this sign-in.
func callback(state string, answers chan<- answered) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("state") != state {
			http.Error(w, "This is no answer to the sign-in.", http.StatusBadRequest)
			return
		}
		select {
		case answers <- answered{code: r.URL.Query().Get("code"), failed: r.URL.Query().Get("error")}:
		default: // There is one already.
		}
		fmt.Fprintln(w, "You can close this page, and go on in the terminal.")
	})
}

// providerClient trusts an authority beside those of the system.
func providerClient(caFile string) (*http.Client, error) {
	client := &http.Client{Timeout: time.Minute}
	if caFile == "" {
		return client, nil
	}
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, err
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no certificate", caFile)
	}
	client.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	return client, nil
}

// fileName is a name for the tokens of a client at a provider.
func fileName(issuer, clientID string) string {
	sum := sha256.Sum256([]byte(issuer + "\n" + clientID))
	return hex.EncodeToString(sum[:])
}

// readKept reads the tokens of the last call; none where there are none.
func readKept(file string) (had kept) {
	text, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(text, &had) != nil {
		return kept{}
	}
	return had
}

// writeKept keeps tokens for the user of this machine alone.
func writeKept(file string, of kept) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	text, err := json.Marshal(of) //nolint:gosec // Tokens are what is kept here.
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}
