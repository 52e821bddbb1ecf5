package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/informers"
)

// The global cluster is asked every globalInterval, with as long to answer.
const globalInterval = 2 * time.Second

// leaseTransit bounds how long the event of a renewal takes to arrive. The time of a renewal is
// taken from the Lease, so that all replicas use the same one, unless it differs by more than that
// from the arrival of the event: then the collector's clock is wrong.
const leaseTransit = 5 * time.Second

// leaseOnly confines the watch on Leases to the collector's.
func (o *options) leaseOnly() cache.ByObject {
	namespace, name, _ := strings.Cut(o.collectorLease, "/")
	return cache.ByObject{Namespaces: map[string]cache.Config{
		namespace: {FieldSelector: fields.OneTermEqualSelector("metadata.name", name)},
	}}
}

// watchHeartbeats hears the witnesses of freshness for as long as the process lives.
func watchHeartbeats(ctx context.Context, o *options, inventory cache.Cache, watches *informers.Persistent, kube kubernetes.Interface, tracker *freshness.Tracker) error {
	waitCtx, cancel := context.WithTimeout(ctx, o.waitForAPIs)
	defer cancel()
	leases, err := inventory.GetInformer(waitCtx, &coordinationv1.Lease{})
	if err != nil {
		return fmt.Errorf("watching the Lease of the index's collector: %w", err)
	}
	heard, err := leases.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(found any) { beatAsFound(tracker.Collector, found, time.Now()) },
		UpdateFunc: func(before, after any) { beatOnRenewal(tracker.Collector, before, after, time.Now()) },
	})
	if err != nil {
		return fmt.Errorf("watching the Lease of the index's collector: %w", err)
	}
	// The first answer must know already whether the collector lives.
	if !toolscache.WaitForCacheSync(waitCtx.Done(), heard.HasSynced) {
		return fmt.Errorf("the Lease of the index's collector was not read within %s", o.waitForAPIs)
	}
	check := checkGlobal(kube)
	look := func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, globalInterval)
		defer cancel()
		// What was answered to a question was so after it was asked. An answer is not
		// enough: what we show is what we watch.
		asked := time.Now()
		if check(ctx) == nil && watches.Following() {
			tracker.Global.Beat(asked)
		}
	}
	look(waitCtx) // The first answer must know that too.
	go wait.UntilWithContext(ctx, look, globalInterval)
	return nil
}

// beatAsFound takes the Lease's own word for when it was renewed, because this process
// did not see it: the collector may have died long ago. Should its clock differ from
// ours, the next renewal puts that right.
func beatAsFound(h *freshness.Heartbeat, found any, now time.Time) {
	if lease, ok := found.(*coordinationv1.Lease); ok && lease.Spec.RenewTime != nil {
		renewed := lease.Spec.RenewTime.Time
		if renewed.After(now) {
			renewed = now.Add(-leaseTransit)
		}
		begin(h, lease)
		h.Beat(renewed)
	}
}

// beatOnRenewal records a heartbeat for a renewal, and none for the informer's resyncs.
func beatOnRenewal(h *freshness.Heartbeat, before, after any, now time.Time) {
	old, okOld := before.(*coordinationv1.Lease)
	lease, ok := after.(*coordinationv1.Lease)
	if !okOld || !ok || lease.Spec.RenewTime == nil || old.Spec.RenewTime.Equal(lease.Spec.RenewTime) {
		return
	}
	renewed := lease.Spec.RenewTime.Time
	if renewed.After(now) || renewed.Before(now.Add(-leaseTransit)) {
		renewed = now.Add(-leaseTransit)
	}
	begin(h, lease)
	h.Beat(renewed)
}

// begin takes the time at which its holder acquired the Lease.
func begin(h *freshness.Heartbeat, lease *coordinationv1.Lease) {
	if lease.Spec.AcquireTime != nil {
		h.Begin(lease.Spec.AcquireTime.Time)
	}
}
