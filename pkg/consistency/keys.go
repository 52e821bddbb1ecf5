package consistency

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// SecretKey is the key of the Secret's data that holds the key.
const SecretKey = "key"

// lookAgainAfter is the time between two looks for a key that is not ours:
// tokens that somebody made up must not cost a request each.
const lookAgainAfter = 10 * time.Second

// SecretKeys keeps the key in a Secret of the global cluster. The replica that
// needs it first makes it; who deletes the Secret makes all tokens worthless, and
// the next one is made.
type SecretKeys struct {
	Secrets         corev1client.SecretsGetter
	Namespace, Name string
	Now             func() time.Time

	mu     sync.Mutex
	key    []byte
	looked time.Time
}

var _ Keys = (*SecretKeys)(nil)

// Key implements Keys.
func (s *SecretKeys) Key(ctx context.Context) ([]byte, error) {
	s.mu.Lock()
	key := s.key
	s.mu.Unlock()
	if key != nil {
		return key, nil
	}
	return s.look(ctx, true)
}

// Find implements Keys. A key that is not known may be one that another replica
// made after the Secret was deleted.
func (s *SecretKeys) Find(ctx context.Context, id [keyIDSize]byte) ([]byte, error) {
	s.mu.Lock()
	key, recent := s.key, s.Now().Sub(s.looked) < lookAgainAfter
	s.mu.Unlock()
	if key == nil || (keyID(key) != id && !recent) {
		var err error
		if key, err = s.look(ctx, false); err != nil {
			return nil, err
		}
	}
	if key == nil || keyID(key) != id {
		return nil, nil
	}
	return key, nil
}

// look reads the Secret and, when told to, makes it. No lock is held meanwhile.
func (s *SecretKeys) look(ctx context.Context, create bool) ([]byte, error) {
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
		return nil, errors.New("the Secret with the key of consistency tokens holds none; delete it, and a new one is made")
	}
	s.keep(key)
	return key, nil
}

func (s *SecretKeys) keep(key []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key, s.looked = key, s.Now()
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
