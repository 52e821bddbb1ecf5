package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// The fifty clients.
const (
	nativeWriters  = 20 // get and update an object each through the passthrough; some list
	nativeWatchers = 5  // begin a watch, see it begin, and end it, over and over
	lasting        = 5  // watch all the time
	patchers       = 15 // patchResource an object each
	scalers        = 5  // scaleWorkload a Deployment each, which runs in m1
)

// wakeAfter is how long Karmada has until a Deployment is scaled once more.
const wakeAfter = 15 * time.Second

const rotationLabel = "kairship-rotation-test"

// rotation is the load and what it changes.
type rotation struct {
	w        *world
	instance *kairshipv1alpha1.Instance
	original []byte
	loads    []*namedLoad

	watches []*lastingWatch
	// api are those who change things through GraphQL: the patchers, then the scalers.
	api []*gql.Client
	// native, patched and scaled are the last rounds that each client knows to be done.
	native, patched, scaled []atomic.Int64
}

type namedLoad struct {
	*load

	what    string
	clients int
}

func newRotation(t *testing.T, w *world) *rotation {
	t.Helper()
	s := &rotation{
		w: w, instance: &kairshipv1alpha1.Instance{},
		native: make([]atomic.Int64, nativeWriters), patched: make([]atomic.Int64, patchers), scaled: make([]atomic.Int64, scalers),
	}
	global := w.Client(t, "global")
	if err := global.Get(t.Context(), client.ObjectKey{Name: "alpha"}, s.instance); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{}
	if err := global.Get(t.Context(), s.instance.CredentialsRef().NamespacedName(), secret); err != nil {
		t.Fatal(err)
	}
	s.original = secret.Data[s.instance.CredentialsRef().Key]
	t.Cleanup(func() {
		if err := s.put(context.Background(), t, s.original); err != nil {
			t.Errorf("putting alpha's credentials back: %v", err)
		}
	})
	s.prepare(t)
	for range lasting {
		s.watches = append(s.watches, watchAlways(t, w.client(t, "alice", "alpha")))
	}
	native := func() kubernetes.Interface { return w.client(t, "alice", "alpha") }
	none := func() kubernetes.Interface { return nil }
	s.api = make([]*gql.Client, patchers+scalers)
	for n := range s.api {
		s.api[n] = gql.New(w.KairshipURL, w.Token(t, "alice"))
		s.api[n].HTTP = &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}
	}
	for _, l := range []struct {
		what    string
		clients int
		do      func(ctx context.Context, kube kubernetes.Interface, n int) error
		connect func() kubernetes.Interface
	}{
		{"read and write natively", nativeWriters, s.readAndWrite, native},
		{"watch natively, briefly", nativeWatchers, watchBriefly, native},
		{"mutation patchResource", patchers, func(ctx context.Context, _ kubernetes.Interface, n int) error { return s.patch(ctx, s.api[n], n) }, none},
		{"mutation scaleWorkload", scalers, func(ctx context.Context, _ kubernetes.Interface, n int) error {
			return s.scale(ctx, s.api[patchers+n], n)
		}, none},
	} {
		s.loads = append(s.loads, &namedLoad{load: startLoad(t, l.clients, l.do, l.connect), what: l.what, clients: l.clients})
	}
	return s
}

// prepare makes what the load changes.
func (s *rotation) prepare(t *testing.T) {
	t.Helper()
	alpha := s.w.Client(t, "alpha")
	meta := func(kind string, n int) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("rotation-%s-%d", kind, n), Labels: map[string]string{"app": rotationLabel}}
	}
	var objects []client.Object
	for n := range nativeWriters {
		objects = append(objects, &corev1.ConfigMap{ObjectMeta: meta("native", n)})
	}
	for n := range patchers {
		objects = append(objects, &corev1.ConfigMap{ObjectMeta: meta("patched", n)})
	}
	none := int32(0)
	objects = append(objects, &policyv1alpha1.PropagationPolicy{
		ObjectMeta: meta("policy", 0),
		Spec: policyv1alpha1.PropagationSpec{
			ResourceSelectors: []policyv1alpha1.ResourceSelector{{
				APIVersion: "apps/v1", Kind: "Deployment", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": rotationLabel}},
			}},
			Placement: policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1"}}},
		},
	})
	for n := range scalers {
		labels := map[string]string{"app": rotationLabel, "n": strconv.Itoa(n)}
		objects = append(objects, &appsv1.Deployment{
			ObjectMeta: meta("scaled", n),
			Spec: appsv1.DeploymentSpec{
				Replicas: &none, Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "registry.example.com/rotation:1"}}},
				},
			},
		})
	}
	for _, object := range objects {
		if err := alpha.Create(t.Context(), object); client.IgnoreAlreadyExists(err) != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = alpha.Delete(context.Background(), object) })
	}
}

func (s *rotation) put(ctx context.Context, t *testing.T, kubeconfig []byte) error {
	t.Helper()
	global, ref := s.w.Client(t, "global"), s.instance.CredentialsRef()
	now := &corev1.Secret{}
	if err := global.Get(ctx, ref.NamespacedName(), now); err != nil {
		return err
	}
	now.Data[ref.Key] = kubeconfig
	return global.Update(ctx, now)
}

// rotate gives alpha other credentials.
func (s *rotation) rotate(t *testing.T, token string) {
	t.Helper()
	if err := s.put(t.Context(), t, withToken(t, s.original, token)); err != nil {
		t.Fatal(err)
	}
}

func (s *rotation) stop() {
	for _, l := range s.loads {
		l.end()
	}
}

func (s *rotation) readAndWrite(ctx context.Context, kube kubernetes.Interface, n int) error {
	maps := kube.CoreV1().ConfigMaps("shop")
	object, err := maps.Get(ctx, fmt.Sprintf("rotation-native-%d", n), metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get: %w", err)
	}
	round := s.native[n].Load() + 1
	object.Data = map[string]string{"round": strconv.FormatInt(round, 10)}
	if _, err := maps.Update(ctx, object, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("update: %w", err)
	}
	s.native[n].Store(round)
	if n%10 == 0 {
		_, err = kube.AppsV1().Deployments("shop").List(ctx, metav1.ListOptions{})
	}
	return err
}

var errStuck = errors.New("the watch is stuck: it says nothing of what there is")

// watchBriefly begins a watch, which sends what exists, and ends it.
func watchBriefly(ctx context.Context, kube kubernetes.Interface, _ int) error {
	watching, err := kube.CoreV1().ConfigMaps("shop").Watch(ctx, metav1.ListOptions{LabelSelector: "app=" + rotationLabel})
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	defer watching.Stop()
	select {
	case event, open := <-watching.ResultChan():
		if !open || event.Type != watch.Added {
			return fmt.Errorf("the watch begins with %q", event.Type)
		}
	case <-time.After(20 * time.Second):
		return errStuck
	case <-ctx.Done():
	}
	return nil
}

func mutate(ctx context.Context, c *gql.Client, mutation string, input map[string]any) error {
	r, err := c.Do(ctx, gql.Request{Query: mutation, Variables: map[string]any{"input": input}})
	if err != nil {
		return err
	}
	if len(r.Errors) > 0 {
		return fmt.Errorf("%s", r.Errors[0])
	}
	return nil
}

func (s *rotation) patch(ctx context.Context, c *gql.Client, n int) error {
	round := s.patched[n].Load() + 1
	err := mutate(ctx, c, `mutation Patch($input: PatchResourceInput!) { patchResource(input: $input) { resource { resourceVersion } consistencyToken } }`, map[string]any{
		"instance": "alpha", "version": "v1", "resource": "configmaps", "namespace": "shop", "name": fmt.Sprintf("rotation-patched-%d", n),
		"patch": map[string]any{"data": map[string]any{"round": strconv.FormatInt(round, 10)}},
	})
	if err == nil {
		s.patched[n].Store(round)
	}
	return err
}

// scale goes slowly: Karmada and m1 have to follow.
func (s *rotation) scale(ctx context.Context, c *gql.Client, n int) error {
	round := s.scaled[n].Load() + 1
	err := mutate(ctx, c, `mutation Scale($input: ScaleWorkloadInput!) { scaleWorkload(input: $input) { workload { resourceVersion } consistencyToken } }`, map[string]any{
		"instance": "alpha", "kind": "DEPLOYMENT", "namespace": "shop", "name": fmt.Sprintf("rotation-scaled-%d", n), "replicas": round % 4,
	})
	if err != nil {
		return err
	}
	s.scaled[n].Store(round)
	select {
	case <-time.After(300 * time.Millisecond):
	case <-ctx.Done():
	}
	return nil
}

// lastingWatch sees the rounds of all ConfigMaps. It is begun with the first
// credentials, which stay good for it. An API server ends watches that do not keep
// up, on a busy machine for example; it is then begun again where it was, as all
// clients do.
type lastingWatch struct {
	begun atomic.Int64

	mu   sync.Mutex
	seen map[string]int64
	gone bool
}

func watchAlways(t *testing.T, kube kubernetes.Interface) *lastingWatch {
	t.Helper()
	maps := kube.CoreV1().ConfigMaps("shop")
	selected := metav1.ListOptions{LabelSelector: "app=" + rotationLabel}
	from, err := maps.List(t.Context(), selected)
	if err != nil {
		t.Fatal(err)
	}
	l := &lastingWatch{seen: map[string]int64{}}
	watching, err := watchtools.NewRetryWatcherWithContext(t.Context(), from.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			l.begun.Add(1)
			o.LabelSelector = selected.LabelSelector
			return maps.Watch(ctx, o)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watching.Stop)
	go func() {
		for event := range watching.ResultChan() {
			if object, ok := event.Object.(*corev1.ConfigMap); ok {
				round, _ := strconv.ParseInt(object.Data["round"], 10, 64)
				l.mu.Lock()
				l.seen[object.Name] = round
				l.mu.Unlock()
			}
		}
		l.mu.Lock()
		l.gone = true
		l.mu.Unlock()
	}()
	return l
}

// effects looks for every change where it was to have an effect: in the watches,
// and for what was scaled in the member. The load may have been stopped between a
// change and the news of it, so one more round than is known may have been done.
func (s *rotation) effects(t *testing.T) {
	t.Helper()
	for i, l := range s.watches {
		poll.Until(t, 20*time.Second, fmt.Sprintf("watch %d has seen the last write of everybody", i), func(context.Context) error {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.gone {
				return poll.Stop(errors.New("it has ended, and could not go on"))
			}
			for kind, rounds := range map[string][]atomic.Int64{"native": s.native, "patched": s.patched} {
				for n := range rounds {
					name, last := fmt.Sprintf("rotation-%s-%d", kind, n), rounds[n].Load()
					if seen := l.seen[name]; seen != last && seen != last+1 {
						return fmt.Errorf("%s was written in round %d, and seen in %d", name, last, seen)
					}
				}
			}
			return nil
		})
		t.Logf("watch %d saw everything, and was begun %d times", i, l.begun.Load())
	}
	alpha, m1 := s.w.Kubernetes(t, "alpha").AppsV1().Deployments("shop"), s.w.Kubernetes(t, "m1").AppsV1().Deployments("shop")
	for n := range s.scaled {
		name := fmt.Sprintf("rotation-scaled-%d", n)
		last := s.scaled[n].Load()
		d, err := alpha.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		switch got := int64(*d.Spec.Replicas); got {
		case last % 4:
		case (last + 1) % 4:
			s.scaled[n].Add(1) // The answer did not come before the end.
		default:
			t.Errorf("%s is to have %d replicas in alpha, want %d as it was scaled last", name, got, last%4)
		}
	}
	for n := range s.scaled {
		name := fmt.Sprintf("rotation-scaled-%d", n)
		var again time.Time
		poll.Until(t, time.Minute, name+" runs in m1 as it was scaled last", func(ctx context.Context) error {
			// Karmada may apply an earlier change after a later one, and does not look again
			// before the next one.
			if time.Since(again) > wakeAfter {
				if err := s.scale(ctx, s.api[patchers+n], n); err != nil {
					return fmt.Errorf("scale it after the load: %w", err)
				}
				again = time.Now()
			}
			d, err := m1.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if got, want := int64(d.Status.ReadyReplicas), s.scaled[n].Load()%4; got != want || d.Status.ObservedGeneration != d.Generation {
				return fmt.Errorf("%d replicas are ready, want %d", got, want)
			}
			return nil
		})
	}
}
