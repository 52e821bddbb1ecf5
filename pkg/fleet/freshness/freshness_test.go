package freshness_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// ago is a moment some seconds before now.
func ago(seconds int) time.Time { return now.Add(-time.Duration(seconds) * time.Second) }

// tracker watches these objects, and a Cluster for each that is collected where
// there is none among them. The collector and the global cluster lived a second ago.
func tracker(t *testing.T, objects ...client.Object) *freshness.Tracker {
	t.Helper()
	for _, o := range objects {
		if _, collected := o.(*pediav1alpha2.PediaCluster); collected && !slices.ContainsFunc(objects, func(c client.Object) bool {
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
	return &freshness.Tracker{Inventory: fleettest.Inventory(t, objects...), Now: clock, Collector: beaten(1), Global: beaten(1)}
}

// beaten is the heartbeat of what lived some seconds ago.
func beaten(seconds int) *freshness.Heartbeat {
	h := freshness.NewHeartbeat(func() time.Time { return now })
	h.Beat(ago(seconds))
	return h
}

// pedia is the record of a cluster with these conditions, each changed some seconds
// ago, of which pods have been collected for long.
func pedia(name string, conditions ...metav1.Condition) *pediav1alpha2.PediaCluster {
	return &pediav1alpha2.PediaCluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: pediav1alpha2.ClusterStatus{
		Conditions: conditions, SyncResources: []pediav1alpha2.ClusterGroupResourcesStatus{kind(syncing, 900)},
	}}
}

const syncing = pediav1alpha2.ResourceSyncStatusSyncing

func kind(state string, seconds int) pediav1alpha2.ClusterGroupResourcesStatus {
	return fleettest.Kind("pods", state, ago(seconds))
}

// with is a record with other states of its kinds.
func with(pc *pediav1alpha2.PediaCluster, kinds ...pediav1alpha2.ClusterGroupResourcesStatus) *pediav1alpha2.PediaCluster {
	pc.Status.SyncResources = kinds
	return pc
}

// instanceOf is a record that is to have member clusters.
func instanceOf(pc *pediav1alpha2.PediaCluster) *pediav1alpha2.PediaCluster {
	pc.Spec.SyncResources = []pediav1alpha2.ClusterGroupResources{{Group: "cluster.karmada.io", Versions: []string{"v1alpha1"}, Resources: []string{"clusters"}}}
	return pc
}

func condition(typ string, status metav1.ConditionStatus, reason string, seconds int) metav1.Condition {
	return metav1.Condition{Type: typ, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(ago(seconds))}
}

func running(status metav1.ConditionStatus, reason string, seconds int) metav1.Condition {
	return condition(pediav1alpha2.SynchroRunningCondition, status, reason, seconds)
}

func healthy(status metav1.ConditionStatus, reason string, seconds int) metav1.Condition {
	return condition(pediav1alpha2.ClusterHealthyCondition, status, reason, seconds)
}

// kairship is our own record of a cluster, with its condition Reachable.
func kairship(name string, status metav1.ConditionStatus, reason string, seconds int) *v1alpha1.Cluster {
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if status != "" {
		c.Status.Conditions = []metav1.Condition{condition(v1alpha1.ConditionReachable, status, reason, seconds)}
	}
	return c
}

// reported holds the values of a freshness, in seconds.
type reported struct {
	Lag     float64
	Never   bool
	Message string
}

func summary(t *testing.T, f freshness.Freshness) reported {
	t.Helper()
	got := reported{Never: f.ObservedAt == nil}
	if f.Message != nil {
		got.Message = *f.Message
	}
	if f.Stale != (f.Message != nil) || (f.Lag == nil) != got.Never {
		t.Errorf("stale %v and message %v, observed at %v and lag %v", f.Stale, f.Message, f.ObservedAt, f.Lag)
	}
	if !f.Stale && (f.Lag == nil || *f.Lag > freshness.StaleAfter.Seconds()) {
		t.Errorf("it is not stale with a lag of %v", f.Lag)
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
	well := func() *pediav1alpha2.PediaCluster {
		return pedia("m1", running(yes, "", 900), healthy(yes, "", 900))
	}
	back := func(seconds int) *pediav1alpha2.PediaCluster {
		return pedia("m1", running(yes, "", 900), healthy(yes, "", seconds))
	}
	for _, tt := range []struct {
		name    string
		objects []client.Object
		want    reported
		why     string
	}{
		{"well", []client.Object{well()}, reported{Lag: 20}, "there is no bad news of 5 seconds ago, and the last look may have been 15 before"},
		{"not registered", nil, reported{Never: true, Message: "m1 is not registered in the index"}, "nothing collects from it"},
		{"just registered", []client.Object{with(pedia("m1"))}, reported{Never: true, Message: "collection from m1 has not started"}, "nothing is known yet"},
		{"starting", []client.Object{pedia("m1", running(yes, "", 1))}, reported{Never: true, Message: "collection from m1 has not started"}, "it was never found healthy"},
		{
			"without its members", []client.Object{instanceOf(well())},
			reported{Never: true, Message: "the index does not have all of m1 yet: the member clusters are not collected"}, "Karmada did not serve them when the collector looked",
		},
		{
			"with its members", []client.Object{instanceOf(with(well(), kind(syncing, 900), fleettest.Members(syncing, ago(900))))},
			reported{Lag: 20}, "they are collected as all else",
		},
		{"nothing collected yet", []client.Object{with(back(1))}, reported{Never: true, Message: "the index does not have all of m1 yet: no kind is collected"}, "an empty list was not observed to be empty"},
		{"first list", []client.Object{with(back(3), kind(syncing, 2), kind(pediav1alpha2.ResourceSyncStatusPending, 3))}, reported{Never: true, Message: "the index does not have all of m1 yet: pods is Pending"}, "what is being listed is not known"},
		{"a kind fails", []client.Object{with(well(), kind(pediav1alpha2.ResourceSyncStatusError, 60))}, reported{Never: true, Message: "the index does not have all of m1 yet: pods is Error"}, "an apiserver may be well and refuse to list"},
		{"stopped", []client.Object{pedia("m1", running(no, "Shutdown", 60), healthy(unknown, "", 60))}, reported{Never: true, Message: "collection from m1 is not running (Shutdown)"}, "whether it was well until then was overwritten"},
		{"state unknown", []client.Object{pedia("m1", running(unknown, "Lost", 60), healthy(yes, "", 900))}, reported{Never: true, Message: "collection from m1 is not running (Lost)"}, "what is not known to run does not"},
		{"dead", []client.Object{pedia("m1", running(yes, "", 900), healthy(no, "Unreachable", 60))}, reported{Lag: 75, Message: "m1 does not answer the index (Unreachable)"}, "it was last well one look earlier"},
		{"just found dead", []client.Object{pedia("m1", running(yes, "", 900), healthy(no, "Unreachable", 1))}, reported{Lag: 20, Message: "m1 does not answer the index (Unreachable)"}, "what a clock says that is fast is not proven"},
		{"dead since collection started", []client.Object{pedia("m1", running(yes, "", 70), healthy(no, "Unreachable", 65))}, reported{Never: true, Message: "m1 does not answer the index (Unreachable)"}, "the first look failed, so it may have been dead for long"},
		{"not looked at", []client.Object{pedia("m1", running(yes, "", 900), healthy(unknown, "MonitorStop", 60))}, reported{Never: true, Message: "m1 does not answer the index (MonitorStop)"}, "unknown is not well"},
		{"back, and followed again", []client.Object{with(back(10), kind(syncing, 10))}, reported{Lag: 20}, "all was listed again"},
		{"back, and not followed again", []client.Object{with(back(10), kind(syncing, 10), kind(syncing, 900))}, reported{Never: true, Message: "the index does not have all of m1 yet: pods is not known to be followed again"}, "what changed while it was away may be missing"},
		{"back for long", []client.Object{back(76)}, reported{Lag: 20}, "the collector waits a minute at most before it watches again"},
		{"reachable", []client.Object{well(), kairship("m1", yes, "", 900)}, reported{Lag: 20}, "we agree"},
		{"not looked at by us", []client.Object{well(), kairship("m1", "", "", 0)}, reported{Lag: 20}, "we know nothing else"},
		{"we can't reach it", []client.Object{well(), kairship("m1", no, "Timeout", 30)}, reported{Lag: 55, Message: "m1 cannot be reached (Timeout)"}, "Clusterpedia may fail to write what it sees; our last look that went well was up to 25 seconds before"},
		{"we could not reach it before", []client.Object{with(back(20), kind(syncing, 20)), kairship("m1", no, "Timeout", 30)}, reported{Lag: 20}, "Clusterpedia saw it come back first"},
		{"both say it is dead", []client.Object{pedia("m1", running(yes, "", 900), healthy(no, "Unreachable", 60)), kairship("m1", no, "Timeout", 30)}, reported{Lag: 75, Message: "m1 does not answer the index (Unreachable)"}, "one message is enough"},
	} {
		f := tracker(t, tt.objects...).Of(t.Context(), "m1")
		if diff := cmp.Diff(tt.want, summary(t, f)); diff != "" || f.Source != freshness.SourceIndex {
			t.Errorf("%s: %s; source %s (-want +got):\n%s", tt.name, tt.why, f.Source, diff)
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
	}
	for _, tt := range []struct {
		of   []string
		want reported
	}{
		{nil, reported{Lag: 5}},
		{[]string{"well", "well"}, reported{Lag: 20}},
		{[]string{"well", "dead"}, reported{Lag: 75, Message: "dead does not answer the index (Unreachable)"}},
		{[]string{"gone", "dead", "well"}, reported{Lag: 615, Message: "dead does not answer the index (Unreachable); gone does not answer the index (Unreachable)"}},
		{[]string{"dead", "never"}, reported{Never: true, Message: "dead does not answer the index (Unreachable); never is not registered in the index"}},
	} {
		if diff := cmp.Diff(tt.want, summary(t, tracker(t, objects...).Of(t.Context(), tt.of...))); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.of, diff)
		}
	}
}

// What proves that the collector and the global cluster live may be old itself.
func TestFreshnessWithoutProof(t *testing.T) {
	const away, silent = "the global cluster is not heard of", "the collector of the index does not run"
	for _, tt := range []struct {
		name              string
		collector, global int
		of                []string
		want, live        reported
		why               string
	}{
		{"both live", 1, 1, []string{"m1"}, reported{Lag: 20}, reported{Lag: 5}, "proofs that are newer than 4 seconds are not used, so that replicas agree"},
		{"between two proofs", 7, 3, []string{"m1"}, reported{Lag: 22}, reported{Lag: 5}, "the lag grows from the last proof on"},
		{"the global cluster is late", 1, 7, []string{"m1"}, reported{Lag: 23}, reported{Lag: 8}, "so it does here"},
		{"the collector is silent", 15, 1, []string{"m1"}, reported{Lag: 30}, reported{Lag: 5}, "that is the bound"},
		{"the collector is silent for longer", 16, 1, []string{"m1"}, reported{Lag: 31, Message: silent}, reported{Lag: 5}, "beyond the bound it is stale"},
		{"no collector, and nothing collected", 90, 1, nil, reported{Lag: 5}, reported{Lag: 5}, "an answer about nothing needs none"},
		{"the global cluster is silent", 1, 90, []string{"m1"}, reported{Lag: 106, Message: away}, reported{Lag: 91, Message: away}, "what is watched there stands still"},
		{"neither", 120, 90, []string{"m1"}, reported{Lag: 135, Message: away + "; " + silent}, reported{Lag: 91, Message: away}, "the most pessimistic counts"},
	} {
		tr := tracker(t, fleettest.Collected("m1", ago(900)))
		tr.Collector, tr.Global = beaten(tt.collector), beaten(tt.global)
		if diff := cmp.Diff(tt.want, summary(t, tr.Of(t.Context(), tt.of...))); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", tt.name, tt.why, diff)
		}
		live := tr.Live(t.Context())
		if diff := cmp.Diff(tt.live, summary(t, live)); diff != "" || live.Source != freshness.SourceLive {
			t.Errorf("%s: live: source %s (-want +got):\n%s", tt.name, live.Source, diff)
		}
	}

	tr := tracker(t, fleettest.Collected("m1", ago(900)))
	tr.Collector = freshness.NewHeartbeat(tr.Now)
	want := reported{Never: true, Message: "the collector of the index was never heard of: it renews no Lease that Kairship knows"}
	if diff := cmp.Diff(want, summary(t, tr.Of(t.Context(), "m1"))); diff != "" {
		t.Errorf("no Lease (-want +got):\n%s", diff)
	}
	tr = tracker(t)
	tr.Global.Miss()
	if diff := cmp.Diff(reported{Lag: 5, Message: away}, summary(t, tr.Live(t.Context()))); diff != "" {
		t.Errorf("a watch has just broken (-want +got):\n%s", diff)
	}
}

// What the collector that runs now has not written proves nothing about it.
func TestFreshnessAfterAnotherCollectorTookOver(t *testing.T) {
	for _, tt := range []struct {
		name         string
		began, since int
		want         reported
	}{
		{"it follows the cluster", 10, 9, reported{Lag: 20}},
		{"in the same second", 10, 10, reported{Lag: 20}},
		{"it does not yet", 10, 900, reported{Never: true, Message: "the index does not have all of m1 yet: pods is not followed yet by the collector that runs now"}},
	} {
		tr := tracker(t, fleettest.Collected("m1", ago(tt.since)))
		tr.Collector.Begin(ago(tt.began).Add(time.Millisecond))
		if diff := cmp.Diff(tt.want, summary(t, tr.Of(t.Context(), "m1"))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// A cluster dies and comes back while it is asked about every second: no claim is later
// than what was true, and none goes back.
func TestFreshnessNeverGoesBack(t *testing.T) {
	clock := now
	at := func(second int) time.Time { return now.Add(time.Duration(second) * time.Second) }
	record := fleettest.Collected("m1", ago(900))
	inventory := fleettest.Inventory(t, record, kairship("m1", "", "", 0))
	heartbeat := func() *freshness.Heartbeat { return freshness.NewHeartbeat(func() time.Time { return clock }) }
	tr := &freshness.Tracker{Inventory: inventory, Now: func() time.Time { return clock }, Collector: heartbeat(), Global: heartbeat()}

	const (
		dead, noticed   = 30, 43   // As late as it may be.
		alive, found    = 100, 101 // The first look after that finds it well.
		relisted, known = 130, 137
		end             = 200
	)
	healthyAt := func(status metav1.ConditionStatus, second int) {
		c := healthy(status, "Reason", 0)
		c.LastTransitionTime = metav1.NewTime(at(second))
		record.Status.Conditions = []metav1.Condition{record.Status.Conditions[0], c}
	}
	var last time.Time
	var stale, fresh int
	for second := 0; second <= end; second++ {
		clock = at(second)
		if second%2 == 0 {
			tr.Collector.Beat(clock)
			tr.Global.Beat(clock)
		}
		switch second {
		case noticed:
			healthyAt(metav1.ConditionFalse, second)
		case found:
			healthyAt(metav1.ConditionTrue, second)
		case known:
			record.Status.SyncResources = []pediav1alpha2.ClusterGroupResourcesStatus{fleettest.Kind("pods", syncing, at(relisted))}
		}
		if err := inventory.Update(t.Context(), record); err != nil {
			t.Fatal(err)
		}
		f := tr.Of(t.Context(), "m1")
		switch {
		case f.ObservedAt == nil:
			t.Fatalf("after %d seconds nothing was observed: %s", second, *f.Message)
		case f.ObservedAt.Before(last):
			t.Errorf("after %d seconds it went back by %s", second, last.Sub(*f.ObservedAt))
		case second < relisted && f.ObservedAt.After(at(dead)):
			t.Errorf("after %d seconds it claims %s, but the cluster died at %s", second, f.ObservedAt, at(dead))
		case second >= noticed && second < known != f.Stale:
			t.Errorf("after %d seconds: stale %v, %v", second, f.Stale, f.Message)
		case !f.Stale && *f.Lag > freshness.StaleAfter.Seconds():
			t.Errorf("after %d seconds it is not stale with a lag of %v", second, *f.Lag)
		}
		if last = *f.ObservedAt; f.Stale {
			stale++
		} else {
			fresh++
		}
	}
	if stale != known-noticed || fresh == 0 || !last.After(at(relisted)) {
		t.Errorf("it was stale %d times and fresh %d times, and is observed at %s", stale, fresh, last)
	}
}

// A cluster that is registered anew under the name of another one inherits no claim.
func TestFreshnessOfAnotherClusterOfTheName(t *testing.T) {
	record := fleettest.Collected("m1", ago(900))
	record.UID = "1"
	tr := tracker(t, record)
	if f := tr.Of(t.Context(), "m1"); f.ObservedAt == nil {
		t.Fatal("it is not observed")
	}
	fresh := with(pedia("m1"))
	fresh.UID = types.UID("2")
	tr.Inventory = tracker(t, fresh).Inventory
	want := reported{Never: true, Message: "collection from m1 has not started"}
	if diff := cmp.Diff(want, summary(t, tr.Of(t.Context(), "m1"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An answer that took long claims no moment after its reading began.
func TestFreshnessOfALongAnswer(t *testing.T) {
	tr := tracker(t, fleettest.Collected("m1", ago(900)))
	for _, tt := range []struct {
		begun int
		want  reported
	}{
		{2, reported{Lag: 20}},
		{25, reported{Lag: 25}},
		{40, reported{Lag: 40, Message: "the answer took long, or clocks differ"}},
	} {
		if diff := cmp.Diff(tt.want, summary(t, tr.Of(freshness.Begin(t.Context(), ago(tt.begun)), "m1"))); diff != "" {
			t.Errorf("begun %d seconds ago (-want +got):\n%s", tt.begun, diff)
		}
	}
}

// What is collected for another owner says nothing about us.
func TestFreshnessOfWhatIsCollectedForOthers(t *testing.T) {
	f := watching(t, fleettest.Collected("m1", ago(900))).Of(t.Context(), "m1")
	want := reported{Never: true, Message: "the index collects objects of another owner as m1, which is not shown"}
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
	want := reported{Never: true, Message: "the state of collection from m1 is not known"}
	if diff := cmp.Diff(want, summary(t, tr.Of(t.Context(), "m1"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFollowed(t *testing.T) {
	f := freshness.Followed(now)
	if f.Source != freshness.SourceLive || f.Stale || *f.ObservedAt != ago(1) || *f.Lag != 1 {
		t.Errorf("a watch allows a second for the way of a change, got %+v", f)
	}
}
