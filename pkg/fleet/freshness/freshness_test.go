package freshness_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	clusterpediav1alpha2 "github.com/clusterpedia-io/api/cluster/v1alpha2"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// ago is a moment some seconds before now.
func ago(seconds int) time.Time { return now.Add(-time.Duration(seconds) * time.Second) }

// tracker watches these objects, and a Cluster for each that is collected where
// there is none among them. Neither the collector nor the global cluster was ever
// heard of, so neither is missed.
func tracker(t *testing.T, objects ...client.Object) *freshness.Tracker {
	t.Helper()
	for _, o := range objects {
		if _, collected := o.(*clusterpediav1alpha2.PediaCluster); collected && !slices.ContainsFunc(objects, func(c client.Object) bool {
			_, ours := c.(*v1alpha1.Cluster)
			return ours && c.GetName() == o.GetName()
		}) {
			objects = append(objects, kairship(o.GetName(), "", "", 0))
		}
	}
	return watching(t, objects...)
}

func watching(t *testing.T, objects ...client.Object) *freshness.Tracker {
	t.Helper()
	clock := func() time.Time { return now }
	return &freshness.Tracker{
		Inventory: fleettest.Inventory(t, objects...), Now: clock,
		Collector: freshness.NewPulse(clock, time.Minute), Global: freshness.NewPulse(clock, time.Minute),
	}
}

// pedia is the record of a cluster with these conditions, each changed some seconds ago.
func pedia(name string, conditions ...metav1.Condition) *clusterpediav1alpha2.PediaCluster {
	return &clusterpediav1alpha2.PediaCluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: clusterpediav1alpha2.ClusterStatus{Conditions: conditions}}
}

func condition(typ string, status metav1.ConditionStatus, reason string, seconds int) metav1.Condition {
	return metav1.Condition{Type: typ, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(ago(seconds))}
}

func running(status metav1.ConditionStatus, reason string, seconds int) metav1.Condition {
	return condition(clusterpediav1alpha2.SynchroRunningCondition, status, reason, seconds)
}

func healthy(status metav1.ConditionStatus, reason string, seconds int) metav1.Condition {
	return condition(clusterpediav1alpha2.ClusterHealthyCondition, status, reason, seconds)
}

// kairship is our own record of a cluster, with its condition Reachable.
func kairship(name string, status metav1.ConditionStatus, reason string, seconds int) *v1alpha1.Cluster {
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if status != "" {
		c.Status.Conditions = []metav1.Condition{condition(v1alpha1.ConditionReachable, status, reason, seconds)}
	}
	return c
}

// told is what a freshness says, in seconds.
type told struct {
	Lag     float64
	Never   bool
	Message string
}

func summary(t *testing.T, f freshness.Freshness) told {
	t.Helper()
	got := told{Never: f.ObservedAt == nil}
	if f.Message != nil {
		got.Message = *f.Message
	}
	if f.Stale != (f.Message != nil) || (f.Lag == nil) != got.Never {
		t.Errorf("stale %v and message %v, observed at %v and lag %v", f.Stale, f.Message, f.ObservedAt, f.Lag)
	}
	if f.Lag != nil {
		if got.Lag = *f.Lag; !f.ObservedAt.Add(time.Duration(*f.Lag*float64(time.Second))).Equal(now) && *f.Lag > 0 {
			t.Errorf("observed at %v with a lag of %v", f.ObservedAt, *f.Lag)
		}
	}
	return got
}

func TestFreshnessOfOneCluster(t *testing.T) {
	const yes, no, unknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	for _, tt := range []struct {
		name    string
		objects []client.Object
		want    told
		why     string
	}{
		{"well", []client.Object{pedia("m1", running(yes, "", 900), healthy(yes, "", 900))}, told{}, "what is collected now is true now"},
		{"not registered", nil, told{Never: true, Message: "m1 is not registered in the index"}, "nobody collects from it"},
		{"just registered", []client.Object{pedia("m1")}, told{Never: true, Message: "collection from m1 has not started"}, "nothing is known yet"},
		{"starting", []client.Object{pedia("m1", running(yes, "", 1))}, told{Never: true, Message: "collection from m1 has not started"}, "it was never found healthy"},
		{"stopped", []client.Object{pedia("m1", running(no, "Stopped", 60), healthy(yes, "", 900))}, told{Lag: 60, Message: "collection from m1 is not running (Stopped)"}, "it was true until then"},
		{"state unknown", []client.Object{pedia("m1", running(unknown, "Lost", 60), healthy(yes, "", 900))}, told{Lag: 60, Message: "collection from m1 is not running (Lost)"}, "what is not known to run does not"},
		{"dead", []client.Object{pedia("m1", running(yes, "", 900), healthy(no, "Unreachable", 60))}, told{Lag: 72.5, Message: "m1 does not answer the index (Unreachable)"}, "it was last well one look earlier, and looks are up to 12.5 seconds apart"},
		{"stopped and dead", []client.Object{pedia("m1", running(no, "Stopped", 60), healthy(no, "Unreachable", 30))}, told{Lag: 60, Message: "collection from m1 is not running (Stopped)"}, "who does not run does not look"},
		{"reachable", []client.Object{pedia("m1", running(yes, "", 900), healthy(yes, "", 900)), kairship("m1", yes, "", 900)}, told{}, "we agree"},
		{"not looked at", []client.Object{pedia("m1", running(yes, "", 900), healthy(yes, "", 900)), kairship("m1", "", "", 0)}, told{}, "we know nothing else"},
		{"we can't reach it", []client.Object{pedia("m1", running(yes, "", 900), healthy(yes, "", 900)), kairship("m1", no, "Timeout", 30)}, told{Lag: 46, Message: "m1 cannot be reached (Timeout)"}, "Clusterpedia may fail to write what it sees; our looks are up to 16 seconds apart"},
		{"we could not reach it before", []client.Object{pedia("m1", running(yes, "", 900), healthy(yes, "", 20)), kairship("m1", no, "Timeout", 30)}, told{}, "Clusterpedia saw it come back first"},
		{"both say it is dead", []client.Object{pedia("m1", running(yes, "", 900), healthy(no, "Unreachable", 60)), kairship("m1", no, "Timeout", 30)}, told{Lag: 72.5, Message: "m1 does not answer the index (Unreachable)"}, "one word of it is enough"},
	} {
		f := tracker(t, tt.objects...).Of(t.Context(), "m1")
		if diff := cmp.Diff(tt.want, summary(t, f)); diff != "" || f.Source != freshness.SourceIndex {
			t.Errorf("%s: %s; source %s (-want +got):\n%s", tt.name, tt.why, f.Source, diff)
		}
		if got := tracker(t, tt.objects...).Stale(t.Context(), "m1"); got != (tt.want.Message != "") {
			t.Errorf("%s: stale %v", tt.name, got)
		}
	}
}

// An answer about several clusters is as old as the oldest part of it, and says all
// that is wrong.
func TestFreshnessOfSeveralClusters(t *testing.T) {
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	objects := []client.Object{
		fleettest.Collected("well", ago(900)),
		pedia("dead", running(yes, "", 900), healthy(no, "Unreachable", 60)),
		pedia("gone", running(yes, "", 900), healthy(no, "Unreachable", 600)),
		pedia("new"),
	}
	for _, tt := range []struct {
		clusters []string
		want     told
		why      string
	}{
		{nil, told{}, "an answer about nothing is as fresh as its reading"},
		{[]string{"well", "well"}, told{}, "all are well"},
		{[]string{"well", "dead"}, told{Lag: 72.5, Message: "dead does not answer the index (Unreachable)"}, "one of them is behind"},
		{[]string{"gone", "dead", "dead"}, told{Lag: 612.5, Message: "dead does not answer the index (Unreachable); gone does not answer the index (Unreachable)"}, "the one most behind counts; each is named once, in order"},
		{[]string{"new", "gone"}, told{Never: true, Message: "gone does not answer the index (Unreachable); collection from new has not started"}, "part of the answer was never collected"},
	} {
		if diff := cmp.Diff(tt.want, summary(t, tracker(t, objects...).Of(t.Context(), tt.clusters...))); diff != "" {
			t.Errorf("%v: %s (-want +got):\n%s", tt.clusters, tt.why, diff)
		}
	}
}

// The witnesses themselves may be gone.
func TestFreshnessWhenWitnessesAreGone(t *testing.T) {
	silent := func(seconds int) *freshness.Pulse {
		p := freshness.NewPulse(func() time.Time { return now }, time.Minute)
		p.Beat(ago(seconds))
		return p
	}
	for _, tt := range []struct {
		name              string
		collector, global int
		of                []string
		want, live        told
		why               string
	}{
		{"both are there", 10, 10, []string{"m1"}, told{}, told{}, "a minute of silence is allowed"},
		{"no collector", 90, 10, []string{"m1"}, told{Lag: 90, Message: "the collector of the index does not run"}, told{}, "its records say what it wrote last"},
		{"no collector, and nothing collected", 90, 10, nil, told{}, told{}, "an answer about nothing needs none"},
		{"no global cluster", 10, 90, []string{"m1"}, told{Lag: 90, Message: "the global cluster is not heard of"}, told{Lag: 90, Message: "the global cluster is not heard of"}, "what is watched there stands still"},
		{"neither", 120, 90, []string{"m1"}, told{Lag: 120, Message: "the global cluster is not heard of; the collector of the index does not run"}, told{Lag: 90, Message: "the global cluster is not heard of"}, "the most pessimistic counts"},
	} {
		tr := tracker(t, fleettest.Collected("m1", ago(900)))
		tr.Collector, tr.Global = silent(tt.collector), silent(tt.global)
		if diff := cmp.Diff(tt.want, summary(t, tr.Of(t.Context(), tt.of...))); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", tt.name, tt.why, diff)
		}
		live := tr.Live()
		if diff := cmp.Diff(tt.live, summary(t, live)); diff != "" || live.Source != freshness.SourceLive {
			t.Errorf("%s: live: source %s (-want +got):\n%s", tt.name, live.Source, diff)
		}
	}
}

// What is collected for somebody else says nothing about us.
func TestFreshnessOfWhatIsCollectedForOthers(t *testing.T) {
	f := watching(t, fleettest.Collected("m1", ago(900))).Of(t.Context(), "m1")
	want := told{Never: true, Message: "the index collects something of somebody else's as m1, which is not shown"}
	if diff := cmp.Diff(want, summary(t, f)); diff != "" || !f.Stale {
		t.Errorf("stale %v (-want +got):\n%s", f.Stale, diff)
	}
}

// broken is a watch that can't be read.
type broken struct{ client.Reader }

func (broken) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("a secret of the cache")
}

func TestFreshnessThatCannotBeRead(t *testing.T) {
	tr := tracker(t)
	tr.Inventory = broken{}
	want := told{Never: true, Message: "the state of collection from m1 is not known"}
	if diff := cmp.Diff(want, summary(t, tr.Of(t.Context(), "m1"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Clocks differ: what was observed in the future has no lag.
func TestFreshnessOfTheFuture(t *testing.T) {
	tr := tracker(t, pedia("m1", running(metav1.ConditionFalse, "Stopped", -30), healthy(metav1.ConditionTrue, "", 900)))
	f := tr.Of(t.Context(), "m1")
	if f.Lag == nil || *f.Lag != 0 {
		t.Errorf("lag %v, want none", f.Lag)
	}
}
