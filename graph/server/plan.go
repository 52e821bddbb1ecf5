package server

import (
	"context"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"github.com/kairship-io/kairship/graph/cost"
	"github.com/kairship-io/kairship/pkg/requeststats"
)

// PlanHeader asks for extensions.plan when it has any value.
const PlanHeader = "Kairship-Query-Plan"

// planExtension asks for the same in the extensions of a request, when it is true:
// over a WebSocket, each operation separately.
const planExtension = "queryPlan"

// Plan is extensions.plan: what an operation cost.
type Plan struct {
	// Cost is what it might have cost, as limits count it.
	Cost PlanCost `json:"cost"`
	// IndexRequests is the number of requests to the index.
	IndexRequests int `json:"indexRequests"`
	// DurationMillis is how long it took until the answer was there.
	DurationMillis float64 `json:"durationMillis"`
	// Upstreams are those that were asked, by kind and name.
	Upstreams []PlanUpstream `json:"upstreams"`
	// Caches are those that were looked into.
	Caches []PlanCache `json:"caches"`
}

// PlanCost is what was known before the operation began.
type PlanCost struct {
	// Value and Limit are in values of the answer.
	Value int `json:"value"`
	Limit int `json:"limit"`
	// Requests is the part of the value that stands for requests upstream, as their number.
	Requests int `json:"requests"`
}

// PlanUpstream is what was asked of the index, of one instance or of the global cluster.
type PlanUpstream struct {
	Kind     requeststats.Kind `json:"kind"`
	Instance string            `json:"instance,omitempty"`
	Requests int               `json:"requests"`
	Failed   int               `json:"failed"`
	// TotalMillis adds up requests that were under way at the same time.
	TotalMillis   float64 `json:"totalMillis"`
	LongestMillis float64 `json:"longestMillis"`
}

// PlanCache is how often a cache had what was looked for.
type PlanCache struct {
	Name   requeststats.Cache `json:"cache"`
	Hits   int                `json:"hits"`
	Misses int                `json:"misses"`
}

// PlanOf returns the extension plan where the operation of the context asks for it;
// nil elsewhere. Every user may: it shows nothing but their own operation.
func PlanOf(ctx context.Context) map[string]any {
	if !graphql.HasOperationContext(ctx) {
		return nil
	}
	op := graphql.GetOperationContext(ctx)
	if wanted, _ := op.Extensions[planExtension].(bool); !wanted && op.Headers.Get(PlanHeader) == "" {
		return nil
	}
	used := requeststats.From(ctx)
	billed := billOf(op)
	plan := Plan{
		Cost:           PlanCost{Value: billed.Cost, Limit: billed.limit, Requests: billed.Requests},
		IndexRequests:  used.Requests(requeststats.Index),
		DurationMillis: millis(time.Since(op.Stats.OperationStart)),
		Upstreams:      []PlanUpstream{},
		Caches:         []PlanCache{},
	}
	for _, use := range used.Uses() {
		plan.Upstreams = append(plan.Upstreams, PlanUpstream{
			Kind: use.Kind, Instance: use.Name, Requests: use.Requests, Failed: use.Failed,
			TotalMillis: millis(use.Total), LongestMillis: millis(use.Longest),
		})
	}
	for _, l := range used.Caches() {
		plan.Caches = append(plan.Caches, PlanCache{Name: l.Cache, Hits: l.Hits, Misses: l.Misses})
	}
	return map[string]any{"plan": plan}
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// bill is what an operation was found to cost, and what it may.
type bill struct {
	cost.Bill
	limit int
}

// billKey is where the operation keeps its bill.
const billKey = "cost"

func setBill(op *graphql.OperationContext, b bill) { op.Stats.SetExtension(billKey, b) }

func billOf(op *graphql.OperationContext) bill {
	b, _ := op.Stats.GetExtension(billKey).(bill)
	return b
}
