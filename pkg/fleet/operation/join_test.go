package operation

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/live"
)

func asked(instance string, joined *metav1.Condition) *v1alpha1.Cluster {
	c := &v1alpha1.Cluster{}
	if instance != "" {
		c.Spec.InstanceRef = &v1alpha1.InstanceReference{Name: instance}
	}
	if joined != nil {
		c.Status.Conditions = []metav1.Condition{*joined}
	}
	return c
}

func member(ready metav1.ConditionStatus) *clusterv1alpha1.Cluster {
	c := &clusterv1alpha1.Cluster{}
	if ready != "" {
		c.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterConditionReady, Status: ready, Message: "why"}}
	}
	return c
}

func TestJoining(t *testing.T) {
	op := Operation{Kind: KindJoinCluster, Instance: "alpha", Cluster: "m9"}
	is := func(c metav1.Condition) *metav1.Condition { return &c }
	type steps = map[StepName]StepState
	for _, tt := range []struct {
		name    string
		cluster *v1alpha1.Cluster
		member  *clusterv1alpha1.Cluster
		want    steps
		trouble string
		final   bool
	}{
		{"it was not checked yet", asked("alpha", nil), nil, steps{StepWritten: StepDone, StepCredentials: StepRunning, StepRegistered: StepPending, StepReady: StepPending}, "", false},
		{
			"what was said before it was asked for", asked("alpha", is(v1alpha1.NotJoined(v1alpha1.ReasonFree, "free"))), nil,
			steps{StepWritten: StepDone, StepCredentials: StepRunning, StepRegistered: StepPending, StepReady: StepPending}, "", false,
		},
		{
			"the credentials are missing", asked("alpha", is(v1alpha1.NotJoined(v1alpha1.ReasonCredentialsMissing, "no Secret"))), nil,
			steps{StepWritten: StepDone, StepCredentials: StepRunning, StepRegistered: StepPending, StepReady: StepPending}, v1alpha1.ReasonCredentialsMissing, false,
		},
		{
			"it is being joined", asked("alpha", is(v1alpha1.NotJoined(v1alpha1.ReasonJoining, "at work"))), nil,
			steps{StepWritten: StepDone, StepCredentials: StepDone, StepRegistered: StepRunning, StepReady: StepPending}, "", false,
		},
		{
			"another owner has it", asked("alpha", is(v1alpha1.NotJoined(v1alpha1.ReasonForeign, "foreign"))), nil,
			steps{StepWritten: StepDone, StepCredentials: StepDone, StepRegistered: StepRunning, StepReady: StepPending}, v1alpha1.ReasonForeign, false,
		},
		{
			"it is a member that Karmada has not reached", asked("alpha", is(v1alpha1.Joined("joined"))), member(metav1.ConditionFalse),
			steps{StepWritten: StepDone, StepCredentials: StepDone, StepRegistered: StepDone, StepReady: StepRunning}, "", false,
		},
		{
			"it is ready", asked("alpha", is(v1alpha1.Joined("joined"))), member(metav1.ConditionTrue),
			steps{StepWritten: StepDone, StepCredentials: StepDone, StepRegistered: StepDone, StepReady: StepDone}, "", false,
		},
		{
			"it is to go elsewhere", asked("beta", is(v1alpha1.Joined("joined"))), member(metav1.ConditionTrue),
			steps{StepWritten: StepRunning, StepCredentials: StepDone, StepRegistered: StepDone, StepReady: StepDone}, ReasonWithdrawn, true,
		},
		{
			"it was removed", nil, nil,
			steps{StepWritten: StepRunning, StepCredentials: StepPending, StepRegistered: StepPending, StepReady: StepPending}, ReasonDeleted, true,
		},
	} {
		t.Run(tt.name, func(t *testing.T) { found(t, joining(op, tt.cluster, tt.member), tt.want, tt.trouble, tt.final) })
	}
}

func found(t *testing.T, f finding, want map[StepName]StepState, reason string, final bool) {
	t.Helper()
	if diff := cmp.Diff(want, states(f.steps)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	got := trouble{}
	if f.trouble != nil {
		got = *f.trouble
	}
	if got.reason != reason || got.final != final {
		t.Errorf("trouble %+v, want %q, final %v", got, reason, final)
	}
}

func TestLeaving(t *testing.T) {
	op := Operation{Kind: KindUnjoinCluster, Instance: "alpha", Cluster: "m9"}
	still := func(c *v1alpha1.Cluster) *v1alpha1.Cluster {
		c.Status.Membership = &v1alpha1.ClusterMembership{Instance: "alpha"}
		return c
	}
	blocked := v1alpha1.NotJoined(v1alpha1.ReasonBlocked, "shop/web is still there")
	rejected := v1alpha1.NotJoined(v1alpha1.ReasonRejected, "no")
	for _, tt := range []struct {
		name    string
		cluster *v1alpha1.Cluster
		member  *clusterv1alpha1.Cluster
		left    StepState
		trouble string
		waits   string
	}{
		{"it is leaving", still(asked("", nil)), member(metav1.ConditionTrue), StepRunning, "", ""},
		{"workloads hold it", still(asked("", &blocked)), member(metav1.ConditionTrue), StepRunning, "", "shop/web is still there"},
		{"the instance refuses", still(asked("", &rejected)), member(metav1.ConditionTrue), StepRunning, v1alpha1.ReasonRejected, ""},
		{"something of it is left in the cluster", still(asked("", nil)), nil, StepRunning, "", ""},
		{"it has left", asked("", nil), nil, StepDone, "", ""},
		{"it is a member of another one", asked("beta", nil), nil, StepDone, "", ""},
		{"it was removed", nil, nil, StepDone, "", ""},
		{"it is to stay", asked("alpha", nil), member(metav1.ConditionTrue), StepPending, ReasonWithdrawn, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := leaving(op, tt.cluster, tt.member)
			want := map[StepName]StepState{StepWritten: StepDone, StepLeft: tt.left}
			if tt.trouble == ReasonWithdrawn {
				want[StepWritten] = StepRunning
			}
			found(t, f, want, tt.trouble, tt.trouble == ReasonWithdrawn)
			if f.waits != tt.waits {
				t.Errorf("waits for %q", f.waits)
			}
		})
	}
}

func TestCreating(t *testing.T) {
	op := Operation{Kind: KindCreateInstance, Instance: "gamma"}
	made := func(mode v1alpha1.InstanceMode, conditions ...metav1.Condition) *v1alpha1.Instance {
		i := &v1alpha1.Instance{}
		i.Spec.Mode, i.Status.Conditions = mode, conditions
		return i
	}
	type steps = map[StepName]StepState
	gone := made(v1alpha1.InstanceModeExternal)
	gone.DeletionTimestamp = &metav1.Time{}
	old := v1alpha1.Ready("ready")
	old.ObservedGeneration = 1
	changed := made(v1alpha1.InstanceModeExternal, v1alpha1.Reachable("yes"), old)
	changed.Generation = 2
	for _, tt := range []struct {
		name     string
		instance *v1alpha1.Instance
		want     steps
		trouble  string
		final    bool
	}{
		{"it is being installed", made(v1alpha1.InstanceModeManaged, v1alpha1.NotInstalled(v1alpha1.ReasonInstalling, "at work"), v1alpha1.Unreachable(v1alpha1.ReasonNotAnswering, "no")), steps{StepWritten: StepDone, StepInstalled: StepRunning, StepReachable: StepPending, StepReady: StepPending, StepIndexed: StepPending}, "", false},
		{"installing it fails", made(v1alpha1.InstanceModeManaged, v1alpha1.NotInstalled(v1alpha1.ReasonInstallationFailed, "no")), steps{StepWritten: StepDone, StepInstalled: StepRunning, StepReachable: StepPending, StepReady: StepPending, StepIndexed: StepPending}, v1alpha1.ReasonInstallationFailed, false},
		{"it is installed and does not answer yet", made(v1alpha1.InstanceModeManaged, v1alpha1.Installed("yes"), v1alpha1.Unreachable(v1alpha1.ReasonNotAnswering, "no")), steps{StepWritten: StepDone, StepInstalled: StepDone, StepReachable: StepRunning, StepReady: StepPending, StepIndexed: StepPending}, v1alpha1.ReasonNotAnswering, false},
		{"an external one has nothing installed", made(v1alpha1.InstanceModeExternal), steps{StepWritten: StepDone, StepReachable: StepRunning, StepReady: StepPending, StepIndexed: StepPending}, "", false},
		{"it is ready", made(v1alpha1.InstanceModeExternal, v1alpha1.Reachable("yes"), v1alpha1.Ready("yes")), steps{StepWritten: StepDone, StepReachable: StepDone, StepReady: StepDone, StepIndexed: StepRunning}, "", false},
		{"it is ready, and being collected", made(v1alpha1.InstanceModeExternal, v1alpha1.Reachable("yes"), v1alpha1.Ready("yes"), v1alpha1.IndexedUnknown(v1alpha1.ReasonPending, "soon")), steps{StepWritten: StepDone, StepReachable: StepDone, StepReady: StepDone, StepIndexed: StepRunning}, "", false},
		{"it is ready, and collected", made(v1alpha1.InstanceModeExternal, v1alpha1.Reachable("yes"), v1alpha1.Ready("yes"), v1alpha1.Indexed("yes")), steps{StepWritten: StepDone, StepReachable: StepDone, StepReady: StepDone, StepIndexed: StepDone}, "", false},
		{"it is ready, and cannot be collected", made(v1alpha1.InstanceModeExternal, v1alpha1.Reachable("yes"), v1alpha1.Ready("yes"), v1alpha1.NotIndexed(v1alpha1.ReasonCollectionFailed, "no")), steps{StepWritten: StepDone, StepReachable: StepDone, StepReady: StepDone, StepIndexed: StepRunning}, v1alpha1.ReasonCollectionFailed, false},
		{"another instance has the control plane", made(v1alpha1.InstanceModeExternal, v1alpha1.Reachable("yes"), v1alpha1.NotReady(v1alpha1.ReasonDuplicate, "no"), v1alpha1.NotIndexed(v1alpha1.ReasonDuplicate, "no")), steps{StepWritten: StepDone, StepReachable: StepDone, StepReady: StepRunning, StepIndexed: StepPending}, v1alpha1.ReasonDuplicate, false},
		{"it was ready before it changed", changed, steps{StepWritten: StepDone, StepReachable: StepDone, StepReady: StepRunning, StepIndexed: StepPending}, "", false},
		{"it is not ready", made(v1alpha1.InstanceModeExternal, v1alpha1.Reachable("yes"), v1alpha1.NotReady(v1alpha1.ReasonKarmadaMissing, "no")), steps{StepWritten: StepDone, StepReachable: StepDone, StepReady: StepRunning, StepIndexed: StepPending}, v1alpha1.ReasonKarmadaMissing, false},
		{"it is being deleted", gone, steps{StepWritten: StepRunning, StepInstalled: StepPending, StepReachable: StepPending, StepReady: StepPending, StepIndexed: StepPending}, ReasonDeleted, true},
		{"it is deleted", nil, steps{StepWritten: StepRunning, StepInstalled: StepPending, StepReachable: StepPending, StepReady: StepPending, StepIndexed: StepPending}, ReasonDeleted, true},
	} {
		t.Run(tt.name, func(t *testing.T) { found(t, creating(op, tt.instance), tt.want, tt.trouble, tt.final) })
	}
}

// The watch may be behind the mutation: a state from before the operation must not make it look
// withdrawn or done.
func TestWhatIsOlderThanTheOperationIsNotBelieved(t *testing.T) {
	begun := time.Date(2031, 1, 2, 3, 4, 5, 0, time.UTC)
	event := func(version, instance string) *live.Event {
		c := asked(instance, nil)
		c.Name, c.ResourceVersion = "m9", version
		raw, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		o := live.NewObject(live.Source{Resource: clusters.GroupVersionResource()}, v1alpha1.GroupVersion.String(), "Cluster", c.ObjectMeta, raw)
		return &live.Event{Type: live.Added, Source: o.Source, Object: o}
	}
	for _, kind := range []Kind{KindJoinCluster, KindUnjoinCluster} {
		t.Run(string(kind), func(t *testing.T) {
			before, after := "", "alpha"
			if kind == KindUnjoinCluster {
				before, after = after, before
			}
			op := Operation{Kind: kind, Instance: "alpha", Cluster: "m9", Version: "100", Began: begun}
			v := &membership{op: op, seen: newSeen(op)}
			written := func(at time.Duration) (StepState, string) {
				f := v.find(begun.Add(at))
				reason := ""
				if f.trouble != nil {
					reason = f.trouble.reason
				}
				return states(f.steps)[StepWritten], reason
			}
			v.see(event("99", before))
			if state, trouble := written(time.Second); state != StepRunning || trouble != "" {
				t.Errorf("what was before is taken for %s %s", state, trouble)
			}
			if got := v.recheckAfter(begun.Add(time.Second)); got != claimPeriod-time.Second {
				t.Errorf("it looks again after %s", got)
			}
			if state, trouble := written(claimPeriod); state == StepDone || trouble != ReasonWithdrawn {
				t.Errorf("what never comes is taken for %s %s", state, trouble)
			}
			v.see(event("101", after))
			if state, trouble := written(time.Second); state != StepDone || trouble != "" {
				t.Errorf("what was written is taken for %s %s", state, trouble)
			}
			if got := v.recheckAfter(begun.Add(time.Second)); got != 0 {
				t.Errorf("it looks again after %s, though it knows", got)
			}
		})
	}
}
