package signin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// providerTimeout bounds one request to the provider.
const providerTimeout = 10 * time.Second

// Provider is an OpenID Connect provider, and Kairship as its client.
type Provider struct {
	// Issuer is the provider's URL, as in its tokens.
	Issuer   string
	ClientID string
	// Secret returns the client's secret; empty for a public client.
	Secret func() (string, error)
	// Scopes are asked for beside openid.
	Scopes []string
	// Client sends the requests to the provider.
	Client *http.Client

	mu    sync.Mutex
	known *discovered
}

// discovered is what the provider publishes about itself.
type discovered struct {
	*oidc.Provider

	Revocation string `json:"revocation_endpoint"`
	EndSession string `json:"end_session_endpoint"`
}

// errRefused means that the provider refused a grant: an answer, not a failure to answer.
var errRefused = errors.New("the provider refuses it")

// tokens are what the provider gave for a person.
type tokens struct {
	id, refresh string
	subject     string
	expires     time.Time
}

// discover reads once what the provider publishes; a failure is not remembered.
func (p *Provider) discover(ctx context.Context) (*discovered, error) {
	p.mu.Lock()
	known := p.known
	p.mu.Unlock()
	if known != nil {
		return known, nil
	}
	// The keys are fetched later, with the client of this context, and not within its time.
	provider, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), p.Client), p.Issuer)
	if err != nil {
		return nil, fmt.Errorf("reading what the OpenID Connect provider %s publishes: %w", p.Issuer, err)
	}
	known = &discovered{Provider: provider}
	if err := provider.Claims(known); err != nil {
		return nil, fmt.Errorf("what the OpenID Connect provider %s publishes cannot be read: %w", p.Issuer, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = known
	return known, nil
}

// config is the client for one sign-in.
func (p *Provider) config(ctx context.Context, redirect string) (*discovered, *oauth2.Config, error) {
	known, err := p.discover(ctx)
	if err != nil {
		return nil, nil, err
	}
	secret, err := p.Secret()
	if err != nil {
		return nil, nil, fmt.Errorf("reading the client's secret: %w", err)
	}
	return known, &oauth2.Config{
		ClientID: p.ClientID, ClientSecret: secret, Endpoint: known.Endpoint(), RedirectURL: redirect,
		Scopes: append([]string{oidc.ScopeOpenID}, p.Scopes...),
	}, nil
}

// begin returns the address at which a person signs in.
func (p *Provider) begin(ctx context.Context, redirect string, f *flow) (string, error) {
	_, config, err := p.config(ctx, redirect)
	if err != nil {
		return "", err
	}
	return config.AuthCodeURL(f.State, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)), nil
}

// exchange returns the tokens for the code that the provider sent a person back with.
func (p *Provider) exchange(ctx context.Context, redirect, code string, f *flow) (*tokens, error) {
	known, config, err := p.config(ctx, redirect)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.Client), providerTimeout)
	defer cancel()
	got, err := config.Exchange(ctx, code, oauth2.VerifierOption(f.Verifier))
	if err != nil {
		return nil, refusal(err)
	}
	return p.verified(ctx, known, got, f.Nonce)
}

// renew returns new tokens for a refresh token. The provider may take that no longer then.
func (p *Provider) renew(ctx context.Context, refresh string) (*tokens, error) {
	known, config, err := p.config(ctx, "")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.Client), providerTimeout)
	defer cancel()
	got, err := config.TokenSource(ctx, &oauth2.Token{RefreshToken: refresh}).Token()
	if err != nil {
		return nil, refusal(err)
	}
	return p.verified(ctx, known, got, "")
}

// verified checks the ID token among some tokens. One that was renewed has no nonce.
func (p *Provider) verified(ctx context.Context, known *discovered, got *oauth2.Token, nonce string) (*tokens, error) {
	raw, _ := got.Extra("id_token").(string)
	if raw == "" {
		return nil, fmt.Errorf("%w: it gave no ID token", errRefused)
	}
	id, err := known.Verifier(&oidc.Config{ClientID: p.ClientID}).Verify(ctx, raw)
	if err != nil {
		return nil, fmt.Errorf("verifying the ID token: %w", err)
	}
	if nonce != "" && id.Nonce != nonce {
		return nil, fmt.Errorf("%w: the ID token is that of another sign-in", errRefused)
	}
	return &tokens{id: raw, refresh: got.RefreshToken, subject: id.Subject, expires: id.Expiry}, nil
}

// revoke has the provider take a refresh token no longer. Providers without that have nothing to revoke at.
func (p *Provider) revoke(ctx context.Context, refresh string) error {
	known, config, err := p.config(ctx, "")
	if err != nil || known.Revocation == "" || refresh == "" {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, providerTimeout)
	defer cancel()
	form := url.Values{"token": {refresh}, "token_type_hint": {"refresh_token"}}
	if config.ClientSecret == "" {
		form.Set("client_id", p.ClientID)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, known.Revocation, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if config.ClientSecret != "" {
		r.SetBasicAuth(url.QueryEscape(p.ClientID), url.QueryEscape(config.ClientSecret))
	}
	answer, err := p.Client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the provider answered %s", answer.Status)
	}
	return nil
}

// endSession is the address at which the provider ends its own session; empty where it has none.
func (p *Provider) endSession(ctx context.Context, back string) string {
	known, err := p.discover(ctx)
	if err != nil || known.EndSession == "" {
		return ""
	}
	u, err := url.Parse(known.EndSession)
	if err != nil {
		return ""
	}
	query := u.Query()
	query.Set("client_id", p.ClientID)
	query.Set("post_logout_redirect_uri", back)
	u.RawQuery = query.Encode()
	return u.String()
}

// refusal tells an answer of the provider from a failure to answer.
func refusal(err error) error {
	answer, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok || answer.Response == nil || answer.Response.StatusCode >= http.StatusInternalServerError {
		return err
	}
	// The body of the answer may repeat what was sent.
	return fmt.Errorf("%w: %s", errRefused, answer.ErrorCode)
}
