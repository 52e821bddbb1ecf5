package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// TestSummariesOfClusters compares what the API reports about the figures of the members
// with what the Clusters say, and with what those may see who have a role.
func TestSummariesOfClusters(t *testing.T) {
	on := open(t)
	type readyCount struct{ Total, Ready int }
	type capacity struct{ Allocatable, Allocated float64 }
	type summary struct {
		StaleSince        *time.Time
		Nodes             readyCount
		CPU, Memory, Pods capacity
	}
	type answer struct {
		Clusters struct {
			Nodes []struct {
				Name    string
				Summary *summary
			}
		}
	}
	const query = `{ clusters(filter: {name: ["m1", "m2", "m3"]}) { nodes { name summary {
		staleSince nodes { total ready } cpu { allocatable allocated } memory { allocatable allocated } pods { allocatable allocated } } } } }`
	amount := func(c v1alpha1.Capacity) capacity {
		return capacity{c.Allocatable.AsApproximateFloat64(), c.Allocated.AsApproximateFloat64()}
	}
	for person, sees := range map[string]struct {
		as      *gql.Client
		figures []string
	}{
		"admin":                      {on.kairship, []string{"m1", "m2", "m3"}},
		"viewer of beta":             {newPerson(t, on, viewerOf("beta")).Client, []string{"m3"}},
		"viewer of a namespace":      {newPerson(t, on, viewerIn("alpha", "shop")).Client, nil},
		"of one and a part of other": {newPerson(t, on, slices.Concat(viewerOf("beta"), viewerIn("alpha", "shop"))).Client, []string{"m3"}},
	} {
		// Something may change between the two looks.
		poll.Until(t, time.Minute, "the figures that a "+person+" sees are the Clusters'", func(ctx context.Context) error {
			want := map[string]*summary{}
			for _, name := range sees.figures {
				stored := &v1alpha1.Cluster{}
				if err := on.fleet.Client(t, "global").Get(ctx, client.ObjectKey{Name: name}, stored); err != nil {
					return err
				}
				in := stored.Status.Summary
				if in == nil || in.Nodes.Total == 0 {
					return fmt.Errorf("the Cluster %s has none yet", name)
				}
				want[name] = &summary{
					Nodes: readyCount{int(in.Nodes.Total), int(in.Nodes.Ready)},
					CPU:   amount(in.CPU), Memory: amount(in.Memory), Pods: amount(in.Pods),
				}
				if in.StaleSince != nil {
					want[name].StaleSince = new(in.StaleSince.UTC())
				}
			}
			data, _, err := gql.Query[answer](ctx, sees.as, query, nil)
			if err != nil {
				return err
			}
			got := map[string]*summary{}
			for _, c := range data.Clusters.Nodes {
				if c.Summary != nil {
					got[c.Name] = c.Summary
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				return fmt.Errorf("(-Clusters +API):\n%s", diff)
			}
			return nil
		})
	}
}

// TestSummaries compares what the API reports about the instances' figures and
// conditions with what the Instances say, whose figures test/controllers checks.
func TestSummaries(t *testing.T) {
	on := open(t)
	type readyCount struct{ Total, Ready int }
	type capacity struct{ Allocatable, Allocated float64 }
	type kindCount struct {
		Group, Kind string
		Total       int
		Ready       *int
	}
	type summary struct {
		StaleSince                     *time.Time
		StaleClusters                  []struct{ Name string }
		Clusters, Nodes                readyCount
		CPU, Memory, Pods              capacity
		Workloads, Policies, Resources []kindCount
	}
	type answer struct {
		Instance struct {
			State      string
			Summary    *summary
			Conditions []struct{ Type, Status, Reason string }
		}
	}
	const query = `query($name: String!) { instance(name: $name) { state conditions { type status reason } summary {
		staleSince staleClusters { name }
		clusters { total ready } nodes { total ready } cpu { allocatable allocated } memory { allocatable allocated } pods { allocatable allocated }
		workloads { group kind total ready } policies { group kind total ready } resources { group kind total ready } } } }`

	count := func(c v1alpha1.ReadyCount) readyCount { return readyCount{int(c.Total), int(c.Ready)} }
	amount := func(c v1alpha1.Capacity) capacity {
		return capacity{c.Allocatable.AsApproximateFloat64(), c.Allocated.AsApproximateFloat64()}
	}
	for _, name := range []string{"alpha", "beta"} {
		// Something may change between the two looks.
		poll.Until(t, time.Minute, "the summary of "+name+" is the Instance's", func(ctx context.Context) error {
			stored := &v1alpha1.Instance{}
			if err := on.fleet.Client(t, "global").Get(ctx, client.ObjectKey{Name: name}, stored); err != nil {
				return err
			}
			in := stored.Status.Summary
			if in == nil {
				return errors.New("the Instance has none yet")
			}
			want := &summary{
				StaleClusters: []struct{ Name string }{}, Clusters: count(in.Clusters), Nodes: count(in.Nodes),
				CPU: amount(in.CPU), Memory: amount(in.Memory), Pods: amount(in.Pods),
			}
			if in.StaleSince != nil {
				want.StaleSince = new(in.StaleSince.UTC())
			}
			for _, stale := range in.StaleClusters {
				want.StaleClusters = append(want.StaleClusters, struct{ Name string }{stale.Name})
			}
			groups := map[string]string{"Deployment": "apps", "StatefulSet": "apps", "DaemonSet": "apps", "Job": "batch", "CronJob": "batch"}
			for _, w := range in.Workloads {
				ready := int(w.Ready)
				want.Workloads = append(want.Workloads, kindCount{groups[w.Kind], w.Kind, int(w.Total), &ready})
			}
			for _, p := range in.Policies {
				want.Policies = append(want.Policies, kindCount{p.Group, p.Kind, int(p.Total), nil})
			}
			for _, r := range in.Resources {
				want.Resources = append(want.Resources, kindCount{r.Group, r.Kind, int(r.Total), nil})
			}
			got, _, err := gql.Query[answer](ctx, on.kairship, query, map[string]any{"name": name})
			if err != nil {
				return err
			}
			if diff := cmp.Diff(want, got.Instance.Summary); diff != "" {
				return fmt.Errorf("(-Instance +API):\n%s", diff)
			}
			said := map[string]string{}
			for _, c := range got.Instance.Conditions {
				said[c.Type] = c.Reason
			}
			for _, c := range stored.Status.Conditions {
				if said[c.Type] != c.Reason {
					return fmt.Errorf("condition %s is %s, want %s", c.Type, said[c.Type], c.Reason)
				}
			}
			if got.Instance.State != "RUNNING" || len(said) < 6 {
				return fmt.Errorf("it is %s and says %v", got.Instance.State, said)
			}
			return nil
		})
	}
}
