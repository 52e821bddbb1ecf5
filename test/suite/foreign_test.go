package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// TestForeignCollectionsAreNotShown has the index collect beta under the name
// that Kairship would use for another instance, by a PediaCluster that a user made
// by hand. Nothing of it may be shown as that instance's, and its freshness says why.
// (For a virtual Cluster that a user made by hand, nothing is collected.)
func TestForeignCollectionsAreNotShown(t *testing.T) {
	on := open(t)
	global := on.fleet.Client(t, "global")
	w := &world{fleet: on.fleet, id: newID()}
	t.Cleanup(w.remove)
	instance := "suite-" + w.id + "-taken"
	name := kairshipv1alpha1.VirtualClusterName(instance)
	w.create(t, created{"global", &pediav1alpha2.PediaCluster{ObjectMeta: w.meta("", name), Spec: pediav1alpha2.ClusterSpec{
		Kubeconfig: kubeconfigOf(t, on, "beta"),
		SyncResources: []pediav1alpha2.ClusterGroupResources{
			{Group: "apps", Resources: []string{"deployments", "statefulsets"}}, {Group: "", Resources: []string{"namespaces"}},
		},
	}}})
	indexHas(t, on, name)
	w.create(t, created{"global", &kairshipv1alpha1.Instance{ObjectMeta: w.meta("", instance), Spec: on.fleet.SpecAs(t, "beta", instance)}})
	poll.Until(t, propagationTimeout, "the Instance reports that its name is taken", func(ctx context.Context) error {
		i := &kairshipv1alpha1.Instance{}
		if err := global.Get(ctx, client.ObjectKey{Name: instance}, i); err != nil {
			return err
		}
		if c := meta.FindStatusCondition(i.Status.Conditions, kairshipv1alpha1.ConditionIndexed); c == nil || c.Reason != kairshipv1alpha1.ReasonNameTaken {
			return fmt.Errorf("it says %+v", i.Status.Conditions)
		}
		return nil
	})
	nothingOf(t, on, instance)

	foreign := &pediav1alpha2.PediaCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := global.Delete(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, 2*propagationTimeout, "the instance's own objects are shown once the name is free", func(ctx context.Context) error {
		type answer struct {
			Instance struct {
				Workloads struct {
					TotalCount int
					Freshness  struct{ Stale bool }
				}
			}
		}
		data, _, err := gql.Query[answer](ctx, on.kairship, `query($name: String!) { instance(name: $name) { workloads { totalCount freshness { stale } } } }`, map[string]any{"name": instance})
		if err == nil && (data.Instance.Workloads.TotalCount == 0 || data.Instance.Workloads.Freshness.Stale) {
			err = fmt.Errorf("it shows %+v", data.Instance.Workloads)
		}
		return err
	})
}

// kubeconfigOf is the administrator's way into a cluster.
func kubeconfigOf(t *testing.T, on *target, cluster string) []byte {
	t.Helper()
	raw, err := os.ReadFile(on.fleet.Cluster(t, cluster).Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// indexHas waits until the index has collected beta's applications as a cluster's.
func indexHas(t *testing.T, on *target, cluster string) {
	t.Helper()
	config := on.fleet.IndexConfig(t, on.fleet.IndexURL)
	c, err := index.New(index.Config{REST: rest.CopyConfig(config)})
	if err != nil {
		t.Fatal(err)
	}
	poll.Until(t, propagationTimeout, "the index has collected "+cluster, func(ctx context.Context) error {
		page, err := c.List(ctx, index.ListQuery{Types: []index.Type{index.Deployments}, Clusters: []string{cluster}, Namespaces: []string{"billing"}, Limit: 10})
		if err == nil && len(page.Items) == 0 {
			err = errors.New("there is nothing yet")
		}
		return err
	})
}

// nothingOf checks that the API shows nothing as an instance's, whichever way it is
// asked, and reports that it does not know.
func nothingOf(t *testing.T, on *target, instance string) {
	t.Helper()
	const query = `query($name: String!, $names: [String!], $id: ID!) {
		instance(name: $name) {
			workloads { nodes { name } totalCount freshness { stale message } } namespaces { nodes { name } totalCount }
			resources(group: "apps", version: "v1", resource: "deployments") { nodes { name } }
			workload(kind: DEPLOYMENT, namespace: "billing", name: "api") { name }
			namespace(name: "billing") { name }
			resource(group: "apps", version: "v1", resource: "deployments", namespace: "billing", name: "api") { name }
		}
		instances(filter: {name: $names}) { nodes { workloads { nodes { name } } } }
		workloads(filter: {instances: $names}) { nodes { name } totalCount }
		scanned: workloads(filter: {instances: $names, health: [HEALTHY, UNPROPAGATED, UNKNOWN]}) { nodes { name } }
		node(id: $id) { id }
	}`
	data, _ := gql.MustQuery[map[string]json.RawMessage](t, on.kairship, query, map[string]any{
		"name": instance, "names": []string{instance}, "id": nodeid.New("Workload", instance, "DEPLOYMENT", "billing", "api"),
	})
	raw, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{`"api"`, `"ledger"`, `"billing"`, `"id"`} {
		if strings.Contains(string(raw), shown) {
			t.Errorf("the answer shows %s: %s", shown, raw)
		}
	}
	var reported struct {
		Workloads struct {
			TotalCount int
			Freshness  struct {
				Stale   bool
				Message string
			}
		}
	}
	if err := json.Unmarshal(data["instance"], &reported); err != nil {
		t.Fatal(err)
	}
	if reported.Workloads.TotalCount != 0 || !reported.Workloads.Freshness.Stale || !strings.Contains(reported.Workloads.Freshness.Message, "objects of another owner") {
		t.Errorf("the list says %+v", reported.Workloads)
	}
}
