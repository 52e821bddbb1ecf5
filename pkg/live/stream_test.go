package live

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// inBubble runs a test with a clock of its own.
func inBubble(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newWorld(t)) })
}

func wantSaid(t *testing.T, r *reader, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, r.said()); diff != "" {
		t.Errorf("what the stream said (-want +got):\n%s", diff)
	}
}

func TestSnapshotThenChanges(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.cluster(alpha)
		c.put("shop", "a", nil, 1)
		c.put("shop", "b", nil, 1)
		r := w.subscribe(w.hub(Options{}), everything(alpha))
		r.until(Synced)
		wantSaid(t, r, "ADDED a", "ADDED b", "SYNCED")
		c.put("shop", "a", nil, 2)
		r.until(Modified)
		c.remove("shop", "b")
		r.until(Deleted)
		c.put("shop", "b", nil, 3)
		r.until(Added)
		wantSaid(t, r, "MODIFIED a", "DELETED b", "ADDED b")
	})
}

func TestFilters(t *testing.T) {
	blue, err := labels.Parse("colour=blue")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		reason string
		filter Filter
		want   []string
	}{
		{"an object that begins to match is added, one that stops is deleted", Filter{Labels: blue}, []string{"SYNCED", "ADDED a", "MODIFIED a", "DELETED a", "ADDED a", "DELETED a"}},
		{"another namespace does not matter", Filter{Namespaces: []string{"ops"}}, []string{"SYNCED"}},
		{"an empty list is for none", Filter{Names: []string{}}, []string{"SYNCED"}},
		{"nil is for all", Filter{}, []string{"ADDED a", "SYNCED", "MODIFIED a", "MODIFIED a", "MODIFIED a", "MODIFIED a", "DELETED a"}},
		{"a function decides the rest", Filter{Match: func(o *Object) bool { return len(o.Meta.Labels) > 0 }}, []string{"SYNCED", "ADDED a", "MODIFIED a", "MODIFIED a", "MODIFIED a", "DELETED a"}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				c := w.cluster(alpha)
				c.put("shop", "a", nil, 0)
				r := w.subscribe(w.hub(Options{}), Subscription{Interests: []Interest{{Source: alpha, Filter: tc.filter}}})
				r.drain(time.Second)
				for i, colour := range []string{"blue", "blue", "red", "blue"} {
					c.put("shop", "a", map[string]string{"colour": colour}, i)
					r.drain(time.Second)
				}
				c.remove("shop", "a")
				r.drain(time.Second)
				wantSaid(t, r, tc.want...)
			})
		})
	}
}

func TestSlowReaderGetsTheLatestState(t *testing.T) {
	for _, tc := range []struct {
		reason string
		change func(c *cluster)
		want   []string
	}{
		{"several changes are one", func(c *cluster) { c.put("n", "a", nil, 1); c.put("n", "a", nil, 2); c.put("n", "a", nil, 3) }, []string{"MODIFIED a"}},
		{"what came and changed is added", func(c *cluster) { c.put("n", "x", nil, 1); c.put("n", "x", nil, 2) }, []string{"ADDED x"}},
		{"what came and went was never there", func(c *cluster) { c.put("n", "x", nil, 1); c.remove("n", "x"); c.put("n", "z", nil, 1) }, []string{"ADDED z"}},
		{"what changed and went is deleted", func(c *cluster) { c.put("n", "a", nil, 1); c.remove("n", "a") }, []string{"DELETED a"}},
		{"what went and came is told as two", func(c *cluster) { c.remove("n", "a"); c.put("n", "a", nil, 1) }, []string{"DELETED a", "ADDED a"}},
		{"also when it happened twice", func(c *cluster) {
			c.remove("n", "a")
			c.put("n", "a", nil, 1)
			c.remove("n", "a")
			c.put("n", "a", nil, 1)
		}, []string{"DELETED a", "ADDED a"}},
		{"what went, came and went is deleted once", func(c *cluster) { c.remove("n", "a"); c.put("n", "a", nil, 1); c.remove("n", "a") }, []string{"DELETED a"}},
		{"what waits is told in the order of keys", func(c *cluster) { c.put("n", "b", nil, 1); c.put("n", "a", nil, 1) }, []string{"MODIFIED a", "MODIFIED b"}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				c := w.cluster(alpha)
				c.put("n", "a", nil, 0)
				c.put("n", "b", nil, 0)
				r := w.subscribe(w.hub(Options{}), everything(alpha))
				r.until(Synced)
				r.said()
				tc.change(c)
				synctest.Wait()
				r.drain(time.Second)
				wantSaid(t, r, tc.want...)
			})
		})
	}
}

func TestTooMuchUnread(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.cluster(alpha)
		r := w.subscribe(w.hub(Options{MaxPending: 2}), everything(alpha))
		r.until(Synced)
		for _, name := range []string{"a", "b", "c"} {
			c.put("n", name, nil, 0)
			synctest.Wait()
		}
		r.drain(time.Second)
		wantSaid(t, r, "SYNCED", "GAP of alpha", "ADDED a", "ADDED b", "ADDED c", "SYNCED of alpha")
	})
}

func TestWhoDoesNotReadIsLeftBehind(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.cluster(alpha)
		h := w.hub(Options{MaxSilence: time.Minute})
		slow, idle := w.subscribe(h, everything(alpha)), w.subscribe(h, everything(beta))
		slow.until(Synced)
		idle.until(Synced)
		c.put("n", "a", nil, 0)
		time.Sleep(2 * time.Minute)
		if _, err := slow.next(t.Context()); !errors.Is(err, errSlow) {
			t.Errorf("reading late: %v, want ErrSlow", err)
		}
		w.cluster(beta).put("n", "a", nil, 0)
		idle.until(Added) // Nothing to read is no neglect.
	})
}

func TestOneWatchForAll(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.cluster(alpha)
		h := w.hub(Options{IdleTimeout: time.Minute})
		var readers []*reader
		for range 100 {
			r := w.subscribe(h, everything(alpha))
			r.until(Synced)
			readers = append(readers, r)
		}
		if c.open() != 1 || c.watches != 1 || c.lists != 1 {
			t.Errorf("%d watches are open, %d were opened, %d lists; want 1 of each", c.open(), c.watches, c.lists)
		}
		for _, r := range readers {
			r.stream.Close()
		}
		time.Sleep(30 * time.Second)
		if c.open() != 1 {
			t.Error("the watch did not linger")
		}
		late := w.subscribe(h, everything(alpha))
		late.until(Synced)
		time.Sleep(2 * time.Minute)
		if c.open() != 1 || c.watches != 1 {
			t.Error("the watch ended though a subscriber came back")
		}
		late.stream.Close()
		time.Sleep(2 * time.Minute)
		if c.open() != 0 {
			t.Error("the watch goes on without subscribers")
		}
		if feeds, views, streams := h.snapshot(); len(feeds)+len(views)+streams > 0 {
			t.Errorf("%d feeds, %d views and %d streams are left", len(feeds), len(views), streams)
		}
	})
}

func TestABrokenWatchResumes(t *testing.T) {
	for _, tc := range []struct {
		reason string
		err    error
		during func(c *cluster)
		lists  int
		want   []string
	}{
		{"a regular end is nothing to tell", io.EOF, func(*cluster) {}, 1, nil},
		{"a connection that breaks under a cluster that is well is nothing to tell", errBroken, func(*cluster) {}, 1, nil},
		{"what changed meanwhile follows", errBroken, func(c *cluster) { c.put("n", "a", nil, 9) }, 1, []string{"MODIFIED a"}},
		{
			"expired: only what differs is told", errBroken,
			func(c *cluster) {
				c.put("n", "a", nil, 9)
				c.remove("n", "b")
				c.put("n", "d", nil, 1)
				c.put("n", "e", nil, 1)
				c.remove("n", "e")
				c.set(func(c *cluster) { c.compacted = c.version })
			},
			2,
			[]string{"MODIFIED a", "DELETED b", "ADDED d"},
		},
		{
			"another history: what differs is told", errBroken,
			func(c *cluster) {
				c.set(func(c *cluster) { c.version = 50; c.log = nil; delete(c.now, Key{"n", "b"}) })
			},
			2,
			[]string{"DELETED b"},
		},
		{
			"another cluster: its objects are others", errBroken,
			func(c *cluster) {
				c.remove("n", "a")
				c.remove("n", "b")
				c.remove("n", "c")
				c.put("n", "a", nil, 0)
				c.set(func(c *cluster) { c.identity = 2 })
			},
			2,
			[]string{"DELETED a", "ADDED a", "DELETED b", "DELETED c"},
		},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				c := w.cluster(alpha)
				for _, name := range []string{"a", "b", "c"} {
					c.put("n", name, nil, 0)
				}
				r := w.subscribe(w.hub(Options{}), everything(alpha))
				r.until(Synced)
				r.said()
				time.Sleep(time.Minute)
				// The watch must not see what happens while it is broken.
				c.set(func(c *cluster) { c.frozen = true })
				tc.during(c)
				c.set(func(c *cluster) { c.frozen = false })
				c.fail(tc.err)
				r.drain(10 * time.Second)
				wantSaid(t, r, tc.want...)
				if c.lists != tc.lists {
					t.Errorf("%d lists, want %d", c.lists, tc.lists)
				}
				c.put("n", "later", nil, 0)
				r.until(Added)
			})
		})
	}
}

func TestAnInstanceThatIsDown(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.cluster(alpha)
		c.put("n", "a", nil, 0)
		r := w.subscribe(w.hub(Options{}), everything(alpha, beta))
		r.until(Synced)
		r.said()
		c.set(func(c *cluster) { c.down = errBroken })
		c.fail(errBroken)
		e := r.until(Interrupted)
		if e.Source != alpha || apierror.CodeOf(e.Err) != apierror.CodeInstanceUnavailable {
			t.Errorf("INTERRUPTED of %v: %v", e.Source, e.Err)
		}
		time.Sleep(time.Minute)
		w.cluster(beta).put("n", "x", nil, 0)
		r.until(Added)
		c.put("n", "b", nil, 0)
		c.set(func(c *cluster) { c.down = nil })
		r.until(Restored)
		wantSaid(t, r, "INTERRUPTED of alpha", "ADDED x", "ADDED b", "RESTORED of alpha")
	})
}

func TestOneSourceDoesNotHoldTheOthersUp(t *testing.T) {
	for _, tc := range []struct {
		reason string
		fault  func(c *cluster)
		within time.Duration
	}{
		{"a source that fails is not waited for", func(c *cluster) { c.down = errBroken }, time.Second},
		{"one that hangs is waited for a little", func(c *cluster) { c.hung = true }, 6 * time.Second},
		{"nor one that is not served", func(c *cluster) { c.down = errNotServed }, time.Second},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				w.cluster(beta).put("n", "b", nil, 0)
				w.cluster(alpha).put("n", "a", nil, 0)
				w.cluster(alpha).set(tc.fault)
				begun := time.Now()
				r := w.subscribe(w.hub(Options{SyncTimeout: 5 * time.Second}), everything(alpha, beta))
				r.until(Synced)
				if took := time.Since(begun); took > tc.within {
					t.Errorf("SYNCED after %s, want at most %s", took, tc.within)
				}
				said := r.said()
				if len(said) != 3 || said[2] != "SYNCED" {
					t.Errorf("said %q", said)
				}
				w.cluster(alpha).set(func(c *cluster) { c.down = nil })
				if w.cluster(alpha).hung {
					return // Nothing but its end wakes a request that hangs.
				}
				r.until(Restored)
				wantSaid(t, r, "ADDED a", "SYNCED of alpha", "RESTORED of alpha")
			})
		})
	}
}

func TestAnInstanceThatGoes(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.cluster(alpha)
		c.put("n", "a", nil, 0)
		w.cluster(beta).put("n", "b", nil, 0)
		h := w.hub(Options{})
		both, one := w.subscribe(h, everything(alpha, beta)), w.subscribe(h, everything(alpha))
		both.until(Synced)
		one.until(Synced)
		both.said()
		one.said()
		c.set(func(c *cluster) { c.down = apierror.NotFound("instance", "alpha") })
		c.fail(c.down)
		both.until(Ended)
		wantSaid(t, both, "DELETED a", "ENDED of alpha")
		one.until(Ended)
		if _, err := one.next(t.Context()); apierror.CodeOf(err) != apierror.CodeNotFound {
			t.Errorf("the end of the last source: %v, want NOT_FOUND", err)
		}
		w.cluster(beta).put("n", "c", nil, 0)
		both.until(Added)
		// It comes again.
		w.mu.Lock()
		w.clusters[alpha] = newCluster(alpha)
		w.mu.Unlock()
		w.cluster(alpha).put("n", "again", nil, 0)
		if err := both.stream.Follow(everything(alpha, beta).Interests, nil); err != nil {
			t.Fatal(err)
		}
		both.until(Synced)
		wantSaid(t, both, "ADDED c", "ADDED again", "SYNCED of alpha")
	})
}

// A stream that follows all instances begins without any, and stays open without any.
func TestAnOpenStreamOutlivesItsSources(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.cluster(alpha).put("n", "a", nil, 0)
		r := w.subscribe(w.hub(Options{}), Subscription{Open: true})
		r.until(Synced)
		for range 2 {
			if err := r.stream.Follow(everything(alpha).Interests, nil); err != nil {
				t.Fatal(err)
			}
			r.drain(time.Second)
			if err := r.stream.Follow(nil, apierror.NotFound("instance", "alpha")); err != nil {
				t.Fatal(err)
			}
			r.drain(time.Second)
		}
		again := []string{"ADDED a", "SYNCED of alpha", "DELETED a", "ENDED of alpha"}
		wantSaid(t, r, append(append([]string{"SYNCED"}, again...), again...)...)
	})
}

func TestFollow(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.cluster(alpha).put("n", "a", nil, 0)
		w.cluster(beta).put("n", "b", nil, 0)
		r := w.subscribe(w.hub(Options{}), everything())
		r.until(Synced)
		follow := func(s ...Source) {
			if err := r.stream.Follow(everything(s...).Interests, apierror.NotFound("instance", "x")); err != nil {
				t.Fatal(err)
			}
		}
		follow(alpha)
		r.drain(time.Second)
		follow(alpha, beta)
		r.drain(time.Second)
		follow(beta)
		r.drain(time.Second)
		wantSaid(t, r, "SYNCED", "ADDED a", "SYNCED of alpha", "ADDED b", "SYNCED of beta", "DELETED a", "ENDED of alpha")
	})
}

// What may be seen of a source that stays may be more or less than it was: it begins again.
func TestFollowAnotherScope(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.cluster(alpha)
		c.put("n", "a", nil, 0)
		c.put("n", "b", nil, 0)
		w.cluster(beta).put("n", "c", nil, 0)
		interests := func(scope string, names ...string) Subscription {
			s := everything(alpha, beta)
			s.Interests[0].Scope, s.Interests[0].Filter.Match = scope, func(o *Object) bool { return slices.Contains(names, o.Meta.Name) }
			return s
		}
		h := w.hub(Options{})
		r := w.subscribe(h, interests("a", "a"))
		r.until(Synced)
		r.said()
		follow := func(s Subscription) {
			if err := r.stream.Follow(s.Interests, nil); err != nil {
				t.Fatal(err)
			}
			r.drain(time.Second)
		}
		follow(interests("a", "a", "b"))
		wantSaid(t, r)
		c.put("n", "a", nil, 1) // It waits while the scope changes.
		synctest.Wait()
		follow(interests("a and b", "a", "b"))
		wantSaid(t, r, "GAP of alpha", "ADDED a", "ADDED b", "SYNCED of alpha")
		c.put("n", "b", nil, 1)
		r.drain(time.Second)
		wantSaid(t, r, "MODIFIED b")
		r.stream.Close()
		r.resume(h, interests("a and b", "a", "b"))
		r.until(Synced)
		wantSaid(t, r, "SYNCED")
	})
}

func TestTheEndOfAStream(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		h := w.hub(Options{})
		why := errors.New("the token expired")
		ctx, cancel := context.WithCancelCause(t.Context())
		stream, err := h.Subscribe(ctx, everything(alpha))
		if err != nil {
			t.Fatal(err)
		}
		cancel(why)
		synctest.Wait()
		if _, err := stream.Next(t.Context()); !errors.Is(err, why) {
			t.Errorf("after the end of its context: %v", err)
		}
		other := w.subscribe(h, everything(alpha))
		other.until(Synced)
		h.Stop()
		if _, err := other.next(t.Context()); !errors.Is(err, errStopped) {
			t.Errorf("after the hub's end: %v", err)
		}
		if _, err := h.Subscribe(t.Context(), everything(alpha)); !errors.Is(err, errStopped) {
			t.Errorf("subscribing after the hub's end: %v", err)
		}
		if n := w.cluster(alpha).open(); n != 0 {
			t.Errorf("%d watches are left", n)
		}
	})
}
