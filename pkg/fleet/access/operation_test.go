package access_test

import (
	"context"
	"testing"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/index"
)

// moving is an inventory whose only cluster moves; it counts the reads.
type moving struct {
	instance string
	asked    int
}

func (m *moving) InstanceOf(context.Context, string) string {
	m.asked++
	return m.instance
}

// An operation asks once where a cluster belongs; the next one asks again.
func TestClustersAreLookedUpOnceInAnOperation(t *testing.T) {
	inventory := &moving{instance: "alpha"}
	r := access.NewReader(newRecorder(t), authz.NewResolver(&fakeRules{}, nil, standing, nil), inventory)
	get := func(ctx context.Context) bool {
		t.Helper()
		_, err := r.Get(ctx, index.Key{Cluster: "m1", Type: index.Pods, Namespace: "shop", Name: "x"}, index.Whole)
		if err != nil && !apierror.Is(err, apierror.CodeNotFound) {
			t.Fatal(err)
		}
		return err == nil
	}
	first := access.With(as(t, "alice"))
	for range 10 {
		if !get(first) {
			t.Fatal("alice does not see a pod in a member of alpha")
		}
	}
	if inventory.asked != 1 {
		t.Errorf("asked %d times in one operation, want 1", inventory.asked)
	}
	inventory.instance = "beta"
	if get(access.With(as(t, "alice"))) {
		t.Error("alice's next operation sees a pod in a member of beta")
	}
	if get(as(t, "alice")) {
		t.Error("outside of an operation, alice sees a pod in a member of beta")
	}
	if inventory.asked != 3 {
		t.Errorf("asked %d times, want 3", inventory.asked)
	}
}
