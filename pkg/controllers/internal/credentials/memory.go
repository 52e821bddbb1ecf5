package credentials

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/singleflight"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/connection"
)

// Memory remembers what Secrets held, for as long as the cache of their names
// reports that they have not changed. A nil Memory remembers nothing.
type Memory struct {
	// Names reads the cache of Metadata.
	Names client.Reader

	// reading are the reads under way, each of one version of a Secret.
	reading singleflight.Group
	mu      sync.Mutex
	secrets map[types.NamespacedName]held
}

// held is one version of a Secret.
type held struct {
	version string
	// data is what it holds; nil when that is too much to remember.
	data map[string][]byte
	// said is what it says, read in one way and another: for an Instance, and for the
	// Cluster that stands for it.
	said map[connection.Source]parsed
}

// parsed is what a Secret says, read in one way.
type parsed struct {
	connection connection.Connection
	err        error
}

const (
	// most bounds what is remembered of Secrets that are not asked for any more.
	most = 10_000
	// mostData is how many bytes of one Secret are remembered, at most. A kubeconfig has
	// some six thousand.
	mostData = 64 << 10
)

// version is the one that the cache knows; empty when it knows none.
func (m *Memory) version(ctx context.Context, name types.NamespacedName) string {
	if m == nil {
		return ""
	}
	secret := Metadata()
	if err := m.Names.Get(ctx, name, secret); err != nil {
		return "" // The cache is not filled yet, or has not heard of it.
	}
	return secret.ResourceVersion
}

// recall gives what a version of a Secret says when it is read in one way, or at least
// what it holds, as far as either is remembered.
func (m *Memory) recall(name types.NamespacedName, source connection.Source, version string) (said *parsed, data map[string][]byte) {
	if m == nil || version == "" {
		return nil, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.secrets[name]
	if known.version != version {
		return nil, nil
	}
	if what, found := known.said[source]; found {
		return &what, nil
	}
	return nil, known.data
}

// remember keeps what a version of a Secret holds, and what it says when it is read in
// one way. What older versions said is of no use, and must not stay.
func (m *Memory) remember(name types.NamespacedName, version string, data map[string][]byte, source connection.Source, what parsed) {
	if m == nil {
		return
	}
	size := 0
	for _, value := range data {
		size += len(value)
	}
	if size > mostData {
		data = nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.secrets == nil || len(m.secrets) >= most {
		m.secrets = map[types.NamespacedName]held{}
	}
	if known, found := m.secrets[name]; !found || known.version != version {
		m.secrets[name] = held{version: version, data: data, said: map[connection.Source]parsed{}}
	}
	m.secrets[name].said[source] = what
}

// readOnce makes all callers that need the cached version of a Secret wait for one read of it.
func (m *Memory) readOnce(ctx context.Context, name types.NamespacedName, version string, read func() (*corev1.Secret, error)) (*corev1.Secret, error) {
	if m == nil || version == "" {
		return read()
	}
	// A later caller may need a later version, which a read that has begun may miss.
	found, err, _ := m.reading.Do(name.String()+"@"+version, func() (any, error) { return read() })
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		return read() // It was another caller, which does not need it any more.
	}
	secret, _ := found.(*corev1.Secret)
	return secret, err
}

// forget drops the content of a Secret that no longer exists.
func (m *Memory) forget(name types.NamespacedName) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.secrets, name)
}
