package faults

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/longtest"
	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

// twoLeadFor is how long two leaders work at the same time.
const twoLeadFor = 30 * time.Second

// TestTwoLeaders has two controller managers lead at the same time, which the
// election would prevent, while everything comes, changes and goes. Each sees what
// the other writes a moment late. No write of the one may undo what the other knew
// better, and in the end everything is as with one.
func TestTwoLeaders(t *testing.T) {
	longtest.Only(t, "it takes minutes, and TestLeaderFrozen has two leaders for a moment")
	s := begin(t)
	s.leader(t)
	c := newChurn(t, s, uint64(time.Now().UnixNano()))
	c.plant(t)
	c.baseline = stable(t, "nothing is on its way out before", s.atRest)

	second := s.SecondLeader(t)
	poll.Until(t, noticeWithin, "there is a second leader", func(ctx context.Context) error { return worksAt(ctx, second.Address) })
	seen := s.witness(t)
	stop := c.start(t)
	c.sendTo(t, "alpha")
	time.Sleep(twoLeadFor)
	stop()
	// Wherever it was sent meanwhile, it goes from one instance to the other: to rest it
	// has to go home.
	c.sendTo(t, "alpha")
	poll.Until(t, restWithin, moving+" is a member of alpha", func(ctx context.Context) error {
		cluster := &kairshipv1alpha1.Cluster{}
		if err := c.global.Get(ctx, client.ObjectKey{Name: moving}, cluster); err != nil {
			return err
		}
		if at := cluster.Status.Membership; at == nil || at.Instance != "alpha" {
			return fmt.Errorf("its membership is %+v", at)
		}
		return says(cluster, cluster.Status.Conditions, kairshipv1alpha1.ConditionJoined)
	})
	s.leader(t) // It led all the time.
	t.Logf("changes: %v", c.counts())
	c.comesToRest(t)
	if err := worksAt(t.Context(), second.Address); err != nil {
		t.Errorf("the second leader is to lead until the end: %v\n%s", err, second.Tail(20))
	}
	second.Stop()

	seen.mu.Lock()
	defer seen.mu.Unlock()
	t.Logf("%d writes were seen, of %d objects", seen.writes, len(seen.objects))
	if seen.writes < 100 {
		t.Errorf("there were only %d writes", seen.writes)
	}
	for _, wrong := range seen.wrong {
		t.Error(wrong)
	}
}

// worksAt reports whether a controller manager does not work. Without an election it
// does not say whether it leads.
func worksAt(ctx context.Context, address string) error {
	metrics, err := fleet.Metrics(ctx, address)
	if err == nil && !fleet.Works(metrics) {
		err = fmt.Errorf("%s does not work", address)
	}
	return err
}

// witness sees every write to what Kairship keeps in the global cluster.
type witness struct {
	mu      sync.Mutex
	objects map[types.UID]*testimony
	writes  int
	wrong   []string
}

// testimony is what was last said of an object.
type testimony struct {
	// generations are those of the spec that the conditions were about.
	generations map[string]int64
	// member is the instance that a cluster was a member of; empty for none.
	member string
}

// witness begins to look, until the test ends.
func (s *scene) witness(t *testing.T) *witness {
	t.Helper()
	global, err := client.NewWithWatch(s.Config(t, "global"), client.Options{Scheme: fleet.Scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	seen := &witness{objects: map[types.UID]*testimony{}}
	for _, list := range []client.ObjectList{
		&kairshipv1alpha1.InstanceList{}, &kairshipv1alpha1.ClusterList{}, &kairshipv1alpha1.InstanceRoleBindingList{},
	} {
		watching, err := global.Watch(t.Context(), list)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(watching.Stop)
		go func() {
			for event := range watching.ResultChan() {
				seen.see(event)
			}
		}()
	}
	return seen
}

func (w *witness) see(event watch.Event) {
	var conditions []metav1.Condition
	member := ""
	object, is := event.Object.(client.Object)
	switch object := object.(type) {
	case *kairshipv1alpha1.Instance:
		conditions = object.Status.Conditions
	case *kairshipv1alpha1.Cluster:
		conditions = object.Status.Conditions
		if object.Status.Membership != nil {
			member = object.Status.Membership.Instance
		}
	case *kairshipv1alpha1.InstanceRoleBinding:
		conditions = object.Status.Conditions
	default:
		is = false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !is {
		w.wrong = append(w.wrong, fmt.Sprintf("the watch said %s: %+v", event.Type, event.Object))
		return
	}
	w.writes++
	before := w.objects[object.GetUID()]
	now := &testimony{generations: map[string]int64{}, member: member}
	for _, condition := range conditions {
		now.generations[condition.Type] = condition.ObservedGeneration
		if before != nil && before.generations[condition.Type] > condition.ObservedGeneration {
			w.wrong = append(w.wrong, fmt.Sprintf("condition %s of %T %s was about generation %d, and then about %d: %s",
				condition.Type, object, object.GetName(), before.generations[condition.Type], condition.ObservedGeneration, condition.Message))
		}
	}
	if before != nil && before.member != "" && now.member != "" && before.member != now.member {
		w.wrong = append(w.wrong, fmt.Sprintf("%s went from %s to %s without leaving", object.GetName(), before.member, now.member))
	}
	w.objects[object.GetUID()] = now
}
