package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/internal/longtest"
	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// TestInstanceGone kills the API server of an instance. What the index
// collected of it is still shown, and said to be old.
func TestInstanceGone(t *testing.T) {
	s := begin(t)
	readme := readmeQuery(t)

	killed := time.Now()
	s.Kill(t, "beta-apiserver")

	// From the first moment on, every answer comes in time and misses nothing.
	var first *instance
	poll.Until(t, noticeWithin, "beta's data is reported as old", func(ctx context.Context) error {
		result := s.api.Must(t, gql.Request{Query: readme})
		if len(result.Errors) > 0 {
			t.Fatalf("the cross-instance query has errors after %s: %v", time.Since(killed), result.Errors)
		}
		now, err := s.instances(ctx)
		if err != nil {
			t.Fatalf("after %s: %v", time.Since(killed), err)
		}
		if diff := cmp.Diff(s.before, pictureOf(now)); diff != "" {
			t.Fatalf("the workloads changed with the outage of beta's API server (-before +now):\n%s", diff)
		}
		first = now["beta"]
		return first.Workloads.Freshness.since(killed)
	})
	t.Logf("stale after %s", time.Since(killed).Round(100*time.Millisecond))

	// Everything of beta's own stands still from then on, and only that.
	lag := *first.Workloads.Freshness.Lag
	poll.Until(t, noticeWithin, "the lag grows by two seconds", func(ctx context.Context) error {
		now, err := s.instances(ctx)
		if err != nil {
			t.Fatal(err)
		}
		alpha, beta := now["alpha"], now["beta"]
		for what, f := range map[string]freshness{
			"workloads": beta.Workloads.Freshness, "member clusters": beta.MemberClusters.Freshness, "a workload": beta.Workloads.Nodes[0].Freshness,
		} {
			if err := f.since(killed); err != nil {
				t.Fatalf("freshness of beta's %s: %v", what, err)
			}
		}
		for what, f := range map[string]freshness{
			"instance beta": beta.Freshness, "alpha's workloads": alpha.Workloads.Freshness, "alpha's member clusters": alpha.MemberClusters.Freshness,
			"an object in m3": beta.Workloads.Nodes[0].Placements[0].Object.Freshness,
		} {
			if f.Stale || f.Lag == nil || *f.Lag > staleAfter {
				t.Fatalf("freshness of %s is %+v, but it still answers", what, f)
			}
		}
		if grown := *beta.Workloads.Freshness.Lag; grown < lag+2 {
			return fmt.Errorf("it grew from %.1f to %.1f", lag, grown)
		}
		return nil
	})

	poll.Until(t, noticeWithin, "beta is UNAVAILABLE", func(ctx context.Context) error {
		now, err := s.instances(ctx)
		if err != nil {
			t.Fatal(err)
		}
		beta := now["beta"]
		if beta.State != "UNAVAILABLE" || beta.condition("Reachable").Status != "False" || beta.condition("Indexed").Reason != "SourceUnreachable" {
			return fmt.Errorf("it is %s, with %+v", beta.State, beta.Conditions)
		}
		if alpha := now["alpha"]; alpha.State != "RUNNING" {
			t.Fatalf("alpha is %s", alpha.State)
		}
		return nil
	})
	t.Logf("UNAVAILABLE after %s", time.Since(killed).Round(100*time.Millisecond))
	s.inTrouble(t, "beta")
	s.unread(t, "beta")

	s.Start(t, "beta-apiserver")
	healed := time.Now()
	poll.Until(t, recoverWithin, "beta is as before", s.asBefore)
	t.Logf("as before %s after it was healed", time.Since(healed).Round(100*time.Millisecond))
	s.collects(t, "beta")
}

// unread checks that a kind which the index does not collect is an error of the instance
// that does not answer, and of no other, while what is collected is shown.
func (s *scene) unread(t *testing.T, gone string) {
	t.Helper()
	result := s.api.Must(t, gql.Request{Query: `{ instances(filter: {name: ["alpha", "beta"]}) { nodes {
		name
		secrets: resources(version: "v1", resource: "secrets", first: 1) { totalCount freshness { source observedAt } }
		configMaps: resources(version: "v1", resource: "configmaps", first: 1) { totalCount freshness { source observedAt } }
	} } }`})
	type list struct {
		TotalCount *int `json:"totalCount"`
		Freshness  struct {
			Source     string     `json:"source"`
			ObservedAt *time.Time `json:"observedAt"`
		} `json:"freshness"`
	}
	var data struct {
		Instances struct {
			Nodes []struct {
				Name       string `json:"name"`
				Secrets    list   `json:"secrets"`
				ConfigMaps list   `json:"configMaps"`
			} `json:"nodes"`
		} `json:"instances"`
	}
	if err := json.Unmarshal(result.Data, &data); err != nil {
		t.Fatalf("%v: %s", err, result.Body)
	}
	if len(result.Errors) != 1 || result.Errors[0].Extensions.Code != "INSTANCE_UNAVAILABLE" || result.Errors[0].Extensions.Instance != gone {
		t.Errorf("the errors are %v", result.Errors)
	}
	for _, i := range data.Instances.Nodes {
		if observed := i.Secrets.Freshness.ObservedAt != nil && i.Secrets.Freshness.Source == "LIVE" && i.Secrets.TotalCount != nil; observed == (i.Name == gone) {
			t.Errorf("the Secrets of %s: %+v", i.Name, i.Secrets)
		}
		if i.ConfigMaps.Freshness.Source != "INDEX" || i.ConfigMaps.TotalCount == nil || *i.ConfigMaps.TotalCount == 0 {
			t.Errorf("the ConfigMaps of %s: %+v", i.Name, i.ConfigMaps)
		}
	}
}

// TestInstanceHangs stops the API server of an instance without ending it: what
// hangs must cost an answer no more time than what is stopped.
func TestInstanceHangs(t *testing.T) {
	longtest.Only(t, "the index takes more than a minute to notice that it goes on, and test/controllers and test/proxy have an instance that hangs")
	s := begin(t)
	readme := readmeQuery(t)

	frozen := time.Now()
	thaw := s.Freeze(t, "beta-apiserver")
	poll.Until(t, noticeWithin, "beta is UNAVAILABLE, and its data is reported as old", func(ctx context.Context) error {
		if result := s.api.Must(t, gql.Request{Query: readme}); len(result.Errors) > 0 {
			t.Fatalf("the cross-instance query has errors after %s: %v", time.Since(frozen), result.Errors)
		}
		now, err := s.instances(ctx)
		if err != nil {
			t.Fatalf("after %s: %v", time.Since(frozen), err)
		}
		if diff := cmp.Diff(s.before, pictureOf(now)); diff != "" {
			t.Fatalf("the workloads changed while beta's API server hung (-before +now):\n%s", diff)
		}
		beta := now["beta"]
		if err := beta.Workloads.Freshness.since(frozen); err != nil {
			return err
		}
		if beta.State != "UNAVAILABLE" {
			return fmt.Errorf("it is %s", beta.State)
		}
		return nil
	})
	t.Logf("stale and UNAVAILABLE after %s", time.Since(frozen).Round(100*time.Millisecond))

	thaw()
	thawed := time.Now()
	poll.Until(t, recoverWithin, "beta is as before", s.asBefore)
	t.Logf("as before %s after it went on", time.Since(thawed).Round(100*time.Millisecond))
	s.collects(t, "beta")
}

// readmeQuery is the query that the README shows.
func readmeQuery(t *testing.T) string {
	t.Helper()
	return textOf(t, filepath.Join("..", "suite", "testdata", "fleet.graphql"))
}

func textOf(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// inTrouble asks what GraphiQL's menu offers as what needs a look, and expects this
// instance in it, with a reason and since when its state is old.
func (s *scene) inTrouble(t *testing.T, name string) {
	t.Helper()
	query := textOf(t, filepath.Join("..", "..", "ui", "graphiql", "src", "queries", "20-trouble.graphql"))
	poll.Until(t, noticeWithin, "the query for what needs a look finds "+name, func(context.Context) error {
		var trouble struct {
			Instances struct {
				Nodes []struct {
					Name       string      `json:"name"`
					Conditions []condition `json:"conditions"`
					Summary    struct {
						StaleSince *time.Time `json:"staleSince"`
					} `json:"summary"`
				} `json:"nodes"`
			} `json:"instances"`
		}
		result := s.api.Must(t, gql.Request{Query: query})
		if err := json.Unmarshal(result.Data, &trouble); err != nil || len(result.Errors) > 0 {
			t.Fatalf("%v %v: %s", err, result.Errors, result.Body)
		}
		for _, found := range trouble.Instances.Nodes {
			why := slices.ContainsFunc(found.Conditions, func(c condition) bool { return c.Status == "False" && c.Message != "" })
			if found.Name == name && why && found.Summary.StaleSince != nil {
				return nil
			}
			if found.Name == "alpha" {
				t.Fatalf("alpha is not in trouble: %+v", found)
			}
		}
		return fmt.Errorf("it finds %+v", trouble.Instances.Nodes)
	})
}
