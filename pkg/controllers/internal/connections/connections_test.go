package connections_test

import (
	"testing"

	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers/internal/connections"
)

func TestOneConnectionPerObject(t *testing.T) {
	pool := &connections.Pool{}
	of := func(key connections.Key, token string) *connections.Conn {
		t.Helper()
		conn, err := pool.Of(key, connection.Connection{Endpoint: "https://127.0.0.1:1", Token: token})
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	alpha := connections.Instance("alpha")
	first := of(alpha, "one")
	if of(alpha, "one") != first {
		t.Error("the same credentials gave another connection")
	}
	cluster, beta := of(connections.Cluster("alpha"), "one"), of(connections.Instance("beta"), "one")
	if cluster == first || beta == first {
		t.Error("two objects share a connection, because they have the same name or the same credentials")
	}

	second := of(alpha, "two")
	if second == first {
		t.Error("other credentials gave the old connection")
	}
	if first.Context().Err() == nil {
		t.Error("the connection with the old credentials was not ended")
	}
	if second.Context().Err() != nil || cluster.Context().Err() != nil || beta.Context().Err() != nil {
		t.Error("a connection ended that is still of use")
	}
	if got := pool.Len(); got != 3 {
		t.Errorf("there are %d connections, want 3", got)
	}

	for _, key := range []connections.Key{alpha, alpha, connections.Cluster("alpha"), connections.Instance("beta"), connections.Instance("never")} {
		pool.Forget(key)
	}
	if got := pool.Len(); got != 0 {
		t.Errorf("there are %d connections left, want none", got)
	}
	for name, conn := range map[string]*connections.Conn{"alpha": second, "cluster": cluster, "beta": beta} {
		if conn.Context().Err() == nil {
			t.Errorf("the connection of %s was not ended", name)
		}
	}
	if _, err := pool.Of(alpha, connection.Connection{Endpoint: "https://127.0.0.1:1", CertData: []byte("no certificate"), KeyData: []byte("no key")}); err == nil {
		t.Error("unusable credentials gave a connection")
	}
	if got := pool.Len(); got != 0 {
		t.Errorf("a connection that could not be made is kept: %d", got)
	}
}
