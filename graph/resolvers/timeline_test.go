package resolvers

import (
	"context"
	"time"

	"github.com/kairship-io/kairship/pkg/projection"
)

// noHistory has none, or cannot be read when the reader cannot.
type noHistory struct{ *reader }

func (h noHistory) History(_ context.Context, objects []projection.HistoryQuery, _ *projection.HistoryRange) (*projection.Histories, time.Time, error) {
	return &projection.Histories{Pages: make([]projection.HistoryPage, len(objects))}, now, h.err
}
