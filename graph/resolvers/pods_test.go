package resolvers

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/fleet/pod"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// podReader lists the same rows whatever is asked, and counts everything as one pod of x.
type podReader struct {
	*reader
	rows    []projection.PodItem
	queries []index.ListQuery
	named   []index.Key
	err     error
}

func (r *podReader) List(_ context.Context, q index.ListQuery) (*index.Page, error) {
	r.queries = append(r.queries, q)
	p := &index.Page{AsOf: now}
	for _, field := range q.Projected.Facets {
		p.Facets = append(p.Facets, projection.Facet{Field: field, Values: []projection.FacetValue{{Value: "x", Count: 1}}, TotalValues: 7})
	}
	if len(q.Projected.Facets) > 0 {
		return p, r.err
	}
	for i := range r.rows {
		p.Items = append(p.Items, index.NewPod(&r.rows[i], now))
	}
	return p, nil
}

func (r *podReader) PageOf(ctx context.Context, _ index.Part, q index.ListQuery) (*index.Page, error) {
	return r.List(ctx, q)
}

func (r *podReader) Prefetch(_ context.Context, keys []index.Key, _ index.Detail, _ func(map[index.Key]*index.Object)) {
	r.named = append(r.named, keys...)
}

// TestPodsAreRows: every field of a pod but its manifest and its member cluster comes from its row.
func TestPodsAreRows(t *testing.T) {
	key := projection.PodKey{Instance: "alpha", Cluster: "m1", Namespace: "shop", Name: "web-1"}
	r := &podReader{reader: &reader{}, rows: []projection.PodItem{{
		PodPosition: projection.PodPosition{PodKey: key, CreatedAt: 1767323045, Restarts: 3}, UID: "u", Phase: "FAILED", Ready: false, NodeName: "n1",
		Message: "it failed", Labels: map[string]string{"app": "web"}, Images: []string{"i"},
	}}}
	const fields = `instance { name } clusterName namespace name uid labels { key value } phase ready restarts nodeName podIP message images createdAt`
	const want = `{"instance":{"name":"alpha"},"clusterName":"m1","namespace":"shop","name":"web-1","uid":"u","labels":[{"key":"app","value":"web"}],"phase":"FAILED","ready":false,` +
		`"restarts":3,"nodeName":"n1","podIP":null,"message":"it failed","images":["i"],"createdAt":"2026-01-02T03:04:05Z"}`
	for query, data := range map[string]string{
		`{ pods { nodes { ` + fields + ` } } }`:                                      `{"pods":{"nodes":[` + want + `]}}`,
		`{ instance(name: "alpha") { pods { edges { node { ` + fields + ` } } } } }`: `{"instance":{"pods":{"edges":[{"node":` + want + `}]}}}`,
	} {
		r.queries = nil
		resp := run(t, fleetOver(t, r, r.reader), nil, query, "")
		if string(resp.Data) != data || len(resp.Errors) > 0 {
			t.Errorf("%s:\n got %s %v\nwant %s", query, resp.Data, resp.Errors, data)
		}
		if len(r.queries) != 1 || r.reader.objects != 0 || len(r.named) != 0 {
			t.Errorf("%s: %d lists and %d objects are read, want one list", query, len(r.queries), r.reader.objects+len(r.named))
		}
	}
	_ = run(t, fleetOver(t, r, r.reader), nil, `{ pods { nodes { memberCluster { name } } } }`, "")
	if diff := cmp.Diff([]index.Key{{Cluster: "k-alpha", Type: index.MemberClusters, Name: "m1"}}, r.named); diff != "" {
		t.Errorf("member clusters are not read ahead (-want +got):\n%s", diff)
	}
}

// TestPodFacets: however often a list is asked for facets, it is counted once, with its own filter.
func TestPodFacets(t *testing.T) {
	for _, tt := range []struct{ list, open, end string }{
		{`pods(first: 1, filter: {namespaces: ["shop"], phase: [FAILED]})`, `{"pods":`, `}`},
		{`instance(name: "alpha") { pods(filter: {namespaces: ["shop"], phase: [FAILED]})`, `{"instance":{"pods":`, `}}`},
	} {
		r := &podReader{reader: &reader{}}
		query := "{ " + tt.list + ` { a: facets(fields: [PHASE, NODE]) { field totalValues } b: facets(fields: [NODE, READY], first: 1) { field values { value count } } } }` + strings.Repeat(" }", strings.Count(tt.list, " { "))
		resp := run(t, fleetOver(t, r, r.reader), nil, query, "")
		const x = `[{"value":"x","count":1}]`
		want := tt.open + `{"a":[{"field":"PHASE","totalValues":7},{"field":"NODE","totalValues":7}],"b":[{"field":"NODE","values":` + x + `},{"field":"READY","values":` + x + `}]}` + tt.end
		if string(resp.Data) != want || len(resp.Errors) > 0 {
			t.Errorf("%s:\n got %s %v\nwant %s", query, resp.Data, resp.Errors, want)
		}
		if len(r.queries) != 2 {
			t.Fatalf("%s: %d statements are sent, want one for the page and one for the facets", query, len(r.queries))
		}
		q := r.queries[1]
		slices.Sort(q.Projected.Facets)
		if !slices.Equal(q.Projected.Facets, []projection.FacetField{"NODE", "PHASE", "READY"}) || !slices.Equal(q.Namespaces, []string{"shop"}) || !slices.Equal(q.Projected.Pods.Phases, []string{"FAILED"}) {
			t.Errorf("it is counted with %+v", q)
		}
	}
	r := &podReader{reader: &reader{}, err: apierror.New(apierror.CodeIndexUnavailable, "away")}
	resp := run(t, fleetOver(t, r, r.reader), nil, `{ pods { facets(fields: [PHASE]) { field } nodes { name } } }`, "")
	if string(resp.Data) != `{"pods":{"facets":[],"nodes":[]}}` || len(resp.Errors) != 1 {
		t.Errorf("facets that fail: got %s %v", resp.Data, resp.Errors)
	}
}

// TestPodsThatCannotBeRead: a list that cannot be read is empty and says so.
func TestPodsThatCannotBeRead(t *testing.T) {
	r := &reader{err: apierror.New(apierror.CodeIndexUnavailable, "away")}
	resp := run(t, fleetOf(t, r), nil, `{ pods { nodes { name } totalCount freshness { stale } facets(fields: [PHASE]) { field } } }`, "")
	if want := `{"pods":{"nodes":[],"totalCount":null,"freshness":{"stale":true},"facets":[]}}`; string(resp.Data) != want || len(resp.Errors) != 2 {
		t.Errorf("got %s %v, want %s", resp.Data, resp.Errors, want)
	}
}

func TestWhatListsOfPodsNeed(t *testing.T) {
	for selection, want := range map[string]pod.Needs{
		`nodes { name phase labels { key } instance { name } }`: {Detail: index.Metadata},
		`pageInfo { endCursor }`:                                {Detail: index.Metadata},
		`n: totalCount edges { node { manifest } }`:             {Detail: index.Whole, Count: true},
		`nodes { memberCluster { name } }`:                      {Detail: index.Metadata, MemberClusters: true},
		`facets(fields: [NODE], first: 3) { field }`:            {Detail: index.Metadata, Facets: listing.Facets{Fields: []projection.FacetField{"NODE"}, Values: 3}},
	} {
		var got []pod.Needs
		list := func(ctx context.Context, _ *graphql.FieldContext) (any, error) {
			got = append(got, podNeeds(ctx))
			c := page.Unread[*pod.Pod]("")
			c.Facets = []projection.Facet{{Field: "NODE"}}
			return c, nil
		}
		answers := world().with(intercept{"Instance.pods": list, "Query.pods": list})
		answered(t, answers, `{ pods { `+selection+` } instance(name: "alpha") { pods { `+selection+` } } }`, "")
		if diff := cmp.Diff([]pod.Needs{want, want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", selection, diff)
		}
	}
}
