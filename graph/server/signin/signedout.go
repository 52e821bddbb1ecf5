package signin

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz"
)

// SignedOutHolds is after how long all replicas know that a person signed out everywhere.
const SignedOutHolds = 5 * time.Second

// signedOutTimeout bounds one reading of it.
const signedOutTimeout = 10 * time.Second

// SignedOut remembers when people signed out everywhere.
type SignedOut interface {
	// Since returns when the subject last did; zero for never.
	Since(ctx context.Context, subject string) (time.Time, error)
	// Set notes that the subject did.
	Set(ctx context.Context, subject string, at time.Time) error
}

// ConfigMap keeps in a ConfigMap of the global cluster who signed out everywhere. The names in it are hashes.
type ConfigMap struct {
	ConfigMaps      corev1client.ConfigMapsGetter
	Namespace, Name string
	// Life is how long an entry matters: no session and no token is older.
	Life time.Duration
	Now  func() time.Time

	reads singleflight.Group

	mu   sync.Mutex
	data map[string]string
	read time.Time
}

var _ SignedOut = (*ConfigMap)(nil)

// Since implements SignedOut. It is at most SignedOutHolds old.
func (c *ConfigMap) Since(ctx context.Context, subject string) (time.Time, error) {
	data, err := c.recent(ctx)
	if err != nil {
		return time.Time{}, err
	}
	text := data[nameOf(subject)]
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("the ConfigMap %s/%s: %w", c.Namespace, c.Name, err)
	}
	return at, nil
}

// recent are the entries, read again when they are old: once for all callers, of whom each may leave.
func (c *ConfigMap) recent(ctx context.Context) (map[string]string, error) {
	c.mu.Lock()
	data, fresh := c.data, c.data != nil && c.Now().Sub(c.read) < SignedOutHolds
	c.mu.Unlock()
	if fresh {
		return data, nil
	}
	read := c.reads.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), signedOutTimeout)
		defer cancel()
		return c.look(ctx)
	})
	select {
	case <-ctx.Done():
		return nil, fmt.Errorf("reading who signed out everywhere: %w", context.Cause(ctx))
	case result := <-read:
		data, _ = result.Val.(map[string]string)
		return data, result.Err
	}
}

// look reads the entries.
func (c *ConfigMap) look(ctx context.Context) (map[string]string, error) {
	begun := c.Now()
	found, err := c.ConfigMaps.ConfigMaps(c.Namespace).Get(ctx, c.Name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("reading who signed out everywhere: %w", err)
	}
	data := map[string]string{}
	if err == nil {
		maps.Copy(data, found.Data)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.data, c.read = data, begun
	return data, nil
}

// Set implements SignedOut.
func (c *ConfigMap) Set(ctx context.Context, subject string, at time.Time) error {
	const tries = 5
	var err error
	for range tries {
		if err = c.add(ctx, nameOf(subject), at); err == nil || !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			break
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.data = nil // This replica knows at once.
	return err
}

// add writes an entry, and removes those that no longer matter.
func (c *ConfigMap) add(ctx context.Context, name string, at time.Time) error {
	stored := c.ConfigMaps.ConfigMaps(c.Namespace)
	found, err := stored.Get(ctx, c.Name, metav1.GetOptions{})
	missing := apierrors.IsNotFound(err)
	switch {
	case missing:
		found = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Name: c.Name, Namespace: c.Namespace, Labels: map[string]string{v1alpha1.ManagedByLabel: v1alpha1.ManagedByValue},
		}}
	case err != nil:
		return err
	}
	kept := map[string]string{name: at.UTC().Format(time.RFC3339)}
	for other, text := range found.Data {
		if then, err := time.Parse(time.RFC3339, text); err == nil && other != name && at.Sub(then) < c.Life {
			kept[other] = text
		}
	}
	found.Data = kept
	if missing {
		_, err = stored.Create(ctx, found, metav1.CreateOptions{})
	} else {
		_, err = stored.Update(ctx, found, metav1.UpdateOptions{})
	}
	return err
}

func nameOf(subject string) string {
	sum := sha256.Sum256([]byte(subject))
	return hex.EncodeToString(sum[:])
}

// Authenticator refuses the provider's tokens that are older than their person's signing out everywhere, wherever
// they come from.
type Authenticator struct {
	Tokens interface {
		authz.Authenticator
		Recheck(ctx context.Context, c authz.Credentials) (authz.User, error)
	}
	Issuer    string
	SignedOut SignedOut
}

var _ authz.Authenticator = Authenticator{}

// Authenticate implements authz.Authenticator.
func (a Authenticator) Authenticate(ctx context.Context, c authz.Credentials) (authz.User, error) {
	user, err := a.Tokens.Authenticate(ctx, c)
	if err == nil {
		err = a.check(ctx, c)
	}
	return user, err
}

// Recheck authenticates credentials that were good before.
func (a Authenticator) Recheck(ctx context.Context, c authz.Credentials) (authz.User, error) {
	user, err := a.Tokens.Recheck(ctx, c)
	if err == nil {
		err = a.check(ctx, c)
	}
	return user, err
}

// check returns why credentials that are good are refused; nil where they are not.
func (a Authenticator) check(ctx context.Context, c authz.Credentials) error {
	subject, issued := a.issued(c.Token())
	if subject == "" {
		return nil
	}
	out, err := a.SignedOut.Since(ctx, subject)
	if err != nil {
		return apierror.Wrap(err, apierror.CodeTimeout, "it cannot be found out now whether you signed out everywhere; try again")
	}
	if issued.Before(out) {
		return apierror.New(apierror.CodeUnauthenticated, "you signed out everywhere: sign in again")
	}
	return nil
}

// issued returns whose a token of the provider is, and when it was issued; nothing for other tokens. The global
// cluster has verified it.
func (a Authenticator) issued(token string) (subject string, at time.Time) {
	_, rest, _ := strings.Cut(token, ".")
	payload, _, ok := strings.Cut(rest, ".")
	if !ok {
		return "", time.Time{}
	}
	var claims struct {
		Issuer   string  `json:"iss"`
		Subject  string  `json:"sub"`
		IssuedAt float64 `json:"iat"`
	}
	raw, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil || json.Unmarshal(raw, &claims) != nil || claims.Issuer != a.Issuer {
		return "", time.Time{}
	}
	return claims.Subject, time.Unix(int64(claims.IssuedAt), 0)
}
