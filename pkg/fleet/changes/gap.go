package changes

import (
	"context"

	"github.com/kairship-io/kairship/pkg/live"
	"github.com/kairship-io/kairship/pkg/tracing"
)

// traceGap records in the trace of a subscription that changes were lost: the subscription's own
// span ended when it had begun.
func traceGap(ctx context.Context, from live.Source) {
	tracing.Late(ctx, "subscription gap", func(s tracing.Span) {
		s.Text(tracing.Instance, from.Instance)
		s.Text("kairship.resource", from.Resource.GroupResource().String())
	})
}
