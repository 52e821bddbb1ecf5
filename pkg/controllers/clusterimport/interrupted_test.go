package clusterimport

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/credentials"
)

var errDied = errors.New("the process died")

// world is a global cluster, two instances and a member, in memory, and a process
// that can die at any of its writes.
type world struct {
	*testing.T
	global client.Client
	others map[string]client.Client
	// writes counts them; the process dies at number diesAt, and is dead from then on.
	writes, diesAt int
	died           bool
	reconciler     *Reconciler
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, others: map[string]client.Client{}}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	secret := func(name string, data map[string][]byte) client.Object {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: name}, Data: data}
	}
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "global"}},
		&v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1", UID: "uid-1"}, Spec: v1alpha1.ClusterSpec{
			Type: v1alpha1.ClusterTypePhysical, APIEndpoint: "https://m1",
			CredentialsSecretRef: &v1alpha1.ClusterCredentialsReference{SecretReference: v1alpha1.SecretReference{Namespace: v1alpha1.SystemNamespace, Name: "m1"}},
			InstanceRef:          &v1alpha1.InstanceReference{Name: "alpha"},
		}, Status: v1alpha1.ClusterStatus{KubeSystemID: "system-m1"}},
		secret("m1", map[string][]byte{v1alpha1.TokenSecretKey: []byte("given"), v1alpha1.ServerSecretKey: []byte("https://m1")}),
	}
	for _, name := range []string{"alpha", "beta"} {
		objects = append(objects, secret(name, map[string][]byte{v1alpha1.KubeconfigSecretKey: []byte(
			"apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n" +
				"clusters: [{name: c, cluster: {server: 'https://" + name + "'}}]\nusers: [{name: u, user: {token: t}}]\n")}),
			&v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}, Spec: v1alpha1.InstanceSpec{
				Mode: v1alpha1.InstanceModeExternal,
				KubeconfigSecretRef: &v1alpha1.SecretKeyReference{
					SecretReference: v1alpha1.SecretReference{Namespace: v1alpha1.SystemNamespace, Name: name}, Key: v1alpha1.KubeconfigSecretKey,
				},
			}})
		w.others[name] = w.remote(name)
	}
	w.others["m1"] = w.remote("m1")
	w.global = interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&v1alpha1.Cluster{}, &v1alpha1.Instance{}).Build(), w.mortal(nil))
	w.start()
	return w
}

// remote is an instance or a member. What others do there happens at once: tokens
// are issued, and Karmada finds a member ready.
func (w *world) remote(name string) client.Client {
	base := fake.NewClientBuilder().WithScheme(remoteScheme).WithRESTMapper(remoteMapper).
		WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: types.UID("system-" + name)}}).Build()
	return interceptor.NewClient(base, w.mortal(func(object client.Object) {
		switch object := object.(type) {
		case *corev1.Secret:
			if object.Type == corev1.SecretTypeServiceAccountToken {
				object.Data = map[string][]byte{corev1.ServiceAccountTokenKey: []byte("token of " + object.Name)}
			}
		case *clusterv1alpha1.Cluster:
			object.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}
		}
		object.SetUID(types.UID(name + "/" + object.GetName()))
	}))
}

func (w *world) mortal(created func(client.Object)) interceptor.Funcs {
	write := func() error {
		w.writes++
		if w.died = w.died || w.writes == w.diesAt; w.died {
			return errDied
		}
		return nil
	}
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := write(); err != nil {
				return err
			}
			if created != nil {
				created(o)
			}
			return c.Create(ctx, o, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if err := write(); err != nil {
				return err
			}
			return c.Delete(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := write(); err != nil {
				return err
			}
			return c.Patch(ctx, o, p, opts...)
		},
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, a runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			if err := write(); err != nil {
				return err
			}
			return c.SubResource(sub).Apply(ctx, a, opts...)
		},
	}
}

// start is another process, which remembers nothing, and has looked at both
// instances.
func (w *world) start() {
	w.died, w.diesAt = false, 0
	w.reconciler = &Reconciler{
		Metrics: NewMetrics(prometheus.NewRegistry()),
		Client:  w.global, Live: w.global, Credentials: credentials.Reader{Secrets: w.global}, Recorder: events.NewFakeRecorder(1000),
		Interval: time.Minute, Timeout: time.Second, Patience: time.Hour,
		dial: func(_ place, name string) client.Client { return w.others[name] },
	}
	for _, name := range []string{"alpha", "beta"} {
		list := &clusterv1alpha1.ClusterList{}
		if err := w.others[name].List(w.Context(), list); err != nil {
			w.Fatal(err)
		}
		var seen []member
		for i := range list.Items {
			seen = append(seen, memberOf(name, &list.Items[i]))
		}
		w.reconciler.memberCache.put(name, time.Now(), seen)
	}
}

// reconcileAll reconciles until nothing is written any more, and starts another process when the present
// one died.
func (w *world) reconcileAll() {
	w.Helper()
	const most = 60
	quiet := 0
	for range most {
		before := w.writes
		_, err := w.reconciler.Reconcile(w.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "m1"}})
		switch {
		case w.died:
			w.start()
		case err != nil:
			w.Fatal(err)
		case w.writes == before:
			quiet++
		default:
			quiet = 0
		}
		if quiet == 2 {
			return
		}
	}
	w.Fatalf("it still writes after %d rounds", most)
}

func (w *world) change(change func(*v1alpha1.Cluster)) {
	w.Helper()
	cluster := &v1alpha1.Cluster{}
	if err := w.global.Get(w.Context(), client.ObjectKey{Name: "m1"}, cluster); err != nil {
		w.Fatal(err)
	}
	change(cluster)
	if err := w.global.Update(w.Context(), cluster); err != nil { // A person's, which is not counted.
		w.Fatal(err)
	}
}

// picture is everything that is there, by where, with whose it is.
func (w *world) picture() []string { return w.pictureOf(slices.Collect(maps.Keys(w.others))...) }

// pictureOf is the same of some of them, and of the Cluster.
func (w *world) pictureOf(places ...string) []string {
	w.Helper()
	var all []string
	for _, where := range places {
		cluster := w.others[where]
		for _, list := range []client.ObjectList{
			&corev1.NamespaceList{}, &corev1.ServiceAccountList{}, &corev1.SecretList{}, &rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}, &clusterv1alpha1.ClusterList{},
		} {
			if err := cluster.List(w.Context(), list); err != nil {
				w.Fatal(err)
			}
			items, err := meta.ExtractList(list)
			if err != nil {
				w.Fatal(err)
			}
			for _, item := range items {
				object, _ := item.(client.Object)
				all = append(all, fmt.Sprintf("%s %T %s/%s %s %s", where, object, object.GetNamespace(), object.GetName(),
					object.GetLabels()[v1alpha1.OwnerUIDLabel], object.GetLabels()[v1alpha1.InstanceLabel]))
			}
		}
	}
	cluster := &v1alpha1.Cluster{}
	switch err := w.global.Get(w.Context(), client.ObjectKey{Name: "m1"}, cluster); {
	case apierrors.IsNotFound(err):
		all = append(all, "no Cluster m1")
	case err != nil:
		w.Fatal(err)
	default:
		joined := meta.FindStatusCondition(cluster.Status.Conditions, v1alpha1.ConditionJoined)
		if cluster.Status.Membership != nil {
			cluster.Status.Membership.UID = "" // It is another one each time.
		}
		all = append(all, fmt.Sprintf("Cluster m1 %v %s %+v", cluster.Finalizers, joined.Reason, cluster.Status.Membership))
	}
	slices.Sort(all)
	return all
}

// TestEveryStepIsFinishedByTheNextProcess lets the process die at each of its
// writes, and compares what comes of it with what comes of one that does not die.
func TestEveryStepIsFinishedByTheNextProcess(t *testing.T) {
	toBeta := func(c *v1alpha1.Cluster) { c.Spec.InstanceRef.Name = "beta" }
	free := func(c *v1alpha1.Cluster) { c.Spec.InstanceRef = nil }
	for _, c := range []struct {
		name   string
		change func(w *world)
		says   []string
	}{
		{"join", func(*world) {}, []string{"Cluster m1 [kairship.io/cluster-import] Joined", "alpha *v1alpha1.Cluster /m1 uid-1 alpha"}},
		{"move", func(w *world) { w.change(toBeta) }, []string{"Joined", "beta *v1alpha1.Cluster /m1 uid-1 beta", "m1 *v1.ServiceAccount karmada-cluster/karmada-m1 uid-1 beta"}},
		{"unjoin", func(w *world) { w.change(free) }, []string{"Cluster m1 [] Free <nil>"}},
		{"delete", func(w *world) {
			if err := w.global.Delete(w.Context(), &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}}); err != nil {
				w.Fatal(err)
			}
		}, []string{"no Cluster m1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			prepare := func() *world {
				w := newWorld(t)
				if c.name != "join" {
					w.reconcileAll()
				}
				c.change(w)
				w.writes = 0
				return w
			}
			whole := prepare()
			whole.reconcileAll()
			want, writes := whole.picture(), whole.writes
			text := strings.Join(want, "\n")
			for _, part := range c.says {
				if !strings.Contains(text, part) {
					t.Fatalf("nothing says %q:\n%s", part, text)
				}
			}
			if c.name != "join" && strings.Contains(text, "uid-1 alpha") {
				t.Fatalf("something of alpha remains:\n%s", text)
			}
			t.Logf("it takes %d writes", writes)
			if writes < 5 {
				t.Fatalf("it took %d writes, which is too few to be true", writes)
			}
			for at := 1; at <= writes; at++ {
				w := prepare()
				w.diesAt = at
				w.reconcileAll()
				if diff := cmp.Diff(want, w.picture()); diff != "" {
					t.Errorf("died at write %d of %d (-want +got):\n%s", at, writes, diff)
				}
			}
		})
	}
}

// TestWorkloadsHoldAMember has a binding name the member, and takes it away.
func TestWorkloadsHoldAMember(t *testing.T) {
	w := newWorld(t)
	w.reconcileAll()
	binding := &workv1alpha2.ResourceBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-deployment"},
		Spec: workv1alpha2.ResourceBindingSpec{
			Resource: workv1alpha2.ObjectReference{Kind: "Deployment", Namespace: "shop", Name: "web"},
			Clusters: []workv1alpha2.TargetCluster{{Name: "m1"}},
		},
	}
	if err := w.others["alpha"].Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	before := w.picture()
	w.change(func(c *v1alpha1.Cluster) { c.Spec.InstanceRef = nil })
	w.reconcileAll()
	cluster := &v1alpha1.Cluster{}
	if err := w.global.Get(t.Context(), client.ObjectKey{Name: "m1"}, cluster); err != nil {
		t.Fatal(err)
	}
	joined := meta.FindStatusCondition(cluster.Status.Conditions, v1alpha1.ConditionJoined)
	if joined.Reason != v1alpha1.ReasonBlocked || !strings.Contains(joined.Message, "Deployment shop/web") {
		t.Errorf("it is %s: %s", joined.Reason, joined.Message)
	}
	if diff := cmp.Diff(before[1:], w.picture()[1:]); diff != "" { // All but the Cluster itself.
		t.Errorf("something was touched (-before +after):\n%s", diff)
	}
	if err := w.others["alpha"].Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	w.reconcileAll()
	if text := strings.Join(w.picture(), "\n"); !strings.Contains(text, "Cluster m1 [] Free <nil>") {
		t.Errorf("it did not leave:\n%s", text)
	}
}

// TestLostStatus removes the status of a member, as a restored backup may, and then removes the
// cluster from its instance.
func TestLostStatus(t *testing.T) {
	w := newWorld(t)
	w.reconcileAll()
	cluster := &v1alpha1.Cluster{}
	if err := w.global.Get(t.Context(), client.ObjectKey{Name: "m1"}, cluster); err != nil {
		t.Fatal(err)
	}
	cluster.Status = v1alpha1.ClusterStatus{}
	if err := w.global.Status().Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	w.change(func(c *v1alpha1.Cluster) { c.Spec.InstanceRef = nil })
	w.start()
	w.reconcileAll()
	text := strings.Join(w.picture(), "\n")
	if !strings.Contains(text, "Cluster m1 [] Free <nil>") || strings.Contains(text, "uid-1 alpha") {
		t.Errorf("something remains:\n%s", text)
	}
}

// TestObjectThatVanished has Karmada's object deleted, as when the instance's
// credentials lead to another control plane now: the tokens are not used again.
func TestObjectThatVanished(t *testing.T) {
	w := newWorld(t)
	w.reconcileAll()
	account := &corev1.ServiceAccount{}
	key := client.ObjectKey{Namespace: "karmada-cluster", Name: "karmada-m1"}
	if err := w.others["m1"].Get(t.Context(), key, account); err != nil {
		t.Fatal(err)
	}
	account.Annotations = map[string]string{"former": "yes"}
	if err := w.others["m1"].Update(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	if err := w.others["alpha"].Delete(t.Context(), &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}}); err != nil {
		t.Fatal(err)
	}
	before := w.picture()
	w.reconcileAll()
	text := strings.Join(w.picture(), "\n")
	if !strings.Contains(text, "alpha *v1alpha1.Cluster /m1 uid-1 alpha") || !strings.Contains(text, " Joined ") {
		t.Errorf("it was not joined again:\n%s\nbefore:\n%s", text, strings.Join(before, "\n"))
	}
	if err := w.others["m1"].Get(t.Context(), key, account); err != nil || account.Annotations["former"] != "" {
		t.Errorf("the account is the former one: %v", err)
	}
}
