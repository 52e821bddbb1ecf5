package faults

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/longtest"
	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

const (
	// chaosVariable says how long the chaos lasts, and chaosSeed which one it is.
	chaosVariable, chaosSeed = "KAIRSHIP_CHAOS", "KAIRSHIP_CHAOS_SEED"
	// shortChaos is what takes part in `make test-long`.
	shortChaos = 75 * time.Second
	// restWithin bounds how long it may take after the chaos until everything is as it
	// should be. On a machine that has nothing else to do it is under a minute; that
	// is what is printed. Clusterpedia's and Karmada's own watches wait for up to half
	// a minute before they begin again.
	restWithin = 3 * time.Minute
)

// TestChaos kills and restarts parts of the fleet at random, while instances,
// clusters and role bindings come, change and go, and a member moves between
// instances. Then what is has to be what should be: nothing is left of what went,
// and nothing of others was removed.
func TestChaos(t *testing.T) {
	lasts, seed := chaosOf(t)
	t.Logf("chaos for %s; again with %s=%d", lasts, chaosSeed, seed)
	s := begin(t)
	c := newChurn(t, s, seed)
	c.plant(t)
	c.baseline = stable(t, "nothing is on its way out before the chaos", s.atRest)
	if len(c.baseline) < 100 {
		t.Fatalf("there are only %d objects", len(c.baseline))
	}

	stop := c.start(t)
	killed := s.rampage(t, rand.New(rand.NewPCG(seed, 1)), lasts)
	stop()
	t.Logf("killed: %v", killed)
	t.Logf("changes: %v", c.counts())

	s.Heal(t)
	c.comesToRest(t)
}

// comesToRest checks that actual state becomes desired state, that nothing stays
// behind once all of it goes, that nothing of others was removed, and that the projection is what the
// index has.
func (c *churn) comesToRest(t *testing.T) {
	t.Helper()
	ended := time.Now()
	c.conclude(t)
	c.rests(t, "actual state is desired state", c.asDesired)
	t.Logf("actual state is desired state %s after the last part was up again", time.Since(ended).Round(100*time.Millisecond))

	// Everything goes, and nothing stays behind.
	removed := time.Now()
	c.remove(t)
	c.rests(t, "nothing is left, and nothing else is missing", c.asBefore)
	t.Logf("nothing was left %s after all was deleted", time.Since(removed).Round(100*time.Millisecond))
	c.foreignIsUntouched(t)

	// The workloads in the member that moved are new ones; everything else is as it was.
	var now picture
	poll.Until(t, restWithin, "the workloads are well", func(ctx context.Context) (err error) {
		if now, err = c.expected(ctx); err != nil {
			return err
		}
		if diff := cmp.Diff(withoutUIDs(c.before, moving), withoutUIDs(now, moving)); diff != "" {
			return fmt.Errorf("the workloads are not as they were (-before +now):\n%s", diff)
		}
		return nil
	})
	c.scene.before, before = now, now
	c.NoDifference(t.Context(), t, c.Projection(t))
	for kind, of := range c.counts() {
		if of.done == 0 {
			t.Errorf("nothing was done with %s", kind)
		}
	}
}

// rests waits until a check passes. Where it does not in time it says what Karmada has not applied, and
// checks once more with controllers that begin anew: what is wrong by Kairship's fault stays wrong.
func (c *churn) rests(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	err := poll.Try(t.Context(), restWithin, check)
	if err == nil {
		return
	}
	c.restartControllers(t, fmt.Errorf("not within %s: %s: %w%s", restWithin, what, err, c.notApplied(t.Context())))
	poll.Until(t, restWithin, what, check)
}

// notApplied lists the Works that Karmada has not applied, and why.
func (c *churn) notApplied(ctx context.Context) string {
	var text strings.Builder
	for _, instance := range c.Names(fleet.RoleInstance) {
		works := &workv1alpha1.WorkList{}
		if err := c.at[instance].List(ctx, works); err != nil {
			fmt.Fprintf(&text, "\nlisting Works in %s: %v", instance, err)
		}
		for i := range works.Items {
			work := &works.Items[i]
			if applied := meta.FindStatusCondition(work.Status.Conditions, workv1alpha1.WorkApplied); applied == nil || applied.Status != metav1.ConditionTrue {
				fmt.Fprintf(&text, "\nWork %s/%s in %s, of %s: %+v", work.Namespace, work.Name, instance, work.CreationTimestamp.UTC().Format(time.TimeOnly), applied)
			}
		}
	}
	return text.String()
}

// chaosOf is how long the chaos lasts, and its seed.
func chaosOf(t *testing.T) (lasts time.Duration, seed uint64) {
	t.Helper()
	lasts, seed = shortChaos, uint64(time.Now().UnixNano())
	text := os.Getenv(chaosVariable)
	if text == "" {
		longtest.Only(t, "`make chaos` runs it, and test/truth breaks the fleet at random too")
	} else {
		asked, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("%s: %v", chaosVariable, err)
		}
		lasts = asked
	}
	if lasts <= 0 {
		t.Skipf("%s switches it off", chaosVariable)
	}
	if text := os.Getenv(chaosSeed); text != "" {
		asked, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", chaosSeed, err)
		}
		seed = asked
	}
	return lasts, seed
}

// theLeader stands for the controller manager that leads just then.
const theLeader = "the leader"

// victims are what is killed. Each kind is as likely as any other.
func victims() [][]string {
	return [][]string{
		{theLeader},
		{"alpha-apiserver", "beta-apiserver"},
		{"m1-apiserver", "m2-apiserver", "m3-apiserver"},
		{"clusterpedia-apiserver", "clustersynchro-manager"},
		{"global-apiserver"},
	}
}

// rampage kills a part every 10 to 20 seconds, and starts it again after a while.
// What ended on its own because of that is started again too, as a kubelet does:
// a replica that loses the lead ends.
func (s *scene) rampage(t *testing.T, random *rand.Rand, lasts time.Duration) map[string]int {
	t.Helper()
	t.Cleanup(func() { s.Heal(t) })
	for _, name := range controllerManagers() {
		s.metricsOf(t, name) // While it has arguments.
	}
	const shortest, longest, away = 10 * time.Second, 20 * time.Second, 6 * time.Second
	between := func(from, to time.Duration) time.Duration { return from + time.Duration(random.Int64N(int64(to-from))) }
	revive := func() {
		for _, name := range s.Ended(t) {
			t.Logf("%s ended on its own, and is started again", name)
			s.Start(t, name)
		}
	}
	killed, ends := map[string]int{}, time.Now().Add(lasts)
	for next := time.Now().Add(between(0, shortest)); next.Before(ends); next = time.Now().Add(between(shortest, longest)) {
		time.Sleep(time.Until(next))
		revive()
		kind := victims()[random.IntN(len(victims()))]
		name := kind[random.IntN(len(kind))]
		signal, down := syscall.SIGKILL, between(0, away)
		killed[name]++
		if name == theLeader {
			// An apiserver that is told to end first waits a minute for its watches.
			if random.IntN(2) == 0 {
				signal = syscall.SIGTERM
			}
			leading, err := s.leading(t.Context(), t)
			if err != nil {
				leading = controllerManagers()[random.IntN(len(controllerManagers()))]
			}
			name = leading
		}
		t.Logf("%s: %s, for %s", name, signal, down.Round(100*time.Millisecond))
		s.End(t, name, signal)
		time.Sleep(down)
		s.Start(t, name)
		revive()
	}
	// The replica that lost the lead in the last outage ends only some seconds later.
	for until := time.Now().Add(away + shortest); time.Now().Before(until); time.Sleep(time.Second) {
		revive()
	}
	return killed
}

// withoutUIDs is a picture that does not know which objects are in a member.
func withoutUIDs(of picture, member string) picture {
	result := picture{}
	for instance, workloads := range of {
		result[instance] = map[string]seen{}
		for key, one := range workloads {
			one.Placements = maps.Clone(one.Placements)
			if there, placed := one.Placements[member]; placed {
				there.UID = ""
				one.Placements[member] = there
			}
			result[instance][key] = one
		}
	}
	return result
}

// asDesired returns what is not yet as the inventory says.
func (c *churn) asDesired(ctx context.Context) error {
	for _, check := range []func(context.Context) error{c.instancesAreWell, c.clustersAreWell, c.bindingsAreWell, c.membersAreWell} {
		if err := check(ctx); err != nil {
			return err
		}
	}
	extra, missing, err := c.difference(ctx)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return fmt.Errorf("missing: %v", missing)
	}
	// What there is more than before belongs to something that is there.
	for _, key := range extra {
		name := slotIn.FindString(key)
		if !slices.Contains(c.present, name) {
			return fmt.Errorf("an orphan: %s", key)
		}
	}
	return nil
}

// asBefore returns what there is more, or less, than before the chaos.
func (c *churn) asBefore(ctx context.Context) error {
	if err := c.membersAreWell(ctx); err != nil {
		return err
	}
	extra, missing, err := c.difference(ctx)
	if err != nil {
		return err
	}
	if len(extra)+len(missing) > 0 {
		return fmt.Errorf("left: %v\nmissing: %v", extra, missing)
	}
	return nil
}

func (c *churn) instancesAreWell(ctx context.Context) error {
	list := &kairshipv1alpha1.InstanceList{}
	if err := c.global.List(ctx, list); err != nil {
		return err
	}
	for i := range list.Items {
		one := &list.Items[i]
		for _, kind := range []string{kairshipv1alpha1.ConditionReady, kairshipv1alpha1.ConditionIndexed, kairshipv1alpha1.ConditionRegistered} {
			if err := says(one, one.Status.Conditions, kind); err != nil {
				return err
			}
		}
	}
	return c.areThere(list, func(o client.Object) bool { return o.GetDeletionTimestamp().IsZero() })
}

func (c *churn) clustersAreWell(ctx context.Context) error {
	list := &kairshipv1alpha1.ClusterList{}
	if err := c.global.List(ctx, list); err != nil {
		return err
	}
	for i := range list.Items {
		one := &list.Items[i]
		for _, kind := range []string{kairshipv1alpha1.ConditionReady, kairshipv1alpha1.ConditionIndexed} {
			if err := says(one, one.Status.Conditions, kind); err != nil {
				return err
			}
		}
	}
	return c.areThere(list, func(o client.Object) bool { return o.GetDeletionTimestamp().IsZero() })
}

func (c *churn) bindingsAreWell(ctx context.Context) error {
	list := &kairshipv1alpha1.InstanceRoleBindingList{}
	if err := c.global.List(ctx, list); err != nil {
		return err
	}
	for i := range list.Items {
		one := &list.Items[i]
		if one.Spec.Revoked {
			continue
		}
		if err := says(one, one.Status.Conditions, kairshipv1alpha1.ConditionReady); err != nil {
			return err
		}
	}
	return c.areThere(list, func(o client.Object) bool { return o.GetDeletionTimestamp().IsZero() })
}

// membersAreWell reports whether a member is not where it should be.
func (c *churn) membersAreWell(ctx context.Context) error {
	for _, name := range []string{"m1", "m2", "m3"} {
		cluster := &kairshipv1alpha1.Cluster{}
		if err := c.global.Get(ctx, client.ObjectKey{Name: name}, cluster); err != nil {
			return err
		}
		if err := says(cluster, cluster.Status.Conditions, kairshipv1alpha1.ConditionJoined); err != nil {
			return err
		}
		if at := cluster.Status.Membership; at == nil || at.Instance != cluster.Spec.InstanceRef.Name {
			return fmt.Errorf("%s is a member of %+v", name, at)
		}
	}
	return nil
}
