package truth

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

const (
	// lengthVariable says how long a run takes, and seedVariable which one it is.
	lengthVariable, seedVariable = "KAIRSHIP_TRUTH", "KAIRSHIP_TRUTH_SEED"
	// short is what takes part in `make test`.
	short = 40 * time.Second
	// restWithin bounds how long it may take until all is well again.
	restWithin = 8 * time.Minute
	// deployAgain is how long a workload has to become HEALTHY until it is deployed again.
	deployAgain = 90 * time.Second
	// staleAfter is the lag from which on an answer has to be stale (docs/graphql.md).
	staleAfter = 30 * time.Second
	// mostShown bounds how many false claims of one kind are explained; all are counted.
	mostShown = 4
)

// TestTruth changes and breaks the fleet at random, and holds every claim that Kairship
// makes meanwhile against what the clusters had.
func TestTruth(t *testing.T) {
	lasts, seed := lengthOf(t)
	t.Logf("a run of %s; again with %s=%d", lasts, seedVariable, seed)
	f := fleet.Open(t)
	f.Heal(t)
	r := newRun(t, f)
	stop := r.start(t, seed)
	breaker := &breaker{Fleet: f}
	breaker.run(t, stream(seed, 0), lasts)
	stop()
	f.Heal(t)
	// What is claimed while it comes to rest is judged too, and also if it does not.
	t.Run("comes to rest", r.comesToRest)
	r.end(t)
	r.judge(t, breaker)
}

// lengthOf is how long the run takes, and its seed.
func lengthOf(t *testing.T) (lasts time.Duration, seed uint64) {
	t.Helper()
	lasts, seed = short, uint64(time.Now().UnixNano())
	if text := os.Getenv(lengthVariable); text != "" {
		asked, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("%s: %v", lengthVariable, err)
		}
		lasts = asked
	}
	if lasts <= 0 {
		t.Skipf("%s switches it off", lengthVariable)
	}
	if text := os.Getenv(seedVariable); text != "" {
		asked, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", seedVariable, err)
		}
		seed = asked
	}
	return lasts, seed
}

// run is one run of the test.
type run struct {
	*fleet.Fleet
	namespace string
	history   *history
	observer  *observer
	changer   *changer
	clock     *clock
	recorder  *recorder
	// stopRecording ends the recorder and the clock, stopObserving the observers.
	stopRecording, stopObserving func()
	observers                    sync.WaitGroup
}

func newRun(t *testing.T, f *fleet.Fleet) *run {
	t.Helper()
	r := &run{Fleet: f, namespace: fmt.Sprintf("truth-%d", time.Now().UnixMilli()%1e9), history: newHistory()}
	api := gql.New(f.KairshipURL, f.Token(t, "admin"))
	r.observer = &observer{api: api, namespace: r.namespace, instances: f.Names(fleet.RoleInstance), history: r.history}
	r.changer = &changer{observer: r.observer, api: api, namespace: r.namespace, at: map[string]client.Client{}, tally: map[string]tried{}, logf: t.Logf}
	for _, name := range f.Names(fleet.RoleInstance) {
		r.changer.at[name] = f.Client(t, name)
		t.Cleanup(func() { r.remove(t, name) })
		if err := f.Client(t, name).Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}}); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// start begins to record, to observe and to change. What it returns ends the changes.
func (r *run) start(t *testing.T, seed uint64) (stop func()) {
	t.Helper()
	recording, stopRecording := context.WithCancel(t.Context())
	r.stopRecording = stopRecording
	r.clock = newClock(t, r.Fleet)
	r.recorder = record(recording, t, r.Fleet, r.clock, r.namespace)
	r.recorder.all.Go(func() { r.clock.run(recording) })
	observing, stopObserving := context.WithCancel(t.Context())
	r.stopObserving = stopObserving
	r.observers.Go(func() { every(observing, 200*time.Millisecond, func(ctx context.Context) { r.observer.list(ctx) }) })
	r.observers.Go(func() { every(observing, time.Second, func(ctx context.Context) { r.observer.list(ctx, healthy) }) })
	r.observers.Go(func() { r.observer.follow(observing) })

	changing, stopChanging := context.WithCancel(t.Context())
	var changers sync.WaitGroup
	var enough atomic.Bool
	for i, some := range slots() {
		changers.Go(func() {
			// On a machine that is busy with other things not every kind of change was made in time.
			r.changer.run(changing, stream(seed, uint64(i)+1), some, func() bool { return enough.Load() && len(r.changer.missing()) == 0 })
		})
	}
	t.Cleanup(func() {
		stopChanging()
		changers.Wait()
		stopObserving()
		r.observers.Wait()
		stopRecording()
		r.recorder.all.Wait()
	})
	return func() {
		enough.Store(true)
		late := time.AfterFunc(restWithin, stopChanging)
		changers.Wait()
		late.Stop()
	}
}

// comesToRest deploys every workload once more, and waits until lists and subscriptions
// say that it is HEALTHY: a product that never says so makes no false claim either.
func (r *run) comesToRest(t *testing.T) {
	t.Helper()
	var all []slot
	for _, some := range slots() {
		all = append(all, some...)
	}
	begun, random := time.Now(), stream(1, 1)
	r.restartGarbageCollectors(t)
	for _, of := range all {
		var again time.Time
		poll.Until(t, restWithin, of.String()+" is HEALTHY in lists and subscriptions", func(ctx context.Context) error {
			// Karmada waits for minutes before it tries again what failed several times, as
			// when it was to send to a member what was being removed there. A change wakes it.
			if time.Since(again) > deployAgain {
				r.startEnded(t)
				if err := r.changer.deploy(ctx, random, of); err != nil {
					return err
				}
				again = time.Now()
			}
			for _, by := range []string{"list", "subscription"} {
				if err := r.history.isHealthy(by, of.workloadKey); err != nil {
					return err
				}
			}
			return nil
		})
	}
	r.observer.background.Wait()
	t.Logf("all was well %s after the last fault", time.Since(begun).Round(100*time.Millisecond))
}

// restartGarbageCollectors has Kubernetes' garbage collectors begin anew. One whose watch
// was broken while a workload was deleted and made again by the same name sees an update
// where the UID changes, and does not learn that the first was deleted: its pods stay for
// ever, and those of the second cannot be made.
func (r *run) restartGarbageCollectors(t *testing.T) {
	t.Helper()
	for _, instance := range r.Names(fleet.RoleInstance) {
		for _, name := range append(r.Members(instance), instance) {
			r.Restart(t, name+"-kcm")
		}
	}
}

// startEnded starts processes that ended on their own, as a kubelet does. kube-scheduler
// ends when its cache and a member's API server that was killed disagree about a pod, and
// no pod of that member starts then.
func (r *run) startEnded(t *testing.T) {
	t.Helper()
	for _, name := range r.Ended(t) {
		t.Logf("%s has ended, and is started again", name)
		r.Start(t, name)
	}
}

// end ends the observers and the recorder.
func (r *run) end(t *testing.T) {
	t.Helper()
	r.stopObserving()
	r.observers.Wait()
	// The clock goes on until the last answer is between two samples.
	last := time.Now()
	poll.True(t, time.Minute, "the clock has a sample after the last answer", func() bool { return r.clock.passed(last) })
	r.recorder.complete(t, r.stopRecording)
}

// judge judges all claims, and whether there were enough of them.
func (r *run) judge(t *testing.T, b *breaker) {
	t.Helper()
	claims := r.history.timed(r.clock, r.recorder.timeline)
	falseBy := map[string]int{}
	for _, c := range claims {
		explanation := judge(r.recorder.timeline, r.Members(c.Workload.Instance), c)
		if explanation == "" {
			continue
		}
		by, _, _ := strings.Cut(c.By, " at ")
		kind := c.What + " by " + by
		falseBy[kind]++
		if falseBy[kind] <= mostShown {
			t.Errorf("a false claim: %s", explanation)
		}
	}
	if len(falseBy) > 0 {
		t.Errorf("false claims: %v", falseBy)
	}
	aged := map[string]int{}
	for _, one := range r.history.shown {
		if what := missing(r.recorder.timeline, one, r.clock.from(one.ObservedAt)); what != "" {
			const problem = "something that happened until observedAt is missing"
			aged[problem]++
			if aged[problem] <= mostShown {
				t.Errorf("a false claim of freshness: %s", what)
			}
		}
	}
	for _, one := range overclaims(r.history.fresh, b.outages, staleAfter) {
		aged[one.problem]++
		if aged[one.problem] <= mostShown {
			t.Errorf("a false claim of freshness: %s", one)
		}
	}
	if len(aged) > 0 {
		t.Errorf("false claims of freshness: %v", aged)
	}

	made, changes, broken := tally(claims), r.changer.counts(), b.counts()
	t.Logf("changes: %v", changes)
	t.Logf("faults: %v", broken)
	t.Logf("claims: %v; %d of freshness; answers by health: %v", made, len(r.history.fresh), r.history.health)
	t.Logf("no answer, or another one than asked for: %v", r.history.errors)
	t.Logf("the widest gap between two samples of the clock: %s", r.clock.widest().Round(time.Millisecond))
	if missing := r.changer.missing(); len(missing) > 0 {
		t.Errorf("these changes were not made: %v", missing)
	}
	if len(broken) < len(faults()) {
		t.Errorf("not every kind of fault was made: %v", broken)
	}
	for what, least := range map[string]int{healthy: 300, succeeded: 5} {
		if made[what] < least {
			t.Errorf("only %d claims of %s were judged, and %d have to be", made[what], what, least)
		}
	}
	if len(r.history.fresh) < 1000 {
		t.Errorf("only %d claims of freshness were judged", len(r.history.fresh))
	}
}

// remove removes what the test made in an instance, and waits until it is removed from the members too.
func (r *run) remove(t *testing.T, instance string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), restWithin)
	defer cancel()
	c := r.Client(t, instance)
	// The workloads first: what the policies propagated goes with them.
	for _, some := range slots() {
		for _, of := range some {
			if of.Instance != instance {
				continue
			}
			o := empty(of.Kind)
			o.SetNamespace(r.namespace)
			o.SetName(of.Name)
			if err := client.IgnoreNotFound(c.Delete(ctx, o)); err != nil {
				t.Errorf("removing %s: %v", of, err)
			}
		}
	}
	inNamespace := client.InNamespace(r.namespace)
	for _, list := range []client.Object{&policyv1alpha1.PropagationPolicy{}, &policyv1alpha1.OverridePolicy{}} {
		if err := c.DeleteAllOf(ctx, list, inNamespace); err != nil {
			t.Errorf("removing policies in %s: %v", instance, err)
		}
	}
	err := poll.Try(ctx, restWithin, func(ctx context.Context) error {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}}
		if err := client.IgnoreNotFound(c.Delete(ctx, ns)); err != nil {
			return err
		}
		if err := absent(ctx, c, ns); err != nil {
			return err
		}
		for _, member := range r.Members(instance) {
			if err := absent(ctx, r.Client(t, member), ns); err != nil {
				return fmt.Errorf("in %s: %w", member, err)
			}
		}
		var works workv1alpha1.WorkList
		if err := c.List(ctx, &works); err != nil {
			return err
		}
		for i := range works.Items {
			if strings.Contains(string(works.Items[i].Spec.Workload.Manifests[0].Raw), r.namespace) {
				return fmt.Errorf("work %s/%s is there", works.Items[i].Namespace, works.Items[i].Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Errorf("what the test made in %s stays: %v", instance, err)
	}
}

// absent is nil when there is no such object.
func absent(ctx context.Context, c client.Client, o client.Object) error {
	err := c.Get(ctx, client.ObjectKeyFromObject(o), o)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%T %s is there", o, o.GetName())
}
