package controllers_test

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"

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
	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers"
	"github.com/kairship-io/kairship/pkg/controllers/clusterindex"
	"github.com/kairship-io/kairship/pkg/controllers/internal/credentials"
	"github.com/kairship-io/kairship/pkg/controllers/virtualclustersync"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(apitest.Run(m, apitest.WithPediaClusters()))
}

// clusterpediaFinalizer is the one that Clusterpedia puts on a PediaCluster and
// takes off when its rows are deleted. The tests play Clusterpedia's part.
const clusterpediaFinalizer = "clusterpedia.io/cluster-synchro-controller"

// world is an apiserver and the reconcilers, which are run step by step: nothing
// happens that a test does not ask for.
type world struct {
	*testing.T
	kube   client.Client
	sync   *virtualclustersync.Reconciler
	index  *clusterindex.Reconciler
	events *events.FakeRecorder
	// metrics are those of the controllers that a test starts.
	metrics *prometheus.Registry
	// writes counts what the reconcilers wrote.
	writes atomic.Int32
	// fail lets a write of the reconcilers fail, as when the process dies there.
	fail func(verb string, object runtime.Object) error
}

func newWorld(t *testing.T) *world {
	t.Helper()
	direct, err := client.NewWithWatch(apitest.Config(t), client.Options{Scheme: controllers.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, kube: direct, events: events.NewFakeRecorder(1000), metrics: prometheus.NewRegistry()}
	counted := interceptor.NewClient(direct, w.count())
	secrets := credentials.Reader{Secrets: direct}
	w.sync = &virtualclustersync.Reconciler{Client: counted, Live: direct, Credentials: secrets, Recorder: w.events}
	w.index = &clusterindex.Reconciler{Client: counted, Live: direct, Credentials: secrets, Namespace: controllers.DefaultIndexNamespace, Recorder: w.events}

	for _, name := range []string{v1alpha1.SystemNamespace, controllers.DefaultIndexNamespace} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if err := direct.Create(t.Context(), namespace); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	return w
}

func (w *world) count() interceptor.Funcs {
	write := func(verb string, object runtime.Object) error {
		w.writes.Add(1)
		if w.fail != nil {
			return w.fail(verb, object)
		}
		return nil
	}
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := write("create", o); err != nil {
				return err
			}
			return c.Create(ctx, o, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if err := write("delete", o); err != nil {
				return err
			}
			return c.Delete(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := write("patch", o); err != nil {
				return err
			}
			return c.Patch(ctx, o, p, opts...)
		},
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, a runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			if err := write("apply "+sub, nil); err != nil {
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

func named(name string) ctrl.Request {
	return ctrl.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// syncInstance and indexCluster run one reconciliation.
func (w *world) syncInstance(name string) reconcile.Result {
	w.Helper()
	result, err := w.sync.Reconcile(w.Context(), named(name))
	w.must(err)
	return result
}

func (w *world) indexCluster(name string) reconcile.Result {
	w.Helper()
	result, err := w.index.Reconcile(w.Context(), named(name))
	w.must(err)
	return result
}

// reconcile runs the reconcilers of an instance until they have nothing left to do.
func (w *world) reconcile(instance string) {
	w.Helper()
	const most = 10
	for range most {
		before := w.writes.Load()
		w.syncInstance(instance)
		w.indexCluster(v1alpha1.VirtualClusterName(instance))
		if w.writes.Load() == before {
			return
		}
	}
	w.Fatalf("after %d rounds the reconcilers of %s still write", most, instance)
}

// secret stores the kubeconfig of some apiserver under a key.
func (w *world) secret(name, key string, to connection.Connection) {
	w.Helper()
	kubeconfig, err := to.Kubeconfig()
	w.must(err)
	w.secretData(name, map[string][]byte{key: kubeconfig})
}

func (w *world) secretData(name string, data map[string][]byte) {
	w.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: name}}
	_, err := controllerutil.CreateOrUpdate(w.Context(), w.kube, secret, func() error {
		secret.Data = data
		return nil
	})
	w.must(err)
}

// instance creates an External instance whose Secret has the instance's name.
func (w *world) instance(name, key string) *v1alpha1.Instance {
	w.Helper()
	instance := &v1alpha1.Instance{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.InstanceSpec{
			Alias: "The " + name, Mode: v1alpha1.InstanceModeExternal,
			KubeconfigSecretRef: &v1alpha1.SecretKeyReference{SecretReference: v1alpha1.SecretReference{Name: name}, Key: key},
		},
	}
	w.must(w.kube.Create(w.Context(), instance))
	return instance
}

// physical creates a Physical cluster whose Secret has the cluster's name.
func (w *world) physical(name, endpoint string) *v1alpha1.Cluster {
	w.Helper()
	cluster := &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.ClusterSpec{
			APIEndpoint:          endpoint,
			CredentialsSecretRef: &v1alpha1.ClusterCredentialsReference{SecretReference: v1alpha1.SecretReference{Name: name}},
		},
	}
	w.must(w.kube.Create(w.Context(), cluster))
	return cluster
}

// get reads an object by name; it fails the test when there is none.
func get[Object client.Object](w *world, name string, object Object) Object {
	w.Helper()
	w.must(w.kube.Get(w.Context(), client.ObjectKey{Name: name}, object))
	return object
}

// gone fails the test when there is such an object.
func (w *world) gone(name string, object client.Object) {
	w.Helper()
	if err := w.kube.Get(w.Context(), client.ObjectKey{Name: name}, object); !apierrors.IsNotFound(err) {
		w.Errorf("%T %s exists, or cannot be read: %v", object, name, err)
	}
}

// indexed is the condition Indexed as one word, and its message.
func (w *world) indexed(conditions []metav1.Condition) (word, message string) {
	w.Helper()
	found := meta.FindStatusCondition(conditions, v1alpha1.ConditionIndexed)
	if found == nil {
		return "none", ""
	}
	return string(found.Status) + "/" + found.Reason, found.Message
}

func (w *world) wantInstance(name, want string, says ...string) {
	w.Helper()
	word, message := w.indexed(get(w, name, &v1alpha1.Instance{}).Status.Conditions)
	w.wantWord("instance "+name, word, message, want, says)
}

func (w *world) wantCluster(name, want string, says ...string) {
	w.Helper()
	word, message := w.indexed(get(w, name, &v1alpha1.Cluster{}).Status.Conditions)
	w.wantWord("cluster "+name, word, message, want, says)
}

func (w *world) wantWord(what, word, message, want string, says []string) {
	w.Helper()
	if word != want {
		w.Errorf("%s is %s, want %s: %s", what, word, want, message)
	}
	for _, part := range says {
		if !strings.Contains(message, part) {
			w.Errorf("the message of %s does not say %q: %s", what, part, message)
		}
	}
}

// reported returns how many events of a reason there have been since the last call.
func (w *world) reported(reason string) (number int) {
	for {
		select {
		case event := <-w.events.Events:
			if strings.Contains(event, reason) {
				number++
			}
		default:
			return number
		}
	}
}

// The part of Clusterpedia:

// takeUp is what it does with a new PediaCluster.
func (w *world) takeUp(name string) {
	w.Helper()
	pedia := get(w, name, &pediav1alpha2.PediaCluster{})
	if controllerutil.AddFinalizer(pedia, clusterpediaFinalizer) {
		w.must(w.kube.Update(w.Context(), pedia))
	}
	for _, kind := range []string{
		pediav1alpha2.ValidatedCondition, pediav1alpha2.SynchroRunningCondition,
		pediav1alpha2.ClusterHealthyCondition, pediav1alpha2.ReadyCondition,
	} {
		meta.SetStatusCondition(&pedia.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "Fine"})
	}
	pedia.Status.SyncResources = nil
	for _, asked := range pedia.Spec.SyncResources {
		group := pediav1alpha2.ClusterGroupResourcesStatus{Group: asked.Group}
		for _, resource := range asked.Resources {
			group.Resources = append(group.Resources, pediav1alpha2.ClusterResourceStatus{Name: resource, SyncConditions: []pediav1alpha2.ClusterResourceSyncCondition{{
				Version: "v1", Status: pediav1alpha2.ResourceSyncStatusSyncing, LastTransitionTime: metav1.Now(),
			}}})
		}
		pedia.Status.SyncResources = append(pedia.Status.SyncResources, group)
	}
	w.must(w.kube.Status().Update(w.Context(), pedia))
}

// cleanUp is what it does with one that is being deleted.
func (w *world) cleanUp(name string) {
	w.Helper()
	pedia := get(w, name, &pediav1alpha2.PediaCluster{})
	if pedia.DeletionTimestamp.IsZero() {
		w.Fatalf("PediaCluster %s was not deleted", name)
	}
	controllerutil.RemoveFinalizer(pedia, clusterpediaFinalizer)
	w.must(w.kube.Update(w.Context(), pedia))
}
