package fleet

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projector"
)

// IndexDSN is the DSN of the database of the index.
func (f *Fleet) IndexDSN(t testing.TB) string {
	t.Helper()
	dsn, err := os.ReadFile(f.indexDatabase())
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(dsn))
}

// Projection opens the database of the index.
func (f *Fleet) Projection(t testing.TB) *projection.DB {
	t.Helper()
	db, err := projection.Open(f.IndexDSN(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// NoDifference compares all rows of the projection with what is computed from the index
// now, and looks at how many the leader has had to repair.
func (f *Fleet) NoDifference(ctx context.Context, t *testing.T, db *projection.DB) {
	t.Helper()
	p := &projector.Projector{DB: db, Log: testr.New(t), Metrics: projector.NewMetrics()}
	if n, err := p.Check(ctx); err != nil || n != 0 {
		t.Errorf("%d rows differ from the index (%v), want none", n, err)
	}
	const repaired = "kairship_projection_differences_total"
	err := poll.Try(ctx, time.Minute, func(ctx context.Context) error {
		_, metrics, err := f.worker(ctx, t)
		if n := Metric(metrics, repaired); err == nil && n != "0" {
			return poll.Stop(fmt.Errorf("the leader has repaired %q rows, want none", n))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
