package clusterimport

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/kairship-io/kairship/pkg/apis/apitest"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/credentials"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
)

func TestMain(m *testing.M) { os.Exit(apitest.Run(m)) }

const karmadaFinalizer = "karmada.io/cluster-controller"

// stage is a global cluster, the instances alpha and beta and a member. In real API
// servers the first one is all but beta. What Karmada does there is done by the test.
type stage struct {
	*testing.T
	// real is set with real API servers.
	real bool
	// given joins with the credentials of the inventory, so that nothing is made in the
	// member that would stop a second join.
	given  bool
	global client.WithWatch
	others map[string]client.WithWatch
	// names are the Clusters of the present run, which are the same cluster.
	names []string
	// memberships are what was last recorded of them.
	memberships map[string]*v1alpha1.ClusterMembership
	wrong       []string
}

// karmadaKinds serves the kinds of Karmada that are read and written here. Its Cluster
// is no custom resource in a real one.
const karmadaKinds = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]s.%[1]s}
spec:
  group: %[1]s
  names: {kind: %[4]s, plural: %[2]s}
  scope: %[5]s
  versions:
  - {name: %[3]s, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// installed keeps the servers as they are between the tests.
var installed sync.Once

// inServers has a stage in real API servers, and inMemory one that is quick enough to
// try everything.
func inServers(t *testing.T) *stage {
	t.Helper()
	first, second := apitest.Config(t), apitest.OtherConfig(t)
	installed.Do(func() {
		text := ""
		for _, kind := range [][]any{
			{"cluster.karmada.io", "clusters", "v1alpha1", "Cluster", "Cluster"},
			{"work.karmada.io", "works", "v1alpha1", "Work", "Namespaced"},
			{"work.karmada.io", "resourcebindings", "v1alpha2", "ResourceBinding", "Namespaced"},
			{"work.karmada.io", "clusterresourcebindings", "v1alpha2", "ClusterResourceBinding", "Cluster"},
		} {
			text += "---" + fmt.Sprintf(karmadaKinds, kind...)
		}
		path := filepath.Join(t.TempDir(), "kinds.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		apitest.InstallCRDs(t, first, path)
		apitest.InstallCRDs(t, second, path)
	})
	connect := func(config *rest.Config, options client.Options) client.WithWatch {
		c, err := client.NewWithWatch(config, options)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	remotes := client.Options{Scheme: remoteScheme, Mapper: remoteMapper}
	w := &stage{T: t, real: true, global: connect(first, client.Options{Scheme: globalScheme(t)}), others: map[string]client.WithWatch{
		"alpha": connect(first, remotes), "beta": connect(second, remotes), "member": connect(first, remotes),
	}}
	w.furnish()
	return w
}

func inMemory(t *testing.T) *stage {
	t.Helper()
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: "system"}}
	// UIDs are given by API servers, and not by what stands in for them.
	identify := interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		o.SetUID(uuid.NewUUID())
		return c.Create(ctx, o, opts...)
	}}
	fakes := func() client.WithWatch {
		return interceptor.NewClient(fake.NewClientBuilder().WithScheme(remoteScheme).WithRESTMapper(remoteMapper).WithObjects(system.DeepCopy()).Build(), identify)
	}
	w := &stage{T: t, others: map[string]client.WithWatch{"alpha": fakes(), "beta": fakes(), "member": fakes()}}
	w.global = interceptor.NewClient(fake.NewClientBuilder().WithScheme(globalScheme(t)).WithObjects(system.DeepCopy()).
		WithStatusSubresource(&v1alpha1.Cluster{}, &v1alpha1.Instance{}).Build(), identify)
	w.furnish()
	return w
}

func globalScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

// furnish makes what all runs share: the namespaces, which others own, the
// instances and the credentials.
func (w *stage) furnish() {
	w.Helper()
	secret := func(name, key, value string) client.Object {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: name}, Data: map[string][]byte{key: []byte(value)}}
	}
	namespace := func(name string) client.Object { return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	have := func(at client.Client, object client.Object) {
		if err := at.Create(w.Context(), object); err != nil && !apierrors.IsAlreadyExists(err) {
			w.Fatal(err)
		}
	}
	have(w.global, namespace(v1alpha1.SystemNamespace))
	for _, where := range []string{"alpha", "beta", "member"} {
		have(w.others[where], namespace(joinNamespace))
	}
	given := secret("member", v1alpha1.TokenSecretKey, "given").(*corev1.Secret)
	given.Data[v1alpha1.ServerSecretKey] = []byte("https://member")
	have(w.global, given)
	for _, name := range []string{"alpha", "beta"} {
		have(w.global, secret(name, v1alpha1.KubeconfigSecretKey,
			"apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"+
				"clusters: [{name: c, cluster: {server: 'https://"+name+"'}}]\nusers: [{name: u, user: {token: t}}]\n"))
		have(w.global, &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.InstanceSpec{
			Mode: v1alpha1.InstanceModeExternal,
			KubeconfigSecretRef: &v1alpha1.SecretKeyReference{
				SecretReference: v1alpha1.SecretReference{Namespace: v1alpha1.SystemNamespace, Name: name}, Key: v1alpha1.KubeconfigSecretKey,
			},
		}})
	}
}

// want sets the instance that a Cluster is to be joined to, and creates the Cluster if it does not
// exist.
func (w *stage) want(name, instance string) {
	w.Helper()
	cluster := &v1alpha1.Cluster{}
	err := w.global.Get(w.Context(), client.ObjectKey{Name: name}, cluster)
	cluster.Name = name
	cluster.Spec.Type, cluster.Spec.APIEndpoint, cluster.Spec.InstanceRef = v1alpha1.ClusterTypePhysical, "https://member", nil
	cluster.Spec.CredentialsSecretRef = &v1alpha1.ClusterCredentialsReference{SecretReference: v1alpha1.SecretReference{Namespace: v1alpha1.SystemNamespace, Name: "member"}}
	if w.given {
		cluster.Spec.Join = &v1alpha1.ClusterJoin{Credentials: v1alpha1.JoinWithGiven}
	}
	if instance != "" {
		cluster.Spec.InstanceRef = &v1alpha1.InstanceReference{Name: instance}
	}
	if apierrors.IsNotFound(err) {
		if err = w.global.Create(w.Context(), cluster); err == nil {
			err = w.identify(cluster)
		}
	} else if err == nil {
		err = w.global.Update(w.Context(), cluster)
	}
	if err != nil {
		w.Fatal(err)
	}
}

// identify does what cluster-status does: it says which cluster it is.
func (w *stage) identify(cluster *v1alpha1.Cluster) error {
	system := &corev1.Namespace{}
	if err := w.others["member"].Get(w.Context(), client.ObjectKey{Name: metav1.NamespaceSystem}, system); err != nil {
		return err
	}
	cluster.Status.KubeSystemID = string(system.UID)
	return w.global.Status().Update(w.Context(), cluster)
}

// remove deletes a Cluster; it goes when it has left.
func (w *stage) remove(name string) {
	w.Helper()
	err := w.global.Delete(w.Context(), &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}})
	if client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
}

// member is Karmada's object for a Cluster in an instance; nil when there is none.
func (w *stage) member(instance, name string) *clusterv1alpha1.Cluster {
	w.Helper()
	karmada := &clusterv1alpha1.Cluster{}
	err := w.others[instance].Get(w.Context(), client.ObjectKey{Name: name}, karmada)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.Fatal(err)
	}
	return karmada
}

// karmada does in an instance what Karmada does at once: it holds each new object, and
// finds ready what it can reach.
func (w *stage) karmada(instance string, member *clusterv1alpha1.Cluster) {
	w.Helper()
	if !member.DeletionTimestamp.IsZero() {
		return
	}
	added := controllerutil.AddFinalizer(member, karmadaFinalizer)
	reached := !isReserved(member) && readiness(member) == nil
	if reached {
		member.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Test", LastTransitionTime: metav1.Now()}}
	}
	if added || reached {
		if err := w.others[instance].Update(w.Context(), member); err != nil {
			w.Fatal(err)
		}
	}
}

// finish does what Karmada does in its own time: it lets go what is being removed.
func (w *stage) finish() {
	w.Helper()
	for _, instance := range []string{"alpha", "beta"} {
		for _, name := range w.names {
			member := w.member(instance, name)
			if member == nil || member.DeletionTimestamp.IsZero() || !controllerutil.RemoveFinalizer(member, karmadaFinalizer) {
				continue
			}
			if err := w.others[instance].Update(w.Context(), member); client.IgnoreNotFound(err) != nil {
				w.Fatal(err)
			}
		}
	}
}

// check looks after a write whether a cluster is joined to one instance before it has
// left the other.
func (w *stage) check(by, after string) {
	w.Helper()
	say := func(format string, args ...any) {
		w.wrong = append(w.wrong, fmt.Sprintf("%s after %s %s", fmt.Sprintf(format, args...), by, after))
	}
	var joined []string
	for _, name := range w.names {
		cluster := &v1alpha1.Cluster{}
		if err := w.global.Get(w.Context(), client.ObjectKey{Name: name}, cluster); client.IgnoreNotFound(err) != nil {
			w.Fatal(err)
		}
		before, now := w.memberships[name], cluster.Status.Membership
		if before != nil && now != nil && (before.UID != now.UID || before.Instance != now.Instance) {
			say("the record of %s went from %s to %s without leaving", name, before.Instance, now.Instance)
		}
		w.memberships[name] = now
		for _, instance := range []string{"alpha", "beta"} {
			member := w.member(instance, name)
			if member == nil {
				continue
			}
			if !isReserved(member) {
				joined = append(joined, name+" in "+instance)
				if now == nil || now.Instance != instance {
					say("%s is a member of %s, and the record says %+v", name, instance, now)
				}
			}
			w.karmada(instance, member)
		}
	}
	if len(joined) > 1 {
		say("the cluster is a member twice (%v)", joined)
	}
}

// leader is a controller manager that leads, like others at the same time.
type leader struct {
	*Reconciler
	stage     *stage
	name      string
	discovery *discovery
	// requests counts what it asked and wrote. Before number interruptAt it is frozen,
	// for as long as the others take for what interrupt does.
	requests, interruptAt int
	interrupt             func()
	// writes are the numbers of the requests that changed something.
	writes []int
	// looks is set while it looks at the members of an instance, which is not counted.
	looks bool
	// stale is what its cache has of the Clusters since then, for some more reconciliations.
	stale    map[string]*v1alpha1.Cluster
	staleFor int
}

func (w *stage) leader(name string) *leader {
	l := &leader{stage: w, name: name}
	// A cache's reads are no requests, and nothing can come between two of them.
	cache := interceptor.NewClient(w.global, l.funcs("the global cluster", true))
	live := interceptor.NewClient(w.global, l.funcs("the global cluster", false))
	others := map[string]client.Client{}
	for where, c := range w.others {
		others[where] = interceptor.NewClient(c, l.funcs(where, false))
	}
	l.Reconciler = &Reconciler{
		Metrics: NewMetrics(prometheus.NewRegistry()),
		Client:  cache, Live: live, Credentials: credentials.Reader{Secrets: w.global}, Recorder: events.NewFakeRecorder(10000),
		Interval: time.Microsecond, Timeout: time.Minute, Patience: time.Hour,
		dial: func(at place, name string) client.Client {
			if at == inMember {
				return others["member"]
			}
			return others[name]
		},
	}
	l.discovery = &discovery{Reconciler: l.Reconciler, wake: make(chan event.GenericEvent, 10000)}
	return l
}

// freezesAt has it frozen before a request, counted from now on.
func (l *leader) freezesAt(at int, interrupt func()) {
	l.requests, l.writes, l.interruptAt, l.interrupt = 0, nil, at, interrupt
}

// request is before each request.
func (l *leader) request() {
	if l.looks {
		return
	}
	l.requests++
	if l.requests != l.interruptAt {
		return
	}
	l.stale, l.staleFor = map[string]*v1alpha1.Cluster{}, 3
	for _, name := range l.stage.names {
		cluster := &v1alpha1.Cluster{}
		if err := l.stage.global.Get(l.stage.Context(), client.ObjectKey{Name: name}, cluster); err == nil {
			l.stale[name] = cluster
		}
	}
	l.interrupt()
}

// wrote is after each write.
func (l *leader) wrote(where, what string, object any, err error) error {
	if err != nil {
		return err // Nothing changed.
	}
	l.writes = append(l.writes, l.requests)
	name := ""
	if named, is := object.(client.Object); is {
		name = named.GetName()
	}
	l.stage.check(l.name, fmt.Sprintf("request %d: %s %T %s in %s", l.requests, what, object, name, where))
	return nil
}

func (l *leader) funcs(where string, cached bool) interceptor.Funcs {
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			cluster, is := o.(*v1alpha1.Cluster)
			l.request()
			if cached && is && l.staleFor > 0 && l.stale[key.Name] != nil {
				l.stale[key.Name].DeepCopyInto(cluster)
				return nil
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			l.request()
			return c.List(ctx, list, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			l.request()
			if secret, is := o.(*corev1.Secret); is && secret.Type == corev1.SecretTypeServiceAccountToken {
				secret.Data = map[string][]byte{corev1.ServiceAccountTokenKey: []byte("token " + string(time.Now().AppendFormat(nil, time.RFC3339Nano)))}
			}
			return l.wrote(where, "create", o, c.Create(ctx, o, opts...))
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			l.request()
			return l.wrote(where, "delete", o, c.Delete(ctx, o, opts...))
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			l.request()
			return l.wrote(where, "patch", o, c.Patch(ctx, o, p, opts...))
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			l.request()
			return c.SubResource(sub).Patch(ctx, o, p, opts...) // A dry run, to read.
		},
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, a runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			l.request()
			return l.wrote(where, "apply "+sub, a, c.SubResource(sub).Apply(ctx, a, opts...))
		},
	}
}

// look has it see the members of both instances.
func (l *leader) look() {
	l.stage.Helper()
	for _, name := range []string{"alpha", "beta"} {
		if _, err := l.discovery.Reconcile(l.stage.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}}); err != nil {
			l.stage.Fatal(err)
		}
	}
}

// reconcileAll reconciles the named Clusters, all of them without names, until nothing is written any
// more.
func (l *leader) reconcileAll(names ...string) {
	l.stage.Helper()
	if len(names) == 0 {
		names = l.stage.names
	}
	const most = 60
	l.looks = true
	l.look()
	l.looks = false
	for quiet, round := 0, 0; quiet < 2; round++ {
		if round == most {
			l.stage.Fatalf("%s still writes after %d rounds: %v", l.name, most, l.stage.wrong)
		}
		before := len(l.writes)
		for _, name := range names {
			_, err := phase.RetryConflicts(Name, l.Reconciler).Reconcile(l.stage.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}})
			if err != nil {
				l.stage.Fatal(err)
			}
		}
		l.stage.finish()
		quiet++
		l.staleFor--
		if l.staleFor > 0 || len(l.writes) != before {
			quiet = 0
		}
	}
}
