package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/google/go-cmp/cmp"
)

// pageSize is how many workloads a page has.
const pageSize = 50

// pick is where one operation looks: a page, or an object.
type pick struct {
	// offset and cursor both say where the page starts; each side uses its own.
	offset int
	cursor string
	// namespace and name are those of the page's first object.
	namespace, name string
}

// side is one of the two that are compared.
type side struct {
	// run does one operation.
	run func(ctx context.Context, p pick) error
	// result does one operation and returns what it found, to be compared.
	result func(ctx context.Context, p pick) (any, error)
	// cost does one operation and returns how many requests to the index it took.
	cost func(ctx context.Context, p pick) (int, error)
}

// scenario is one question, asked through both sides.
type scenario struct {
	name, title string
	// among are the places that operations look at, each as likely as the others.
	among         []pick
	graphql, rest side
	targets       []target
}

// target is a figure that the project wants to reach.
type target struct {
	clients int
	// throughput compares operations per second, at least atLeast; else the median
	// latency is compared, at most atMost.
	throughput      bool
	atMost, atLeast float64
}

func (t target) String() string {
	if t.throughput {
		return fmt.Sprintf("throughput at least %.1f ×", t.atLeast)
	}
	return fmt.Sprintf("p50 at most %.2f ×", t.atMost)
}

func (t target) met(ratio float64) bool {
	if t.throughput {
		return ratio >= t.atLeast
	}
	return ratio <= t.atMost
}

// scenarios are all there are. The picks are every place of the list.
func scenarios(g *graphqlClient, r *restClient, picks []pick) []scenario {
	pages := picks[:len(picks)-pageSize+1]
	// Pages that hold every propagated workload.
	full := picks[firstPropagated+propagatedCount-pageSize : firstPropagated+1]
	jobTargets := []target{{clients: 1, atMost: 0.35}, {clients: 50, throughput: true, atLeast: 1.0}}
	job := func(name, title string, among []pick) scenario {
		return scenario{
			name: name, title: title, among: among, targets: jobTargets,
			graphql: graphqlSide(g.job), rest: restSide(r, r.job),
		}
	}
	return []scenario{
		job("job", fmt.Sprintf("a page of %d with policy, binding and members' state; %d of them propagated", pageSize, propagatedCount), full),
		job("job-anywhere", fmt.Sprintf("the same, a page from anywhere among the %d", len(picks)), pages),
		{
			name: "same", title: "one page of `job`, which all clients ask for", among: full[:1],
			targets: []target{{clients: 50, throughput: true, atLeast: 15}},
			graphql: graphqlSide(g.sameJob), rest: restSide(r, r.job),
		},
		{
			name: "page", title: fmt.Sprintf("a plain page: the metadata of %d", pageSize), among: pages, targets: []target{{clients: 1, atMost: 0.7}},
			graphql: graphqlSide(g.page), rest: restSide(r, r.page),
		},
		{
			name: "get", title: "a single object", among: picks, targets: []target{{clients: 1, atMost: 1.0}},
			graphql: graphqlSide(g.get), rest: restSide(r, r.get),
		},
	}
}

func graphqlSide[T any](do func(context.Context, pick, bool) (T, int, error)) side {
	return side{
		run: func(ctx context.Context, p pick) error {
			_, _, err := do(ctx, p, false)
			return err
		},
		result: func(ctx context.Context, p pick) (any, error) {
			result, _, err := do(ctx, p, false)
			return result, err
		},
		cost: func(ctx context.Context, p pick) (int, error) {
			_, requests, err := do(ctx, p, true)
			return requests, err
		},
	}
}

func restSide[T any](c *restClient, do func(context.Context, pick) (T, error)) side {
	return side{
		run: func(ctx context.Context, p pick) error {
			_, err := do(ctx, p)
			return err
		},
		result: func(ctx context.Context, p pick) (any, error) { return do(ctx, p) },
		cost: func(ctx context.Context, p pick) (int, error) {
			before := c.requests.Load()
			_, err := do(ctx, p)
			return int(c.requests.Load() - before), err
		},
	}
}

// verify checks that both sides answer the same, at both ends of what is looked
// at and at some places in between.
func (s *scenario) verify(ctx context.Context, random *rand.Rand) error {
	const samples = 8
	places := []pick{s.among[0], s.among[len(s.among)-1]}
	for range samples {
		places = append(places, s.among[random.IntN(len(s.among))])
	}
	for _, p := range places {
		want, err := s.rest.result(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: the index: %w", s.name, err)
		}
		got, err := s.graphql.result(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: Kairship: %w", s.name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("%s: Kairship and the index disagree at place %d of the list (-index +Kairship):\n%s", s.name, p.offset, diff)
		}
	}
	return nil
}

// costs tells the mean number of requests to the index that one operation takes.
func (s *scenario) costs(ctx context.Context, random *rand.Rand) (graphql, rest float64, err error) {
	const samples = 20
	for range samples {
		p := s.among[random.IntN(len(s.among))]
		n, err := s.graphql.cost(ctx, p)
		if err != nil {
			return 0, 0, err
		}
		graphql += float64(n) / samples
		if n, err = s.rest.cost(ctx, p); err != nil {
			return 0, 0, err
		}
		rest += float64(n) / samples
	}
	return graphql, rest, nil
}
