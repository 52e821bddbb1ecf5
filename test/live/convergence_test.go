package live

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// The short form is for `make test`; `make test-convergence` has the long one.
var (
	subscribersFlag = flag.Int("convergence-subscribers", 15, "subscribers of the convergence test")
	changesFlag     = flag.Int("convergence-changes", 500, "changes of the convergence test")
)

const followed = `subscription($namespaces: [String!], $name: [String!], $contains: String, $labels: String, $after: String) {
	resourceChanged(version: "v1", resource: "configmaps", after: $after,
		filter: {instances: ["alpha"], namespaces: $namespaces, name: $name, nameContains: $contains, labelSelector: $labels}) {
		type cursor instanceName message resource { namespace name resourceVersion }
	}
}`

// wanted is what one subscriber follows.
type wanted struct {
	namespaces, name []string
	contains, labels string
}

func (w wanted) matches(o *corev1.ConfigMap) bool {
	selector, err := labels.Parse(w.labels)
	if err != nil {
		panic(err)
	}
	return (w.namespaces == nil || slices.Contains(w.namespaces, o.Namespace)) &&
		(w.name == nil || slices.Contains(w.name, o.Name)) &&
		strings.Contains(o.Name, w.contains) && selector.Matches(labels.Set(o.Labels))
}

// truth is what really happened to each object: the versions that it was at.
type truth struct {
	mu       sync.Mutex
	versions map[string]bool
}

func (h *truth) was(namespace, name, version string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.versions[namespace+"/"+name+"@"+version] = true
}

func (h *truth) has(key, version string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.versions[key+"@"+version]
}

// folder is a subscriber: it folds what it is told, and comes back whenever the line
// breaks.
type folder struct {
	number int
	wanted wanted
	api    *gql.Client
	truth  *truth
	random *rand.Rand

	mu                      sync.Mutex
	known                   map[string]string
	cursor                  string
	gaps, resumed, refusals int
	interrupted             bool
	faults                  []string
	// delivered are the versions that objects were told at, each with what was told.
	delivered map[string]string
	// trace is what was told, for finding out what went wrong.
	trace []string
}

// faultf notes what is wrong about an object, and what was told of it before.
func (f *folder) faultf(key, format string, args ...any) {
	f.faults = append(f.faults, fmt.Sprintf(format, args...)+"\n"+f.about(func(k string) bool { return k == key }))
}

// about is what was told of some objects, and of the source.
func (f *folder) about(of func(key string) bool) string {
	var out []string
	for _, line := range f.trace {
		_, object, _ := strings.Cut(line[7:], " ")
		if key, _, _ := strings.Cut(object, "@"); key == "" || of(key) {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// run follows until the context ends.
func (f *folder) run(ctx context.Context) {
	for ctx.Err() == nil {
		variables := map[string]any{"namespaces": f.wanted.namespaces, "name": f.wanted.name}
		for name, value := range map[string]string{"contains": f.wanted.contains, "labels": f.wanted.labels, "after": f.cursor} {
			if value != "" {
				variables[name] = value
			}
		}
		stream, refused, err := f.api.Subscribe(ctx, gql.Request{Query: followed, Variables: variables})
		if err != nil || refused != nil {
			if refused != nil && ctx.Err() == nil {
				f.mu.Lock()
				f.refusals++
				if refused.Status < 500 {
					f.faultf("", "refused with HTTP %d: %s", refused.Status, refused.Body)
				}
				f.mu.Unlock()
			}
			time.Sleep(100 * time.Millisecond)
			continue
		}
		f.read(ctx, stream)
		stream.Close()
		go func() { // What is left in it would keep its reader.
			for stream.Next(time.Second) != nil { //nolint:revive // It is thrown away.
			}
		}()
		f.mu.Lock()
		f.resumed++
		f.trace = append(f.trace, time.Now().Format("05.000 ")+"LEFT @")
		f.interrupted = false
		f.mu.Unlock()
	}
}

func (f *folder) read(ctx context.Context, stream *gql.Stream) {
	for ctx.Err() == nil {
		e := stream.Next(200 * time.Millisecond)
		switch {
		case e == nil:
			continue
		case e.Lost != nil, e.Complete, len(e.Errors) > 0:
			return
		}
		if !f.fold(e.Data) {
			return
		}
		switch f.random.IntN(200) {
		case 0: // It is busy with other things.
			time.Sleep(time.Duration(f.random.IntN(1000)) * time.Millisecond)
		case 1: // Its line breaks.
			return
		}
	}
}

func (f *folder) fold(data json.RawMessage) bool {
	var delivered struct {
		ResourceChanged struct {
			Type     string `json:"type"`
			Cursor   string `json:"cursor"`
			Resource *struct {
				Namespace       string `json:"namespace"`
				Name            string `json:"name"`
				ResourceVersion string `json:"resourceVersion"`
			} `json:"resource"`
		} `json:"resourceChanged"`
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := json.Unmarshal(data, &delivered); err != nil {
		f.faultf("", "an event cannot be read: %v", err)
		return false
	}
	e := delivered.ResourceChanged
	if e.Cursor != "" {
		f.cursor = e.Cursor
	}
	var key, version string
	defer func() {
		f.trace = append(f.trace, fmt.Sprint(time.Now().Format("05.000 "), e.Type, " ", key, "@", version))
	}()
	if e.Resource != nil {
		key, version = e.Resource.Namespace+"/"+e.Resource.Name, e.Resource.ResourceVersion
	}
	before, known := f.known[key]
	switch e.Type {
	case "ADDED":
		if known {
			f.faultf(key, "ADDED %s at %s, known at %s", key, version, before)
		}
		f.known[key] = version
	case "MODIFIED":
		if !known || before == version {
			f.faultf(key, "MODIFIED %s at %s, known at %q", key, version, before)
		}
		f.known[key] = version
	case "DELETED":
		if !known {
			f.faultf(key, "DELETED %s, which was not known", key)
		}
		delete(f.known, key)
		return true // The version of the deletion must not be visible.
	case "GAP":
		f.gaps++
		clear(f.known)
	case "INTERRUPTED":
		f.interrupted = true
	case "RESTORED":
		f.interrupted = false
	}
	if e.Resource != nil {
		// Whether it ever was there is known at the end: of a request that the dying API
		// server executed and did not answer, only later.
		f.delivered[key+"@"+version] = e.Type
	}
	return true
}

// TestConvergence lets many subscribers with different filters follow alpha while it is
// changed at random, its API server dies twice and Kairship is restarted.
func TestConvergence(t *testing.T) {
	world := fleet.Open(t)
	c := world.Client(t, "alpha")
	prefix := unique("conv")
	var namespaces []string
	for range 3 {
		namespaces = append(namespaces, namespaceIn(t, "alpha"))
	}
	history := &truth{versions: map[string]bool{}}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var readers sync.WaitGroup
	folders := make([]*folder, *subscribersFlag)
	for i := range folders {
		folders[i] = &folder{
			number: i, api: person(t, "alice"), truth: history, known: map[string]string{}, delivered: map[string]string{}, wanted: filterOf(i, namespaces, prefix),
			random: rand.New(rand.NewPCG(uint64(i), 7)),
		}
		readers.Go(func() { folders[i].run(ctx) })
	}

	// Faults come at parts of the way, so that changes go on before, during and after.
	var done atomic.Int64
	reached := func(percent int) {
		poll.Until(t, 10*time.Minute, fmt.Sprintf("%d%% of the changes", percent), func(context.Context) error {
			if n := done.Load(); n*100 < int64(*changesFlag)*int64(percent) {
				return fmt.Errorf("%d changes were made", n)
			}
			return nil
		})
	}
	var writers sync.WaitGroup
	begun := time.Now()
	const parallel = 4
	for w := range parallel {
		writers.Go(func() {
			makeChanges(ctx, c, history, namespaces, fmt.Sprintf("%s-%d", prefix, w), *changesFlag/parallel, &done, rand.New(rand.NewPCG(uint64(w), 3)))
		})
	}
	reached(20)
	world.Kill(t, "alpha-apiserver")
	time.Sleep(2 * time.Second)
	world.Start(t, "alpha-apiserver")
	reached(45)
	world.Restart(t, "kairship-apiserver")
	reached(70)
	world.Kill(t, "alpha-apiserver")
	world.Start(t, "alpha-apiserver")
	writers.Wait()
	t.Logf("%d changes in %s", done.Load(), time.Since(begun).Round(time.Second))

	atRest := time.Now()
	var all corev1.ConfigMapList
	var live []corev1.ConfigMap
	for _, namespace := range namespaces {
		if err := c.List(t.Context(), &all, client.InNamespace(namespace)); err != nil {
			t.Fatal(err)
		}
		live = append(live, all.Items...)
	}
	// Karmada and Kubernetes put objects of their own into every namespace.
	for i := range live {
		history.was(live[i].Namespace, live[i].Name, live[i].ResourceVersion)
	}
	for _, f := range folders {
		want := map[string]string{}
		for i := range live {
			if f.wanted.matches(&live[i]) {
				want[live[i].Namespace+"/"+live[i].Name] = live[i].ResourceVersion
			}
		}
		poll.Until(t, 20*time.Second, fmt.Sprintf("subscriber %d knows what there is", f.number), func(context.Context) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			if diff := cmp.Diff(want, f.known); diff != "" {
				return fmt.Errorf("%+v (-want +known):\n%s\n%s", f.wanted, diff, f.about(func(k string) bool { return want[k] != f.known[k] }))
			}
			return nil
		})
	}
	t.Logf("all %d subscribers knew everything %s after the last change", len(folders), time.Since(atRest).Round(10*time.Millisecond))
	stop()
	readers.Wait()
	var gaps, resumed int
	for _, f := range folders {
		gaps, resumed = gaps+f.gaps, resumed+f.resumed
		for at, what := range f.delivered {
			if key, version, _ := strings.Cut(at, "@"); !f.truth.has(key, version) {
				f.faultf(key, "%s %s at %s, where it never was", what, key, version)
			}
		}
		for _, fault := range f.faults {
			t.Errorf("subscriber %d (%+v): %s", f.number, f.wanted, fault)
		}
		if f.interrupted {
			t.Errorf("subscriber %d was told that alpha does not answer, and not that it does again", f.number)
		}
	}
	t.Logf("subscribers came back %d times; %d times there was a GAP", resumed, gaps)
	if gaps > 0 {
		t.Errorf("%d GAPs, though the cluster's history was never lost", gaps)
	}
}

// filterOf is one of many filters.
func filterOf(i int, namespaces []string, prefix string) wanted {
	w := wanted{namespaces: namespaces}
	if i%3 == 1 {
		w.namespaces = namespaces[i/3%len(namespaces) : i/3%len(namespaces)+1]
	}
	switch i % 5 {
	case 1:
		w.labels = "colour=blue"
	case 2:
		w.labels = "colour in (red, green),size!=2"
	case 3:
		w.contains = fmt.Sprintf("-%d", i%4)
	case 4:
		for n := range 10 {
			w.name = append(w.name, fmt.Sprintf("%s-%d-%d", prefix, i%4, n))
		}
	}
	return w
}

// makeChanges creates, updates and deletes at random, and writes down what became of it.
func makeChanges(ctx context.Context, c client.Client, history *truth, namespaces []string, prefix string, times int, done *atomic.Int64, random *rand.Rand) {
	now := map[string]*corev1.ConfigMap{}
	for n := 0; n < times && ctx.Err() == nil; {
		o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespaces[random.IntN(len(namespaces))], Name: fmt.Sprintf("%s-%d", prefix, random.IntN(30)),
			Labels: map[string]string{"colour": []string{"blue", "red", "green"}[random.IntN(3)], "size": fmt.Sprint(random.IntN(3))},
		}, Data: map[string]string{"n": fmt.Sprint(n)}}
		key := o.Namespace + "/" + o.Name
		there := now[key] != nil
		var err error
		// The version is written down before it can be sent to a client: readers wait.
		history.mu.Lock()
		switch {
		case !there:
			err = c.Create(ctx, o)
		case random.IntN(3) == 0:
			err = c.Delete(ctx, o)
			o = nil
		default:
			o.ResourceVersion = now[key].ResourceVersion
			err = c.Update(ctx, o)
		}
		if err == nil && o != nil {
			history.versions[key+"@"+o.ResourceVersion] = true
		}
		history.mu.Unlock()
		if err != nil {
			if ctx.Err() == nil && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
				time.Sleep(50 * time.Millisecond) // The API server is away.
			}
			found := seen(ctx, c, key, history)
			if now[key] = found; found == nil {
				delete(now, key)
			}
			continue
		}
		if now[key] = o; o == nil {
			delete(now, key)
		}
		n++
		done.Add(1)
	}
}

// seen looks whether a request that had no answer was executed, until that is known.
func seen(ctx context.Context, c client.Client, key string, history *truth) *corev1.ConfigMap {
	namespace, name, _ := strings.Cut(key, "/")
	for ctx.Err() == nil {
		var o corev1.ConfigMap
		err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &o)
		if err == nil {
			history.was(namespace, name, o.ResourceVersion)
			return &o
		}
		if apierrors.IsNotFound(err) {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil
}
