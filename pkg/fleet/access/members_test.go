package access_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/index"
)

// TestMembersAreConfined asks for lists of a member cluster of alpha as each person: a role in some
// namespaces reaches those that a workload was sent to, which only the projection knows, and a person
// without a role on alpha costs no request.
func TestMembersAreConfined(t *testing.T) {
	resolver := authz.NewResolver(&fakeRules{}, nil, standing, nil)
	whole := []index.Scope{}
	shop := []index.Scope{{Cluster: "m1", Namespaces: []string{"shop"}, SentBy: "alpha"}}
	named := []index.Scope{{Cluster: "m1", Names: []string{"shop"}, SentBy: "alpha"}}
	// Scopes are nil where nothing is asked for.
	for _, tt := range []struct {
		person                        string
		deployments, nodes, namespace []index.Scope
	}{
		{"stranger", nil, nil, nil},
		{"bob", nil, nil, nil},
		{"seen", nil, nil, nil},
		{"admin", whole, whole, whole},
		{"alice", whole, whole, whole},
		{"shop", shop, shop, named},
		{"shopper", shop, shop, named},
		{"mixed", []index.Scope{{Cluster: "m1", Namespaces: []string{"ops", "shop"}, SentBy: "alpha"}}, []index.Scope{{Cluster: "m1", Namespaces: []string{"ops", "shop"}, SentBy: "alpha"}}, []index.Scope{{Cluster: "m1", Names: []string{"ops", "shop"}, SentBy: "alpha"}}},
		{"namespaces", []index.Scope{{Cluster: "m1", EveryNamespace: true}}, []index.Scope{{Cluster: "m1", EveryNamespace: true}}, whole},
	} {
		for _, list := range []struct {
			of   index.Type
			want []index.Scope
		}{{index.Deployments, tt.deployments}, {nodes, tt.nodes}, {index.Namespaces, tt.namespace}} {
			for name, read := range map[string]func(*access.Reader, index.ListQuery) error{
				"PageOf": func(r *access.Reader, q index.ListQuery) error {
					_, err := r.PageOf(as(t, tt.person), index.Part{Cluster: "m1"}, q)
					return err
				},
				"PrefetchPages": func(r *access.Reader, q index.ListQuery) error {
					r.PrefetchPages(as(t, tt.person), []index.Part{{Cluster: "m1"}}, q, func(map[index.Part]*index.Page) {})
					return nil
				},
				"List": func(r *access.Reader, q index.ListQuery) error {
					q.Clusters = []string{"m1"}
					_, err := r.List(as(t, tt.person), q)
					return err
				},
			} {
				below := newPodRows()
				if err := read(access.NewReader(below, resolver, joined), index.ListQuery{Types: []index.Type{list.of}, Limit: 500, WithCount: true}); err != nil {
					t.Fatal(err)
				}
				var got []index.Scope
				for i := range below.queries {
					got = append(slices.Clone(whole), below.queries[i].Scopes...)
				}
				if diff := cmp.Diff(list.want, got); diff != "" {
					t.Errorf("%s of %s as %s asks for (-want +got):\n%s", name, list.of.Resource, tt.person, diff)
				}
			}
		}
	}
}
