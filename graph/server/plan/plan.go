// Package plan reports what an operation cost, as extensions.plan.
package plan

import (
	"context"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"github.com/kairship-io/kairship/graph/cost"
	"github.com/kairship-io/kairship/pkg/requeststats"
)

// Header asks for extensions.plan when it has any value.
const Header = "Kairship-Query-Plan"

// extension asks for the same in the extensions of a request, when it is true:
// over a WebSocket, each operation separately.
const extension = "queryPlan"

// Plan is extensions.plan: what an operation cost.
type Plan struct {
	// Cost is what it might have cost, as limits count it.
	Cost Cost `json:"cost"`
	// IndexRequests is the number of requests to the index.
	IndexRequests int `json:"indexRequests"`
	// DurationMillis is how long it took until the answer was there.
	DurationMillis float64 `json:"durationMillis"`
	// Upstreams are those that were asked, by kind and name.
	Upstreams []Upstream `json:"upstreams"`
	// Caches are those that were looked into.
	Caches []Cache `json:"caches"`
}

// Cost is what was known before the operation began.
type Cost struct {
	// Value and Limit are in values of the answer.
	Value int `json:"value"`
	Limit int `json:"limit"`
	// Requests is the part of the value that stands for requests upstream, as their number.
	Requests int `json:"requests"`
}

// Upstream is what was asked of the index, of one instance or of the global cluster.
type Upstream struct {
	Kind     requeststats.Kind `json:"kind"`
	Instance string            `json:"instance,omitempty"`
	Requests int               `json:"requests"`
	Failed   int               `json:"failed"`
	// TotalMillis adds up requests that were under way at the same time.
	TotalMillis   float64 `json:"totalMillis"`
	LongestMillis float64 `json:"longestMillis"`
}

// Cache is how often a cache had what was looked for.
type Cache struct {
	Name   requeststats.Cache `json:"cache"`
	Hits   int                `json:"hits"`
	Misses int                `json:"misses"`
}

// Of returns the extension plan where the operation of the context asks for it;
// nil elsewhere. Every user may: it shows nothing but their own operation.
func Of(ctx context.Context) map[string]any {
	if !graphql.HasOperationContext(ctx) {
		return nil
	}
	op := graphql.GetOperationContext(ctx)
	if wanted, _ := op.Extensions[extension].(bool); !wanted && op.Headers.Get(Header) == "" {
		return nil
	}
	used := requeststats.From(ctx)
	billed := BillOf(op)
	plan := Plan{
		Cost:           Cost{Value: billed.Cost, Limit: billed.Limit, Requests: billed.Requests},
		IndexRequests:  used.Requests(requeststats.Index),
		DurationMillis: millis(time.Since(op.Stats.OperationStart)),
		Upstreams:      []Upstream{},
		Caches:         []Cache{},
	}
	for _, use := range used.Uses() {
		plan.Upstreams = append(plan.Upstreams, Upstream{
			Kind: use.Kind, Instance: use.Name, Requests: use.Requests, Failed: use.Failed,
			TotalMillis: millis(use.Total), LongestMillis: millis(use.Longest),
		})
	}
	for _, l := range used.Caches() {
		plan.Caches = append(plan.Caches, Cache{Name: l.Cache, Hits: l.Hits, Misses: l.Misses})
	}
	return map[string]any{"plan": plan}
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// Bill is what an operation was found to cost, and what it may cost.
type Bill struct {
	cost.Bill

	Limit int
}

// billKey is where the operation keeps its bill.
const billKey = "cost"

// SetBill notes what an operation may cost.
func SetBill(op *graphql.OperationContext, b Bill) { op.Stats.SetExtension(billKey, b) }

// BillOf returns the bill of an operation; the zero value before it was measured.
func BillOf(op *graphql.OperationContext) Bill {
	b, _ := op.Stats.GetExtension(billKey).(Bill)
	return b
}
