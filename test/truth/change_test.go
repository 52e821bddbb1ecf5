package truth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/test/internal/gql"
)

const (
	// shortestPause and longestPause are those between two changes.
	shortestPause, longestPause = 300 * time.Millisecond, 2 * time.Second
	// changeWithin bounds one change; it fails while what it writes to is away.
	changeWithin = 10 * time.Second
)

// tried is how often something was changed, and how often that was not possible.
type tried struct{ done, failed int }

// changer changes workloads and their policies.
type changer struct {
	observer  *observer
	api       *gql.Client
	namespace string
	// at are the administrator's clients of the instances.
	at map[string]client.Client
	// logf logs what is done.
	logf func(format string, args ...any)

	mu    sync.Mutex
	tally map[string]tried
}

// change is one kind of change.
type change struct {
	name string
	make func(ctx context.Context, random *rand.Rand, of slot) error
}

func (c *changer) changes() []change {
	return []change{
		{"scaleWorkload", c.scale}, {"patch of replicas", c.patchReplicas}, {"setImage", c.setImage}, {"patch of the image", c.patchImage},
		{"deployApplication", c.deploy}, {"applyManifests", c.apply}, {"updatePropagationPolicy", c.updatePolicy},
		{"deletePropagationPolicy", c.deletePolicy}, {"edit of an OverridePolicy", c.editOverride}, {"deletion of a workload", c.remove},
	}
}

// run changes some workloads until over says so. Each kind of change has its turn before
// the first comes again.
func (c *changer) run(ctx context.Context, random *rand.Rand, some []slot, over func() bool) {
	var deck []change
	for ctx.Err() == nil && !over() {
		if len(deck) == 0 {
			deck = c.changes()
			random.Shuffle(len(deck), func(a, b int) { deck[a], deck[b] = deck[b], deck[a] })
		}
		next, of := deck[0], some[random.IntN(len(some))]
		deck = deck[1:]
		limited, done := context.WithTimeout(ctx, changeWithin)
		err := c.at[of.Instance].Get(limited, c.name(of), empty(of.Kind))
		if apierrors.IsNotFound(err) {
			next = change{"deployApplication", c.deploy}
			err = nil
		}
		if err == nil {
			err = next.make(limited, random, of)
		}
		done()
		c.count(next.name, of, err)
		pause(ctx, shortestPause+time.Duration(random.Int64N(int64(longestPause-shortestPause))))
	}
}

func pause(ctx context.Context, lasts time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(lasts):
	}
}

func (c *changer) count(name string, of slot, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tally[name]
	if err == nil {
		t.done++
	} else {
		t.failed++
	}
	c.tally[name] = t
	now := time.Now()
	c.logf("%s %s of %s: %v", stamp(&now), name, of, err)
}

// missing are the kinds of change that were not made.
func (c *changer) missing() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var missing []string
	for _, change := range c.changes() {
		if c.tally[change.name].done == 0 {
			missing = append(missing, change.name)
		}
	}
	return missing
}

func (c *changer) counts() map[string]tried {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.tally)
}

func (c *changer) name(of slot) client.ObjectKey {
	return client.ObjectKey{Namespace: c.namespace, Name: of.Name}
}

// written is what mutations answer.
type written struct {
	ConsistencyToken, Operation *string
	Workload                    *struct{ ResourceVersion string }
	PropagationPolicy           *struct{ ResourceVersion string }
	Results                     []struct {
		Kind     string
		Resource *struct{ ResourceVersion string }
		Error    *struct{ Message string }
	}
}

// versions are the revisions that a mutation wrote: of its workload, and the newest of all.
func (w written) versions(of slot) (workload, newest int64) {
	read := func(text string) int64 {
		revision, _ := strconv.ParseInt(text, 10, 64)
		newest = max(newest, revision)
		return revision
	}
	if w.Workload != nil {
		workload = read(w.Workload.ResourceVersion)
	}
	if w.PropagationPolicy != nil {
		read(w.PropagationPolicy.ResourceVersion)
	}
	for _, r := range w.Results {
		if r.Resource == nil {
			continue
		}
		if revision := read(r.Resource.ResourceVersion); r.Kind == of.Kind {
			workload = revision
		}
	}
	return workload, newest
}

// mutate sends a mutation about a workload.
func (c *changer) mutate(ctx context.Context, mutation string, input m, selection string) (written, error) {
	title := strings.ToUpper(mutation[:1]) + mutation[1:]
	data, _, err := gql.Query[map[string]written](ctx, c.api,
		fmt.Sprintf("mutation($input: %sInput!) { %s(input: $input) { consistencyToken %s } }", title, mutation, selection), m{"input": input})
	if err != nil {
		return written{}, err
	}
	for _, r := range data[mutation].Results {
		if r.Error != nil {
			return written{}, fmt.Errorf("%s was not written: %s", r.Kind, r.Error.Message)
		}
	}
	return data[mutation], nil
}

// reads asks for a workload with the token of a write, several times in a row: right
// after a write is when a state is most easily that of before.
func (c *changer) reads(ctx context.Context, of slot, w written) {
	_, newest := w.versions(of)
	if w.ConsistencyToken == nil {
		return
	}
	for range 4 {
		c.observer.get(ctx, of.workloadKey, *w.ConsistencyToken, newest)
		pause(ctx, 50*time.Millisecond)
	}
}

func (c *changer) of(of slot, more m) m {
	input := m{"instance": of.Instance, "namespace": c.namespace, "name": of.Name}
	maps.Copy(input, more)
	return input
}

func kindInSchema(of slot) string {
	for name, kind := range kinds {
		if kind == of.Kind {
			return name
		}
	}
	panic("no kind of workload: " + of.Kind)
}

func (c *changer) scale(ctx context.Context, random *rand.Rand, of slot) error {
	if of.Kind == kindDaemonSet {
		return c.setImage(ctx, random, of)
	}
	w, err := c.mutate(ctx, "scaleWorkload", c.of(of, m{"kind": kindInSchema(of), "replicas": random.IntN(10)}), "workload { resourceVersion }")
	if err == nil {
		c.reads(ctx, of, w)
	}
	return err
}

func (c *changer) setImage(ctx context.Context, random *rand.Rand, of slot) error {
	w, err := c.mutate(ctx, "setImage", c.of(of, m{
		"kind": kindInSchema(of), "images": []m{{"container": "app", "image": image + ":" + randomTag(random)}},
	}), "workload { resourceVersion }")
	if err == nil {
		c.reads(ctx, of, w)
	}
	return err
}

// patch changes a workload as kubectl patch does.
func (c *changer) patch(ctx context.Context, of slot, spec m) error {
	text, err := json.Marshal(m{"spec": spec})
	if err != nil {
		return err
	}
	o := empty(of.Kind)
	o.SetNamespace(c.namespace)
	o.SetName(of.Name)
	return c.at[of.Instance].Patch(ctx, o, client.RawPatch(types.StrategicMergePatchType, text))
}

func (c *changer) patchReplicas(ctx context.Context, random *rand.Rand, of slot) error {
	if of.Kind == kindDaemonSet {
		return c.patchImage(ctx, random, of)
	}
	return c.patch(ctx, of, m{"replicas": random.IntN(10)})
}

func (c *changer) patchImage(ctx context.Context, random *rand.Rand, of slot) error {
	return c.patch(ctx, of, m{"template": m{"spec": m{"containers": []m{{"name": "app", "image": image + ":" + randomTag(random)}}}}})
}

// deploy deploys a workload with its policies, and follows the operation.
func (c *changer) deploy(ctx context.Context, random *rand.Rand, of slot) error {
	wish := randomWish(random, of)
	input := m{
		"instance": of.Instance, "namespace": c.namespace, "manifests": manifest(c.namespace, of, wish), "force": true,
		"propagationPolicies": []m{{"name": of.Name, "spec": propagationInput(of, wish.target)}},
	}
	if wish.override != nil {
		input["overridePolicies"] = []m{{"name": of.Name, "spec": overrideInput(of, wish.override)}}
	}
	w, err := c.mutate(ctx, "deployApplication", input, "operation results { kind resource { resourceVersion } error { message } }")
	return c.follows(ctx, "deployApplication", of, w, err)
}

// apply applies a workload alone, and follows the operation.
func (c *changer) apply(ctx context.Context, random *rand.Rand, of slot) error {
	w, err := c.mutate(ctx, "applyManifests", m{
		"instance": of.Instance, "namespace": c.namespace, "manifests": manifest(c.namespace, of, randomWish(random, of)), "force": true,
	}, "operation results { kind resource { resourceVersion } error { message } }")
	return c.follows(ctx, "applyManifests", of, w, err)
}

func (c *changer) follows(ctx context.Context, mutation string, of slot, w written, err error) error {
	if err != nil {
		return err
	}
	workload, newest := w.versions(of)
	if w.Operation == nil || workload == 0 {
		return errors.New("it began no operation")
	}
	at := time.Now()
	// An operation outlives its change.
	c.observer.progress(context.WithoutCancel(ctx), fmt.Sprintf("%s answered at %s, operationProgress", mutation, stamp(&at)), *w.Operation, of.workloadKey, workload, newest)
	c.reads(ctx, of, w)
	return nil
}

// updatePolicy changes where a workload goes, and creates the policy where there is none.
func (c *changer) updatePolicy(ctx context.Context, random *rand.Rand, of slot) error {
	to := randomTarget(random, of)
	stored := &policyv1alpha1.PropagationPolicy{}
	err := c.at[of.Instance].Get(ctx, c.name(of), stored)
	switch {
	case apierrors.IsNotFound(err):
		return c.at[of.Instance].Create(ctx, propagationPolicy(c.namespace, of, to))
	case err != nil:
		return err
	case random.IntN(3) == 0:
		stored.Spec = propagationPolicy(c.namespace, of, to).Spec
		return c.at[of.Instance].Update(ctx, stored)
	}
	w, err := c.mutate(ctx, "updatePropagationPolicy", c.of(of, m{"resourceVersion": stored.ResourceVersion, "spec": propagationInput(of, to)}),
		"propagationPolicy { resourceVersion }")
	if err == nil {
		c.reads(ctx, of, w)
	}
	return err
}

// deletePolicy deletes the policy of a workload, changes that perhaps, and makes the policy again.
func (c *changer) deletePolicy(ctx context.Context, random *rand.Rand, of slot) error {
	again, scaled, away := randomTarget(random, of), random.IntN(2) == 0, time.Duration(random.Int64N(int64(3*time.Second)))
	w, err := c.mutate(ctx, "deletePropagationPolicy", c.of(of, m{"allowInUse": true}), "")
	if err != nil {
		return err
	}
	c.reads(ctx, of, w)
	pause(ctx, away/2)
	if scaled {
		err = c.patchReplicas(ctx, random, of)
	}
	pause(ctx, away/2)
	return errors.Join(err, c.at[of.Instance].Create(ctx, propagationPolicy(c.namespace, of, again)))
}

// editOverride makes, changes or deletes the override policy of a workload.
func (c *changer) editOverride(ctx context.Context, random *rand.Rand, of slot) error {
	want := overridePolicy(c.namespace, of, randomOverride(random, of))
	goes := random.IntN(3) == 0
	stored := &policyv1alpha1.OverridePolicy{}
	err := c.at[of.Instance].Get(ctx, c.name(of), stored)
	switch {
	case apierrors.IsNotFound(err):
		return c.at[of.Instance].Create(ctx, want)
	case err != nil:
		return err
	case goes:
		return c.at[of.Instance].Delete(ctx, stored)
	}
	stored.Spec = want.Spec
	return c.at[of.Instance].Update(ctx, stored)
}

// remove deletes a workload, with or without its policies; its next change makes it again.
func (c *changer) remove(ctx context.Context, random *rand.Rand, of slot) error {
	gone := []client.Object{empty(of.Kind)}
	if random.IntN(2) == 0 {
		gone = append(gone, &policyv1alpha1.PropagationPolicy{}, &policyv1alpha1.OverridePolicy{})
	}
	var errs []error
	for _, o := range gone {
		o.SetNamespace(c.namespace)
		o.SetName(of.Name)
		errs = append(errs, client.IgnoreNotFound(c.at[of.Instance].Delete(ctx, o, client.PropagationPolicy(metav1.DeletePropagationBackground))))
	}
	return errors.Join(errs...)
}
