package instancelifecycle_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	operatorv1alpha1 "github.com/karmada-io/karmada/operator/pkg/apis/operator/v1alpha1"
	operatorscheme "github.com/karmada-io/karmada/operator/pkg/scheme"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kairship-io/kairship/pkg/apis/apitest"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers"
	"github.com/kairship-io/kairship/pkg/controllers/instancelifecycle"
	"github.com/kairship-io/kairship/pkg/controllers/internal/activity"
	"github.com/kairship-io/kairship/pkg/controllers/internal/credentials"
	"github.com/kairship-io/kairship/pkg/projection"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(apitest.Run(m, apitest.WithKarmadas()))
}

// What the operator puts on a Karmada. The tests play its part.
const (
	operatorFinalizer = "operator.karmada.io/finalizer"
	operatorLabel     = "operator.karmada.io/disable-cascading-deletion"
)

// token is a secret that no message or log may contain.
const token = "t0p-s3cret-t0ken"

// world is an apiserver and the reconciler, which is run step by step: nothing
// happens that a test does not ask for.
type world struct {
	*testing.T
	kube       client.Client
	reconciler *instancelifecycle.Reconciler
	events     *events.FakeRecorder
	// recorded is what the reconciler recorded of its changes.
	recorded []activity.Change
	now      time.Time
	// writes counts what the reconciler wrote.
	writes atomic.Int32
	// fail lets a write fail, as when the process dies there.
	fail func(verb string) error
}

func newWorld(t *testing.T) *world {
	t.Helper()
	direct, err := client.NewWithWatch(apitest.Config(t), client.Options{Scheme: controllers.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, kube: direct, events: events.NewFakeRecorder(1000), now: time.Now()}
	w.reconciler = &instancelifecycle.Reconciler{
		Metrics: instancelifecycle.NewMetrics(prometheus.NewRegistry()),
		Client:  interceptor.NewClient(direct, w.count()), Live: direct,
		Credentials: credentials.Reader{Secrets: direct},
		Recorder:    w.events,
		Timeout:     5 * time.Second,
		Patience:    10 * time.Minute,
		Now:         func() time.Time { return w.now },
		Activity:    func(c activity.Change) { w.recorded = append(w.recorded, c) },
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.SystemNamespace}}
	if err := direct.Create(t.Context(), namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	return w
}

// wantRecorded compares what was recorded since the last call of the Karmada of an Instance, which is shown without its namespace.
func (w *world) wantRecorded(name string, verbs ...projection.ActivityVerb) {
	w.Helper()
	var want []activity.Change
	for _, verb := range verbs {
		want = append(want, activity.Change{Instance: name, Verb: verb, Group: operatorv1alpha1.GroupName, Kind: "Karmada", Name: name})
	}
	for i := range w.recorded {
		if w.recorded[i].InstanceUID == "" {
			w.Errorf("it is recorded for no instance: %+v", w.recorded[i])
		}
		w.recorded[i].InstanceUID = ""
	}
	if !slices.Equal(w.recorded, want) {
		w.Errorf("recorded %+v, want %+v", w.recorded, want)
	}
	w.recorded = nil
}

func (w *world) count() interceptor.Funcs {
	write := func(verb string) error {
		w.writes.Add(1)
		if w.fail != nil {
			return w.fail(verb)
		}
		return nil
	}
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := write("create"); err != nil {
				return err
			}
			return c.Create(ctx, o, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if err := write("delete"); err != nil {
				return err
			}
			return c.Delete(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := write("patch"); err != nil {
				return err
			}
			return c.Patch(ctx, o, p, opts...)
		},
		Apply: func(ctx context.Context, c client.WithWatch, a runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			if err := write("apply"); err != nil {
				return err
			}
			return c.Apply(ctx, a, opts...)
		},
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, a runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			if err := write("apply " + sub); err != nil {
				return err
			}
			return c.SubResource(sub).Apply(ctx, a, opts...)
		},
	}
}

// must fails the test on an error.
func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// reconcile runs one reconciliation.
func (w *world) reconcile(name string) reconcile.Result {
	w.Helper()
	result, err := w.reconciler.Reconcile(w.Context(), requestOf(name))
	w.must(err)
	return result
}

// reconcileUntilDone reconciles until there is nothing left to do.
func (w *world) reconcileUntilDone(name string) reconcile.Result {
	w.Helper()
	const most = 10
	for range most {
		before := w.writes.Load()
		result := w.reconcile(name)
		if w.writes.Load() == before {
			return result
		}
	}
	w.Fatalf("after %d rounds the reconciler of %s still writes", most, name)
	return reconcile.Result{}
}

// managed creates a Managed instance on a host, and changes it before if asked to.
func (w *world) managed(name, host string, change ...func(*v1alpha1.InstanceSpec)) *v1alpha1.Instance {
	w.Helper()
	instance := &v1alpha1.Instance{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.InstanceSpec{Mode: v1alpha1.InstanceModeManaged, HostCluster: host},
	}
	for _, c := range change {
		c(&instance.Spec)
	}
	w.must(w.kube.Create(w.Context(), instance))
	return instance
}

// host creates a Physical cluster with a Secret, both of the name.
func (w *world) host(name string) *v1alpha1.Cluster {
	w.Helper()
	w.hostToken(name, token)
	cluster := &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.ClusterSpec{
			APIEndpoint:          "https://" + name + ".example.com:6443",
			CredentialsSecretRef: &v1alpha1.ClusterCredentialsReference{SecretReference: v1alpha1.SecretReference{Name: name}},
		},
	}
	w.must(w.kube.Create(w.Context(), cluster))
	return cluster
}

// reached is a host that Kairship has looked at.
func (w *world) reached(name string) *v1alpha1.Cluster {
	w.Helper()
	cluster := w.host(name)
	w.is(cluster, "uid-of-"+name)
	return cluster
}

// is says in the status of a Cluster which cluster it is.
func (w *world) is(cluster *v1alpha1.Cluster, kubeSystem string) {
	w.Helper()
	cluster.Status.KubeSystemID = kubeSystem
	w.must(w.kube.Status().Update(w.Context(), cluster))
}

func (w *world) hostToken(name, value string) {
	w.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: name}}
	_, err := controllerutil.CreateOrUpdate(w.Context(), w.kube, secret, func() error {
		secret.Data = map[string][]byte{"token": []byte(value), "caBundle": apitest.Config(w.T).CAData}
		return nil
	})
	w.must(err)
}

// get reads an object; it fails the test when there is none.
func get[Object client.Object](w *world, key client.ObjectKey, object Object) Object {
	w.Helper()
	w.must(w.kube.Get(w.Context(), key, object))
	return object
}

func (w *world) instance(name string) *v1alpha1.Instance {
	w.Helper()
	return get(w, client.ObjectKey{Name: name}, &v1alpha1.Instance{})
}

func karmadaOf(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: "k-" + name, Name: name}
}

func (w *world) karmada(name string) *operatorv1alpha1.Karmada {
	w.Helper()
	return get(w, karmadaOf(name), &operatorv1alpha1.Karmada{})
}

func hostSecretOf(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: "k-" + name + "-host"}
}

// gone fails the test unless an object was deleted or is being deleted: no controller removes the
// objects of a namespace here.
func (w *world) gone(key client.ObjectKey, object client.Object) {
	w.Helper()
	err := w.kube.Get(w.Context(), key, object)
	if !apierrors.IsNotFound(err) && (err != nil || object.GetDeletionTimestamp().IsZero()) {
		w.Errorf("%T %s exists, or cannot be read: %v", object, key, err)
	}
}

// edit changes an Instance as a person would.
func (w *world) edit(name string, change func(*v1alpha1.Instance)) {
	w.Helper()
	instance := w.instance(name)
	before := instance.DeepCopy()
	change(instance)
	w.must(w.kube.Patch(w.Context(), instance, client.MergeFrom(before)))
}

// says fails the test unless a condition is as it should be: "True/Installed".
func (w *world) says(name, condition, want string, parts ...string) {
	w.Helper()
	got, message := "none", ""
	if found := meta.FindStatusCondition(w.instance(name).Status.Conditions, condition); found != nil {
		got, message = string(found.Status)+"/"+found.Reason, found.Message
	}
	if got != want {
		w.Errorf("%s of %s is %s, want %s: %s", condition, name, got, want, message)
	}
	for _, part := range parts {
		if !strings.Contains(message, part) {
			w.Errorf("%s of %s does not say %q: %s", condition, name, part, message)
		}
	}
}

func (w *world) installed(name, want string, parts ...string) {
	w.Helper()
	w.says(name, v1alpha1.ConditionInstalled, want, parts...)
}

func (w *world) removable(name, want string, parts ...string) {
	w.Helper()
	w.says(name, v1alpha1.ConditionRemovable, want, parts...)
}

// reported returns the events since the last call, one in a line.
func (w *world) reported() string {
	var all []string
	for {
		select {
		case event := <-w.events.Events:
			all = append(all, event)
		default:
			return strings.Join(all, "\n")
		}
	}
}

// The part of the operator:

// takeUp is what it does with a new or changed Karmada: a finalizer, a label, and
// its own defaults, in one update.
func (w *world) takeUp(name string) {
	w.Helper()
	karmada := w.karmada(name)
	controllerutil.AddFinalizer(karmada, operatorFinalizer)
	karmada.Labels[operatorLabel] = "false"
	operatorscheme.Scheme.Default(karmada)
	w.must(w.kube.Update(w.Context(), karmada, client.FieldOwner("karmada-operator")))
}

// judge is what it writes after a step of its work, a second after the last one.
func (w *world) judge(name string, status metav1.ConditionStatus, reason, message string) {
	w.Helper()
	w.now = w.now.Add(time.Second)
	karmada := w.karmada(name)
	karmada.Status.Conditions = []metav1.Condition{{
		Type: "Ready", Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(w.now),
	}}
	if status == metav1.ConditionTrue {
		karmada.Status.SecretRef = &operatorv1alpha1.LocalSecretReference{Namespace: "k-" + name, Name: name + "-karmada-admin-config"}
	}
	w.must(w.kube.Status().Update(w.Context(), karmada))
}

// install is all of that, to the end.
func (w *world) install(name string) {
	w.Helper()
	w.reconcileUntilDone(name)
	w.takeUp(name)
	w.judge(name, metav1.ConditionTrue, "Completed", "karmada init job is completed")
	w.reconcileUntilDone(name)
	w.installed(name, "True/Installed")
}

// uninstalled is when it has removed everything.
func (w *world) uninstalled(name string) {
	w.Helper()
	karmada := w.karmada(name)
	controllerutil.RemoveFinalizer(karmada, operatorFinalizer)
	w.must(w.kube.Update(w.Context(), karmada))
}

func requestOf(name string) ctrl.Request {
	return ctrl.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// diesAfter lets the process die after so many writes. It reports whether it has.
func (w *world) diesAfter(writes int) (died func() bool) {
	w.fail = func(string) error {
		writes--
		if writes < 0 {
			return errors.New("the process is dead")
		}
		return nil
	}
	return func() bool { return writes < 0 }
}
