package faults

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/test/internal/gql"
	"github.com/kairship-io/kairship/test/internal/poll"
)

// TestCollectorGone kills the process that fills the index. Nothing else
// notices: the clusters are well, the index answers, and what it says of its
// collection stays as it was. Everything that is read from it must be said to be
// old all the same.
func TestCollectorGone(t *testing.T) {
	s := begin(t)

	killed := time.Now()
	s.Kill(t, "clustersynchro-manager")
	missed, remove := s.newObject(t, "alpha")
	defer remove()
	poll.Until(t, noticeWithin, "everything from the index says that it is old", func(ctx context.Context) error {
		now, err := s.instances(ctx)
		if err != nil {
			t.Fatalf("%s after the kill: %v", time.Since(killed), err)
		}
		if diff := cmp.Diff(s.before, pictureOf(now)); diff != "" {
			t.Fatalf("the workloads changed with the collector (-before +now):\n%s", diff)
		}
		for _, i := range now {
			for what, f := range collected(i) {
				if err := f.since(killed); err != nil {
					return fmt.Errorf("%s of %s: %w", what, i.Name, err)
				}
			}
			if f := i.Freshness; f.Stale {
				t.Fatalf("freshness of instance %s is %+v, but the collector has nothing to do with it", i.Name, f)
			}
		}
		return nil
	})
	t.Logf("stale after %s", time.Since(killed).Round(100*time.Millisecond))

	// A server that starts now has never heard of the collector while it lived.
	late := *s
	started := s.Kairship(t, s.NewGateway(t))
	late.api = gql.New("http://"+started.Address, s.Token(t, "admin"))
	now, err := late.instances(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range now {
		for what, f := range collected(i) {
			if err := f.since(killed); err != nil {
				t.Fatalf("%s of %s, asked of a server that just started: %v", what, i.Name, err)
			}
		}
	}
	if shown, err := s.shows(t.Context(), "alpha", missed); err != nil || shown {
		t.Errorf("an object that was created after the collector died is shown: %v, %v", shown, err)
	}

	s.Start(t, "clustersynchro-manager")
	healed := time.Now()
	poll.Until(t, recoverWithin, "what was missed is shown", func(ctx context.Context) error {
		shown, err := s.shows(ctx, "alpha", missed)
		if err == nil && !shown {
			err = errors.New("it is not")
		}
		return err
	})
	t.Logf("what was missed is shown %s after it was healed", time.Since(healed).Round(100*time.Millisecond))
	poll.Until(t, recoverWithin, "everything is as before", s.asBefore)
	t.Logf("as before %s after it was healed", time.Since(healed).Round(100*time.Millisecond))
}

// collected is the freshness of everything of an instance that is read from the index.
func collected(i *instance) map[string]freshness {
	all := map[string]freshness{"the workloads": i.Workloads.Freshness, "the member clusters": i.MemberClusters.Freshness}
	for _, w := range i.Workloads.Nodes {
		all[w.key()] = w.Freshness
		for _, p := range w.Placements {
			if p.Object != nil {
				all[w.key()+" in "+p.ClusterName] = p.Object.Freshness
			}
		}
	}
	return all
}
