package changes

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/live"
)

// thing is a noun of one field that it carries.
type thing struct {
	Name  string `json:"name"`
	State string `json:"state"`
}

var things = live.Source{Instance: "alpha", Resource: schema.GroupVersionResource{Version: "v1", Resource: "things"}}

func seen(name, state string) *live.Object {
	raw, _ := json.Marshal(thing{name, state})
	return live.NewObject(things, "v1", "Thing", metav1.ObjectMeta{Name: name, UID: types.UID(name)}, raw)
}

// script is a stream with prepared events, which waits at their end.
type script struct {
	events   []live.Event
	err      error
	followed chan []live.Interest
}

func (s *script) Poll() (live.Event, bool, error) {
	if len(s.events) > 0 {
		e := s.events[0]
		s.events = s.events[1:]
		return e, true, nil
	}
	return live.Event{}, false, s.err
}

func (s *script) Follow(interests []live.Interest, _ error) error {
	s.followed <- interests
	return nil
}

func (*script) Close() {}

func feedOf(s *script, selection Selection) *Feed[thing] {
	read := func(o *live.Object) (thing, error) {
		v, err := live.Decoded[thing](o)
		if err != nil {
			return thing{}, err
		}
		return *v, nil
	}
	return &Feed[thing]{
		Stream: s, Selection: selection, Bare: read, Show: read,
		Fields: []Field[thing]{{"name", func(t thing) any { return t.Name }}, {"state", func(t thing) any { return t.State }}},
		KindOf: func(live.Source) string { return "Thing" },
		Begin:  func(ctx context.Context) context.Context { return ctx },
		End:    func(context.Context, error) {},
		Logger: slog.New(slog.DiscardHandler),
	}
}

// said returns a short text for an event.
func said(e *Event[thing]) string {
	text := string(e.Type)
	if e.InstanceName != nil {
		text += " " + *e.InstanceName
	}
	if e.Kind != nil {
		text += " " + *e.Kind
	}
	if e.Object.Name != "" {
		text += " " + e.Object.Name + "=" + e.Object.State
	}
	for _, f := range e.ChangedFields {
		text += " " + f
	}
	if e.Message != nil {
		text += ": " + *e.Message
	}
	return text
}

func TestFeedTells(t *testing.T) {
	broken := live.NewObject(things, "v1", "Thing", metav1.ObjectMeta{Name: "broken", UID: "broken"}, json.RawMessage(`"no object"`))
	a1, a2 := seen("a", "1"), seen("a", "2")
	event := func(typ live.Type, now, before *live.Object) live.Event {
		return live.Event{Type: typ, Source: things, Object: now, Old: before}
	}
	for _, tt := range []struct {
		name      string
		selection Selection
		events    []live.Event
		want      []string
	}{
		{"what there is, and that it is all", Selection{}, []live.Event{event(live.Added, a1, nil), {Type: live.Synced}}, []string{"ADDED alpha Thing a=1", "SYNCED"}},
		{"a selected field changes", Selection{Carried: []string{"state"}}, []live.Event{event(live.Modified, a2, a1)}, []string{"MODIFIED alpha Thing a=2 state"}},
		{"a field changes that is not selected", Selection{Carried: []string{"name"}}, []live.Event{event(live.Modified, a2, a1), event(live.Deleted, a2, a1)}, []string{"DELETED alpha Thing a=2"}},
		{"nothing changes that the API shows", Selection{Carried: []string{"state"}, Read: true, Loads: true}, []live.Event{event(live.Modified, seen("a", "1"), a1), {Type: live.Synced}}, []string{"SYNCED"}},
		{"a source", Selection{}, []live.Event{
			{Type: live.Gap, Source: things},
			{Type: live.Synced, Source: things},
			{Type: live.Interrupted, Source: things, Err: apierror.New(apierror.CodeInstanceUnavailable, "alpha does not answer")},
			{Type: live.Interrupted, Source: things, Err: errors.New("dial tcp 10.0.0.1")},
			{Type: live.Restored, Source: things},
			{Type: live.Ended, Source: things},
		}, []string{
			"GAP alpha Thing: What happened since is not known any more. What there is now follows.",
			"SYNCED alpha Thing",
			"INTERRUPTED alpha Thing: alpha does not answer",
			"INTERRUPTED alpha Thing: It does not answer.",
			"RESTORED alpha Thing",
		}},
		{"what can't be read is left out", Selection{}, []live.Event{event(live.Added, broken, nil), event(live.Added, a1, nil)}, []string{"ADDED alpha Thing a=1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				events := feedOf(&script{events: slices.Clone(tt.events)}, tt.selection).Run(ctx, NewRunner())
				var got []string
				for len(got) < len(tt.want) {
					got = append(got, said(<-events))
				}
				synctest.Wait()
				cancel()
				if e, more := <-events; more {
					got = append(got, said(e))
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Events that are available at the same time share their reads.
func TestFeedReadsTogether(t *testing.T) {
	type scope struct{}
	synctest.Test(t, func(t *testing.T) {
		var all []live.Event
		for range batch + 1 {
			all = append(all, live.Event{Type: live.Added, Source: things, Object: seen("a", "1")})
		}
		f := feedOf(&script{events: all}, Selection{Read: true, Loads: true})
		begun := 0
		f.Begin = func(ctx context.Context) context.Context { begun++; return context.WithValue(ctx, scope{}, begun) }
		var prefetched []int
		f.Prefetch = func(_ context.Context, objects []thing) { prefetched = append(prefetched, len(objects)) }
		ctx, cancel := context.WithCancel(t.Context())
		events := f.Run(ctx, NewRunner())
		var scopes []int
		for range batch + 1 {
			e := <-events
			if !e.Remembers() {
				t.Error("what is read is not remembered")
			}
			scopes = append(scopes, e.In(t.Context()).Value(scope{}).(int))
		}
		cancel()
		if _, more := <-events; more || scopes[0] != 1 || scopes[batch-1] != 1 || scopes[batch] != 2 {
			t.Errorf("scopes %v", scopes)
		}
		if diff := cmp.Diff([]int{batch, 1}, prefetched); diff != "" {
			t.Errorf("prefetched (-want +got):\n%s", diff)
		}
	})
}

func TestFeedEnds(t *testing.T) {
	gone := apierror.NotFound("Instance", "alpha")
	synctest.Test(t, func(t *testing.T) {
		f := feedOf(&script{err: gone}, Selection{})
		var ended error
		f.End = func(_ context.Context, err error) { ended = err }
		if _, more := <-f.Run(t.Context(), NewRunner()); more || !errors.Is(ended, gone) {
			t.Errorf("ended with %v", ended)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		f := feedOf(&script{events: []live.Event{{Type: live.Synced}}}, Selection{})
		f.KindOf = func(live.Source) string { panic("a bug") }
		var ended error
		f.End = func(_ context.Context, err error) { ended = err }
		if _, more := <-f.Run(t.Context(), NewRunner()); more || ended == nil {
			t.Errorf("a panic ended it with %v", ended)
		}
	})
}

// A signal has the interests found out again, also one that came before a wait began.
func TestFeedFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var signal Signal
		s := &script{followed: make(chan []live.Interest)}
		f := feedOf(s, Selection{})
		f.Changed = signal.Listen()
		failures := 1
		f.Interests = func(context.Context) ([]live.Interest, error) {
			failures--
			if failures >= 0 {
				return nil, errors.New("the global cluster does not answer")
			}
			return []live.Interest{{Source: things}}, nil
		}
		signal.Send()
		ctx, cancel := context.WithCancel(t.Context())
		events := f.Run(ctx, NewRunner())
		for range 2 {
			if got := <-s.followed; len(got) != 1 {
				t.Errorf("follows %v", got)
			}
			synctest.Wait()
			signal.Send()
		}
		<-s.followed
		cancel()
		if _, more := <-events; more {
			t.Error("there are events")
		}
		synctest.Wait()
		if len(signal.listeners) != 0 {
			t.Error("a listener is left")
		}
	})
}

// Of an object that changes often only the last version is held.
func TestEarlierVersionsAreNotHeld(t *testing.T) {
	f := feedOf(&script{}, Selection{})
	const versions = 100
	var were []weak.Pointer[live.Object]
	last := seen("a", "0")
	for i := range versions {
		were = append(were, weak.Make(last))
		now := seen("a", strconv.Itoa(i+1))
		changed, err := f.differ(&live.Event{Type: live.Modified, Source: things, Object: now, Old: last})
		if err != nil || !slices.Equal(changed, []string{"state"}) {
			t.Fatalf("changed %v: %v", changed, err)
		}
		last = now
	}
	runtime.GC()
	held := 0
	for _, w := range were {
		if w.Value() != nil {
			held++
		}
	}
	if held > 1 {
		t.Errorf("%d of %d earlier versions are held", held, versions)
	}
	runtime.KeepAlive(last)
}
