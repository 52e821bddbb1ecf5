package instancestatistics

import (
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// held is an alpha that was counted and then deleted, and is held by a finalizer.
func held(t *testing.T, k *karmada) *counting {
	t.Helper()
	k.objects["clusters"] = []string{m1}
	objects := alpha(t, k)
	objects[1].SetFinalizers([]string{v1alpha1.LifecycleFinalizer})
	c := newCounting(t, 0, objects...)
	c.reconcile("alpha")
	poll.True(t, within, "the instance is known", func() bool { return c.observers.byName["alpha"].known() })
	c.reconcile("alpha")
	c.written("it is counted", 1, 1)

	instance, _ := c.stored()
	if err := c.kube.Delete(t.Context(), instance); err != nil {
		t.Fatal(err)
	}
	instance, _ = c.stored()
	instance.Status.Conditions = []metav1.Condition{v1alpha1.ReachableUnknown(v1alpha1.ReasonDeleting, "It is being deleted.")}
	if err := c.kube.Status().Update(t.Context(), instance); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		c.reconcile("alpha")
	}
	c.written("that it is being deleted changes no figure", 1, 1)
	if c.observers.byName["alpha"] == nil {
		t.Fatal("it is not watched any more")
	}
	poll.True(t, within, "every kind is watched", func() bool { return int(k.open.Load()) == len(sources) })
	return c
}

func TestWhatIsHeldIsCounted(t *testing.T) {
	k := newKarmada(t)
	c := held(t, k)
	k.send("deployments", "Deployment", "ADDED", `{"metadata":{"name":"a"}}`)
	poll.True(t, within, "another deployment is counted", func() bool { return len(c.observers.byName["alpha"].figures()["Deployment"]) == 1 })
	c.reconcile("alpha")
	c.written("figures go on", 2, 1)

	c.observers.patience = brief
	c.observers.forget("alpha") // As when another replica leads.
	c.reconcile("alpha")
	poll.True(t, within, "it is watched again", func() bool { return int(k.open.Load()) == len(sources) && c.observers.byName["alpha"].known() })

	k.refuse("clusters", http.StatusServiceUnavailable)
	var instance *v1alpha1.Instance
	poll.True(t, within, "the figures are old", func() bool {
		c.reconcile("alpha")
		instance, _ = c.stored()
		return instance.Status.Summary.StaleSince != nil
	})
	for range 5 {
		c.reconcile("alpha")
	}
	if _, cluster := c.stored(); instance.Status.Summary.Nodes.Total != 3 || cluster.Status.Summary.StaleSince == nil {
		t.Errorf("alpha says %+v, m1 says %+v", instance.Status.Summary, cluster.Status.Summary)
	}
	poll.True(t, within, "what is lost and on its way out is not watched any more", func() bool { return k.open.Load() == 0 })
}

func TestWhatIsHeldAndHasNoCredentialsIsOld(t *testing.T) {
	k := newKarmada(t)
	c := held(t, k)
	if err := c.kube.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kairship-system", Name: "alpha"}}); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		c.reconcile("alpha")
	}
	c.written("that the figures are old is told once", 2, 2)
	if instance, cluster := c.stored(); instance.Status.Summary.StaleSince == nil || cluster.Status.Summary.StaleSince == nil {
		t.Errorf("alpha says %+v, m1 says %+v", instance.Status.Summary, cluster.Status.Summary)
	}
	poll.True(t, within, "nothing is watched any more", func() bool { return k.open.Load() == 0 })
}

func TestWhatIsGoneIsNotWatched(t *testing.T) {
	k := newKarmada(t)
	c := held(t, k)
	instance := &v1alpha1.Instance{}
	if err := c.kube.Get(t.Context(), client.ObjectKey{Name: "alpha"}, instance); err != nil {
		t.Fatal(err)
	}
	instance.Finalizers = nil
	if err := c.kube.Update(t.Context(), instance); err != nil {
		t.Fatal(err)
	}
	c.reconcile("alpha")
	poll.True(t, within, "nothing is watched any more", func() bool { return k.open.Load() == 0 })
	if left := c.Connections.Len(); left != 0 {
		t.Errorf("%d connections are left", left)
	}
}
