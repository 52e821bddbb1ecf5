package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// TestAnInterruptionAtEveryWrite stops the reconcilers before their first write,
// their second one and so on, as a killed process would, and lets them begin
// anew. The end must be the same each time.
func TestAnInterruptionAtEveryWrite(t *testing.T) {
	killed := errors.New("killed")
	var interrupted int
	for stop := 1; ; stop++ {
		w := newWorld(t)
		name := fmt.Sprintf("stop-%d", stop)
		w.secret(name, "kubeconfig", first)
		instance := w.instance(name, "kubeconfig")

		countdown := stop
		w.fail = func(string, runtime.Object) error {
			countdown--
			if countdown == 0 {
				return killed
			}
			return nil
		}
		w.reconcileThrough(name, killed)
		w.takeUp("k-" + name)
		w.reconcileThrough(name, killed)
		w.wantInstance(name, "True/Collecting")

		w.must(w.kube.Delete(t.Context(), instance))
		w.reconcileThrough(name, killed)
		w.cleanUp("k-" + name)
		w.reconcileThrough(name, killed)
		w.gone(name, &v1alpha1.Instance{})
		w.gone("k-"+name, &v1alpha1.Cluster{})
		w.gone("k-"+name, &pediav1alpha2.PediaCluster{})
		if countdown > 0 {
			break // There are fewer writes than that.
		}
		interrupted++
	}
	// Two finalizers on and off, two objects created and deleted, conditions.
	if interrupted < 8 {
		t.Errorf("only %d writes were interrupted: there must be more", interrupted)
	}
}

// reconcileThrough runs the reconcilers until there is nothing left to do, going on
// after the given error.
func (w *world) reconcileThrough(instance string, passing error) {
	w.Helper()
	const most = 20
	for range most {
		before, failed := w.writes.Load(), false
		for _, reconcile := range []func() error{
			func() error { _, err := w.sync.Reconcile(w.Context(), named(instance)); return err },
			func() error {
				_, err := w.index.Reconcile(w.Context(), named(v1alpha1.VirtualClusterName(instance)))
				return err
			},
		} {
			if err := reconcile(); errors.Is(err, passing) {
				failed = true
			} else {
				w.must(err)
			}
		}
		if !failed && w.writes.Load() == before {
			return
		}
	}
	w.Fatalf("after %d rounds the reconcilers of %s still write", most, instance)
}

func TestAStaleReadIsTriedAgainAndIsNoError(t *testing.T) {
	w := newWorld(t)
	w.secret("stale", "kubeconfig", first)
	w.instance("stale", "kubeconfig")
	for _, c := range []struct {
		reason string
		err    error
	}{
		{"another client wrote in between", apierrors.NewConflict(v1alpha1.InstanceResource.GroupResource(), "stale", errors.New("moved"))},
		{"the cache has not seen our create", apierrors.NewAlreadyExists(v1alpha1.ClusterResource.GroupResource(), "k-stale")},
		{"the object is deleted by now", apierrors.NewNotFound(v1alpha1.InstanceResource.GroupResource(), "stale")},
	} {
		w.fail = func(string, runtime.Object) error { return c.err }
		result, err := w.sync.Reconcile(t.Context(), named("stale"))
		if err != nil || result.RequeueAfter <= 0 {
			t.Errorf("%s: got %+v and %v, want another attempt soon", c.reason, result, err)
		}
	}

	// A server that does not know the kind answers 404 too, and no cache helps.
	w.fail = func(string, runtime.Object) error {
		return apierrors.NewGenericServerResponse(404, "post", v1alpha1.ClusterResource.GroupResource(), "", "", 0, true)
	}
	if _, err := w.sync.Reconcile(t.Context(), named("stale")); err == nil {
		t.Error("a missing CRD is not told")
	}
	w.fail = nil
	w.must(w.kube.Delete(t.Context(), get(w, "stale", &v1alpha1.Instance{})))
}

func TestDeletionReadsPastTheCache(t *testing.T) {
	w := newWorld(t)
	w.secret("past", "kubeconfig", first)
	instance := w.instance("past", "kubeconfig")
	w.reconcile("past")
	w.takeUp("k-past")
	w.must(w.kube.Delete(t.Context(), instance))

	// The caches do not know yet what has just been made.
	w.sync.Client = blind{Client: w.sync.Client, to: func(object client.Object) bool { _, is := object.(*v1alpha1.Cluster); return is }}
	w.index.Client = blind{Client: w.index.Client, to: func(object client.Object) bool { _, is := object.(*pediav1alpha2.PediaCluster); return is }}
	w.syncInstance("past")
	if stored := get(w, "k-past", &v1alpha1.Cluster{}); stored.DeletionTimestamp.IsZero() {
		t.Error("the virtual Cluster is left behind")
	}
	w.indexCluster("k-past")
	if stored := get(w, "k-past", &pediav1alpha2.PediaCluster{}); stored.DeletionTimestamp.IsZero() {
		t.Error("the PediaCluster is left behind")
	}
	w.cleanUp("k-past")
	w.indexCluster("k-past")
	w.syncInstance("past")
	w.gone("past", &v1alpha1.Instance{})
}

func TestACacheThatHasNotSeenTheInstanceCostsNoRows(t *testing.T) {
	w := newWorld(t)
	w.secret("unseen", "kubeconfig", first)
	w.instance("unseen", "kubeconfig")
	w.reconcile("unseen")
	w.index.Client = blind{Client: w.index.Client, to: func(object client.Object) bool { _, is := object.(*v1alpha1.Instance); return is }}
	w.indexCluster("k-unseen")
	if stored := get(w, "k-unseen", &pediav1alpha2.PediaCluster{}); !stored.DeletionTimestamp.IsZero() {
		t.Error("the PediaCluster is deleted, and its rows with it")
	}
	w.wantCluster("k-unseen", "Unknown/Pending")
}

// blind is a cache that has not seen some objects yet.
type blind struct {
	client.Client
	to func(client.Object) bool
}

func (b blind) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if b.to(object) {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "anything"}, key.Name)
	}
	return b.Client.Get(ctx, key, object, options...)
}
