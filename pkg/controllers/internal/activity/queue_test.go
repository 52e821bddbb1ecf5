package activity

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kairship-io/kairship/pkg/projection"
)

// database keeps what it gets, or fails.
type database struct {
	fails error
	uids  []string
	got   []projection.Activity
}

// RecordWrite implements Database.
func (d *database) RecordWrite(_ context.Context, uid string, e *projection.Entry, a *projection.Activity) error {
	if d.fails != nil {
		return d.fails
	}
	if e != nil {
		return errors.New("the history is written by the projector")
	}
	d.uids, d.got = append(d.uids, uid), append(d.got, *a)
	return nil
}

// TestQueue: each change is written once, also one that is left when the process ends.
func TestQueue(t *testing.T) {
	d := &database{}
	q := NewQueue(d, logr.Discard(), prometheus.NewRegistry())
	record := q.Recorder("workload-moves")
	change := Change{"alpha", "uid", projection.ActivityPatch, "policy.karmada.io", "PropagationPolicy", "shop", "web"}
	record.Record(change)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := q.Start(ctx); err != nil {
		t.Fatal(err)
	}
	want := []projection.Activity{{
		Instance: "alpha", Group: "policy.karmada.io", Kind: "PropagationPolicy", Namespace: "shop", Name: "web", Verb: projection.ActivityPatch,
		Way: projection.ByController, User: "controller:workload-moves", Outcome: projection.ActivitySucceeded,
	}}
	if !slices.Equal(d.got, want) || !slices.Equal(d.uids, []string{"uid"}) {
		t.Errorf("got %+v of %v, want %+v", d.got, d.uids, want)
	}
	if n := testutil.ToFloat64(q.lost.WithLabelValues("workload-moves")); n != 0 {
		t.Errorf("%v are lost", n)
	}
}

// TestQueueLoses: a database that fails or does not keep up loses changes, which are counted, and nothing waits for it.
func TestQueueLoses(t *testing.T) {
	d := &database{fails: errors.New("no database")}
	q := NewQueue(d, logr.Discard(), prometheus.NewRegistry())
	record := q.Recorder("cluster-import")
	for range queued + 3 {
		record.Record(Change{})
	}
	lost := func() float64 { return testutil.ToFloat64(q.lost.WithLabelValues("cluster-import")) }
	if got := lost(); got != 3 {
		t.Errorf("%v did not fit, want 3", got)
	}
	q.rest(t.Context())
	if got := lost(); got != queued+3 {
		t.Errorf("%v are lost, want all %d", got, queued+3)
	}
}

// TestNoRecorder: without a database there is nothing to record with.
func TestNoRecorder(t *testing.T) {
	var q *Queue
	record := q.Recorder("cluster-import")
	record.Record(Change{})
	if record != nil {
		t.Error("there is a recorder")
	}
}
