package credentials

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/connection"
)

// Memory remembers what Secrets held, for as long as the cache of their names
// says that they have not changed. A nil Memory remembers nothing.
type Memory struct {
	// Names reads the cache of Metadata.
	Names client.Reader

	mu      sync.Mutex
	secrets map[types.NamespacedName]map[connection.Source]parsed
}

// parsed is what one version of a Secret says, read in one way.
type parsed struct {
	version    string
	connection connection.Connection
	err        error
}

// most bounds what is remembered of Secrets that nobody asks for any more.
const most = 10_000

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

func (m *Memory) recall(name types.NamespacedName, source connection.Source, version string) (parsed, bool) {
	if m == nil || version == "" {
		return parsed{}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	known, found := m.secrets[name][source]
	return known, found && known.version == version
}

func (m *Memory) remember(name types.NamespacedName, source connection.Source, what parsed) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.secrets == nil || len(m.secrets) >= most {
		m.secrets = map[types.NamespacedName]map[connection.Source]parsed{}
	}
	for _, old := range m.secrets[name] {
		if old.version != what.version {
			delete(m.secrets, name) // What older versions said is of no use, and must not stay.
			break
		}
	}
	if m.secrets[name] == nil {
		m.secrets[name] = map[connection.Source]parsed{}
	}
	m.secrets[name][source] = what
}

// forget drops what a Secret held that is gone.
func (m *Memory) forget(name types.NamespacedName) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.secrets, name)
}
