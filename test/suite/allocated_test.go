package suite

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	podresources "k8s.io/component-helpers/resource"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// allocated is what the pods on a node request.
type allocated struct {
	CPU, Memory float64
	Pods        int
}

// allocatedIn adds up what the pods of a member request, as the member has them, by node.
func allocatedIn(ctx context.Context, t *testing.T, on *target, member string) (map[string]allocated, error) {
	t.Helper()
	var pods corev1.PodList
	var nodes corev1.NodeList
	c := on.fleet.Client(t, member)
	if err := c.List(ctx, &pods); err != nil {
		return nil, err
	}
	if err := c.List(ctx, &nodes); err != nil {
		return nil, err
	}
	all := map[string]allocated{}
	for i := range nodes.Items {
		all[nodes.Items[i].Name] = allocated{}
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		a, scheduled := all[p.Spec.NodeName]
		if !scheduled || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		requests := podresources.PodRequests(p, podresources.PodResourcesOptions{})
		all[p.Spec.NodeName] = allocated{a.CPU + requests.Cpu().AsApproximateFloat64(), a.Memory + requests.Memory().AsApproximateFloat64(), a.Pods + 1}
	}
	return all, nil
}

// TestAllocatedOfNodes compares what the pods on the nodes of m1 and m2 request with what the members say, and counts the
// requests for one member and for two. Those who may not see the nodes see nothing of it.
func TestAllocatedOfNodes(t *testing.T) {
	on := open(t)
	type answer struct {
		Instance struct {
			MemberClusters struct {
				Nodes []struct {
					Name         string
					ClusterNodes struct {
						Nodes []struct {
							Name      string
							Allocated allocated
						}
					}
				}
			}
		}
	}
	const query = `query($members: [String!]) { instance(name: "alpha") { memberClusters(filter: { name: $members }) { nodes { name clusterNodes(first: 500) { nodes { name allocated { cpu memory pods } } } } } } }`
	both := map[string]any{"members": []string{"m1", "m2"}}
	poll.Until(t, propagationTimeout, "the sums are those of the members", func(ctx context.Context) error {
		data, _, err := gql.Query[answer](ctx, on.kairship, query, both)
		if err != nil {
			return err
		}
		if len(data.Instance.MemberClusters.Nodes) != 2 {
			return fmt.Errorf("there are %d members", len(data.Instance.MemberClusters.Nodes))
		}
		pods := 0
		for _, m := range data.Instance.MemberClusters.Nodes {
			got := map[string]allocated{}
			for _, n := range m.ClusterNodes.Nodes {
				got[n.Name] = n.Allocated
				pods += n.Allocated.Pods
			}
			want, err := allocatedIn(ctx, t, on, m.Name)
			if err != nil {
				return err
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-6)); diff != "" {
				return fmt.Errorf("%s (-member +got):\n%s", m.Name, diff)
			}
		}
		if pods == 0 {
			return fmt.Errorf("there are no pods")
		}
		return nil
	})
	one, two := warmCost(t, on.kairship, query, map[string]any{"members": []string{"m1"}}), warmCost(t, on.kairship, query, both)
	if two > one {
		t.Errorf("one member costs %d requests, and two cost %d", one, two)
	}
	for _, name := range []string{"bob", "mallory"} {
		if r := on.as(t, name).Must(t, gql.Request{Query: query, Variables: both}); string(r.Data) != `{"instance":null}` {
			t.Errorf("%s: %s", name, r.Body)
		}
	}
	p := newPerson(t, on, viewerIn("alpha", "shop"))
	r := p.Must(t, gql.Request{Query: `{ instance(name: "alpha") { memberCluster(name: "m1") { clusterNodes { nodes { allocated { pods } } } } } }`})
	if string(r.Data) != `{"instance":{"memberCluster":null}}` {
		t.Errorf("a viewer of one namespace: %s", r.Body)
	}
}
