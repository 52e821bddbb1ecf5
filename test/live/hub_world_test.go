package live

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/consistency"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
	"github.com/kairship-io/kairship/pkg/live"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// direct reaches the fleet's instances as their administrator.
type direct map[string]instanceproxy.Client

func (d direct) Get(_ context.Context, name string) (instanceproxy.Client, error) {
	if c, ok := d[name]; ok {
		return c, nil
	}
	return nil, apierror.NotFound("instance", name)
}

// oneKey signs the cursors of the tests' hubs.
type oneKey struct{}

func (oneKey) Key(context.Context) ([]byte, error) { return make([]byte, consistency.KeySize), nil }

func (oneKey) Find(context.Context, [consistency.KeyIDSize]byte) ([]byte, error) {
	return make([]byte, consistency.KeySize), nil
}

// newHub is a hub of the test's own, on the fleet's real clusters.
func newHub(t testing.TB, linger time.Duration) *live.Hub {
	t.Helper()
	f := fleet.Open(t)
	clients := direct{}
	for _, name := range f.Names(fleet.RoleInstance) {
		transport, err := live.GlobalTransport(f.Config(t, name))
		if err != nil {
			t.Fatal(err)
		}
		if clients[name], err = instanceproxy.Over(name, transport); err != nil {
			t.Fatal(err)
		}
	}
	global, err := live.GlobalTransport(f.Config(t, fleet.RoleGlobal))
	if err != nil {
		t.Fatal(err)
	}
	hub, err := live.New(live.Options{Clients: clients, Global: global, Keys: oneKey{}, IdleTimeout: linger})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Stop)
	return hub
}

// subscribe follows ConfigMaps of alpha in a namespace, and reads until SYNCED.
func subscribe(t testing.TB, hub *live.Hub, resource schema.GroupVersionResource, namespaces ...string) *live.Stream {
	t.Helper()
	stream, err := hub.Subscribe(t.Context(), live.Subscription{Identity: "test", Interests: []live.Interest{{
		Source: live.Source{Instance: "alpha", Resource: resource}, Filter: live.Filter{Namespaces: namespaces},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	for {
		e, err := stream.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == live.Synced {
			return stream
		}
	}
}
