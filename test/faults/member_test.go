package faults

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// TestMemberGone kills the API server of a member cluster: what runs there is
// shown as it was last known, and never as healthy.
func TestMemberGone(t *testing.T) {
	s := begin(t)
	want := healthWithoutM1(t, s.before)

	killed := time.Now()
	s.Kill(t, "m1-apiserver")
	var last map[string]*instance
	poll.Until(t, noticeWithin, "the placements in m1 and their objects are stale", func(ctx context.Context) error {
		now, err := s.instances(ctx)
		if err != nil {
			t.Fatalf("%s after the kill: %v", time.Since(killed), err)
		}
		last = now
		if members := now["alpha"].MemberClusters.Nodes; members[0].Name != "m1" || members[0].Ready {
			return fmt.Errorf("the member clusters are %+v", members)
		}
		for _, w := range now["alpha"].Workloads.Nodes {
			for _, p := range w.Placements {
				in := p.ClusterName == "m1"
				if in != p.Stale || p.Object == nil || in != p.Object.Freshness.Stale {
					return fmt.Errorf("%s in %s: %+v", w.key(), p.ClusterName, p)
				}
				if in {
					if err := p.Object.Freshness.since(killed); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
	t.Logf("stale after %s", time.Since(killed).Round(100*time.Millisecond))

	if diff := cmp.Diff(want, healthOf(last["alpha"])); diff != "" {
		t.Errorf("health in alpha without m1 (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(countsOf(s.before["alpha"]), countsOf(pictureOf(last)["alpha"])); diff != "" {
		t.Errorf("the counts are not the last known ones (-before +now):\n%s", diff)
	}
	if diff := cmp.Diff(s.before["beta"], pictureOf(last)["beta"]); diff != "" {
		t.Errorf("beta has nothing to do with m1 (-before +now):\n%s", diff)
	}
	if alpha := last["alpha"]; alpha.State != "RUNNING" || alpha.Workloads.Freshness.Stale {
		t.Errorf("alpha itself is %s with %+v", alpha.State, alpha.Workloads.Freshness)
	}
	lost := last["alpha"].workload("DEPLOYMENT shop/frontend").in("m1")
	if lost.Message == nil {
		t.Errorf("nothing says why: %+v", lost)
	}
	lag := *lost.Object.Freshness.Lag
	poll.Until(t, noticeWithin, "the lag grows by two seconds", func(ctx context.Context) error {
		now, err := s.instances(ctx)
		if err != nil {
			t.Fatal(err)
		}
		frontend := now["alpha"].workload("DEPLOYMENT shop/frontend")
		f := frontend.in("m1").Object.Freshness
		if err := f.since(killed); err != nil {
			t.Fatal(err)
		}
		if other := frontend.in("m2").Object.Freshness; other.Stale || other.Lag == nil || *other.Lag > staleAfter {
			t.Fatalf("m2 answers, and freshness says %+v", other)
		}
		if *f.Lag < lag+2 {
			return fmt.Errorf("it grew from %.1f to %.1f", lag, *f.Lag)
		}
		return nil
	})
	poll.Until(t, noticeWithin, "the inventory reports that m1 does not answer", s.notReachable("m1"))
	t.Logf("not reachable in the inventory after %s", time.Since(killed).Round(100*time.Millisecond))

	s.Start(t, "m1-apiserver")
	healed := time.Now()
	poll.Until(t, recoverWithin, "everything is as before", s.asBefore)
	t.Logf("as before %s after m1 was healed", time.Since(healed).Round(100*time.Millisecond))
}

// healthWithoutM1 is the health that each of alpha's workloads has to have when
// nothing is known of m1: UNKNOWN when it runs nowhere else, and DEGRADED when
// it does.
func healthWithoutM1(t *testing.T, before picture) map[string]string {
	t.Helper()
	want := map[string]string{}
	kinds := map[string]bool{}
	for key, w := range before["alpha"] {
		_, in := w.Placements["m1"]
		switch {
		case !in:
			want[key] = w.Health
		case len(w.Placements) == 1:
			want[key] = "UNKNOWN"
		default:
			want[key] = "DEGRADED"
		}
		for cluster, p := range w.Placements {
			if cluster == "m1" {
				want[key+" in m1"] = "UNKNOWN"
			} else {
				want[key+" in "+cluster] = p.Health
			}
		}
		kinds[want[key]] = true
	}
	if !kinds["UNKNOWN"] || !kinds["DEGRADED"] {
		t.Fatalf("the samples do not show every case: %v", want)
	}
	return want
}

// healthOf is the health of the workloads of an instance, and of their placements.
func healthOf(i *instance) map[string]string {
	health := map[string]string{}
	for _, w := range i.Workloads.Nodes {
		health[w.key()] = w.Health
		for _, p := range w.Placements {
			health[w.key()+" in "+p.ClusterName] = p.Health
		}
	}
	return health
}

// countsOf is a picture without health.
func countsOf(workloads map[string]seen) map[string]seen {
	counts := map[string]seen{}
	for key, w := range workloads {
		one := seen{Desired: w.Desired, Ready: w.Ready, Placements: map[string]seenIn{}}
		for cluster, p := range w.Placements {
			p.Health, p.Why = "", ""
			one.Placements[cluster] = p
		}
		counts[key] = one
	}
	return counts
}

// notReachable looks whether the inventory reports that a cluster does not answer.
func (s *scene) notReachable(cluster string) func(context.Context) error {
	return func(ctx context.Context) error {
		data, _, err := gql.Query[struct {
			Cluster *struct{ Conditions []condition }
		}](ctx, s.api,
			`query Inventory($name: String!) { cluster(name: $name) { conditions { type status reason message } } }`, map[string]any{"name": cluster})
		if err != nil {
			return err
		}
		if data.Cluster == nil {
			return errors.New("it is not in the inventory")
		}
		for _, c := range data.Cluster.Conditions {
			if c.Type == "Reachable" && c.Status == "False" {
				return nil
			}
		}
		return fmt.Errorf("its conditions are %+v", data.Cluster.Conditions)
	}
}
