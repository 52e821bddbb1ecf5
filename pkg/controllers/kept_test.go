package controllers_test

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// edit changes an Instance as another client does.
func (w *world) edit(name string, change func(*v1alpha1.Instance)) {
	w.Helper()
	instance := get(w, name, &v1alpha1.Instance{})
	change(instance)
	w.must(w.kube.Update(w.Context(), instance))
}

// removable says in the status of an Instance what keeps it.
func (w *world) removable(name string, condition metav1.Condition) {
	w.Helper()
	instance := get(w, name, &v1alpha1.Instance{})
	meta.SetStatusCondition(&instance.Status.Conditions, condition)
	w.must(w.kube.Status().Update(w.Context(), instance))
}

// TestWhatClustersKeepStaysAsItIs: a deleted Instance that clusters are joined to is
// not taken apart before they have left, or a user says not to wait.
func TestWhatClustersKeepStaysAsItIs(t *testing.T) {
	joined := v1alpha1.NotRemovable(v1alpha1.ReasonClustersJoined, "m1")
	for name, goes := range map[string]func(w *world, name string){
		"kept-left": func(w *world, name string) {
			w.edit(name, func(i *v1alpha1.Instance) { controllerutil.RemoveFinalizer(i, v1alpha1.LifecycleFinalizer) })
		},
		"kept-waited-for": func(w *world, name string) {
			w.removable(name, v1alpha1.NotRemovable(v1alpha1.ReasonCleaningUpFirst, "the others"))
		},
		"kept-forced": func(w *world, name string) {
			w.edit(name, func(i *v1alpha1.Instance) { i.Annotations = map[string]string{v1alpha1.ForceDeleteAnnotation: "true"} })
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAccessWorld(t)
			w.registered(name)
			w.edit(name, func(i *v1alpha1.Instance) { controllerutil.AddFinalizer(i, v1alpha1.LifecycleFinalizer) })
			first, second := "alice-"+name, "bob-"+name
			w.give(first, name, v1alpha1.RoleEditor)
			reconcile := func() {
				t.Helper()
				w.reconcileAccess(name)
				w.reconcile(name)
			}
			reconcile()
			w.takeUp("k-" + name)
			reconcile()
			stays := func(when string, bindings ...string) {
				t.Helper()
				reconcile()
				for _, binding := range bindings {
					if len(w.grants(binding)) == 0 {
						t.Errorf("%s: nothing is left of %s", when, binding)
					}
					w.wantBinding(binding, ready, "True/Bound")
				}
				w.wantInstance(name, "True/Collecting")
				if pedia := get(w.world, "k-"+name, &pediav1alpha2.PediaCluster{}); !pedia.DeletionTimestamp.IsZero() {
					t.Errorf("%s: its rows are deleted", when)
				}
			}

			w.must(w.kube.Delete(t.Context(), get(w.world, name, &v1alpha1.Instance{})))
			stays("clusters were not looked for yet", first)
			w.removable(name, joined)
			stays("clusters are joined", first)
			w.give(second, name, v1alpha1.RoleViewer)
			stays("a user gets a role meanwhile", first, second)
			w.door.shut()
			w.access.Patience = 0
			w.reconcileAccess(name)
			w.wantBinding(first, ready, "False/Unreachable")
			w.door.open()
			stays("it was not reached meanwhile", first, second)

			goes(w.world, name)
			reconcile()
			if got := append(w.grants(first), w.grants(second)...); len(got) > 0 {
				t.Errorf("the instance still has %v", got)
			}
			w.cleanUp("k-" + name)
			reconcile()
			// What instance-lifecycle does in the end.
			if w.kube.Get(t.Context(), client.ObjectKey{Name: name}, &v1alpha1.Instance{}) == nil {
				w.edit(name, func(i *v1alpha1.Instance) { controllerutil.RemoveFinalizer(i, v1alpha1.LifecycleFinalizer) })
			}
			w.leaveNothing(name)
		})
	}
}

// TestAKeptInstanceGetsNoNewVirtualCluster: another client that takes it away, such as the garbage
// collector, would do so again.
func TestAKeptInstanceGetsNoNewVirtualCluster(t *testing.T) {
	w := newWorld(t)
	w.secret("kept-alone", "kubeconfig", first)
	instance := w.instance("kept-alone", "kubeconfig")
	w.edit("kept-alone", func(i *v1alpha1.Instance) { controllerutil.AddFinalizer(i, v1alpha1.LifecycleFinalizer) })
	w.reconcile("kept-alone")
	w.takeUp("k-kept-alone")
	w.must(w.kube.Delete(t.Context(), instance))
	w.must(w.kube.Delete(t.Context(), get(w, "k-kept-alone", &v1alpha1.Cluster{})))
	w.reconcile("kept-alone")
	w.cleanUp("k-kept-alone")
	w.reconcile("kept-alone")
	w.gone("k-kept-alone", &v1alpha1.Cluster{})
	w.wantInstance("kept-alone", "False/CleaningUp", "not made again")
	w.edit("kept-alone", func(i *v1alpha1.Instance) { controllerutil.RemoveFinalizer(i, v1alpha1.LifecycleFinalizer) })
	w.reconcile("kept-alone")
	w.gone("kept-alone", &v1alpha1.Instance{})
}

// TestKeptTogether runs all controllers: none waits for another one for ever.
func TestKeptTogether(t *testing.T) {
	w := newAccessWorld(t)
	startManager(w.world)
	const name = "kept-together"
	instance := w.registered(name)
	w.give("alice-"+name, name, v1alpha1.RoleEditor)
	cluster := &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "member-of-" + name},
		Spec: v1alpha1.ClusterSpec{
			APIEndpoint:          "https://127.0.0.1:1",
			CredentialsSecretRef: &v1alpha1.ClusterCredentialsReference{SecretReference: v1alpha1.SecretReference{Name: "member-of-" + name}},
			InstanceRef:          &v1alpha1.InstanceReference{Name: name},
		},
	}
	w.must(w.kube.Create(t.Context(), cluster)) // An update would meet what the controllers write by then.
	w.eventually("the role is given", func(context.Context) bool { w.aggregate(); return len(w.grants("alice-"+name)) > 0 })
	w.eventually("it is collected", func(ctx context.Context) bool {
		return w.kube.Get(ctx, client.ObjectKey{Name: "k-" + name}, &pediav1alpha2.PediaCluster{}) == nil
	})
	w.takeUp("k-" + name)

	w.must(w.kube.Delete(t.Context(), instance))
	w.eventually("its cluster keeps it", func(context.Context) bool {
		found := meta.FindStatusCondition(get(w.world, name, &v1alpha1.Instance{}).Status.Conditions, v1alpha1.ConditionRemovable)
		return found != nil && found.Reason == v1alpha1.ReasonClustersJoined
	})
	// Both controllers act on a later change, so they have seen the deletion.
	w.give("bob-"+name, name, v1alpha1.RoleEditor)
	w.eventually("another role is given", func(context.Context) bool { w.aggregate(); return len(w.grants("bob-"+name)) > 0 })
	pedia := get(w.world, "k-"+name, &pediav1alpha2.PediaCluster{})
	right := pedia.Spec.APIServer
	pedia.Spec.APIServer = "https://wrong.invalid"
	w.must(w.kube.Update(w.Context(), pedia))
	w.eventually("the address that is collected from is corrected", func(context.Context) bool {
		return get(w.world, "k-"+name, &pediav1alpha2.PediaCluster{}).Spec.APIServer == right
	})
	if len(w.grants("alice-"+name)) == 0 {
		t.Error("the role is taken away meanwhile")
	}
	if pedia := get(w.world, "k-"+name, &pediav1alpha2.PediaCluster{}); !pedia.DeletionTimestamp.IsZero() {
		t.Error("its rows are deleted meanwhile")
	}

	w.must(w.kube.Delete(t.Context(), get(w.world, cluster.Name, &v1alpha1.Cluster{})))
	w.eventually("its rows are deleted then", func(context.Context) bool {
		return !get(w.world, "k-"+name, &pediav1alpha2.PediaCluster{}).DeletionTimestamp.IsZero()
	})
	w.eventually("and the role is taken away", func(context.Context) bool { return len(w.grants("alice-"+name)) == 0 })
	w.cleanUp("k-" + name)
	w.eventually("and it goes", func(ctx context.Context) bool {
		return apierrors.IsNotFound(w.kube.Get(ctx, client.ObjectKey{Name: name}, &v1alpha1.Instance{}))
	})
	w.drop("alice-" + name)
	w.drop("bob-" + name)
}
