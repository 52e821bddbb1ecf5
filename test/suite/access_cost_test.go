package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// permissionsMemory is longer than what a person may do is remembered.
const permissionsMemory = 3500 * time.Millisecond

// TestAThousandInstancesCostOneReview registers a thousand instances and asks as
// a user who may see three of them.
func TestAThousandInstancesCostOneReview(t *testing.T) {
	const thousand = 1000
	on, u, started := openCounted(t)
	// The instances are there for the list alone. There is no need to register, probe and
	// collect from them, so the controllers are away meanwhile.
	on.fleet.Heal(t) // One may have given up the lead since it was looked at.
	on.fleet.Kill(t, "kairship-controller-manager-0", "kairship-controller-manager-1")
	id := newID()
	global := on.fleet.Client(t, "global")
	t.Cleanup(func() {
		if err := global.DeleteAllOf(context.Background(), &kairshipv1alpha1.Instance{}, client.MatchingLabels{"suite": id}); err != nil {
			t.Error(err)
		}
	})
	name := func(i int) string { return fmt.Sprintf("suite-%s-%04d", id, i) }
	g, ctx := errgroup.WithContext(t.Context())
	g.SetLimit(4 * inParallel)
	for i := range thousand {
		g.Go(func() error {
			return global.Create(ctx, &kairshipv1alpha1.Instance{
				ObjectMeta: metav1.ObjectMeta{Name: name(i), Labels: map[string]string{"suite": id}},
				Spec: kairshipv1alpha1.InstanceSpec{Mode: kairshipv1alpha1.InstanceModeExternal, KubeconfigSecretRef: &kairshipv1alpha1.SecretKeyReference{
					SecretReference: kairshipv1alpha1.SecretReference{Namespace: "kairship-system", Name: "suite-" + id + "-none"},
				}},
			})
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	bound := []string{name(1), name(500), name(999)}
	var may []string
	for _, one := range bound {
		may = append(may, "get list watch: instances instances/resources: "+one)
	}
	carol := newPerson(t, on, rules(may...))

	type answer struct {
		Instances struct {
			TotalCount int
			Nodes      []struct {
				Name      string
				ViewerCan struct{ View, Update bool }
			}
		}
	}
	const query = `{ instances(first: 500) { totalCount nodes { name viewerCan { view update } workloads { totalCount } } } }`
	poll.Until(t, propagationTimeout, "Kairship knows of the instances", func(ctx context.Context) error {
		data, _, err := gql.Query[answer](ctx, on.kairship, `{ instances(first: 1) { totalCount } }`, nil)
		if err == nil && data.Instances.TotalCount < thousand {
			err = fmt.Errorf("it knows of %d", data.Instances.TotalCount)
		}
		return err
	})
	time.Sleep(permissionsMemory)
	asked := u.during(func() {
		// The first has it remembered; side by side, the ten are done before it is forgotten.
		gql.MustQuery[any](t, carol.Client, `{ instances(first: 1) { totalCount } }`, nil)
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				data, _, err := gql.Query[answer](t.Context(), carol.Client, query, nil)
				if err != nil {
					t.Error(err)
					return
				}
				var names []string
				for _, n := range data.Instances.Nodes {
					names = append(names, n.Name)
					if !n.ViewerCan.View || n.ViewerCan.Update {
						t.Errorf("what she may do on %s: %+v", n.Name, n.ViewerCan)
					}
				}
				if !slices.Equal(names, bound) || data.Instances.TotalCount != len(bound) {
					t.Errorf("she sees %d: %s, want %s", data.Instances.TotalCount, strings.Join(names, " "), strings.Join(bound, " "))
				}
			})
		}
		all.Wait()
	})
	t.Logf("her ten queries cost %v; at its start, Kairship asked %v", asked, started)
	if asked[asksReview] != 1 {
		t.Errorf("ten queries of one person cost %d reviews, want 1", asked[asksReview])
	}
	if asked[asksToken] > 1 {
		t.Errorf("ten queries of one person cost %d reviews of the token, want at most 1", asked[asksToken])
	}
	if asked[asksInstances] != 0 {
		t.Errorf("instances were listed %d times, want none: they are watched", asked[asksInstances])
	}
	if n := started[asksInstances]; n < 1 || n > 2 {
		t.Errorf("at its start Kairship listed and watched instances %d times, want one list and one watch at most", n)
	}
	asked = u.during(func() {
		time.Sleep(permissionsMemory)
		gql.MustQuery[any](t, on.kairship, `{ instances(first: 500) { totalCount nodes { name viewerCan { view } } } }`, nil)
	})
	if asked[asksReview] != 1 {
		t.Errorf("five hundred instances of the administrator cost %d reviews, want 1", asked[asksReview])
	}
}

// TestWhatTheCallerMayDoCostsTheSameAtOneObjectAndAtFifty counts the reviews of
// pages of workloads and policies.
func TestWhatTheCallerMayDoCostsTheSameAtOneObjectAndAtFifty(t *testing.T) {
	on, u, _ := openCounted(t)
	ns := manyDeployments(t, on, fifty)
	alice := on.as(t, "alice")
	const can = " viewerCan { view create update delete proxy manageAccess }"
	ask := func(first int, selection string) (cost map[string]int, found int) {
		t.Helper()
		type answer struct {
			Workloads struct{ Nodes []struct{ Name string } }
		}
		query := `query($first: Int, $ns: [String!]) { workloads(first: $first, filter: {namespaces: $ns}) { nodes { name` + selection + ` } }
			instances { nodes { name` + selection + ` propagationPolicies { nodes { name` + selection + ` } } clusterPropagationPolicies { nodes { name` + selection + ` } } } } }`
		time.Sleep(permissionsMemory)
		cost = u.during(func() {
			data, _ := gql.MustQuery[answer](t, alice, query, map[string]any{"first": first, "ns": ns})
			found = len(data.Workloads.Nodes)
		})
		delete(cost, asksToken) // It is remembered longer.
		return cost, found
	}
	poll.Until(t, propagationTimeout, "the index has fifty", func(context.Context) error {
		if _, found := ask(fifty, ""); found != fifty {
			return fmt.Errorf("it has %d", found)
		}
		return nil
	})
	without, _ := ask(fifty, "")
	one, _ := ask(1, can)
	many, found := ask(fifty, can)
	t.Logf("fifty without: %v, one with: %v, %d with: %v", without, one, found, many)
	for what, cost := range map[string]map[string]int{"one with viewerCan": one, "fifty with viewerCan": many} {
		if cost[asksReview] != 1 {
			t.Errorf("%s cost %d reviews, want 1", what, cost[asksReview])
		}
	}
	if many[asksIndex] != without[asksIndex] {
		t.Errorf("viewerCan costs requests to the index: %d with it, %d without", many[asksIndex], without[asksIndex])
	}
}
