package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// leaseName is the Lease that the leader holds.
const leaseName = "kairship-controller-manager"

// lock is the Lease for the leader election. The election itself continues to lead for the renew
// deadline while it cannot renew, even when it has read that another replica leads, as after this
// process was frozen. This lock ends that at once: two replicas must not work at the same time.
type lock struct {
	resourcelock.Interface
	held atomic.Bool
	// lost is called when another replica leads, though this one held the Lease.
	lost func(error)
	// recorder gets an event when the leader changes; nil until there is a manager.
	recorder events.EventRecorder
}

// newLock makes the lock. Its requests have a limit and a connection of their own, so
// that the Lease is renewed also when the controllers use up theirs.
func newLock(config *rest.Config, o *options, lost func(error)) (*lock, error) {
	config = ownConnection(config)
	config.QPS, config.Burst = 10, 20
	// A request that hangs must leave time for a second attempt.
	config.Timeout = o.renewDeadline / 2
	leases, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	return &lock{lost: lost, Interface: &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: o.leaderNamespace, Name: leaseName},
		Client:     leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
	}}, nil
}

// Get reads the Lease, and calls lost if another replica has taken it.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != l.Identity() && l.held.CompareAndSwap(true, false) {
		l.lost(fmt.Errorf("another replica leads: %q has taken the Lease, which was not renewed in time", record.HolderIdentity))
	}
	return record, raw, err
}

// Create creates the Lease, which makes this replica the leader.
func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.noted(record, l.Interface.Create(ctx, record))
}

// errNotOurs is the error for releasing a Lease that another replica holds.
var errNotOurs = errors.New("another replica holds the Lease")

// Update takes the Lease, renews it or releases it. An election that ends releases the Lease even
// if another replica holds it by now, which would end that one's leadership, so this is refused.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity == "" && !l.held.Load() {
		return errNotOurs
	}
	return l.noted(record, l.Interface.Update(ctx, record))
}

func (l *lock) noted(record resourcelock.LeaderElectionRecord, err error) error {
	if err == nil {
		l.held.Store(record.HolderIdentity == l.Identity())
	}
	return err
}

// RecordEvent emits an event about the leader.
func (l *lock) RecordEvent(what string) {
	if l.recorder == nil {
		return
	}
	meta := metav1.ObjectMeta{Namespace: leaseNamespace(l), Name: leaseName}
	lease := &coordinationv1.Lease{TypeMeta: metav1.TypeMeta{APIVersion: coordinationv1.SchemeGroupVersion.String(), Kind: "Lease"}, ObjectMeta: meta}
	l.recorder.Eventf(lease, nil, corev1.EventTypeNormal, "LeaderElection", "Elect", "%s %s", l.Identity(), what)
}

func leaseNamespace(l *lock) string {
	if of, is := l.Interface.(*resourcelock.LeaseLock); is {
		return of.LeaseMeta.Namespace
	}
	return ""
}
