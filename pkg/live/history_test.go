package live

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

func TestHistorySkips(t *testing.T) {
	h := history{from: 10, limit: 100}
	h.add(transition{key: Key{"n", "a"}, floor: 10, at: 11})
	h.skip(11, 20)
	h.skip(20, 20)
	h.skip(20, 30)
	h.add(transition{key: Key{"n", "b"}, floor: 30, at: 31})
	for version, want := range map[uint64]int{9: -1, 10: 2, 11: 1, 12: -1, 20: -1, 29: -1, 30: 1, 31: 0} {
		touches, known := h.since(version)
		got := len(touches)
		if !known {
			got = -1
		}
		if got != want {
			t.Errorf("since %d: %d objects, want %d (-1 is unknown)", version, got, want)
		}
	}
	if len(h.transitions) != 3 {
		t.Errorf("%d entries for two turns and what is between them", len(h.transitions))
	}
}

// A listing that was asked for before the feed was brought further by another one is
// no other history.
func TestAListingThatIsOvertaken(t *testing.T) {
	f := newFeed(alpha, nil, 10, newMetrics(nil), slog.New(slog.DiscardHandler))
	c := newCluster(alpha)
	of := func(version uint64, value int) *listing {
		o := c.object(Key{"n", "a"}, "uid", version, nil, value)
		return &listing{objects: map[Key]*Object{o.Key(): o}, version: version}
	}
	f.take(of(100, 1), 1, 0)
	f.take(of(105, 2), 1, 100)
	f.take(of(103, 1), 1, 100)
	if f.version != 105 || f.objects[Key{"n", "a"}].version != 105 {
		t.Errorf("the feed is at %d, with an object of %d", f.version, f.objects[Key{"n", "a"}].version)
	}
	f.take(of(104, 1), 1, 105)
	if f.version != 104 {
		t.Errorf("the feed is at %d though its cluster went back to 104", f.version)
	}
}

// What the cluster said of the past is a copy of all there was, and kept for a while only.
func TestBasesAreNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bases
		for v := range uint64(2 * maxBases) {
			b.keep(&listing{version: v}, 1)
		}
		if len(b.kept) != maxBases || b.find(2*maxBases-1, 1) == nil || b.find(2*maxBases-1, 2) != nil || b.find(0, 1) != nil {
			t.Errorf("%d are kept", len(b.kept))
		}
		time.Sleep(baseAge + time.Second)
		synctest.Wait()
		if len(b.kept) > 0 {
			t.Errorf("%d are kept for ever", len(b.kept))
		}
	})
}
