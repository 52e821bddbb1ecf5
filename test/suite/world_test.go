package suite

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

// world is what the suite put into the fleet besides the sample applications,
// so that every filter has something to find and something to leave out.
type world struct {
	fleet *fleet.Fleet
	// id is in the name of everything that has no namespace of the suite's.
	id string
	// a and b are namespaces in alpha; beta has an a too. many is one in alpha
	// with fifty of everything.
	a, b, many string
	created    []created
	// reported is what the clusters said lately, by list.
	reported sync.Map
}

type created struct {
	cluster string
	object  client.Object
}

var (
	worldMu sync.Mutex
	aWorld  *world
)

// theWorld makes the world when the first test asks for it. It goes when the
// tests of the package are done.
func theWorld(t testing.TB) *world {
	t.Helper()
	f := fleet.Open(t)
	worldMu.Lock()
	defer worldMu.Unlock()
	if aWorld != nil {
		return aWorld
	}
	id := newID()
	w := &world{fleet: f, id: id, a: "suite-" + id + "-a", b: "suite-" + id + "-b", many: "suite-" + id + "-many"}
	fleet.AtEnd(w.remove)
	for _, step := range [][]created{
		w.namespaces(), w.policies(), w.workloads(), w.others(), w.karmadaResources(), w.inventory(), w.members(), w.fifty(),
	} {
		w.create(t, step...)
	}
	w.createEvents(t)
	w.holdTerminating(t)
	aWorld = w
	return w
}

// newID keeps two runs on one fleet apart.
func newID() string {
	var b [2]byte
	_, _ = rand.Read(b[:]) // It never fails.
	return hex.EncodeToString(b[:])
}

// suiteNamespaces are those in which the filters are tried.
func (w *world) suiteNamespaces() []string { return []string{w.a, w.b} }

// inParallel bounds what is created and deleted at the same time.
const inParallel = 16

// create creates objects, and remembers them for removal.
func (w *world) create(t testing.TB, all ...created) {
	t.Helper()
	g, ctx := errgroup.WithContext(t.Context())
	g.SetLimit(inParallel)
	for _, one := range all {
		c := w.fleet.Client(t, one.cluster)
		w.created = append(w.created, one)
		g.Go(func() error {
			if err := c.Create(ctx, one.object); err != nil {
				return fmt.Errorf("creating %T %s in %s: %w", one.object, one.object.GetName(), one.cluster, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

// remove deletes everything: what is in namespaces or claimed by policies first.
func (w *world) remove() {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	// What has to go before what it is in or depends on.
	stage := func(of func(client.Object) bool) {
		g := errgroup.Group{}
		g.SetLimit(inParallel)
		for _, one := range w.created {
			if of(one.object) {
				c := w.fleet.Client(leftover{}, one.cluster)
				g.Go(func() error { return deleteAndWait(ctx, c, one.object) })
			}
		}
		if err := g.Wait(); err != nil {
			fmt.Fprintln(os.Stderr, "cleaning up after the suite:", err)
		}
	}
	isPolicy := func(o client.Object) bool {
		switch o.(type) {
		case *policyv1alpha1.PropagationPolicy, *policyv1alpha1.ClusterPropagationPolicy, *policyv1alpha1.OverridePolicy, *policyv1alpha1.ClusterOverridePolicy:
			return true
		}
		return false
	}
	isNamespace := func(o client.Object) bool { _, ok := o.(*corev1.Namespace); return ok }
	goesAlong := func(o client.Object) bool { _, ok := o.(*corev1.Event); return ok } // With its namespace.
	stage(func(o client.Object) bool { return !isPolicy(o) && !isNamespace(o) && !goesAlong(o) })
	stage(isPolicy)
	stage(isNamespace)
}

// deleteAndWait deletes an object and, where others would notice, waits until it is removed.
func deleteAndWait(ctx context.Context, c client.Client, o client.Object) error {
	key := client.ObjectKeyFromObject(o)
	now := o.DeepCopyObject().(client.Object)
	if err := c.Get(ctx, key, now); err != nil {
		return client.IgnoreNotFound(err)
	}
	if controllerutil.RemoveFinalizer(now, holdFinalizer) {
		if err := c.Update(ctx, now); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	if err := c.Delete(ctx, now, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !waitForGone(o) {
		return nil
	}
	err := poll.Try(ctx, time.Minute, func(ctx context.Context) error {
		if err := c.Get(ctx, key, now); err != nil {
			return client.IgnoreNotFound(err)
		}
		return errors.New("it is still there")
	})
	if err != nil {
		return fmt.Errorf("deleting %T %s: %w", o, key, err)
	}
	return nil
}

// waitForGone reports what other tests would see while it goes.
func waitForGone(o client.Object) bool {
	switch o.(type) {
	case *kairshipv1alpha1.Instance, *kairshipv1alpha1.Cluster:
		return true
	}
	return false
}

// leftover stands in for a test where there is none any more: the clients that
// it is needed for exist by then.
type leftover struct{ testing.TB }

func (leftover) Helper() {}

// meta names an object of the suite.
func (w *world) meta(namespace, name string, labels ...string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"suite": w.id}}
	for i := 0; i+1 < len(labels); i += 2 {
		m.Labels[labels[i]] = labels[i+1]
	}
	return m
}

// global names an object without namespace.
func (w *world) global(name string, labels ...string) metav1.ObjectMeta {
	return w.meta("", "suite-"+w.id+"-"+name, labels...)
}

func (w *world) namespaces() []created {
	all := []created{
		{"alpha", &corev1.Namespace{ObjectMeta: w.meta("", w.a, "zone", "left")}},
		{"alpha", &corev1.Namespace{ObjectMeta: w.meta("", w.b, "zone", "right")}},
		{"alpha", &corev1.Namespace{ObjectMeta: w.meta("", w.many)}},
		{"beta", &corev1.Namespace{ObjectMeta: w.meta("", w.a)}},
	}
	for i := range fifty {
		// Karmada would copy each to every member.
		ns := &corev1.Namespace{ObjectMeta: w.global(fmt.Sprintf("ns-%02d", i))}
		ns.Labels[policyv1alpha1.NamespaceSkipAutoPropagationLabel] = "true"
		all = append(all, created{"alpha", ns})
	}
	return all
}

// inventory makes instances in every state, and free clusters.
func (w *world) inventory() []created {
	missing := func(name string) *kairshipv1alpha1.SecretKeyReference {
		return &kairshipv1alpha1.SecretKeyReference{SecretReference: kairshipv1alpha1.SecretReference{Namespace: "kairship-system", Name: name}}
	}
	all := []created{
		{"global", &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kairship-system", Name: "suite-" + w.id + "-closed"},
			Data:       map[string][]byte{"kubeconfig": []byte(closedKubeconfig)},
		}},
		{"global", &kairshipv1alpha1.Instance{
			ObjectMeta: w.global("managed", "env", "prod"),
			Spec:       kairshipv1alpha1.InstanceSpec{Mode: kairshipv1alpha1.InstanceModeManaged, HostCluster: "m1"},
		}},
		{"global", &kairshipv1alpha1.Instance{
			ObjectMeta: w.global("closed", "env", "stage"),
			Spec: kairshipv1alpha1.InstanceSpec{
				Mode: kairshipv1alpha1.InstanceModeExternal, KubeconfigSecretRef: missing("suite-" + w.id + "-closed"), Alias: "Closed",
			},
		}},
		{"global", &kairshipv1alpha1.Instance{
			ObjectMeta: withFinalizer(w.global("terminating")),
			Spec: kairshipv1alpha1.InstanceSpec{
				Mode: kairshipv1alpha1.InstanceModeExternal, KubeconfigSecretRef: missing("suite-" + w.id + "-none"),
			},
		}},
	}
	for i := range fifty {
		all = append(all, created{"global", &kairshipv1alpha1.Instance{
			ObjectMeta: w.global(fmt.Sprintf("i-%02d", i)),
			Spec: kairshipv1alpha1.InstanceSpec{
				Mode: kairshipv1alpha1.InstanceModeExternal, KubeconfigSecretRef: missing("suite-" + w.id + "-none"),
			},
		}}, created{"global", &kairshipv1alpha1.Cluster{
			ObjectMeta: w.global(fmt.Sprintf("c-%02d", i), "parity", []string{"even", "odd"}[i%2]),
			Spec: kairshipv1alpha1.ClusterSpec{
				Type: kairshipv1alpha1.ClusterTypePhysical, APIEndpoint: "https://127.0.0.1:1", Hidden: i == 0,
				Provider: "suite", Region: []string{"north", "south"}[i%2], Zone: []string{"z1", "z2", ""}[i%3],
				CredentialsSecretRef: &kairshipv1alpha1.ClusterCredentialsReference{
					SecretReference: kairshipv1alpha1.SecretReference{Namespace: "kairship-system", Name: "suite-" + w.id + "-none"},
				},
			},
		}})
	}
	return all
}

// closedKubeconfig leads to a port that nothing listens on.
const closedKubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: closed, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: nobody, user: {token: none}}]
contexts: [{name: closed, context: {cluster: closed, user: nobody}}]
current-context: closed
`

// holdFinalizer keeps an object in deletion for as long as a test needs it.
const holdFinalizer = "suite.kairship.io/hold"

func withFinalizer(m metav1.ObjectMeta) metav1.ObjectMeta {
	m.Finalizers = []string{holdFinalizer}
	return m
}

// holdTerminating begins the deletion of the instance that is to be in that state.
func (w *world) holdTerminating(t testing.TB) {
	t.Helper()
	i := &kairshipv1alpha1.Instance{ObjectMeta: w.global("terminating")}
	if err := w.fleet.Client(t, "global").Delete(t.Context(), i); err != nil {
		t.Fatal(err)
	}
}

// members joins clusters to beta that no agent serves: they are never ready,
// and nothing is scheduled to them.
func (w *world) members() []created {
	var all []created
	for i := range fifty - 1 {
		all = append(all, created{"beta", &clusterv1alpha1.Cluster{
			ObjectMeta: w.global(fmt.Sprintf("m-%02d", i), "parity", []string{"even", "odd"}[i%2]),
			Spec: clusterv1alpha1.ClusterSpec{
				SyncMode: clusterv1alpha1.Pull, Provider: "suite", Region: []string{"north", "south"}[i%2], Zones: [][]string{{"z1", "z2"}, {"z2"}, nil}[i%3],
				Taints: []corev1.Taint{{Key: "suite", Value: []string{"left", "right"}[i%2], Effect: []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute}[i%2]}},
			},
		}})
	}
	return all
}
