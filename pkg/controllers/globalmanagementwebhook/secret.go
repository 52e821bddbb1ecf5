package globalmanagementwebhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gm "github.com/kairship-io/kairship/pkg/globalmanagement"
)

// The keys of the Secret. Either may have signed a request.
const (
	PrimaryKey   = "primary"
	SecondaryKey = "secondary"
)

const (
	// secretAge is how long the Secret is believed to be as it was read: the time
	// after which a rotation has reached every replica.
	secretAge = 5 * time.Second
	// secretPatience is how long it is believed when it cannot be read again. Later
	// nothing is accepted: it may have been taken away for a reason.
	secretPatience = time.Minute
)

// keyring reads the active secrets from a Secret.
type keyring struct {
	secrets client.Reader
	name    types.NamespacedName
	now     func() time.Time

	mu     sync.Mutex
	active [][]byte
	read   time.Time // when active was read
	tried  time.Time // when it was last tried to be read
	err    error     // of that try
	warned string    // what was last said of a secret that is not used
}

// get gives the active secrets, at least one of them. They are read anew when
// they are older than secretAge; many callers wait for one request.
func (k *keyring) get(ctx context.Context) ([][]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	if age := now.Sub(k.read); k.active != nil && age >= 0 && age < secretAge {
		return k.active, nil
	}
	// While it cannot be read, it is not asked for at every request.
	const pause = time.Second
	if since := now.Sub(k.tried); k.err == nil || since < 0 || since >= pause {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		active, err := k.load(ctx)
		k.tried = now
		switch {
		case err == nil:
			k.active, k.read = active, now
		case k.err == nil:
			ctrl.Log.WithName(Name).Error(err, "The secret cannot be read", "secret", k.name.String())
		}
		k.err = err
	}
	// A Secret that was read and holds no secret is the answer; one that could not
	// be read is probably as it was.
	if k.err != nil && (k.active == nil || errors.Is(k.err, errNoSecret) || now.Sub(k.read) > secretPatience) {
		k.active = nil
		return nil, k.err
	}
	return k.active, nil
}

var errNoSecret = errors.New("no secret is set")

func (k *keyring) load(ctx context.Context) ([][]byte, error) {
	secret := &corev1.Secret{}
	if err := k.secrets.Get(ctx, k.name, secret); err != nil {
		if client.IgnoreNotFound(err) == nil {
			err = fmt.Errorf("%w: there is no Secret %s", errNoSecret, k.name)
		}
		return nil, err
	}
	var active [][]byte
	var problems []error
	for _, key := range []string{PrimaryKey, SecondaryKey} {
		value := bytes.TrimSpace(secret.Data[key])
		switch {
		case len(value) >= gm.MinSecretBytes:
			active = append(active, value)
		case len(value) > 0:
			problems = append(problems, fmt.Errorf("key %s of Secret %s has %d bytes, and needs at least %d", key, k.name, len(value), gm.MinSecretBytes))
		}
	}
	if len(active) > 0 {
		k.warn(errors.Join(problems...))
		return active, nil
	}
	return nil, fmt.Errorf("%w: %w", errNoSecret, errors.Join(append(problems, fmt.Errorf("the Secret %s needs the key %s", k.name, PrimaryKey))...))
}

// warn logs once that one of the keys is invalid and not used.
func (k *keyring) warn(problem error) {
	text := ""
	if problem != nil {
		text = problem.Error()
	}
	if text != k.warned && text != "" {
		ctrl.Log.WithName(Name).Info("A secret is not used", "cause", text)
	}
	k.warned = text
}
