package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kairship-io/kairship/pkg/apierror"
)

func TestResume(t *testing.T) {
	for _, tc := range []struct {
		reason string
		// away is what happens while the subscriber is away.
		away func(c *cluster)
		want []string
		// elsewhere is what it costs at a replica that begins to watch: lists of the past.
		exact int
	}{
		{"nothing happened", func(*cluster) {}, []string{"SYNCED"}, 0},
		{"what changed is told once", func(c *cluster) {
			c.put("n", "a", nil, 1)
			c.put("n", "a", nil, 2)
			c.remove("n", "b")
			c.put("n", "d", nil, 0)
		}, []string{"DELETED b", "MODIFIED a", "ADDED d", "SYNCED"}, 1},
		{"what went and came again is another", func(c *cluster) { c.remove("n", "a"); c.put("n", "a", nil, 1) }, []string{"DELETED a", "ADDED a", "SYNCED"}, 1},
		{"the cluster cannot be watched from there", func(c *cluster) { c.remove("n", "a"); c.set(func(c *cluster) { c.cached = c.version }) }, []string{"DELETED a", "SYNCED"}, 1},
		{"the cluster forgot", func(c *cluster) { c.remove("n", "a"); c.set(func(c *cluster) { c.compacted = c.version }) }, []string{"GAP of alpha", "ADDED b", "ADDED c", "SYNCED"}, 1},
		{"another cluster", func(c *cluster) { c.set(func(c *cluster) { c.identity = 9 }) }, []string{"GAP of alpha", "ADDED a", "ADDED b", "ADDED c", "SYNCED"}, 0},
		{"the same cluster, whose API server has just started", func(c *cluster) { c.set(func(c *cluster) { c.waking = 1 }) }, []string{"INTERRUPTED of alpha", "SYNCED"}, 0},
		{"a history that is not there yet", func(c *cluster) { c.set(func(c *cluster) { c.version -= 50 }) }, []string{"GAP of alpha", "ADDED a", "ADDED b", "ADDED c", "SYNCED"}, 0},
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
				r.stream.Close()
				tc.away(c)
				r.resume(w.hub(Options{}), everything(alpha))
				r.until(Synced)
				said := r.said()
				slices.Sort(said)
				want := slices.Clone(tc.want)
				slices.Sort(want)
				if diff := cmp.Diff(want, said); diff != "" {
					t.Errorf("what the stream said (-want +got):\n%s", diff)
				}
				if c.exact > tc.exact {
					t.Errorf("the cluster was asked for its past %d times, want %d", c.exact, tc.exact)
				}
				if diff := cmp.Diff(c.matching(Filter{}), versionsOf(r.known[alpha])); diff != "" {
					t.Errorf("what is known (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestResumeFromMemory(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.cluster(alpha)
		c.put("n", "a", nil, 0)
		h := w.hub(Options{})
		r := w.subscribe(h, everything(alpha))
		r.until(Synced)
		r.said()
		r.stream.Close()
		c.put("n", "a", nil, 1)
		c.put("n", "b", nil, 1)
		synctest.Wait()
		r.resume(h, everything(alpha))
		r.until(Synced)
		wantSaid(t, r, "MODIFIED a", "ADDED b", "SYNCED")
		if c.exact > 0 || c.lists > 1 {
			t.Errorf("the cluster was listed %d times and asked for its past %d times", c.lists, c.exact)
		}
	})
}

func TestResumeAtAReplicaThatIsBehind(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.cluster(alpha)
		c.put("n", "a", nil, 0)
		first, second := w.hub(Options{}), w.hub(Options{})
		r, other := w.subscribe(first, everything(alpha)), w.subscribe(second, everything(alpha))
		r.until(Synced)
		other.until(Synced)
		// Only the first replica hears how far the cluster is.
		c.set(func(c *cluster) { c.version += 10 })
		c.put("n", "b", nil, 0)
		r.until(Added)
		second.mu.Lock()
		f := second.feeds[alpha]
		second.mu.Unlock()
		f.mu.Lock()
		f.version, f.objects = 101, map[Key]*Object{{"n", "a"}: f.objects[Key{"n", "a"}]}
		f.history.reset(101)
		f.mu.Unlock()
		r.stream.Close()
		r.said()
		r.resume(second, everything(alpha))
		r.until(Synced)
		wantSaid(t, r, "SYNCED")
		c.put("n", "b", nil, 1)
		r.until(Modified)
	})
}

// A relist without differences misses objects that were created and deleted meanwhile, which
// another replica may have delivered.
func TestResumeFromWhatARelistDidNotHear(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c := w.cluster(alpha)
		before := c.put("n", "a", nil, 0)
		first, second := w.hub(Options{}), w.hub(Options{})
		r, other := w.subscribe(first, everything(alpha)), w.subscribe(second, everything(alpha))
		r.until(Synced)
		other.until(Synced)
		c.put("n", "b", nil, 0)
		r.until(Added)
		r.stream.Close()
		r.said()
		c.remove("n", "b")
		synctest.Wait()
		// As if the second replica's watch had been broken all the time.
		second.mu.Lock()
		f := second.feeds[alpha]
		second.mu.Unlock()
		f.mu.Lock()
		f.version = before
		f.history.reset(before)
		f.mu.Unlock()
		c.set(func(c *cluster) { c.cached = c.version })
		c.fail(io.EOF)
		time.Sleep(10 * time.Second)
		r.resume(second, everything(alpha))
		r.until(Synced)
		wantSaid(t, r, "DELETED b", "SYNCED")
	})
}

func TestResumeInTheMiddleOfASnapshot(t *testing.T) {
	for _, elsewhere := range []bool{false, true} {
		for stop := range 5 {
			t.Run(fmt.Sprintf("after %d objects, at another replica: %t", stop, elsewhere), func(t *testing.T) {
				inBubble(t, func(t *testing.T, w *world) {
					c := w.cluster(alpha)
					for _, name := range []string{"a", "b", "c", "d"} {
						c.put("n", name, nil, 0)
					}
					h := w.hub(Options{})
					r := w.subscribe(h, everything(alpha))
					for range stop {
						if _, err := r.next(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
					r.stream.Close()
					c.remove("n", "a")
					c.put("n", "b", nil, 1)
					c.put("n", "c", nil, 1)
					c.put("n", "e", nil, 1)
					synctest.Wait()
					if elsewhere {
						h = w.hub(Options{})
					}
					r.resume(h, everything(alpha))
					r.until(Synced)
					for _, e := range r.events {
						if e.Type == Gap {
							t.Error("there was no need of a GAP")
						}
					}
					if diff := cmp.Diff(c.matching(Filter{}), versionsOf(r.known[alpha])); diff != "" {
						t.Errorf("what is known (-want +got):\n%s", diff)
					}
				})
			})
		}
	}
}

// A subscriber that is cut off again and again before it has caught up is told everything once, or begins again: its
// cursor has a step for each time, and room for some.
func TestResumeAgainAndAgain(t *testing.T) {
	for _, times := range []int{maxSteps - 1, maxSteps, maxSteps + 3} {
		t.Run(fmt.Sprintf("%d times", times), func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				c, h := w.cluster(alpha), w.hub(Options{})
				r := w.subscribe(h, everything(alpha))
				change := func(value int) {
					for i := range times + 1 {
						c.put("n", fmt.Sprint("o", i), nil, value)
					}
					synctest.Wait()
				}
				change(0)
				r.until(Synced)
				for n := range times {
					r.stream.Close()
					change(n + 1)
					r.resume(h, everything(alpha))
					for range times - n {
						if _, err := r.next(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
				}
				r.stream.Close()
				r.resume(h, everything(alpha))
				r.until(Synced)
				if diff := cmp.Diff(c.matching(Filter{}), versionsOf(r.known[alpha])); diff != "" {
					t.Errorf("what is known (-want +got):\n%s", diff)
				}
				gap := slices.ContainsFunc(r.events, func(e Event) bool { return e.Type == Gap })
				if want := times >= maxSteps; gap != want {
					t.Errorf("a GAP: %t, want %t", gap, want)
				}
			})
		})
	}
}

func TestCursorsOfOthers(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		h := w.hub(Options{})
		w.cluster(alpha).put("n", "a", nil, 0)
		r := w.subscribe(h, everything(alpha))
		r.until(Synced)
		subscribe := func(identity, after string) error {
			s := everything(alpha)
			s.Identity, s.After = identity, after
			stream, err := h.Subscribe(t.Context(), s)
			if err == nil {
				stream.Close()
			}
			return err
		}
		for _, tc := range []struct {
			reason, identity, after string
			invalid                 bool
		}{
			{"one's own", "test", r.cursor, false},
			{"of another subscription", "other", r.cursor, true},
			{"changed", "test", r.cursor[:20] + strings.Map(func(c rune) rune {
				if c == 'A' {
					return 'B'
				}
				return 'A'
			}, r.cursor[20:21]) + r.cursor[21:], true},
			{"cut off", "test", r.cursor[:len(r.cursor)-4], true},
			{"nothing of ours", "test", "hello", true},
			{"too long", "test", strings.Repeat("A", maxCursor+1), true},
		} {
			err := subscribe(tc.identity, tc.after)
			if got := apierror.Is(err, apierror.CodeInvalid); got != tc.invalid {
				t.Errorf("a cursor %s: %v", tc.reason, err)
			}
		}
		// Of a key that was removed: like history that is lost.
		stream, err := h.Subscribe(t.Context(), Subscription{
			Interests: everything(alpha).Interests, Identity: "test",
			After: newSealer([]byte("another key of thirty two bytes."), "test").write(nil),
		})
		if err != nil {
			t.Fatal(err)
		}
		if e, err := stream.Next(t.Context()); err != nil || e.Type != Gap {
			t.Errorf("a cursor of a removed key: %v, %v; want a GAP", e.Type, err)
		}
		stream.Close()
	})
}

// A subscriber whose scope has changed must drop the objects it got before.
func TestCursorOfAnotherScope(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.cluster(alpha).put("n", "a", nil, 0)
		w.cluster(beta).put("n", "b", nil, 0)
		h := w.hub(Options{})
		s := everything(alpha, beta)
		s.Interests[0].Scope = "all namespaces"
		r := w.subscribe(h, s)
		r.until(Synced)
		r.stream.Close()
		r.said()
		s.Interests[0].Scope = "one namespace"
		r.resume(h, s)
		r.until(Synced)
		wantSaid(t, r, "GAP of alpha", "ADDED a", "SYNCED")
	})
}

// A cursor with more sources than fit records that, and a subscription that resumes from it begins
// again.
func TestCursorOfTooManySources(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		for _, n := range []int{900, 2000} {
			var sources []Source
			for i := range n {
				s := Source{Instance: fmt.Sprintf("i%d", i), Resource: deployments}
				w.cluster(s).put("n", "a", nil, 0)
				sources = append(sources, s)
			}
			h := w.hub(Options{})
			r := w.subscribe(h, everything(sources...))
			r.until(Synced)
			r.stream.Close()
			r.said()
			r.resume(h, everything(sources...))
			r.until(Synced)
			gaps := 0
			for _, said := range r.said() {
				if strings.HasPrefix(said, "GAP") {
					gaps++
				}
			}
			if want := map[int]int{900: 0, 2000: 2000}[n]; gaps != want {
				t.Errorf("%d sources: %d gaps, want %d", n, gaps, want)
			}
			r.stream.Close()
		}
	})
}

// The differences of a source that was removed during the disconnection can't be delivered.
func TestCursorOfASourceThatWent(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.cluster(alpha).put("n", "a", nil, 0)
		w.cluster(beta).put("n", "b", nil, 0)
		h := w.hub(Options{})
		r := w.subscribe(h, everything(alpha, beta))
		r.until(Synced)
		r.stream.Close()
		r.said()
		r.resume(h, everything(beta))
		r.until(Synced)
		wantSaid(t, r, "GAP", "ADDED b", "SYNCED")
		if len(r.known[alpha]) > 0 {
			t.Error("what was told of the source is still known")
		}
	})
}

// A quiet source's cursor moves along with what its cluster reports about its version.
func TestCursorsOfQuietSourcesMove(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		a, b := w.cluster(alpha), w.cluster(beta)
		a.put("n", "a", nil, 0)
		r := w.subscribe(w.hub(Options{}), everything(alpha, beta))
		r.until(Synced)
		a.bookmark(1000)
		synctest.Wait()
		b.put("n", "b", nil, 0)
		r.until(Added)
		a.set(func(c *cluster) { c.compacted = c.version })
		r.stream.Close()
		r.said()
		r.resume(w.hub(Options{}), everything(alpha, beta))
		r.until(Synced)
		wantSaid(t, r, "SYNCED")
	})
}

// TestConvergence changes objects at random while readers with different filters
// come and go between two replicas, and clusters fail.
func TestConvergence(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) { converge(t, w, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func converge(t *testing.T, w *world, random *rand.Rand) {
	c, b := w.cluster(alpha), w.cluster(Source{Instance: "alpha", Resource: bindings})
	hubs := []*Hub{
		w.hub(Options{History: 50, MaxPending: 30, IdleTimeout: time.Second}),
		w.hub(Options{History: 5, IdleTimeout: time.Second}),
	}
	blue, err := labels.Parse("colour=blue")
	if err != nil {
		t.Fatal(err)
	}
	filters := []Filter{{}, {Labels: blue}, {Namespaces: []string{"n1"}}, {Names: []string{"o1", "o2", "o3"}}, {Match: func(o *Object) bool { return o.version%2 == 0 }}}
	var wg sync.WaitGroup
	var readers []*reader
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i := range 12 {
		subscription := Subscription{Interests: []Interest{{Source: alpha, Filter: filters[i%len(filters)]}}}
		if i%4 == 3 {
			subscription.Interests[0].Join = sumJoin()
		}
		r := w.subscribe(hubs[i%2], subscription)
		r.name = fmt.Sprint(i)
		readers = append(readers, r)
		mine := rand.New(rand.NewPCG(random.Uint64(), uint64(i)))
		wg.Go(func() {
			for {
				wait, stop := context.WithTimeout(ctx, 20*time.Second)
				_, err := r.next(wait)
				stop()
				switch {
				case errors.Is(err, context.DeadlineExceeded):
					select {
					case <-done:
						return
					default:
					}
				case err != nil:
					t.Error(err)
					return
				case mine.IntN(20) == 0:
					time.Sleep(time.Duration(mine.IntN(2000)) * time.Millisecond)
				case mine.IntN(30) == 0:
					r.stream.Close()
					time.Sleep(time.Duration(mine.IntN(3000)) * time.Millisecond)
					r.resume(hubs[mine.IntN(2)], subscription)
				}
			}
		})
	}
	colours := []string{"blue", "red"}
	for range 400 {
		of := []*cluster{c, c, b}[random.IntN(3)]
		namespace, name := fmt.Sprint("n", random.IntN(2)), fmt.Sprint("o", random.IntN(12))
		if random.IntN(3) == 0 {
			of.remove(namespace, name)
		} else {
			of.put(namespace, name, map[string]string{"colour": colours[random.IntN(2)]}, random.IntN(3))
		}
		switch random.IntN(60) {
		case 0:
			of.set(func(c *cluster) { c.down = errBroken })
			of.fail(errBroken)
			time.Sleep(time.Duration(random.IntN(4000)) * time.Millisecond)
			of.set(func(c *cluster) { c.down = nil })
		case 1:
			of.fail(errBroken)
		case 2:
			of.set(func(c *cluster) { c.cached = c.version })
			of.fail(errBroken)
		case 3:
			of.set(func(c *cluster) { c.compacted = c.version })
			of.fail(errBroken)
		case 4:
			of.bookmark(5)
		}
		if random.IntN(3) == 0 {
			time.Sleep(time.Duration(random.IntN(200)) * time.Millisecond)
		}
	}
	close(done)
	wg.Wait()
	for i, r := range readers {
		for key, o := range r.known[alpha] {
			if sum, joined := o.Joined.(int); joined {
				if binding := b.now[key]; binding == nil && sum != 0 || binding != nil && sum != replicas(binding) {
					t.Errorf("reader %d: %v is joined to %d", i, key, sum)
				}
			}
		}
		if diff := cmp.Diff(c.matching(filters[i%len(filters)]), versionsOf(r.known[alpha])); diff != "" {
			t.Errorf("reader %d (-want +got):\n%s", i, diff)
		}
	}
}
