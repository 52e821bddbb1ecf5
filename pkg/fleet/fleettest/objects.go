// Package fleettest makes what tests of the nouns need: objects as the index
// gives them. Only tests may import it.
package fleettest

import (
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/index/indextest"
)

// Row is an object of a type, of an instance or a member.
func Row(of index.Type, cluster, namespace, name string) indextest.Row {
	return indextest.Row{
		Cluster: cluster, Group: of.Group, Version: of.Version, Resource: of.Resource, Kind: of.Kind,
		Namespace: namespace, Name: name, CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	}
}

// Object is one object as the index gives it.
func Object(t testing.TB, r indextest.Row, detail index.Detail) *index.Object {
	t.Helper()
	key := index.Key{
		Cluster: r.Cluster, Namespace: r.Namespace, Name: r.Name,
		Type: index.Type{Group: r.Group, Version: r.Version, Resource: r.Resource, Kind: r.Kind},
	}
	found, err := Client(t, indextest.New(t, r)).GetMany(t.Context(), []index.Key{key}, detail)
	if err != nil {
		t.Fatal(err)
	}
	o := found[key]
	if o == nil {
		t.Fatalf("the index has no %v", key)
	}
	return o
}

// Client reads an index.
func Client(t testing.TB, x *indextest.Index) *index.Client {
	t.Helper()
	c, err := index.New(index.Config{REST: &rest.Config{Host: x.URL}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
