package projector

import (
	"testing"

	"github.com/kairship-io/kairship/internal/smalldisk"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
)

// TestDiskFull: while the disk is full, the collector gets errors and the projector stores nothing, what is there is
// read, and the lag grows. Once there is room, nothing is lost.
func TestDiskFull(t *testing.T) {
	const before, most, after = 100, 5000, 20
	for name, in := range map[string]func(testing.TB, string) *projectiontest.Database{"sqlite": projectiontest.SQLiteIn, "postgres": projectiontest.PostgresIn} {
		t.Run(name, func(t *testing.T) {
			disk, folder := smalldisk.New(t, 40)
			index := in(t, folder)
			w := newWorld(t, index)
			c := load(t, "frontend")
			w.save(t, c)

			saved := 0
			for ; saved < before; saved++ {
				index.Save(t, c.copy(saved, 1))
			}
			empty := smalldisk.Fill(t, disk)
			for saved < most && index.TrySave(t.Context(), c.copy(saved, 1)) == nil {
				saved++
			}
			if saved == most {
				t.Fatalf("the collector has written %d objects to a full disk", saved)
			}
			waiting := index.Number(t, "SELECT count(*) FROM kairship.outbox")
			for range 3 {
				if taken, err := w.Step(t.Context()); err == nil || taken != 0 {
					t.Errorf("%d changes were dealt with (%v) although the disk is full", taken, err)
				}
			}
			if now := index.Number(t, "SELECT count(*) FROM kairship.outbox"); now != waiting {
				t.Errorf("%d changes wait, want %d", now, waiting)
			}
			if lag, err := w.DB.Lag(t.Context()); err != nil || lag == 0 {
				t.Errorf("the lag is %g s (%v), and %d changes wait", lag, err, waiting)
			}
			w.is(t, "while the disk is full", c)

			empty()
			for n := range after {
				index.Save(t, c.copy(saved+n, 1))
			}
			w.drain(t)
			w.hasCopies(t, c, saved+after, 1)
			w.agrees(t, "once there is room", 0)
		})
	}
}
