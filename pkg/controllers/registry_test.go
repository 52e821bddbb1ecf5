package controllers_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz/roles"
	"github.com/kairship-io/kairship/pkg/controllers/instanceregistry"
)

func (w *world) register(name string) {
	w.Helper()
	r := &instanceregistry.Reconciler{Client: w.sync.Client, Live: w.kube, Recorder: w.events}
	_, err := r.Reconcile(w.Context(), named(name))
	w.must(err)
}

// wantRegistered checks what the Instance reports about its registration.
func (w *world) wantRegistered(name, want string) {
	w.Helper()
	found := meta.FindStatusCondition(get(w, name, &v1alpha1.Instance{}).Status.Conditions, v1alpha1.ConditionRegistered)
	if found == nil || string(found.Status)+"/"+found.Reason != want {
		w.Errorf("Registered of %s is %+v, want %s", name, found, want)
	}
}

func TestEveryInstanceIsRegisteredForBinding(t *testing.T) {
	w := newWorld(t)
	w.register("missing")
	w.gone("missing", &v1alpha1.InstanceRegistration{})

	instance := w.instance("offered", "kubeconfig")
	defer func() {
		w.must(client.IgnoreNotFound(w.kube.Delete(t.Context(), &v1alpha1.InstanceRegistration{ObjectMeta: metav1.ObjectMeta{Name: "offered"}})))
	}()
	check := func(reason string, spec v1alpha1.InstanceRegistrationSpec, state v1alpha1.InstanceState) *v1alpha1.InstanceRegistration {
		t.Helper()
		w.register("offered")
		stored := get(w, "offered", &v1alpha1.InstanceRegistration{})
		spec.Roles = roles.Bindable("offered")
		if diff := cmp.Diff(spec, stored.Spec); diff != "" {
			t.Errorf("%s: spec (-want +got):\n%s", reason, diff)
		}
		if stored.Status.State != state {
			t.Errorf("%s: state %s, want %s", reason, stored.Status.State, state)
		}
		return stored
	}
	registration := check("it was not checked yet", v1alpha1.InstanceRegistrationSpec{Alias: "The offered"}, v1alpha1.InstanceStateUnknown)
	if owner := metav1.GetControllerOf(registration); owner == nil || owner.UID != instance.UID {
		t.Errorf("it does not go with the Instance: %+v", owner)
	}

	get(w, "offered", instance)
	instance.Status.State, instance.Status.APIEndpoint = v1alpha1.InstanceStateRunning, "https://10.0.0.1:6443"
	meta.SetStatusCondition(&instance.Status.Conditions, v1alpha1.Ready("It works."))
	meta.SetStatusCondition(&instance.Status.Conditions, v1alpha1.Reachable("It answers."))
	w.must(w.kube.Status().Update(t.Context(), instance))
	running := v1alpha1.InstanceRegistrationSpec{Alias: "The offered", Endpoint: "https://10.0.0.1:6443"}
	registration = check("it runs", running, v1alpha1.InstanceStateRunning)
	if diff := cmp.Diff([]metav1.Condition{*meta.FindStatusCondition(instance.Status.Conditions, v1alpha1.ConditionReady)}, registration.Status.Conditions); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	if registration.Status.ObservedGeneration != instance.Generation {
		t.Errorf("it was written for generation %d, want %d", registration.Status.ObservedGeneration, instance.Generation)
	}

	before := w.writes.Load()
	w.register("offered")
	if now := w.writes.Load(); now != before {
		t.Errorf("%d writes where nothing changed", now-before)
	}

	get(w, "offered", instance)
	instance.Spec.Alias = ""
	w.must(w.kube.Update(t.Context(), instance))
	running.Alias = "offered"
	check("without an alias it has its name", running, v1alpha1.InstanceStateRunning)

	registration.Spec.Alias, registration.Spec.Roles = "Somebody's", nil
	registration.ResourceVersion = get(w, "offered", &v1alpha1.InstanceRegistration{}).ResourceVersion
	w.must(w.kube.Update(t.Context(), registration))
	check("what a user changed is put right", running, v1alpha1.InstanceStateRunning)

	w.wantRegistered("offered", "True/Registered")
	get(w, "offered", instance)
	instance.Finalizers = []string{"example.com/test"}
	w.must(w.kube.Update(t.Context(), instance))
	w.must(w.kube.Delete(t.Context(), instance))
	check("it is on its way out", running, v1alpha1.InstanceStateTerminating)
	w.must(w.kube.Delete(t.Context(), registration))
	w.register("offered")
	w.gone("offered", registration) // A new one would only be offered for a moment.
	w.wantRegistered("offered", "False/Deleting")

	get(w, "offered", instance)
	instance.Finalizers = nil
	w.must(w.kube.Update(t.Context(), instance))
	w.register("offered")
}

// TestANewInstanceIsLookedAtFirst registers it once it is known how it is, or when that
// takes too long.
func TestANewInstanceIsLookedAtFirst(t *testing.T) {
	w := newWorld(t)
	instance := w.instance("awaited", "kubeconfig")
	defer func() {
		w.must(w.kube.Delete(t.Context(), instance))
		w.must(client.IgnoreNotFound(w.kube.Delete(t.Context(), &v1alpha1.InstanceRegistration{ObjectMeta: metav1.ObjectMeta{Name: "awaited"}})))
	}()
	reconcile := func(patience time.Duration) time.Duration {
		t.Helper()
		r := &instanceregistry.Reconciler{Client: w.sync.Client, Live: w.kube, Recorder: w.events, Patience: patience}
		result, err := r.Reconcile(t.Context(), named("awaited"))
		w.must(err)
		return result.RequeueAfter
	}
	if again := reconcile(time.Hour); again <= 0 || again > time.Hour {
		t.Errorf("it comes again after %s", again)
	}
	w.gone("awaited", &v1alpha1.InstanceRegistration{})

	reconcile(time.Nanosecond)
	if stored := get(w, "awaited", &v1alpha1.InstanceRegistration{}); stored.Status.State != v1alpha1.InstanceStateUnknown {
		t.Errorf("it was not checked for too long, and its state is %q", stored.Status.State)
	}
	w.wantRegistered("awaited", "True/Registered")
	if reported := w.reported("Registered"); reported > 0 {
		t.Errorf("%d events say that a new instance is registered", reported)
	}

	get(w, "awaited", instance)
	instance.Status.State = v1alpha1.InstanceStateRunning
	w.must(w.kube.Status().Update(t.Context(), instance))
	if again := reconcile(time.Hour); again != 0 {
		t.Errorf("it was looked at, and comes again after %s", again)
	}
	if stored := get(w, "awaited", &v1alpha1.InstanceRegistration{}); stored.Status.State != v1alpha1.InstanceStateRunning {
		t.Errorf("its state is %q", stored.Status.State)
	}
}

func TestForeignRegistrationIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	foreign := &v1alpha1.InstanceRegistration{ObjectMeta: metav1.ObjectMeta{Name: "claimed"}, Spec: v1alpha1.InstanceRegistrationSpec{Alias: "Somebody's"}}
	w.must(w.kube.Create(t.Context(), foreign))
	instance := w.instance("claimed", "kubeconfig")
	defer func() { w.must(w.kube.Delete(t.Context(), instance)) }()
	w.register("claimed")
	if stored := get(w, "claimed", &v1alpha1.InstanceRegistration{}); stored.ResourceVersion != foreign.ResourceVersion {
		t.Errorf("the foreign registration changed: %+v", stored)
	}
	if reported := w.reported("NameTaken"); reported != 1 {
		t.Errorf("%d events tell why it is not registered, want 1", reported)
	}
	w.wantRegistered("claimed", "False/NameTaken")
	w.must(w.kube.Delete(t.Context(), foreign))
	w.register("claimed")
	if reported := w.reported("Registered"); reported != 1 {
		t.Errorf("%d events tell that it could be registered after all, want 1", reported)
	}
	stored := get(w, "claimed", &v1alpha1.InstanceRegistration{})
	if stored.Spec.Alias != "The claimed" {
		t.Errorf("it is not made after the foreign one has gone: %+v", stored.Spec)
	}
	if err := w.kube.Delete(t.Context(), stored); err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}

// TestRegistrationLeftBehind removes the registration of an Instance that no longer exists,
// as when the garbage collector is down, and no other.
func TestRegistrationLeftBehind(t *testing.T) {
	w := newWorld(t)
	startManager(w)
	instance := w.instance("left", "kubeconfig")
	var made types.UID
	registered := func(ctx context.Context) (uid types.UID) {
		registration := &v1alpha1.InstanceRegistration{}
		_ = w.kube.Get(ctx, client.ObjectKey{Name: "left"}, registration)
		return registration.UID
	}
	w.eventually("it is registered", func(ctx context.Context) bool {
		made = registered(ctx)
		return made != ""
	})
	// There is no garbage collector here: no other would remove it.
	w.must(w.kube.Delete(t.Context(), instance))
	w.eventually("the registration goes with the Instance", func(ctx context.Context) bool {
		return apierrors.IsNotFound(w.kube.Get(ctx, client.ObjectKey{Name: "left"}, &v1alpha1.InstanceRegistration{}))
	})

	foreign := &v1alpha1.InstanceRegistration{ObjectMeta: metav1.ObjectMeta{Name: "left-foreign", Labels: map[string]string{"team": "somebody-else"}}}
	w.must(w.kube.Create(t.Context(), foreign))
	w.eventually("the Instance is deleted", func(ctx context.Context) bool {
		return apierrors.IsNotFound(w.kube.Get(ctx, client.ObjectKey{Name: "left"}, &v1alpha1.Instance{}))
	})
	w.instance("left", "kubeconfig")
	w.eventually("the next Instance of the name is registered", func(ctx context.Context) bool {
		uid := registered(ctx)
		return uid != "" && uid != made
	})
	if stays := get(w, "left-foreign", &v1alpha1.InstanceRegistration{}); stays.UID != foreign.UID || !stays.DeletionTimestamp.IsZero() {
		t.Error("another owner's registration was removed")
	}
}
