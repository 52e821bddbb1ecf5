package faults

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/kairship-io/kairship/internal/longtest"
	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// claimsQuery asks for how old answers about both instances are, for an object that the
// test created, and for what the two summaries report about beta's member.
const claimsQuery = `query Claims($name: [String!]) {
  instances { freshness { ...F } }
  alpha: instance(name: "alpha") { workloads { freshness { ...F } } }
  beta: instance(name: "beta") {
    state
    freshness { ...F }
    summary { staleSince staleClusters { name since } clusters { total ready } nodes { ready } }
    workloads { freshness { ...F } nodes { freshness { ...F } } }
    memberClusters { freshness { ...F } }
    resources(version: "v1", resource: "configmaps", namespace: "default", filter: {name: $name}) { nodes { name } freshness { ...F } }
  }
  m3: cluster(name: "m3") { freshness { ...F } summary { staleSince nodes { ready } } }
}
fragment F on Freshness { source observedAt lag stale message }`

type claims struct {
	Instances struct{ Freshness freshness }
	Alpha     struct{ Workloads struct{ Freshness freshness } }
	Beta      struct {
		State     string
		Freshness freshness
		Summary   struct {
			StaleSince    *time.Time
			StaleClusters []struct {
				Name  string
				Since time.Time
			}
			Clusters struct{ Total, Ready int }
			Nodes    struct{ Ready int }
		}
		Workloads struct {
			Freshness freshness
			Nodes     []struct{ Freshness freshness }
		}
		MemberClusters struct{ Freshness freshness }
		Resources      struct {
			Nodes     []struct{ Name string }
			Freshness freshness
		}
	}
	M3 struct {
		Freshness freshness
		Summary   struct {
			StaleSince *time.Time
			Nodes      struct{ Ready int }
		}
	}
}

// ofBeta are the claims about what the index has of beta.
func (c *claims) ofBeta() map[string]freshness {
	return map[string]freshness{
		"beta's workloads": c.Beta.Workloads.Freshness, "a workload of beta": c.Beta.Workloads.Nodes[0].Freshness,
		"beta's members": c.Beta.MemberClusters.Freshness, "beta's config maps": c.Beta.Resources.Freshness,
	}
}

// all are all claims.
func (c *claims) all() map[string]freshness {
	all := c.ofBeta()
	all["the instances"], all["instance beta"], all["cluster m3"] = c.Instances.Freshness, c.Beta.Freshness, c.M3.Freshness
	all["alpha's workloads"] = c.Alpha.Workloads.Freshness
	return all
}

// sampler samples the answers of one server, and holds them to their promises.
type sampler struct {
	t     *testing.T
	api   *gql.Client
	name  string
	last  map[string]time.Time
	fresh map[string]int
	stale map[string]int
}

// staleAfter is the longest lag of what is not stale, as the docs promise.
const staleAfter = 30.0

// look takes one sample: nothing goes back, nothing that is not stale is older than the
// bound, and every lag is what it says.
func (s *sampler) look(ctx context.Context, created string) (*claims, error) {
	s.t.Helper()
	asked := time.Now()
	c, _, err := gql.Query[*claims](ctx, s.api, claimsQuery, map[string]any{"name": []string{created}})
	if err != nil {
		return nil, err
	}
	for what, f := range c.all() {
		switch {
		case f.ObservedAt == nil || f.Lag == nil:
			return nil, poll.Stop(fmt.Errorf("%s: %s reports that nothing was observed: %+v", s.name, what, f))
		case f.ObservedAt.Before(s.last[what]):
			return nil, poll.Stop(fmt.Errorf("%s: %s was observed at %s, and before at %s", s.name, what, f.ObservedAt, s.last[what]))
		case f.ObservedAt.After(asked):
			return nil, poll.Stop(fmt.Errorf("%s: %s was observed at %s, after it was asked for at %s", s.name, what, f.ObservedAt, asked))
		case !f.Stale && *f.Lag > staleAfter:
			return nil, poll.Stop(fmt.Errorf("%s: %s is not stale with a lag of %.1f", s.name, what, *f.Lag))
		case f.Stale && (f.Message == nil || *f.Message == ""):
			return nil, poll.Stop(fmt.Errorf("%s: %s does not say why it is stale", s.name, what))
		}
		s.last[what] = *f.ObservedAt
		if f.Stale {
			s.stale[what]++
		} else {
			s.fresh[what]++
		}
	}
	return c, nil
}

func newSampler(t *testing.T, name string, api *gql.Client) *sampler {
	return &sampler{t: t, name: name, api: api, last: map[string]time.Time{}, fresh: map[string]int{}, stale: map[string]int{}}
}

// later reports the first claim about something that is later than a moment.
func later(of map[string]freshness, moment time.Time, what string) error {
	for name, f := range of {
		if f.ObservedAt.After(moment) {
			return poll.Stop(fmt.Errorf("%s was observed %s after %s: %+v", name, f.ObservedAt.Sub(moment), what, f))
		}
	}
	return nil
}

// each reports the first error about something.
func each(of map[string]freshness, check func(freshness) error) error {
	for name, f := range of {
		if err := check(f); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func isStale(f freshness) error {
	if !f.Stale {
		return fmt.Errorf("it reports that it is fresh, with a lag of %.1f", *f.Lag)
	}
	return nil
}

func isFresh(f freshness) error {
	if f.Stale {
		return errors.New("it is stale: " + *f.Message)
	}
	return nil
}

// TestFreshnessOfADeadInstance kills beta's API server and asks two servers all the
// time. No answer claims a moment after the kill, none goes back, and both summaries
// say the same of beta's member. Once beta is back, no answer claims a moment that it
// does not have: what was created right after the restart, before the collector
// noticed it.
func TestFreshnessOfADeadInstance(t *testing.T) {
	longtest.Only(t, "test/truth holds every claim of freshness against the clusters while instances are away")
	s := begin(t)
	servers := []*sampler{newSampler(t, "the server", s.api), newSampler(t, "another server", gql.New(s.startServer(t), s.Token(t, "admin")))}
	look := func(ctx context.Context, created string, check func(*claims) error) error {
		var problem error
		for _, w := range servers {
			c, err := w.look(ctx, created)
			if err != nil {
				return err
			}
			problem = errors.Join(problem, check(c))
		}
		return problem
	}
	poll.Until(t, noticeWithin, "everything is fresh", func(ctx context.Context) error {
		return look(ctx, "", func(c *claims) error { return each(c.all(), isFresh) })
	})

	killed := time.Now()
	s.Kill(t, "beta-apiserver")
	samples := 0
	poll.Until(t, noticeWithin, "beta's data is stale, and its summary and that of m3 say the same", func(ctx context.Context) error {
		return look(ctx, "", func(c *claims) error {
			samples++
			if err := later(c.ofBeta(), killed, "the kill"); err != nil {
				return err
			}
			if err := each(c.ofBeta(), isStale); err != nil {
				return err
			}
			if c.Beta.State != "UNAVAILABLE" {
				return errors.New("beta is " + c.Beta.State)
			}
			return c.agree()
		})
	})
	t.Logf("stale and of one mind after %s and %d samples", time.Since(killed).Round(100*time.Millisecond), samples)
	// Each holds to the latest moment that it claimed, and that depends on when it was asked.
	const apart = time.Second
	if one, other := servers[0].last["beta's workloads"], servers[1].last["beta's workloads"]; one.Sub(other).Abs() > apart {
		t.Errorf("one server has it that beta's workloads were observed at %s, another one at %s", one, other)
	}

	s.Start(t, "beta-apiserver")
	created, remove := s.newObject(t, "beta")
	defer remove()
	restarted := time.Now()
	claimed := 0
	poll.Until(t, recoverWithin, "everything claims to be fresh", func(ctx context.Context) error {
		return look(ctx, created, func(c *claims) error {
			if f := c.Beta.Resources.Freshness; f.ObservedAt.After(restarted) {
				claimed++
				if len(c.Beta.Resources.Nodes) != 1 {
					return poll.Stop(fmt.Errorf("config maps observed at %s lack one that was created before %s: %+v", f.ObservedAt, restarted, f))
				}
			}
			if err := each(c.all(), isFresh); err != nil {
				return err
			}
			if c.Beta.Resources.Freshness.ObservedAt.Before(restarted) {
				return errors.New("the claim does not reach the restart yet")
			}
			return c.current()
		})
	})
	t.Logf("fresh %s after it was healed", time.Since(restarted).Round(100*time.Millisecond))
	for _, w := range servers {
		if w.stale["beta's workloads"] == 0 || claimed == 0 {
			t.Errorf("%s: stale %v, fresh %v", w.name, w.stale, w.fresh)
		}
	}
}

// agree checks that the summaries of beta and of m3 say the same of a beta that is lost.
func (c *claims) agree() error {
	beta, m3 := c.Beta.Summary, c.M3.Summary
	switch {
	case beta.StaleSince == nil || m3.StaleSince == nil:
		return fmt.Errorf("one of the summaries is not old: %+v, %+v", beta, m3)
	case len(beta.StaleClusters) != 1 || beta.StaleClusters[0].Name != "m3" || !beta.StaleClusters[0].Since.Equal(*m3.StaleSince):
		return fmt.Errorf("beta reports about its members %+v, and m3 is old since %s", beta.StaleClusters, m3.StaleSince)
	case beta.Clusters.Total != 1 || beta.Clusters.Ready != 0 || beta.Nodes.Ready != 0 || m3.Nodes.Ready != 0:
		return fmt.Errorf("what is lost is ready: %+v, %+v", beta, m3)
	}
	return nil
}

// current checks that nothing in the summaries is old.
func (c *claims) current() error {
	beta, m3 := c.Beta.Summary, c.M3.Summary
	if beta.StaleSince != nil || m3.StaleSince != nil || len(beta.StaleClusters) > 0 || beta.Clusters.Ready != 1 || beta.Nodes.Ready != m3.Nodes.Ready {
		return fmt.Errorf("the summaries are %+v, %+v", beta, m3)
	}
	return nil
}

// TestFreshnessOfADeadCollector kills the process that fills the index. No answer claims
// a moment after the kill until the next process follows the cluster again: the record
// in which the dead one said that all is well is no proof.
func TestFreshnessOfADeadCollector(t *testing.T) {
	longtest.Only(t, "test/truth holds every claim of freshness against the clusters while the collector is away")
	s := begin(t)
	server := newSampler(t, "the server", s.api)
	poll.Until(t, noticeWithin, "everything is fresh", func(ctx context.Context) error {
		c, err := server.look(ctx, "")
		if err != nil {
			return err
		}
		return each(c.all(), isFresh)
	})
	killed := time.Now()
	s.Kill(t, "clustersynchro-manager")
	created, remove := s.newObject(t, "beta")
	defer remove()
	poll.Until(t, noticeWithin, "beta's data is stale", func(ctx context.Context) error {
		c, err := server.look(ctx, created)
		if err != nil {
			return err
		}
		if err := later(c.ofBeta(), killed, "the kill"); err != nil {
			return err
		}
		return each(c.ofBeta(), isStale)
	})
	missed := time.Now()
	s.Start(t, "clustersynchro-manager")
	poll.Until(t, collectorWithin, "everything claims to be fresh again", func(ctx context.Context) error {
		c, err := server.look(ctx, created)
		if err != nil {
			return err
		}
		if f := c.Beta.Resources.Freshness; f.ObservedAt.After(killed) && len(c.Beta.Resources.Nodes) != 1 {
			return poll.Stop(fmt.Errorf("config maps observed at %s lack one that was created after the collector was killed at %s: %+v", f.ObservedAt, killed, f))
		}
		if err := each(c.all(), isFresh); err != nil {
			return err
		}
		if !c.Beta.Resources.Freshness.ObservedAt.After(missed) {
			return errors.New("the claim does not reach the restart yet")
		}
		return nil
	})
	t.Logf("fresh %s after it was healed", time.Since(missed).Round(100*time.Millisecond))
}
