package workloadmoves

import (
	"context"
	"sync"
	"testing"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/kairship-io/kairship/pkg/fleet/moving"
)

// A workload is looked at again after a tenth of the time that it has taken, and one that takes long keeps no other waiting.
func TestWait(t *testing.T) {
	i, begun := &instance{}, time.Unix(1000, 0)
	for _, tt := range []struct {
		after   time.Duration
		pending []types.UID
		want    time.Duration
	}{
		{0, nil, 0},
		{0, []types.UID{"a"}, soonest},
		{time.Minute, []types.UID{"a"}, 6 * time.Second},
		{time.Hour, []types.UID{"a"}, latest},
		{time.Hour, []types.UID{"a", "b"}, soonest},
		{2 * time.Hour, []types.UID{"b"}, latest},
		{2 * time.Hour, []types.UID{"a"}, soonest},
	} {
		if got := i.wait(tt.pending, begun.Add(tt.after)); got != tt.want {
			t.Errorf("after %s with %v: got %s, want %s", tt.after, tt.pending, got, tt.want)
		}
	}
}

// Karmada changes its clusters every few seconds, which wakes nothing.
func TestDiffers(t *testing.T) {
	cluster := func(phase string) *clusterv1alpha1.Cluster {
		c := &clusterv1alpha1.Cluster{}
		c.Spec.Taints = []corev1.Taint{{Key: "another"}}
		if phase != "" {
			c.Spec.Taints = append(c.Spec.Taints, moving.Taint(phase))
		}
		return c
	}
	for _, tt := range []struct {
		reason        string
		before, after any
		want          bool
	}{
		{"a status", cluster(""), cluster(""), false},
		{"a status while it is drained", cluster(moving.DrainEvicted), cluster(moving.DrainEvicted), false},
		{"a drain", cluster(""), cluster(moving.DrainEvicting), true},
		{"a drain again", cluster(moving.DrainEvicted), cluster(moving.DrainEvicting), true},
		{"an undo", cluster(moving.DrainEvicted), cluster(""), true},
		{"a policy", &policyv1alpha1.PropagationPolicy{}, &policyv1alpha1.PropagationPolicy{}, true},
	} {
		before, err := known(tt.before)
		if err != nil {
			t.Fatal(err)
		}
		after, err := known(tt.after)
		if err != nil {
			t.Fatal(err)
		}
		if got := differs(before, after); got != tt.want {
			t.Errorf("%s: got %v", tt.reason, got)
		}
	}
}

// TestEnqueue loses no change where the queue is full, and waits no longer than the watch lasts.
func TestEnqueue(t *testing.T) {
	all := &instances{changed: make(chan event.GenericEvent, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	var sent sync.WaitGroup
	for _, name := range []string{"alpha", "beta", "gamma"} {
		sent.Go(func() { all.enqueue(ctx, name) })
	}
	got := map[string]bool{}
	for range 3 {
		got[(<-all.changed).Object.GetName()] = true
	}
	if len(got) != 3 {
		t.Errorf("these arrive: %v", got)
	}
	for range 2 {
		sent.Go(func() { all.enqueue(ctx, "alpha") })
	}
	cancel()
	sent.Wait()
}
