package instancestatistics

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/connections"
	"github.com/kairship-io/kairship/pkg/controllers/internal/credentials"
)

// counting is a Reconciler whose writes are counted, by kind.
type counting struct {
	*testing.T
	*Reconciler
	kube   client.Client
	writes map[string]int
}

func newCounting(t *testing.T, interval time.Duration, objects ...client.Object) *counting {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := &counting{T: t, writes: map[string]int{}}
	c.kube = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&v1alpha1.Instance{}, &v1alpha1.Cluster{}).
		WithIndex(&v1alpha1.Cluster{}, clusterIndex, joinedTo).
		WithInterceptorFuncs(interceptor.Funcs{SubResourceApply: c.apply}).Build()
	c.Reconciler = &Reconciler{
		Client: c.kube, Credentials: credentials.Reader{Secrets: c.kube}, Connections: &connections.Pool{}, Metrics: NewMetrics(prometheus.NewRegistry()), Interval: interval,
	}
	c.observers.init(&c.Metrics.watches)
	t.Cleanup(func() { c.observers.forget("alpha") })
	return c
}

// apply stands for the API server: it takes over the summary.
func (c *counting) apply(ctx context.Context, kube client.Client, _ string, applied runtime.ApplyConfiguration, _ ...client.SubResourceApplyOption) error {
	raw, err := json.Marshal(applied)
	if err != nil {
		return err
	}
	var meta metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &meta); err != nil {
		return err
	}
	c.writes[meta.Kind]++
	var object client.Object
	if meta.Kind == v1alpha1.InstanceKind {
		var said, stored v1alpha1.Instance
		if err := json.Unmarshal(raw, &said); err != nil {
			return err
		}
		if err := kube.Get(ctx, client.ObjectKey{Name: meta.Name}, &stored); err != nil {
			return err
		}
		stored.Status.Summary = said.Status.Summary
		object = &stored
	} else {
		var said, stored v1alpha1.Cluster
		if err := json.Unmarshal(raw, &said); err != nil {
			return err
		}
		if err := kube.Get(ctx, client.ObjectKey{Name: meta.Name}, &stored); err != nil {
			return err
		}
		stored.Status.Summary = said.Status.Summary
		object = &stored
	}
	return kube.Status().Update(ctx, object)
}

func (c *counting) reconcile(name string) time.Duration {
	c.Helper()
	result, err := c.Reconcile(c.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: name}})
	if err != nil {
		c.Fatal(err)
	}
	return result.RequeueAfter
}

func (c *counting) written(reason string, instances, clusters int) {
	c.Helper()
	if c.writes[v1alpha1.InstanceKind] != instances || c.writes[v1alpha1.ClusterKind] != clusters {
		c.Errorf("%s: %v writes, want %d of Instances and %d of Clusters", reason, c.writes, instances, clusters)
	}
}

// stored are the summaries of alpha and m1.
func (c *counting) stored() (*v1alpha1.Instance, *v1alpha1.Cluster) {
	c.Helper()
	instance, cluster := &v1alpha1.Instance{}, &v1alpha1.Cluster{}
	for name, object := range map[string]client.Object{"alpha": instance, "m1": cluster} {
		if err := c.kube.Get(c.Context(), client.ObjectKey{Name: name}, object); err != nil {
			c.Fatal(err)
		}
	}
	return instance, cluster
}

// alpha is an instance that is reached, with m1 joined to it.
func alpha(t *testing.T, k *karmada) []client.Object {
	t.Helper()
	kubeconfig, err := k.connection().Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	return []client.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kairship-system", Name: "alpha"}, Data: map[string][]byte{"kubeconfig": kubeconfig}},
		&v1alpha1.Instance{
			ObjectMeta: metav1.ObjectMeta{Name: "alpha"},
			Spec: v1alpha1.InstanceSpec{Mode: v1alpha1.InstanceModeExternal, KubeconfigSecretRef: &v1alpha1.SecretKeyReference{
				SecretReference: v1alpha1.SecretReference{Namespace: "kairship-system", Name: "alpha"}, Key: "kubeconfig",
			}},
			Status: v1alpha1.InstanceStatus{Conditions: []metav1.Condition{v1alpha1.Reachable("It answers.")}},
		},
		&v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}, Spec: v1alpha1.ClusterSpec{InstanceRef: &v1alpha1.InstanceReference{Name: "alpha"}}},
	}
}

func TestWritesAreFew(t *testing.T) {
	k := newKarmada(t)
	k.objects["clusters"] = []string{m1}
	const interval = time.Hour
	c := newCounting(t, interval, alpha(t, k)...)

	c.reconcile("alpha")
	poll.True(t, within, "the instance is known", func() bool { return c.observers.byName["alpha"].known() })
	for range 10 {
		c.reconcile("alpha")
	}
	c.written("what is known is written once", 1, 1)
	instance, cluster := c.stored()
	if instance.Status.Summary.Nodes.Total != 3 || cluster.Status.Summary == nil || cluster.Status.Summary.Nodes.Ready != 2 {
		t.Errorf("alpha says %+v, m1 says %+v", instance.Status.Summary, cluster.Status.Summary)
	}

	poll.True(t, within, "deployments are watched", func() bool { return int(k.open.Load()) == len(sources) })
	for _, name := range []string{"a", "b", "c"} {
		k.send("deployments", "Deployment", "ADDED", `{"metadata":{"name":"`+name+`"}}`)
	}
	poll.True(t, within, "they are counted", func() bool { return len(c.observers.byName["alpha"].figures()["Deployment"]) == 3 })
	wait := c.reconcile("alpha")
	c.written("right after a write there is no other", 1, 1)
	if wait <= 0 || wait > interval {
		t.Errorf("it comes again after %s", wait)
	}
	c.observers.pass("alpha", wait)
	c.reconcile("alpha")
	c.written("later all changes are one write, and of the member nothing changed", 2, 1)

	instance, _ = c.stored()
	instance.Status.Conditions = []metav1.Condition{v1alpha1.Unreachable(v1alpha1.ReasonNotAnswering, "Nothing.")}
	instance.Status.Conditions[0].LastTransitionTime = metav1.Now()
	if err := c.kube.Status().Update(t.Context(), instance); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		c.reconcile("alpha")
	}
	c.written("that the figures are old is told once", 3, 2)
	instance, cluster = c.stored()
	if instance.Status.Summary.StaleSince == nil || instance.Status.Summary.Nodes.Total != 3 || cluster.Status.Summary.StaleSince == nil {
		t.Errorf("alpha says %+v, m1 says %+v", instance.Status.Summary, cluster.Status.Summary)
	}
	if s := instance.Status.Summary; s.Clusters.Total != 1 || s.Clusters.Ready != 0 || s.Nodes.Ready != 0 || cluster.Status.Summary.Nodes.Ready != 0 ||
		len(s.StaleClusters) != 1 || s.StaleClusters[0].Name != "m1" || !s.StaleClusters[0].Since.Equal(cluster.Status.Summary.StaleSince) {
		t.Errorf("alpha says %+v of m1, which says %+v", s, cluster.Status.Summary)
	}
	poll.True(t, within, "nothing is watched any more", func() bool { return k.open.Load() == 0 })

	cluster.Spec.InstanceRef = nil
	if err := c.kube.Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"alpha", "", "alpha", ""} {
		c.reconcile(name)
	}
	c.written("a cluster that is free has no figures", 3, 3)
	if _, cluster = c.stored(); cluster.Status.Summary != nil {
		t.Errorf("m1 says %+v", cluster.Status.Summary)
	}
}

// pass lets time pass for what limits the writes about an instance.
func (o *observers) pass(name string, d time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.written[name] = o.written[name].Add(-d)
}
