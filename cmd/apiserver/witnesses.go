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
)

// What has not been heard of for so long is taken for dead.
const (
	// The collector renews its Lease every two seconds by default.
	collectorSilence = 15 * time.Second
	// The global cluster is asked every globalInterval, with as long to answer.
	globalInterval = 2 * time.Second
	globalSilence  = 3 * globalInterval
)

// leaseOnly confines the watch on Leases to the collector's.
func (o *options) leaseOnly() cache.ByObject {
	namespace, name, _ := strings.Cut(o.collectorLease, "/")
	return cache.ByObject{Namespaces: map[string]cache.Config{
		namespace: {FieldSelector: fields.OneTermEqualSelector("metadata.name", name)},
	}}
}

// listen hears the witnesses of freshness for as long as the process lives.
func listen(ctx context.Context, o *options, inventory cache.Cache, kube kubernetes.Interface, tracker *freshness.Tracker) error {
	waitCtx, cancel := context.WithTimeout(ctx, o.waitForAPIs)
	defer cancel()
	leases, err := inventory.GetInformer(waitCtx, &coordinationv1.Lease{})
	if err != nil {
		return fmt.Errorf("watching the Lease of the index's collector: %w", err)
	}
	_, err = leases.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { tracker.Collector.Beat() },
		UpdateFunc: func(before, after any) { beatOnRenewal(tracker.Collector, before, after) },
	})
	if err != nil {
		return fmt.Errorf("watching the Lease of the index's collector: %w", err)
	}
	check := checkGlobal(kube)
	go wait.UntilWithContext(ctx, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, globalInterval)
		defer cancel()
		if check(ctx) == nil {
			tracker.Global.Beat()
		}
	}, globalInterval)
	return nil
}

// beatOnRenewal tells a renewal from the informer's own repetitions.
func beatOnRenewal(p *freshness.Pulse, before, after any) {
	old, okOld := before.(*coordinationv1.Lease)
	renewed, ok := after.(*coordinationv1.Lease)
	if okOld && ok && !old.Spec.RenewTime.Equal(renewed.Spec.RenewTime) {
		p.Beat()
	}
}
