package answercache

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"github.com/kairship-io/kairship/graph/server/document"
	"github.com/kairship-io/kairship/graph/server/plan"
	"github.com/kairship-io/kairship/pkg/consistency"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
)

// noCacheExtension asks for an execution of its own, when it is true: over a WebSocket,
// where an operation has no header Cache-Control.
const noCacheExtension = "noCache"

// clientExtension is where Apollo's clients say their name and version.
const clientExtension = "clientLibrary"

// bringsMore reports whether a request brings something beside its operation that may
// change the answer.
func bringsMore(op *graphql.OperationContext, headers http.Header) bool {
	if headers.Get(plan.Header) != "" || len(headers.Values(consistency.Header)) > 0 {
		return true
	}
	for name := range op.Extensions {
		switch name {
		case document.PersistedExtension, noCacheExtension, clientExtension:
		default:
			return true
		}
	}
	return false
}

// noCache reports whether a client wants an answer that was made for its request.
func noCache(op *graphql.OperationContext, headers http.Header) bool {
	if wanted, _ := op.Extensions[noCacheExtension].(bool); wanted {
		return true
	}
	for _, line := range headers.Values("Cache-Control") {
		for directive := range strings.SplitSeq(line, ",") {
			switch strings.ToLower(strings.TrimSpace(directive)) {
			case "no-cache", "no-store", "max-age=0":
				return true
			}
		}
	}
	return false
}

// expiry is the earliest moment at which an answer that is being made is no longer true
// as it is.
type expiry struct{ nanos atomic.Int64 }

type expiryKey struct{}

func (e *expiry) at() time.Time {
	if n := e.nanos.Load(); n != 0 {
		return time.Unix(0, n)
	}
	return time.Time{}
}

func (e *expiry) before(at time.Time) {
	n := at.UnixNano()
	for {
		old := e.nanos.Load()
		if old != 0 && old <= n || e.nanos.CompareAndSwap(old, n) {
			return
		}
	}
}

// NoteFreshness takes the value of a field, and has an answer expire that says `stale: false` when that ends being true. One that says
// its `lag` expires at once: those that wait for it get it as it is made, and it is not kept.
func NoteFreshness(ctx context.Context, value any) {
	var f *freshness.Freshness
	switch v := value.(type) {
	case freshness.Freshness:
		f = &v
	case *freshness.Freshness:
		f = v
	case *float64:
		of := graphql.GetFieldContext(ctx)
		if e, ok := ctx.Value(expiryKey{}).(*expiry); ok && of != nil && of.Object == "Freshness" && of.Field.Name == "lag" {
			e.before(time.Unix(0, 1))
		}
	}
	if f != nil && !f.Stale && f.ObservedAt != nil {
		if e, ok := ctx.Value(expiryKey{}).(*expiry); ok {
			e.before(f.ObservedAt.Add(freshness.StaleAfter))
		}
	}
}
