package loaders_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/graph/loaders"
	"github.com/kairship-io/kairship/pkg/index"
)

// pageSource keeps the questions about pages, and answers each part with a page
// whose count shows which question it was.
type pageSource struct {
	loaders.Source
	mu    sync.Mutex
	asked []index.ListQuery
	parts [][]index.Part
}

func (s *pageSource) ListParts(_ context.Context, q index.ListQuery, parts []index.Part) (map[index.Part]*index.Page, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.parts = append(s.asked, q), append(s.parts, parts)
	pages := map[index.Part]*index.Page{}
	for _, part := range parts {
		number := int64(len(s.asked))
		pages[part] = &index.Page{Count: &number}
	}
	return pages, nil
}

var (
	alphaShop   = index.Scope{Cluster: "k-alpha", Namespaces: []string{"shop"}}
	alphaOps    = index.Scope{Cluster: "k-alpha", Namespaces: []string{"ops"}}
	betaBilling = index.Scope{Cluster: "k-beta", Namespaces: []string{"billing"}}
	deployments = index.ListQuery{Types: []index.Type{index.Deployments}, Limit: 10}
)

func within(q index.ListQuery, scopes ...index.Scope) index.ListQuery {
	q.Scopes = scopes
	return q
}

func TestPagesOfDifferentScopesAreReadTogether(t *testing.T) {
	source := &pageSource{}
	ctx := loaders.With(t.Context(), source)
	reader := loaders.NewReader(source)
	alpha, beta, gamma := index.Part{Cluster: "k-alpha"}, index.Part{Cluster: "k-beta"}, index.Part{Cluster: "k-gamma"}
	reader.PrefetchPages(ctx, []index.Part{alpha, beta, gamma}, within(deployments, alphaShop, betaBilling), nil)
	// Each is requested with its own scope only, because its caller knows no other.
	for _, ask := range []struct {
		part  index.Part
		query index.ListQuery
	}{{alpha, within(deployments, alphaShop)}, {beta, within(deployments, betaBilling)}, {gamma, deployments}} {
		if _, err := reader.PageOf(ctx, ask.part, ask.query); err != nil {
			t.Fatal(err)
		}
	}
	want := []index.ListQuery{within(deployments, alphaShop, betaBilling)}
	if d := cmp.Diff(want, source.asked); d != "" {
		t.Errorf("asked (-want +got):\n%s", d)
	}
	if d := cmp.Diff([][]index.Part{{alpha, beta, gamma}}, source.parts); d != "" {
		t.Errorf("parts (-want +got):\n%s", d)
	}
}

func TestPageOfOneScopeIsNotAnothers(t *testing.T) {
	source := &pageSource{}
	ctx := loaders.With(t.Context(), source)
	reader := loaders.NewReader(source)
	alpha := index.Part{Cluster: "k-alpha"}
	scopes := [][]index.Scope{{alphaShop}, {alphaOps}, nil}
	pages := make([]*index.Page, len(scopes))
	// Asked for at once, so that they meet in one batch.
	var wg sync.WaitGroup
	for i, scope := range scopes {
		wg.Go(func() {
			var err error
			if pages[i], err = reader.PageOf(ctx, alpha, within(deployments, scope...)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(source.asked) != len(scopes) {
		t.Fatalf("%d questions for three different scopes", len(source.asked))
	}
	for i, scope := range scopes {
		asked := source.asked[*pages[i].Count-1]
		if d := cmp.Diff(scope, asked.Scopes); d != "" {
			t.Errorf("a page is of another scope (-want +got):\n%s", d)
		}
	}
	again, err := reader.PageOf(ctx, alpha, within(deployments, alphaShop))
	if err != nil || again != pages[0] {
		t.Errorf("the page of a scope was read again: %v", err)
	}
}

func TestScopesAndQueriesDoNotMix(t *testing.T) {
	source := &pageSource{}
	ctx := loaders.With(t.Context(), source)
	reader := loaders.NewReader(source)
	jobs := index.ListQuery{Types: []index.Type{index.Jobs}, Limit: 10}
	alpha := index.Part{Cluster: "k-alpha"}
	reader.PrefetchPages(ctx, []index.Part{alpha}, within(deployments, alphaShop), nil)
	if _, err := reader.PageOf(ctx, alpha, within(jobs, alphaShop)); err != nil {
		t.Fatal(err)
	}
	if _, err := reader.PageOf(ctx, alpha, within(deployments, alphaShop)); err != nil {
		t.Fatal(err)
	}
	if len(source.asked) != 2 || !slices.ContainsFunc(source.asked, func(q index.ListQuery) bool { return cmp.Equal(q, within(jobs, alphaShop)) }) {
		t.Errorf("asked %+v", source.asked)
	}
}
