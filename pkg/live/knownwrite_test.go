package live

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// wrote is the mark of an object as it is now, or as it was last.
func wrote(c *cluster, namespace, name string) KnownWrite {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := KnownWrite{Source: c.source, Key: Key{namespace, name}, Version: c.version}
	if c.now[m.Key] != nil {
		return m
	}
	for _, f := range c.log {
		if f.object != nil && f.object.Key() == m.Key {
			m.Deleted = f.object.Meta.UID
		}
	}
	return m
}

// thaw has the watches of a cluster go on.
func thaw(c *cluster) {
	c.set(func(c *cluster) { c.frozen = false })
	c.bookmark(0)
}

// TestMarks checks that a user's own writes are delivered before SYNCED, even if no watch has
// received them, and that a subscription without known writes costs no request.
func TestMarks(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(c *cluster) KnownWrite
		// unmarked and marked are the events without and with the known write; resumed are the
		// events with it for a subscriber that knows a and b.
		unmarked, marked, resumed []string
		lists                     int
	}{
		{
			name:     "made",
			do:       func(c *cluster) KnownWrite { c.put("n", "c", nil, 0); return wrote(c, "n", "c") },
			unmarked: []string{"ADDED a", "ADDED b", "SYNCED"},
			marked:   []string{"ADDED a", "ADDED b", "ADDED c", "SYNCED"},
			resumed:  []string{"ADDED c", "SYNCED"},
			lists:    1,
		},
		{
			name:     "changed",
			do:       func(c *cluster) KnownWrite { c.put("n", "a", nil, 1); return wrote(c, "n", "a") },
			unmarked: []string{"ADDED a", "ADDED b", "SYNCED"},
			marked:   []string{"ADDED a", "ADDED b", "SYNCED"},
			resumed:  []string{"MODIFIED a", "SYNCED"},
			lists:    1,
		},
		{
			name:     "deleted",
			do:       func(c *cluster) KnownWrite { c.remove("n", "b"); return wrote(c, "n", "b") },
			unmarked: []string{"ADDED a", "ADDED b", "SYNCED"},
			marked:   []string{"ADDED a", "SYNCED"},
			resumed:  []string{"DELETED b", "SYNCED"},
			lists:    1,
		},
		{
			name: "deleted, and made anew by another",
			do: func(c *cluster) KnownWrite {
				c.remove("n", "b")
				m := wrote(c, "n", "b")
				c.put("n", "b", nil, 0)
				return m
			},
			unmarked: []string{"ADDED a", "ADDED b", "SYNCED"},
			marked:   []string{"ADDED a", "ADDED b", "SYNCED"},
			resumed:  []string{"DELETED b", "ADDED b", "SYNCED"},
			lists:    1,
		},
		{
			name: "nothing that is not known",
			do: func(c *cluster) KnownWrite {
				c.put("n", "c", nil, 0)
				m := wrote(c, "n", "a")
				m.Version = 101 // As the first of them was made.
				return m
			},
			unmarked: []string{"ADDED a", "ADDED b", "SYNCED"},
			marked:   []string{"ADDED a", "ADDED b", "SYNCED"},
			resumed:  []string{"SYNCED"},
		},
		{
			name: "in another instance",
			do: func(c *cluster) KnownWrite {
				c.put("n", "c", nil, 0)
				m := wrote(c, "n", "c")
				m.Source.Instance = "beta"
				return m
			},
			unmarked: []string{"ADDED a", "ADDED b", "SYNCED"},
			marked:   []string{"ADDED a", "ADDED b", "SYNCED"},
			resumed:  []string{"SYNCED"},
		},
		{
			name: "in another version of the API",
			do: func(c *cluster) KnownWrite {
				c.put("n", "c", nil, 0)
				m := wrote(c, "n", "c")
				m.Source.Resource = schema.GroupVersionResource{Group: "apps", Version: "v1beta1", Resource: "deployments"}
				return m
			},
			unmarked: []string{"ADDED a", "ADDED b", "SYNCED"},
			marked:   []string{"ADDED a", "ADDED b", "ADDED c", "SYNCED"},
			resumed:  []string{"ADDED c", "SYNCED"},
			lists:    1,
		},
		{
			name: "in a history that is lost",
			do: func(c *cluster) KnownWrite {
				c.put("n", "c", nil, 0)
				m := wrote(c, "n", "c")
				m.Version += 50
				return m
			},
			unmarked: []string{"ADDED a", "ADDED b", "SYNCED"},
			marked:   []string{"ADDED a", "ADDED b", "ADDED c", "SYNCED"},
			resumed:  []string{"ADDED c", "SYNCED"},
			lists:    2, // Both have to ask.
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				c := w.cluster(alpha)
				c.put("n", "a", nil, 0)
				c.put("n", "b", nil, 0)
				h := w.hub(Options{})
				first := w.subscribe(h, everything(alpha))
				first.until(Synced)
				first.said()
				c.set(func(c *cluster) { c.frozen = true })
				t.Cleanup(func() { thaw(c) })
				before := c.lists
				mark := tc.do(c)

				without := w.subscribe(h, everything(alpha))
				without.until(Synced)
				wantSaid(t, without, tc.unmarked...)
				if c.lists > before {
					t.Error("a subscription without a mark costs a list")
				}
				marked := everything(alpha)
				marked.KnownWrites = []KnownWrite{mark}
				again := &reader{t: t, cursor: first.cursor, known: map[Source]map[Key]*Object{alpha: maps.Clone(first.known[alpha])}}
				with := w.subscribe(h, marked)
				with.until(Synced)
				wantSaid(t, with, tc.marked...)
				again.resume(h, marked)
				again.until(Synced)
				wantSaid(t, again, tc.resumed...)
				if got := c.lists - before; got != tc.lists {
					t.Errorf("it cost %d lists, want %d", got, tc.lists)
				}
				// No subscriber receives anything twice when the watch has got there.
				thaw(c)
				for _, r := range []*reader{first, without, with, again} {
					r.drain(time.Second)
					if diff := cmp.Diff(c.matching(Filter{}), versionsOf(r.known[alpha])); diff != "" {
						t.Errorf("what is known in the end (-want +got):\n%s", diff)
					}
				}
			})
		})
	}
}

// A watch that is only a little late is waited for, and nothing is asked.
func TestMarksThatAreOnTheirWay(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.cluster(alpha)
		h := w.hub(Options{})
		first := w.subscribe(h, everything(alpha))
		first.until(Synced)
		c.set(func(c *cluster) { c.frozen = true })
		before := c.lists
		c.put("n", "a", nil, 0)
		marked := everything(alpha)
		marked.KnownWrites = []KnownWrite{wrote(c, "n", "a")}
		r := w.subscribe(h, marked)
		time.Sleep(30 * time.Millisecond)
		thaw(c)
		r.until(Synced)
		wantSaid(t, r, "ADDED a", "SYNCED")
		if c.lists > before {
			t.Error("it cost a list")
		}
	})
}

// KnownWrites of what an object is joined with count too.
func TestMarksOfWhatIsJoined(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c, b := w.cluster(alpha), w.cluster(alphaBindings)
		c.put("n", "a", nil, 0)
		b.put("n", "a", nil, 3)
		joined := Subscription{Interests: []Interest{{Source: alpha, Join: sumJoin()}}}
		h := w.hub(Options{})
		w.subscribe(h, joined).until(Synced)
		b.set(func(c *cluster) { c.frozen = true })
		t.Cleanup(func() { thaw(b) })
		b.put("n", "a", nil, 5)
		joined.KnownWrites = []KnownWrite{wrote(b, "n", "a")}
		r := w.subscribe(h, joined)
		if e := r.until(Added); e.Object.Joined != 5 {
			t.Errorf("the sum is %v, want 5", e.Object.Joined)
		}
		r.until(Synced)
	})
}

// A source that can't be read is interrupted, and delivered completely once it answers.
func TestMarksOfWhatDoesNotAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.cluster(alpha)
		c.put("n", "a", nil, 0)
		h := w.hub(Options{})
		w.subscribe(h, everything(alpha)).until(Synced)
		c.set(func(c *cluster) { c.frozen = true })
		c.put("n", "b", nil, 0)
		c.set(func(c *cluster) { c.down = errBroken })
		marked := everything(alpha)
		marked.KnownWrites = []KnownWrite{wrote(c, "n", "b"), {Source: alpha, Key: Key{"n", "z"}, Deleted: types.UID("of nobody")}}
		r := w.subscribe(h, marked)
		r.until(Synced)
		wantSaid(t, r, "INTERRUPTED of alpha", "SYNCED")
		c.set(func(c *cluster) { c.down = nil })
		r.until(Restored)
		wantSaid(t, r, "ADDED a", "ADDED b", "SYNCED of alpha", "RESTORED of alpha")
		thaw(c)
	})
}
