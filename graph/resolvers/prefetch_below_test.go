package resolvers

import (
	"context"
	"fmt"
	"slices"
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/index/indextest"
)

// below is how many objects the lists of full have that other lists are below.
const belowEach = 3

// memberOf is the name of a member cluster of an instance.
func memberOf(instance string, i int) string { return fmt.Sprint(instance, "-", i) }

// full is an index whose pages of policies, member clusters and workloads have objects, the same
// in every part of a cluster.
type full struct {
	*reader
	objects []*index.Object
}

// newFull fills an index, which keeps what it is asked in r.
func newFull(t *testing.T, r *reader) full {
	t.Helper()
	var rows []indextest.Row
	var keys []index.Key
	for _, cluster := range []string{"k-alpha", "k-beta"} {
		for _, of := range []index.Type{index.PropagationPolicies, index.ClusterPropagationPolicies, index.MemberClusters, index.Deployments} {
			for i := range belowEach {
				namespace := "shop"
				name := fmt.Sprint("x-", i)
				switch of {
				case index.ClusterPropagationPolicies:
					namespace = ""
				case index.MemberClusters:
					namespace, name = "", memberOf(v1alpha1.InstanceOfVirtualCluster(cluster), i)
				}
				row := fleettest.Row(of, cluster, namespace, name)
				row.UID = fmt.Sprint(cluster, of.Kind, i)
				row.Labels = map[string]string{
					policyv1alpha1.PropagationPolicyPermanentIDLabel:        fmt.Sprint("pp-", i),
					policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel: fmt.Sprint("cpp-", i),
				}
				rows = append(rows, row)
				keys = append(keys, index.Key{Cluster: cluster, Type: of, Namespace: namespace, Name: row.Name})
			}
		}
	}
	found, err := fleettest.Client(t, indextest.New(t, rows...)).GetMany(t.Context(), keys, index.Whole)
	if err != nil || len(found) != len(rows) {
		t.Fatalf("%d of %d objects: %v", len(found), len(rows), err)
	}
	f := full{reader: r}
	for _, key := range keys {
		f.objects = append(f.objects, found[key])
	}
	return f
}

func (f full) page(part index.Part, q index.ListQuery) *index.Page {
	p := &index.Page{Count: new(int64)}
	for _, o := range f.objects {
		if o.Cluster == part.Cluster && o.Kind == q.Types[0].Kind {
			p.Items = append(p.Items, o)
		}
	}
	return p
}

func (f full) List(ctx context.Context, q index.ListQuery) (*index.Page, error) {
	_, err := f.reader.List(ctx, q)
	return f.page(index.Part{Cluster: "k-alpha"}, q), err
}

func (f full) PageOf(ctx context.Context, part index.Part, q index.ListQuery) (*index.Page, error) {
	_, err := f.reader.PageOf(ctx, part, q)
	return f.page(part, q), err
}

func (f full) PrefetchPages(ctx context.Context, parts []index.Part, q index.ListQuery, then func(map[index.Part]*index.Page)) {
	f.reader.PrefetchPages(ctx, parts, q, nil)
	if then == nil {
		return
	}
	pages := map[index.Part]*index.Page{}
	for _, part := range parts {
		pages[part] = f.page(part, q)
	}
	then(pages)
}

// The lists below the items of a list are prefetched too, with exactly the queries that they use:
// otherwise fifty of them would share a request only if they were requested within a millisecond.
func TestListsBelowListsAreReadAhead(t *testing.T) {
	for _, tt := range []struct {
		query string
		// lists is how many lists there are, on all levels.
		lists int
	}{
		{`{ instances { nodes { propagationPolicies { nodes { workloads { nodes { name } } } } } } }`, 2 * (1 + belowEach)},
		{`{ instances { nodes { clusterPropagationPolicies(first: 7) { edges { node { w: workloads(first: 2, filter: {kinds: [DEPLOYMENT]}, orderBy: {field: NAME}) { totalCount } } } } } } }`, 2 * (1 + belowEach)},
		{`{ instance(name: "alpha") { propagationPolicies { nodes { workloads { nodes { health } } ... on PropagationPolicyLike { w: workloads(first: 3) { totalCount } } } } } }`, 1 + 2*belowEach},
		{`{ instance(name: "alpha") { propagationPolicies { nodes { workloads { nodes { events(first: 1) { nodes { reason } } } } } } } }`, 1 + 2*belowEach},
		{`{ instances { nodes { workloads { nodes { events { totalCount } } } } } }`, 2 * (1 + belowEach)},
		{`{ instance(name: "alpha") { workloads { nodes { ... on Deployment { a: events(first: 3) { nodes { reason } } } b: events(first: 4) { totalCount } } } } }`, 1 + 2*belowEach},
		{`{ instances { nodes { memberClusters { nodes { resources(version: "v1", resource: "services", namespace: "shop") { totalCount } } } } } }`, 2 * (1 + belowEach)},
		{`{ instance(name: "alpha") { memberClusters { edges { node { a: resources(group: "batch", version: "v1", resource: "jobs", first: 2) { nodes { name } } b: resources(version: "v1", resource: "nodes", orderBy: {field: NAME}) { nodes { yaml } } } } } } }`, 1 + 2*belowEach},
		{`{ instances { nodes { memberClusters { nodes { workloads { totalCount } events(filter: {type: "Warning"}) { totalCount } } } } } }`, 2 * (1 + 2*belowEach)},
		{`{ instance(name: "alpha") { memberClusters { nodes { services(first: 2) { nodes { name } } ingresses { nodes { name } } namespaces(filter: {name: ["a"]}) { nodes { name } } workloads(kinds: [JOB]) { nodes { name } } } } } }`, 1 + 4*belowEach},
		{`{ instances { nodes { memberClusters { nodes { clusterPods(first: 3, filter: {phase: [RUNNING]}) { totalCount } } } } } }`, 2 * (1 + belowEach)},
		{`{ instance(name: "alpha") { resources(cluster: "alpha-1", version: "v1", resource: "nodes") { nodes { name } } } }`, 1},
		// The list over all instances is one request and not read ahead.
		{`{ workloads { nodes { events(first: 3) { nodes { reason } } } } }`, belowEach},
		{`query($n: Int = 5) { workloads { nodes { events(first: $n) { nodes { reason } } } } }`, belowEach},
	} {
		r := &reader{}
		if resp := run(t, fleetOver(t, newFull(t, r), r), nil, tt.query, ""); len(resp.Errors) > 0 {
			t.Errorf("%s: %v", tt.query, resp.Errors)
		}
		ahead := slices.Compact(slices.Sorted(slices.Values(r.ahead))) // The page of an instance looks ahead once more.
		asked := slices.Compact(slices.Sorted(slices.Values(r.asked)))
		if !slices.Equal(ahead, asked) {
			t.Errorf("%s\nread ahead %q\nasked for  %q", tt.query, ahead, asked)
		}
		if len(asked) != tt.lists {
			t.Errorf("%s\n%d lists were asked for, want %d: %q", tt.query, len(asked), tt.lists, asked)
		}
	}
}

// What is wrong with a list below a list is said there, and nothing is read ahead for it.
func TestListsBelowListsThatAreRefusedAreNotReadAhead(t *testing.T) {
	for _, query := range []string{
		`{ instance(name: "alpha") { propagationPolicies { nodes { workloads(first: 0) { nodes { name } } } } } }`,
		`{ instance(name: "alpha") { propagationPolicies { nodes { workloads(filter: {labelSelector: "a in"}) { nodes { name } } } } } }`,
		`{ instance(name: "alpha") { workloads { nodes { events(first: 501) { nodes { reason } } } } } }`,
		`{ instance(name: "alpha") { workloads { nodes { events(after: "x") { nodes { reason } } } } } }`,
	} {
		r := &reader{}
		if resp := run(t, fleetOver(t, newFull(t, r), r), nil, query, ""); len(resp.Errors) != belowEach {
			t.Errorf("%s: %d errors, want %d: %v", query, len(resp.Errors), belowEach, resp.Errors)
		}
		if !slices.Equal(r.ahead, r.asked) || len(r.ahead) != 1 {
			t.Errorf("%s: read ahead %q, asked for %q; want the outer list alone", query, r.ahead, r.asked)
		}
	}
}

var _ index.Reader = full{}
