package clusterimport

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// held is the namespace of a member that is being removed and has a finalizer.
func (w *world) held(labels map[string]string) *corev1.Namespace {
	w.Helper()
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: joinNamespace, Labels: labels, Finalizers: []string{"test/stuck"}}}
	w.create("m1", space)
	w.delete("m1", space)
	return space
}

// freed lets that namespace go.
func (w *world) freed() {
	w.Helper()
	space := &corev1.Namespace{}
	if err := w.others["m1"].Get(w.Context(), client.ObjectKey{Name: joinNamespace}, space); err != nil {
		w.Fatal(err)
	}
	space.Finalizers = nil
	if err := w.others["m1"].Update(w.Context(), space); err != nil {
		w.Fatal(err)
	}
}

// refusing has an instance refuse to make objects, until the function that it gives
// is called.
func (w *world) refusing(err func(client.Object) error) (stop func()) {
	whole, _ := w.others["alpha"].(client.WithWatch)
	w.others["alpha"] = interceptor.NewClient(whole, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := err(o); err != nil {
				return err
			}
			return c.Create(ctx, o, opts...)
		},
	})
	return func() { w.others["alpha"] = whole }
}

// TestWhatStaysBusyIsAskedSeldom has the other side not do its part. It is asked
// often at first, and then more and more seldom, and the condition says why.
func TestWhatStaysBusyIsAskedSeldom(t *testing.T) {
	resource := schema.GroupResource{Resource: "secrets"}
	for _, c := range []struct {
		name  string
		stick func(w *world) (loosen func())
		says  string // Reason and message.
		then  string
	}{
		{"the member's namespace is not removed", func(w *world) func() {
			w.held(nil)
			return w.freed
		}, `Joining: The cluster is busy removing the Namespace "karmada-cluster"`, " Joined "},
		{"one that was made for a former Cluster is not", func(w *world) func() {
			w.held(ownerLabels{cluster: "m1", uid: "former", instance: "alpha", global: "global"}.labels())
			return w.freed
		}, `Joining: The cluster is busy removing the Namespace "karmada-cluster"`, " Joined "},
		{"the instance's namespace is not removed", func(w *world) func() {
			return w.refusing(func(o client.Object) error {
				if _, is := o.(*corev1.Secret); !is {
					return nil
				}
				err := apierrors.NewForbidden(resource, o.GetName(), errors.New("it is being terminated"))
				err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: "NamespaceTerminating"}}
				return err
			})
		}, `Joining: The instance is busy: secrets "m1" is forbidden`, " Joined "},
		{"another client is always faster", func(w *world) func() {
			return w.refusing(func(o client.Object) error {
				if _, is := o.(*clusterv1alpha1.Cluster); !is {
					return nil
				}
				return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "clusters"}, o.GetName())
			})
		}, `Joining: The instance is busy: clusters "m1" already exists`, " Joined "},
		{"the cluster does not finish to remove what was made there", func(w *world) func() {
			w.reconcileAll()
			space := &corev1.Namespace{}
			if err := w.others["m1"].Get(w.Context(), client.ObjectKey{Name: joinNamespace}, space); err != nil {
				w.Fatal(err)
			}
			space.Finalizers = []string{"test/stuck"}
			if err := w.others["m1"].Update(w.Context(), space); err != nil {
				w.Fatal(err)
			}
			w.change(func(o *v1alpha1.Cluster) { o.Spec.InstanceRef = nil })
			return w.freed
		}, `Leaving: The cluster is removing namespace "karmada-cluster"`, "Cluster m1 [] Free <nil>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			loosen := c.stick(w)
			quick, last := 0, time.Duration(0)
			for range 40 {
				result, err := w.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "m1"}})
				if err != nil {
					t.Fatal(err)
				}
				if result.RequeueAfter == whileBusy {
					quick++
				}
				last = result.RequeueAfter
			}
			if quick < 10 || quick > 25 || last < 30*time.Second {
				t.Errorf("it looked %d times at once, and waits for %s in the end", quick, last)
			}
			cluster := &v1alpha1.Cluster{}
			if err := w.global.Get(t.Context(), client.ObjectKey{Name: "m1"}, cluster); err != nil {
				t.Fatal(err)
			}
			joined := meta.FindStatusCondition(cluster.Status.Conditions, v1alpha1.ConditionJoined)
			if joined == nil || !strings.Contains(joined.Reason+": "+joined.Message, c.says) {
				t.Errorf("nothing says %q: %+v", c.says, joined)
			}
			loosen()
			w.reconcileAll()
			if text := strings.Join(w.picture(), "\n"); !strings.Contains(text, c.then) {
				t.Errorf("it does not go on:\n%s", text)
			}
			if !w.reconciler.pauses.quick("m1") {
				t.Error("the next time it is asked seldom from the beginning")
			}
		})
	}
}

// TestConflictsForAMomentAreNotReported has another client be faster than us in the instance, a
// few times.
func TestConflictsForAMomentAreNotReported(t *testing.T) {
	w := newWorld(t)
	stop := w.refusing(func(client.Object) error {
		return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "clusters"}, "m1")
	})
	w.reconcileAll()
	stop()
	cluster := &v1alpha1.Cluster{}
	if err := w.global.Get(t.Context(), client.ObjectKey{Name: "m1"}, cluster); err != nil {
		t.Fatal(err)
	}
	joined := meta.FindStatusCondition(cluster.Status.Conditions, v1alpha1.ConditionJoined)
	if joined == nil || strings.Contains(joined.Message, "busy") {
		t.Errorf("a moment is told: %+v", joined)
	}
}
