package controllers_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/instancestatus"
	"github.com/kairship-io/kairship/pkg/controllers/internal/connections"
	"github.com/kairship-io/kairship/pkg/controllers/internal/credentials"
	"github.com/kairship-io/kairship/pkg/controllers/internal/debounce"
	"github.com/kairship-io/kairship/pkg/controllers/internal/probe"
)

// identities is a world with the controller that finds out which control planes the
// instances are, which several replicas may run at once.
type identities struct{ *world }

func newIdentities(t *testing.T) *identities {
	w := newWorld(t)
	w.sync.Credentials.ProvenOnly, w.index.Credentials.ProvenOnly = true, true
	return &identities{w}
}

// replica is the controller of one replica.
func (w *identities) replica() *instancestatus.Reconciler {
	return &instancestatus.Reconciler{
		Metrics: instancestatus.NewMetrics(prometheus.NewRegistry()),
		Client:  w.kube, Live: w.kube, Credentials: credentials.Reader{Secrets: w.kube}, Recorder: w.events,
		Prober:    &probe.Prober{Timeout: 5 * time.Second, Connections: &connections.Pool{}},
		Debouncer: &debounce.Debouncer{Limits: debounce.Default},
		Interval:  time.Hour,
	}
}

// look has one replica look at instances until their claims are decided.
func (w *identities) look(names ...string) {
	w.Helper()
	r := w.replica()
	w.eventually("the claims are decided", func(ctx context.Context) bool {
		decided := true
		for _, name := range names {
			_, err := r.Reconcile(ctx, named(name))
			c := get(w.world, name, &v1alpha1.Instance{}).Status.ControlPlane
			decided = decided && err == nil && (c == nil || c.Claim != v1alpha1.ClaimPending)
		}
		return decided
	})
	for _, name := range names {
		w.reconcile(name)
	}
}

func (w *identities) wantIdentity(name, want string, state v1alpha1.InstanceState, says ...string) {
	w.Helper()
	stored := get(w.world, name, &v1alpha1.Instance{})
	c := meta.FindStatusCondition(stored.Status.Conditions, v1alpha1.ConditionIdentified)
	if c == nil {
		w.Errorf("%s does not say which control plane it is", name)
		return
	}
	if got := string(c.Status) + "/" + c.Reason; got != want || stored.Status.State != state {
		w.Errorf("%s is %s and %s, want %s and %s: %s", name, got, stored.Status.State, want, state, c.Message)
	}
	for _, part := range says {
		if !strings.Contains(c.Message, part) {
			w.Errorf("%s does not say %q: %s", name, part, c.Message)
		}
	}
}

// remove deletes an instance with everything that was made for it.
func (w *identities) remove(name string) {
	w.Helper()
	err := w.kube.Delete(w.Context(), get(w.world, name, &v1alpha1.Instance{}))
	w.must(client.IgnoreNotFound(err))
	w.eventually(name+" is removed", func(ctx context.Context) bool {
		w.syncInstance(name)
		w.indexCluster(v1alpha1.VirtualClusterName(name))
		return apierrors.IsNotFound(w.kube.Get(ctx, client.ObjectKey{Name: name}, &v1alpha1.Instance{}))
	})
}

// TestTheSameControlPlane follows a control plane that is registered twice, through
// everything that may happen to either.
func TestTheSameControlPlane(t *testing.T) {
	w := newIdentities(t)
	const running, unavailable = v1alpha1.InstanceStateRunning, v1alpha1.InstanceStateUnavailable
	_, old := karmadaOf(t, "twice")
	_, moved := karmadaOf(t, "twice")
	_, elsewhere := karmada(t)
	w.secret("first", "kubeconfig", old)
	w.secret("second", "kubeconfig", moved)
	w.instance("first", "")
	w.look("first")
	w.wantIdentity("first", "True/Identified", running)
	w.instance("second", "")
	w.look("second")

	w.wantIdentity("second", "False/Duplicate", unavailable, "registered already", "--field-selector status.controlPlane.kubeSystemID=twice")
	w.wantInstance("second", "False/Duplicate", "Identified")
	w.gone("k-second", &v1alpha1.Cluster{})
	w.gone("k-second", &pediav1alpha2.PediaCluster{})
	same := &v1alpha1.InstanceList{}
	w.must(w.kube.List(t.Context(), same, client.MatchingFields{"status.controlPlane.kubeSystemID": "twice"}))
	if len(same.Items) != 2 {
		t.Errorf("what the message says finds %d instances, want both", len(same.Items))
	}
	for _, name := range []string{"first", "second"} {
		if strings.Contains(get(w.world, name, &v1alpha1.Instance{}).Status.Conditions[0].Message, "first") {
			t.Errorf("%s names the other one", name)
		}
	}

	// The first comes back under the new address, which the second has, and stays first.
	w.secret("first", "kubeconfig", moved)
	w.reconcile("first")
	if got := w.reads(get(w.world, "k-first", &pediav1alpha2.PediaCluster{})).Endpoint; got != old.Endpoint {
		t.Errorf("%s is collected before it is known what it is", got)
	}
	w.look("first", "second")
	w.wantIdentity("first", "True/Identified", running)
	w.wantIdentity("second", "False/Duplicate", unavailable)
	if got := w.reads(get(w.world, "k-first", &pediav1alpha2.PediaCluster{})).Endpoint; got != moved.Endpoint {
		t.Errorf("collected is %s, want %s", got, moved.Endpoint)
	}

	// The first is pointed to another control plane by mistake: neither is taken for it.
	w.secret("first", "kubeconfig", elsewhere)
	w.reconcile("first")
	if got := w.reads(get(w.world, "k-first", &pediav1alpha2.PediaCluster{})).Endpoint; got != moved.Endpoint {
		t.Errorf("%s is collected as first", got)
	}
	w.look("first", "second")
	w.wantIdentity("first", "False/OtherControlPlane", unavailable, "(twice)")
	w.wantIdentity("second", "False/Duplicate", unavailable)
	w.gone("k-first", &v1alpha1.Cluster{})
	w.gone("k-first", &pediav1alpha2.PediaCluster{})
	w.secret("first", "kubeconfig", old)
	w.look("first")
	w.wantIdentity("first", "True/Identified", running)
	get(w.world, "k-first", &pediav1alpha2.PediaCluster{})

	// The second takes over once the first is removed with its rows, and not before.
	w.must(w.kube.Delete(t.Context(), get(w.world, "first", &v1alpha1.Instance{})))
	w.look("second")
	w.wantIdentity("second", "False/Duplicate", unavailable)
	w.gone("k-second", &v1alpha1.Cluster{})
	w.remove("first")
	w.look("second")
	w.wantIdentity("second", "True/Identified", running)
	get(w.world, "k-second", &pediav1alpha2.PediaCluster{})
	w.instance("first", "")
	w.look("first")
	w.wantIdentity("first", "False/Duplicate", unavailable)
	w.remove("first")
	w.remove("second")
}

// TestTheSameControlPlaneAtOnce registers a control plane many times at once, with two
// replicas that both believe that they lead.
func TestTheSameControlPlaneAtOnce(t *testing.T) {
	w := newIdentities(t)
	_, to := karmadaOf(t, "at-once")
	names := []string{"at-once-1", "at-once-2", "at-once-3", "at-once-4"}
	for _, name := range names {
		w.secret(name, "kubeconfig", to)
		w.instance(name, "")
	}
	var all sync.WaitGroup
	for range 2 {
		r := w.replica()
		for _, name := range names {
			all.Go(func() {
				for range 10 {
					_, _ = r.Reconcile(t.Context(), named(name)) // What conflicts is done again.
				}
			})
		}
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	holders := func() (held []string) {
		list := &v1alpha1.InstanceList{}
		w.must(w.kube.List(t.Context(), list, client.MatchingFields{"status.controlPlane.kubeSystemID": "at-once"}))
		for i := range list.Items {
			if list.Items[i].Status.ControlPlane.Claim == v1alpha1.ClaimHeld {
				held = append(held, list.Items[i].Name)
			}
		}
		return held
	}
	for looking := true; looking; {
		select {
		case <-done:
			looking = false
		default:
		}
		if held := holders(); len(held) > 1 {
			t.Fatalf("%v hold it at the same time", held)
		}
	}
	w.look(names...)
	held := holders()
	if len(held) != 1 {
		t.Fatalf("%v hold it, want one", held)
	}
	pedias := &pediav1alpha2.PediaClusterList{}
	w.must(w.kube.List(t.Context(), pedias))
	collected := 0
	for i := range pedias.Items {
		if strings.HasPrefix(pedias.Items[i].Name, "k-at-once-") {
			collected++
		}
	}
	if collected != 1 {
		t.Errorf("it is collected %d times", collected)
	}
	for _, name := range names {
		w.remove(name)
	}
}
