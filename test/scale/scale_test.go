package scale

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

const (
	// few is how many instances a test in passing has.
	few = 60
	// prefix begins the names of everything that the test makes.
	prefix = "scale-suite-"
	// promise is when all instances must be ready.
	promise = 3 * time.Minute
	// look is the time between two looks at what the watch told, and pause that between
	// two lists of everything.
	look, pause = 500 * time.Millisecond, 3 * time.Second
	// label marks what the test makes.
	label = "kairship-scale-suite"
)

// crowd is the fleet with many instances.
type crowd struct {
	*testing.T
	fleet  *fleet.Fleet
	global client.Client
	many   int
	// watched are the instances as a watch returns them, which costs the global
	// cluster next to nothing: a list of a thousand costs it as much as tens of writes.
	watched cache.Cache
	// aliases are the control planes.
	aliases []*fleet.Alias
}

// TestManyInstances registers many instances, looks at what they cost at rest, and
// removes them again.
//
// The index has no part in it: a thousand virtual clusters would have Clusterpedia
// collect the same few control planes a thousand times. Their PediaClusters are
// made, and its collector does not run.
func TestManyInstances(t *testing.T) {
	f := fleet.Open(t)
	c := &crowd{T: t, fleet: f, global: f.Client(t, "global"), many: few}
	if asked := os.Getenv("KAIRSHIP_SCALE"); asked != "" {
		number, err := strconv.Atoi(asked)
		if err != nil || number < 1 {
			t.Fatalf("KAIRSHIP_SCALE is %q, and must be a number of instances", asked)
		}
		c.many = number
	}
	c.watch()
	f.Kill(t, "clustersynchro-manager") // It is started again when the test ends.
	leader, metrics := f.Leader(t)
	watches := fleet.Metric(metrics, "kairship_instance_watches")
	cpu, memory := f.Usage(t, leader)
	t.Logf("at the start %s holds %d MiB", leader, memory>>20)

	c.aliases = c.controlPlanes()
	t.Cleanup(c.removeAll)
	begun := time.Now()
	c.registerAll()
	t.Logf("%d Instances were created within %.1fs", c.many, time.Since(begun).Seconds())
	ready, counted, indexed := c.await(begun)
	used, memory := f.Usage(t, leader)
	t.Logf("all are ready after %.1fs, counted after %.1fs, and say how they are indexed after %.1fs; until then the leader used %.1fs of CPU, and now holds %d MiB",
		ready.Seconds(), counted.Seconds(), indexed.Seconds(), (used - cpu).Seconds(), memory>>20)
	if ready > promise {
		t.Errorf("it took %s until all were ready, and should %s at most", ready, promise)
	}

	c.rest(leader)

	begun = time.Now()
	c.removeAll()
	t.Logf("all are removed after %.1fs", time.Since(begun).Seconds())
	poll.Until(t, time.Minute, "no watch and no series is left", func(context.Context) error {
		_, all := f.Leader(t)
		if now := fleet.Metric(all, "kairship_instance_watches"); now != watches {
			return fmt.Errorf("there are %s watches, want %s", now, watches)
		}
		if left := strings.Count(all, prefix); left > 0 {
			return fmt.Errorf("%d series are left", left)
		}
		return nil
	})
}

func (c *crowd) name(i int) string { return fmt.Sprintf("%s%04d", prefix, i) }

// controlPlanes are aliases of those that the instances stand for: the fleet's own, and
// those of the fleet in the folder that KAIRSHIP_SCALE_MORE names. Each instance has an
// identity of its own, because Kairship uses a control plane under one name only.
func (c *crowd) controlPlanes() (aliases []*fleet.Alias) {
	c.Helper()
	fleets := []*fleet.Fleet{c.fleet}
	if more := os.Getenv("KAIRSHIP_SCALE_MORE"); more != "" {
		fleets = append(fleets, fleet.At(c, more))
	}
	for _, f := range fleets {
		for _, name := range f.Names(fleet.RoleInstance) {
			aliases = append(aliases, f.Alias(c, name))
		}
	}
	return aliases
}

// registerAll creates the Instances, which stand for the control planes in turns.
func (c *crowd) registerAll() {
	c.Helper()
	c.Logf("%d Instances of %d control planes", c.many, len(c.aliases))
	c.each(func(ctx context.Context, i int) error {
		name := c.name(i)
		marks := map[string]string{label: "true"}
		if err := c.global.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: name, Labels: marks},
			Data:       map[string][]byte{v1alpha1.KubeconfigSecretKey: c.aliases[i%len(c.aliases)].Kubeconfig(c, name)},
		}); err != nil {
			return err
		}
		return c.global.Create(ctx, &v1alpha1.Instance{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: marks},
			Spec: v1alpha1.InstanceSpec{
				Mode:                v1alpha1.InstanceModeExternal,
				KubeconfigSecretRef: &v1alpha1.SecretKeyReference{SecretReference: v1alpha1.SecretReference{Name: name}},
			},
		})
	})
}

// each does something for every instance, some at a time.
func (c *crowd) each(do func(ctx context.Context, i int) error) {
	c.Helper()
	const together = 8
	var (
		all   sync.WaitGroup
		slots = make(chan struct{}, together)
	)
	for i := range c.many {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			if err := do(c.Context(), i); err != nil {
				c.Errorf("%s: %v", c.name(i), err)
			}
		})
	}
	all.Wait()
}

// watch begins to watch the instances that the test makes.
func (c *crowd) watch() {
	c.Helper()
	ours, err := labels.Parse(label)
	if err == nil {
		c.watched, err = cache.New(c.fleet.Config(c, "global"), cache.Options{
			Scheme: fleet.Scheme(c), DefaultTransform: cache.TransformStripManagedFields(),
			ByObject: map[client.Object]cache.ByObject{&v1alpha1.Instance{}: {Label: ours}},
		})
	}
	if err == nil {
		_, err = c.watched.GetInformer(c.Context(), &v1alpha1.Instance{}, cache.BlockUntilSynced(false))
	}
	if err != nil {
		c.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.watched.Start(ctx) }()
	c.Cleanup(func() {
		end()
		if err := <-ended; err != nil {
			c.Errorf("watching the instances: %v", err)
		}
	})
	if !c.watched.WaitForCacheSync(c.Context()) {
		c.Fatal("the instances cannot be watched")
	}
}

// list are the instances as they are.
func (c *crowd) list(ctx context.Context, from client.Reader) ([]v1alpha1.Instance, error) {
	list := &v1alpha1.InstanceList{}
	err := from.List(ctx, list, client.HasLabels{label}, client.UnsafeDisableDeepCopy)
	return list.Items, err
}

// await waits until every instance is ready and registered, until every one is counted
// too, and until every one says how it is indexed, which comes last.
func (c *crowd) await(begun time.Time) (ready, counted, indexed time.Duration) {
	c.Helper()
	reported := time.Now()
	poll.Until(c.T, 4*promise, "all instances are ready", func(ctx context.Context) error {
		all, err := c.list(ctx, c.watched)
		if err != nil {
			return err
		}
		runs, counts, indexes := 0, 0, 0
		for i := range all {
			if all[i].Status.State == v1alpha1.InstanceStateRunning && meta.IsStatusConditionTrue(all[i].Status.Conditions, v1alpha1.ConditionRegistered) {
				runs++
			}
			if s := all[i].Status.Summary; s != nil && s.Clusters.Total > 0 {
				counts++
			}
			if meta.FindStatusCondition(all[i].Status.Conditions, v1alpha1.ConditionIndexed) != nil {
				indexes++
			}
		}
		now := time.Since(begun)
		if time.Since(reported) > 10*time.Second {
			reported = time.Now()
			c.Logf("after %.0fs %d are running, %d are counted, and %d say how they are indexed", now.Seconds(), runs, counts, indexes)
		}
		for _, stage := range []struct {
			number  int
			reached *time.Duration
		}{{runs, &ready}, {counts, &counted}, {indexes, &indexed}} {
			if stage.number == c.many && *stage.reached == 0 {
				*stage.reached = now
			}
		}
		if runs < c.many || counts < c.many || indexes < c.many {
			time.Sleep(look)
			return fmt.Errorf("%d are running, %d are counted, and %d say how they are indexed, of %d", runs, counts, indexes, c.many)
		}
		return nil
	})
	return ready, counted, indexed
}

// rest watches the instances while nothing happens.
func (c *crowd) rest(leader string) {
	c.Helper()
	quiet, window := 45*time.Second, time.Minute
	if c.many <= few {
		quiet, window = 20*time.Second, 30*time.Second
	}
	time.Sleep(quiet) // What the registration set off comes to rest.
	before, requests := c.versions(), c.writes(leader)
	cpu, _ := c.fleet.Usage(c, leader)
	time.Sleep(window)
	used, memory := c.fleet.Usage(c, leader)
	after, now := c.versions(), c.writes(leader)
	changed := 0
	for name, version := range after {
		if before[name] != version {
			changed++
		}
	}
	c.Logf("at rest with %d instances, in %s: the leader used %.1f%% of a core and held %d MiB; it sent the global cluster %d writes, those for its Lease included; %d of %d objects changed",
		c.many, window, 100*(used-cpu).Seconds()/window.Seconds(), memory>>20, now-requests, changed, len(after))
	// The fleet's own instances live on, and what they hold may change.
	if most := 10 + len(after)/100; changed > most {
		c.Errorf("%d of %d objects changed while nothing happened, and should %d at most", changed, len(after), most)
	}
}

// versions are the versions of everything that is there because of the instances.
func (c *crowd) versions() map[string]string {
	c.Helper()
	all := map[string]string{}
	for _, list := range []client.ObjectList{
		&v1alpha1.InstanceList{}, &v1alpha1.ClusterList{}, &v1alpha1.InstanceRegistrationList{}, &pediav1alpha2.PediaClusterList{},
	} {
		if err := c.global.List(c.Context(), list); err != nil {
			c.Fatal(err)
		}
		_ = meta.EachListItem(list, func(item runtime.Object) error {
			object, err := meta.Accessor(item)
			if err == nil && strings.Contains(object.GetName(), prefix) {
				all[fmt.Sprintf("%T %s", item, object.GetName())] = object.GetResourceVersion()
			}
			return err
		})
	}
	return all
}

// writes are the writes that the leader has sent to the global cluster so far.
func (c *crowd) writes(leader string) (total int) {
	c.Helper()
	process, metrics := c.fleet.Leader(c)
	if process != leader {
		c.Fatalf("%s leads now", process)
	}
	host := strings.TrimPrefix(c.fleet.Cluster(c, "global").Server, "https://")
	for line := range strings.Lines(metrics) {
		if !strings.HasPrefix(line, "rest_client_requests_total{") || !strings.Contains(line, `host="`+host+`"`) || strings.Contains(line, `method="GET"`) {
			continue
		}
		var number float64
		if _, err := fmt.Sscan(line[strings.LastIndexByte(line, ' ')+1:], &number); err == nil {
			total += int(number)
		}
	}
	return total
}

// removeAll deletes the instances and waits until nothing of them is left. It may
// be called twice.
func (c *crowd) removeAll() {
	c.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*promise)
	defer cancel()
	all, err := c.list(ctx, c.global)
	if err != nil {
		c.Errorf("finding what is to be removed: %v", err)
	}
	for i := range all {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: all[i].Name}}
		for _, object := range []client.Object{&all[i], secret} {
			if err := c.global.Delete(ctx, object); client.IgnoreNotFound(err) != nil {
				c.Errorf("removing %T %s: %v", object, object.GetName(), err)
			}
		}
	}
	if err := poll.Try(ctx, 4*promise, func(ctx context.Context) error {
		left := 0
		for _, list := range []client.ObjectList{
			&v1alpha1.InstanceList{}, &v1alpha1.ClusterList{}, &v1alpha1.InstanceRegistrationList{}, &pediav1alpha2.PediaClusterList{},
		} {
			if err := c.global.List(ctx, list); err != nil {
				return err
			}
			_ = meta.EachListItem(list, func(item runtime.Object) error {
				object, err := meta.Accessor(item)
				if err == nil && strings.Contains(object.GetName(), prefix) {
					left++
				}
				return err
			})
		}
		if left > 0 {
			time.Sleep(pause)
			return fmt.Errorf("%d objects are left", left)
		}
		return nil
	}); err != nil {
		c.Errorf("removing everything: %v", err)
	}
}
