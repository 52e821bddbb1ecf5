package faults

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

const (
	// moving is the member that moves, and home the instance that it belongs to.
	moving, home = "m3", "beta"
	// taken is the name of an Instance and a binding of which another owner has what
	// they need.
	taken = "chaos-taken"
)

// slotIn finds the name of something that comes and goes.
var slotIn = regexp.MustCompile(`chaos-(instance|cluster|binding)-\d+|` + taken)

// tally is how often something was changed, and how often that was not possible.
type tally struct{ done, failed int }

// churn is what comes, changes and goes during the chaos.
type churn struct {
	*scene
	global client.Client
	seed   uint64
	// instances are the specs of those that come and go, by name. Each is a control plane
	// of its own.
	instances map[string]kairshipv1alpha1.InstanceSpec
	// m2 and m3 are as the fleet has them.
	m2, m3 kairshipv1alpha1.ClusterSpec
	// foreign are objects of another owner.
	foreign  []planted
	baseline inventory
	// present are the names of what is there in the end.
	present []string

	mu    sync.Mutex
	tally map[string]tally
}

func newChurn(t *testing.T, s *scene, seed uint64) *churn {
	t.Helper()
	c := &churn{scene: s, global: s.Client(t, "global"), seed: seed, instances: map[string]kairshipv1alpha1.InstanceSpec{}, tally: map[string]tally{}}
	for i, name := range append(slots("instance"), taken) {
		c.instances[name] = s.SpecAs(t, []string{"alpha", "beta"}[i%2], name)
	}
	for name, into := range map[string]*kairshipv1alpha1.ClusterSpec{"m2": &c.m2, moving: &c.m3} {
		cluster := &kairshipv1alpha1.Cluster{}
		if err := c.global.Get(t.Context(), client.ObjectKey{Name: name}, cluster); err != nil {
			t.Fatal(err)
		}
		*into = cluster.Spec
	}
	t.Cleanup(func() { c.cleanUp(t) })
	return c
}

// cleanUp removes what a test that failed halfway has left.
func (c *churn) cleanUp(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), restWithin)
	defer cancel()
	for kind, names := range map[string][]string{
		"instance": append(slots("instance"), taken), "cluster": slots("cluster"), "binding": append(slots("binding"), taken),
	} {
		for _, name := range names {
			object := c.fresh(kind, name)
			if err := poll.Try(ctx, restWithin, func(ctx context.Context) error {
				if err := client.IgnoreNotFound(c.global.Delete(ctx, object)); err != nil {
					return err
				}
				return gone(ctx, c.global, object)
			}); err != nil {
				t.Errorf("removing %s: %v", name, err)
			}
		}
	}
	if err := poll.Try(ctx, restWithin, c.giveBack); err != nil {
		t.Errorf("bringing %s home: %v", moving, err)
	}
	if err := poll.Try(ctx, restWithin, c.membersAreWell); err != nil {
		t.Error(err)
	}
}

// giveBack gives the member its own settings back.
func (c *churn) giveBack(ctx context.Context) error {
	cluster := &kairshipv1alpha1.Cluster{}
	if err := c.global.Get(ctx, client.ObjectKey{Name: moving}, cluster); err != nil {
		return err
	}
	cluster.Spec = *c.m3.DeepCopy()
	return c.global.Update(ctx, cluster)
}

// start lets everything come and go until the returned function is called. While
// that it writes to is away a change is not possible, which is counted.
func (c *churn) start(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	run := func(stream uint64, kind string, shortest, longest time.Duration, change func(ctx context.Context, random *rand.Rand) error) {
		random := rand.New(rand.NewPCG(c.seed, stream))
		all.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case <-time.After(shortest + time.Duration(random.Int64N(int64(longest-shortest)))):
				}
				limited, done := context.WithTimeout(ctx, 5*time.Second)
				err := change(limited, random)
				done()
				c.count(kind, err)
			}
		})
	}
	const moment, while = 200 * time.Millisecond, 1500 * time.Millisecond
	run(2, "instances", moment, while, c.changeInstance)
	run(3, "clusters", moment, 2*while, c.changeCluster)
	run(4, "bindings", moment, while/2, c.changeBinding)
	run(5, "the member that moves", 15*time.Second, 35*time.Second, c.move)
	t.Cleanup(func() { cancel(); all.Wait() })
	return func() { cancel(); all.Wait() }
}

func (c *churn) count(kind string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.tally[kind]
	if err == nil {
		of.done++
	} else {
		of.failed++
	}
	c.tally[kind] = of
}

func (c *churn) counts() map[string]tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.tally)
}

// slots are the names of a kind that come and go.
func slots(kind string) []string {
	counts := map[string]int{"instance": 5, "cluster": 3, "binding": 8}
	var names []string
	for i := range counts[kind] {
		names = append(names, fmt.Sprintf("chaos-%s-%d", kind, i))
	}
	return names
}

// comeAndGo creates an object that is not there, and changes or deletes one that is.
func (c *churn) comeAndGo(ctx context.Context, random *rand.Rand, fresh client.Object, change func(client.Object)) error {
	stored, _ := fresh.DeepCopyObject().(client.Object)
	err := c.global.Get(ctx, client.ObjectKeyFromObject(fresh), stored)
	switch {
	case apierrors.IsNotFound(err):
		return c.global.Create(ctx, fresh)
	case err != nil:
		return err
	case !stored.GetDeletionTimestamp().IsZero():
		return nil
	case random.IntN(4) == 0:
		return client.IgnoreNotFound(c.global.Delete(ctx, stored))
	}
	change(stored)
	return c.global.Update(ctx, stored)
}

func pick(random *rand.Rand, names []string) string { return names[random.IntN(len(names))] }

func (c *churn) changeInstance(ctx context.Context, random *rand.Rand) error {
	name := pick(random, append(slots("instance"), taken))
	return c.comeAndGo(ctx, random, c.newInstance(name), func(o client.Object) {
		instance, _ := o.(*kairshipv1alpha1.Instance)
		instance.Spec.Alias = fmt.Sprintf("Chaos %d", random.IntN(1000))
		instance.Spec.KubeconfigSecretRef = c.newInstance(name).Spec.KubeconfigSecretRef
		if random.IntN(4) == 0 {
			instance.Spec.KubeconfigSecretRef.Name = "chaos-no-such-secret"
		}
	})
}

// newInstance is an instance of that name as it comes.
func (c *churn) newInstance(name string) *kairshipv1alpha1.Instance {
	spec := c.instances[name]
	instance := &kairshipv1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: *spec.DeepCopy()}
	instance.Spec.Alias = "Chaos"
	return instance
}

func (c *churn) changeCluster(ctx context.Context, random *rand.Rand) error {
	return c.comeAndGo(ctx, random, c.newCluster(pick(random, slots("cluster"))), func(o client.Object) {
		cluster, _ := o.(*kairshipv1alpha1.Cluster)
		cluster.Spec.Region = fmt.Sprintf("chaos-%d", random.IntN(1000))
	})
}

// newCluster is m2 under another name, and a member of nothing.
func (c *churn) newCluster(name string) *kairshipv1alpha1.Cluster {
	cluster := &kairshipv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: *c.m2.DeepCopy()}
	cluster.Spec.InstanceRef = nil
	return cluster
}

func (c *churn) changeBinding(ctx context.Context, random *rand.Rand) error {
	return c.comeAndGo(ctx, random, newBinding(pick(random, append(slots("binding"), taken))), func(o client.Object) {
		binding, _ := o.(*kairshipv1alpha1.InstanceRoleBinding)
		binding.Spec.Role = []kairshipv1alpha1.Role{kairshipv1alpha1.RoleViewer, kairshipv1alpha1.RoleEditor}[random.IntN(2)]
		binding.Spec.Namespaces = [][]string{nil, {"default"}, {"default", "kube-system"}}[random.IntN(3)]
		binding.Spec.Revoked = random.IntN(5) == 0
	})
}

// newBinding gives a role on alpha, on beta or on an instance that comes and goes.
func newBinding(name string) *kairshipv1alpha1.InstanceRoleBinding {
	on := []string{"alpha", "beta", slots("instance")[0]}[int(name[len(name)-1])%3]
	return &kairshipv1alpha1.InstanceRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: kairshipv1alpha1.InstanceRoleBindingSpec{
			InstanceRef: kairshipv1alpha1.InstanceReference{Name: on},
			Subject:     kairshipv1alpha1.BindingSubject{Kind: kairshipv1alpha1.SubjectUser, Name: name},
			Role:        kairshipv1alpha1.RoleViewer,
		},
	}
}

// move sends the member to another instance, or nowhere.
func (c *churn) move(ctx context.Context, random *rand.Rand) error {
	return c.send(ctx, pick(random, []string{"alpha", "beta", ""}))
}

func (c *churn) send(ctx context.Context, instance string) error {
	// The leader writes its status meanwhile.
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		cluster := &kairshipv1alpha1.Cluster{}
		if err := c.global.Get(ctx, client.ObjectKey{Name: moving}, cluster); err != nil {
			return err
		}
		cluster.Spec.InstanceRef = nil
		if instance != "" {
			cluster.Spec.InstanceRef = &kairshipv1alpha1.InstanceReference{Name: instance}
		}
		if cluster.Spec.Join == nil {
			cluster.Spec.Join = &kairshipv1alpha1.ClusterJoin{}
		}
		cluster.Spec.Join.RemovalPolicy = kairshipv1alpha1.RemovalForce
		return c.global.Update(ctx, cluster)
	})
}

// conclude leaves half of what comes and goes, and brings the member home.
func (c *churn) conclude(t *testing.T) {
	t.Helper()
	for _, kind := range []string{"instance", "cluster", "binding"} {
		for i, name := range slots(kind) {
			fresh := c.fresh(kind, name)
			if i%2 == 1 {
				c.gone(t, fresh)
				continue
			}
			c.present = append(c.present, name)
			poll.Until(t, restWithin, name+" is there", func(ctx context.Context) error { return c.restore(ctx, fresh) })
		}
	}
	c.gone(t, c.fresh("instance", taken))
	c.gone(t, c.fresh("binding", taken))
	c.goHome(t)
}

func (c *churn) fresh(kind, name string) client.Object {
	switch kind {
	case "instance":
		return c.newInstance(name)
	case "cluster":
		return c.newCluster(name)
	}
	return newBinding(name)
}

// restore makes an object that is as in the beginning.
func (c *churn) restore(ctx context.Context, fresh client.Object) error {
	stored, _ := fresh.DeepCopyObject().(client.Object)
	err := c.global.Get(ctx, client.ObjectKeyFromObject(fresh), stored)
	switch {
	case apierrors.IsNotFound(err):
		made, _ := fresh.DeepCopyObject().(client.Object)
		return c.global.Create(ctx, made)
	case err != nil:
		return err
	case !stored.GetDeletionTimestamp().IsZero():
		return fmt.Errorf("it is still being deleted (finalizers %q)", stored.GetFinalizers())
	}
	wanted, _ := fresh.DeepCopyObject().(client.Object)
	wanted.SetResourceVersion(stored.GetResourceVersion())
	wanted.SetFinalizers(stored.GetFinalizers())
	wanted.SetLabels(stored.GetLabels())
	wanted.SetAnnotations(stored.GetAnnotations())
	return c.global.Update(ctx, wanted)
}

// gone deletes an object; no other request is needed.
func (c *churn) gone(t *testing.T, object client.Object) {
	t.Helper()
	poll.Until(t, noticeWithin, object.GetName()+" can be deleted", func(ctx context.Context) error {
		return client.IgnoreNotFound(c.global.Delete(ctx, object))
	})
}

func (c *churn) goHome(t *testing.T) {
	t.Helper()
	c.sendTo(t, home)
}

// sendTo sends the member to an instance, as soon as that can be written.
func (c *churn) sendTo(t *testing.T, instance string) {
	t.Helper()
	poll.Until(t, noticeWithin, moving+" can be sent to "+instance, func(ctx context.Context) error { return c.send(ctx, instance) })
}

// remove deletes all that comes and goes, and gives the member its own settings back.
func (c *churn) remove(t *testing.T) {
	t.Helper()
	c.present = nil
	for _, kind := range []string{"binding", "cluster", "instance"} {
		for _, name := range slots(kind) {
			c.gone(t, c.fresh(kind, name))
		}
	}
	poll.Until(t, noticeWithin, moving+" gets its settings back", c.giveBack)
}

// areThere reports whether the names in a list that come and go are not those that
// should be there.
func (c *churn) areThere(list client.ObjectList, well func(client.Object) bool) error {
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	for _, item := range items {
		object, is := item.(client.Object)
		if !is {
			return fmt.Errorf("%T is no object", item)
		}
		name := object.GetName()
		if slot := slotIn.FindString(name); slot != "" && !slices.Contains(c.present, slot) {
			return fmt.Errorf("%T %s is there", object, name)
		}
		if !well(object) {
			return fmt.Errorf("%T %s is not as it should be", object, name)
		}
	}
	return nil
}

// says reports whether a condition is not True, for the present spec.
func says(object client.Object, conditions []metav1.Condition, kind string) error {
	found := meta.FindStatusCondition(conditions, kind)
	if found == nil || found.Status != metav1.ConditionTrue || found.ObservedGeneration != object.GetGeneration() {
		return fmt.Errorf("%T %s at generation %d says %s: %+v", object, object.GetName(), object.GetGeneration(), kind, found)
	}
	return nil
}

// difference is what there is more and less than before the chaos.
func (c *churn) difference(ctx context.Context) (extra, missing []string, err error) {
	now, _, err := c.look(ctx)
	if err != nil {
		return nil, nil, err
	}
	for key := range now {
		if !c.baseline[key] {
			extra = append(extra, key)
		}
	}
	for key := range c.baseline {
		if !now[key] {
			missing = append(missing, key)
		}
	}
	slices.Sort(extra)
	slices.Sort(missing)
	return extra, missing, nil
}

// planted is an object of another owner, and where it is.
type planted struct {
	where  string
	object client.Object
}
