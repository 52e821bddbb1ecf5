package globalmanagementwebhook

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	gm "github.com/kairship-io/kairship/pkg/globalmanagement"
)

func named(id string) func(*gm.Binding) { return func(b *gm.Binding) { b.BindingID = id } }

// results are what became of the bindings, in words.
func results(report gm.ResyncReport) map[string]string {
	words := map[string]string{}
	for _, b := range report.Bindings {
		words[b.BindingID] = fmt.Sprintf("%s %d %s", b.Result, b.Sequence, b.Code)
	}
	return words
}

func TestResync(t *testing.T) {
	w := newWorld(t, 1)
	person := &v1alpha1.InstanceRoleBinding{}
	person.Name = "by-hand"
	person.Spec = *specOf(binding(1))
	person.Spec.Source = nil
	if err := w.kube.Create(t.Context(), person); err != nil {
		t.Fatal(err)
	}
	for id, sequence := range map[string]int64{"same": 3, "newer-here": 7, "newer-there": 2, "differs": 4, "absent": 6, "revoked": 1} {
		w.must(w.event(gm.Bound, binding(sequence, named(id))), gm.Stored, sequence)
	}
	w.must(w.event(gm.Unbound, binding(2, named("revoked"))), gm.Stored, 2)
	asOf := w.clock
	w.clock = w.clock.Add(time.Minute)
	w.must(w.event(gm.Bound, binding(1, named("made-since"))), gm.Stored, 1)

	all := gm.Resync{AsOf: asOf.UnixMilli(), Bindings: []gm.Binding{
		binding(3, named("same"), reordered), binding(5, named("newer-here"), viewer), binding(8, named("newer-there"), viewer),
		binding(4, named("differs"), viewer), binding(9, named("missing")),
		binding(1, named("nowhere"), func(b *gm.Binding) { b.Instance = "gamma" }), binding(6, named("same2"), beta),
	}}
	g := w.send(w.replicas[0], w.sign(gm.ResyncPath, all))
	if g.status != 200 {
		t.Fatalf("got %+v", g)
	}
	want := map[string]string{
		"same": "unchanged 3 ", "newer-here": "superseded 7 ", "newer-there": "stored 8 ", "differs": "stored 4 ", "missing": "stored 9 ",
		"nowhere": "refused 0 UNKNOWN_INSTANCE", "same2": "stored 6 ", "absent": "revoked 6 ", "made-since": "kept 1 ",
	}
	if diff := cmp.Diff(want, results(g.report)); diff != "" {
		t.Errorf("the report (-want +got):\n%s", diff)
	}
	counts := map[gm.Result]int{gm.Unchanged: 1, gm.Superseded: 1, gm.Stored: 4, gm.Refused: 1, gm.Revoked: 1, gm.Kept: 1}
	if diff := cmp.Diff(counts, g.report.Counts); diff != "" {
		t.Errorf("the counts (-want +got):\n%s", diff)
	}
	for i, b := range all.Bindings {
		if g.report.Bindings[i].BindingID != b.BindingID {
			t.Errorf("binding %d of the report is %s, want that of the request", i, g.report.Bindings[i].BindingID)
		}
	}
	for id, role := range map[string]v1alpha1.Role{"newer-here": "editor", "newer-there": "viewer", "differs": "viewer", "missing": "editor"} {
		if is := w.stored(id).Spec; is.Role != role || is.Revoked {
			t.Errorf("%s is %+v", id, is)
		}
	}
	if !w.stored("absent").Spec.Revoked || w.stored("made-since").Spec.Revoked {
		t.Error("what is absent loses its role, what is newer keeps it")
	}

	before := w.picture()
	if g := w.send(w.replicas[0], w.sign(gm.ResyncPath, all)); g.status != 200 || g.report.Counts[gm.Stored] != 0 || g.report.Counts[gm.Revoked] != 0 {
		t.Errorf("the second time: %+v", g)
	}
	if after := w.picture(); after != before {
		t.Errorf("the second time something was written:\n%s\nwas:\n%s", after, before)
	}

	t.Run("events go on from there", func(*testing.T) {
		w.must(w.event(gm.Bound, binding(9, named("missing"))), gm.Duplicate, 9)
		w.must(w.event(gm.Changed, binding(8, named("missing"), viewer)), gm.Superseded, 9)
		w.must(w.event(gm.Changed, binding(10, named("missing"), viewer)), gm.Stored, 10)
		w.must(w.event(gm.Bound, binding(6, named("absent"))), gm.Duplicate, 6)
	})
	t.Run("a resync from before does not bring back what a later one took away", func(t *testing.T) {
		old := gm.Resync{AsOf: asOf.Add(-time.Minute).UnixMilli(), Bindings: append(all.Bindings, binding(6, named("absent")))}
		g := w.send(w.replicas[0], w.sign(gm.ResyncPath, old))
		if got := results(g.report)["absent"]; got != "superseded 6 " || !w.stored("absent").Spec.Revoked {
			t.Errorf("got %s", got)
		}
	})
	t.Run("a later one does", func(t *testing.T) {
		next := gm.Resync{AsOf: asOf.Add(time.Second).UnixMilli(), Bindings: append(all.Bindings, binding(6, named("absent")))}
		g := w.send(w.replicas[0], w.sign(gm.ResyncPath, next))
		if got := results(g.report)["absent"]; got != "stored 6 " || w.stored("absent").Spec.Revoked {
			t.Errorf("got %s", got)
		}
	})
	t.Run("an empty one takes every role away but a person's", func(t *testing.T) {
		w.clock = w.clock.Add(time.Minute)
		g := w.send(w.replicas[0], w.sign(gm.ResyncPath, gm.Resync{AsOf: w.clock.Add(-time.Second).UnixMilli(), Bindings: []gm.Binding{}}))
		if g.status != 200 || g.report.Counts[gm.Revoked] != len(g.report.Bindings) || len(g.report.Bindings) == 0 {
			t.Errorf("got %+v", g)
		}
		list := &v1alpha1.InstanceRoleBindingList{}
		if err := w.kube.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			if is := &list.Items[i]; is.Spec.Revoked == (is.Name == "by-hand") {
				t.Errorf("%s: revoked is %t", is.Name, is.Spec.Revoked)
			}
		}
	})
}

func TestResyncReportsWhatFails(t *testing.T) {
	w := newWorld(t, 1)
	creations := 0
	h := w.replica(w.failing(func(verb string) error {
		if verb == "create" {
			creations++
			if creations == 2 {
				return errors.New("gone")
			}
		}
		return nil
	}))
	all := gm.Resync{AsOf: w.clock.UnixMilli() - 1000, Bindings: []gm.Binding{binding(1, named("1"))}}
	g := w.send(h, w.sign(gm.ResyncPath, all))
	if g.status != 200 || g.report.Counts[gm.Stored] != 1 {
		t.Fatalf("got %+v", g)
	}
	all.Bindings = append(all.Bindings, binding(1, named("2")))
	g = w.send(h, w.sign(gm.ResyncPath, all))
	want := map[string]string{"1": "unchanged 1 ", "2": "failed 0 UNAVAILABLE"}
	if diff := cmp.Diff(want, results(g.report)); g.status != 503 || g.retryAfter != "1" || diff != "" {
		t.Errorf("status %d, Retry-After %q, report (-want +got):\n%s", g.status, g.retryAfter, diff)
	}
	if g = w.send(h, w.sign(gm.ResyncPath, all)); g.status != 200 || g.report.Counts[gm.Stored] != 1 || g.report.Counts[gm.Unchanged] != 1 {
		t.Errorf("the next attempt: %+v", g)
	}

	blind := w.replica(w.failing(func(verb string) error {
		if verb == "list" {
			return errors.New("gone")
		}
		return nil
	}))
	w.refused(w.send(blind, w.sign(gm.ResyncPath, all)), 503, gm.Unavailable)
}

// TestResyncCostsNothingWhereNothingDiffers counts requests: a resync now and then must
// cost little.
func TestResyncCostsNothingWhereNothingDiffers(t *testing.T) {
	w := newWorld(t, 0)
	var requests []string
	h := w.replica(w.failing(func(verb string) error { requests = append(requests, verb); return nil }))
	all := gm.Resync{AsOf: w.clock.UnixMilli() - 1000, Bindings: []gm.Binding{}}
	for i := range 5 {
		b := binding(1, named(fmt.Sprint(i)))
		w.must(w.send(h, w.sign(gm.EventsPath, gm.Event{EventID: fmt.Sprint(i), Type: gm.Bound, Binding: b})), gm.Stored, 1)
		all.Bindings = append(all.Bindings, b)
	}
	requests = nil
	if g := w.send(h, w.sign(gm.ResyncPath, all)); g.report.Counts[gm.Unchanged] != 5 {
		t.Fatalf("got %+v", g)
	}
	if diff := cmp.Diff([]string{"list", "list"}, requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	all.Bindings = append(all.Bindings, binding(1, named("new")))
	requests = nil
	w.send(h, w.sign(gm.ResyncPath, all))
	if diff := cmp.Diff([]string{"list", "list", "create"}, requests); diff != "" {
		t.Errorf("requests for one that is missing (-want +got):\n%s", diff)
	}
}
