package consistency

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// The keys of the Secret's data.
const (
	// SecretKey holds the key.
	SecretKey = "key"
	// SecretPreviousKey holds the one before, where there is one: nothing is sealed with
	// it any longer, and what was is still good.
	SecretPreviousKey = "previous"
)

const (
	// lookAgainAfter is the time between two looks for a key that is not ours: tokens
	// that a client made up must not cost a request each.
	lookAgainAfter = time.Second
	// freshFor is how long the Secret is not read again while it is in use. A key that
	// was replaced is sealed with for as long, and one that was deleted is good for as
	// long.
	freshFor = 30 * time.Second
	// lookTimeout bounds one look that no caller waits for.
	lookTimeout = 10 * time.Second
)

// SecretKeys keeps the key in a Secret of the global cluster. The replica that needs the Secret
// first creates it. An administrator who replaces the key keeps the old one in the Secret, so that
// issued tokens stay valid; deleting the Secret invalidates all tokens, and the next replica
// creates a new key.
type SecretKeys struct {
	Secrets         corev1client.SecretsGetter
	Namespace, Name string
	Now             func() time.Time

	mu sync.Mutex
	// keys are the valid keys; new tokens are sealed with the first.
	keys [][]byte
	// looked is when the Secret was last read; sought is when it was last read for an unknown key.
	looked, sought time.Time
	looking        bool
}

var _ Keys = (*SecretKeys)(nil)

// Key implements Keys.
func (s *SecretKeys) Key(ctx context.Context) ([]byte, error) {
	known := s.known(ctx)
	if len(known) == 0 {
		var err error
		if known, err = s.look(ctx, true); err != nil {
			return nil, err
		}
	}
	return known[0], nil
}

// Find implements Keys. A key that is not known may be one that was put there, or
// that another replica made, since the Secret was read.
func (s *SecretKeys) Find(ctx context.Context, id [keyIDSize]byte) ([]byte, error) {
	known := s.known(ctx)
	if key := among(known, id); key != nil || len(known) > 0 && !s.mayLook() {
		return key, nil
	}
	known, err := s.look(ctx, false)
	return among(known, id), err
}

func among(keys [][]byte, id [keyIDSize]byte) []byte {
	for _, key := range keys {
		if keyID(key) == id {
			return key
		}
	}
	return nil
}

// known returns the keys as they were read last. When that is a while ago it reads them again in
// the background: no caller waits, because the global cluster may be unreachable.
func (s *SecretKeys) known(ctx context.Context) [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.keys) > 0 && !s.looking && s.Now().Sub(s.looked) >= freshFor {
		s.looking = true
		go func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTimeout)
			defer cancel()
			_, err := s.look(ctx, false)
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.looking = false; err != nil {
				s.looked = s.Now() // What is known is good until the Secret can be read again.
			}
		}()
	}
	return s.keys
}

// mayLook reports whether a key that is not known may be looked for now.
func (s *SecretKeys) mayLook() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Now().Sub(s.sought) < lookAgainAfter {
		return false
	}
	s.sought = s.Now()
	return true
}

// look reads the Secret and creates it if create is set. It holds no lock meanwhile.
func (s *SecretKeys) look(ctx context.Context, create bool) ([][]byte, error) {
	secrets := s.Secrets.Secrets(s.Namespace)
	found, err := secrets.Get(ctx, s.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		if !create {
			s.keep(nil)
			return nil, nil
		}
		found, err = secrets.Create(ctx, s.fresh(), metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			found, err = secrets.Get(ctx, s.Name, metav1.GetOptions{})
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading the key of consistency tokens: %w", err)
	}
	key := found.Data[SecretKey]
	if len(key) != KeySize {
		return nil, fmt.Errorf("the Secret with the key of consistency tokens holds none of %d bytes at %q; delete it, and a new one is made", KeySize, SecretKey)
	}
	keys := [][]byte{key}
	if previous := found.Data[SecretPreviousKey]; len(previous) == KeySize {
		keys = append(keys, previous)
	}
	s.keep(keys)
	return keys, nil
}

func (s *SecretKeys) keep(keys [][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys, s.looked = keys, s.Now()
}

func (s *SecretKeys) fresh() *corev1.Secret {
	key := make([]byte, KeySize)
	rand.Read(key)
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: s.Name, Namespace: s.Namespace,
			Labels: map[string]string{v1alpha1.ManagedByLabel: v1alpha1.ManagedByValue},
		},
		Type: corev1.SecretTypeOpaque,
		Data: map[string][]byte{SecretKey: key},
	}
}
