package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

// lease is how long a Lease lasts that is not renewed.
const lease = 15 * time.Second

// TestLeaderEnds ends the leader as a rollout does. It gives the Lease back, so
// that no client waits for its end; and the other replica has everything in its
// queues already, and has not worked on any of it.
func TestLeaderEnds(t *testing.T) {
	s := begin(t)
	leader := s.leader(t)
	standby := s.other(leader)
	s.metricsOf(t, leader) // While it has arguments.
	waiting, done := s.queued(t, standby)
	if waiting < 10 || done != 0 {
		t.Errorf("%s has %d objects in its queues and has worked on %d, before it leads", standby, waiting, done)
	}

	t.Cleanup(func() { s.Heal(t) })
	begun := time.Now()
	s.Signal(t, leader, syscall.SIGTERM)
	poll.Until(t, leadsWithin, standby+" leads", func(ctx context.Context) error { return s.leadsNow(ctx, t, standby) })
	took := time.Since(begun)
	t.Logf("%s leads %s after %s was told to end; it had %d objects in its queues", standby, took.Round(10*time.Millisecond), leader, waiting)
	// It is under 3 s where the machine has nothing else to do.
	if took > lease/2 {
		t.Errorf("that is no hand-over: a Lease of %s expires", lease)
	}
	poll.Until(t, noticeWithin, "everything is worked on", func(context.Context) error {
		if _, done := s.queued(t, standby); done < waiting {
			return fmt.Errorf("%d of %d are", done, waiting)
		}
		return nil
	})
	t.Logf("everything was looked at %s after it was told to end", time.Since(begun).Round(10*time.Millisecond))
	s.works(t)
}

// TestLeaderFrozen stops the leader for longer than its Lease lasts, with work in
// its hands. Another one leads, and things change. What it does when it goes on
// must not undo that: it ends, and what it still sends is refused.
func TestLeaderFrozen(t *testing.T) {
	s := begin(t)
	global := s.Client(t, "global")
	leader := s.leader(t)
	standby := s.other(leader)
	pid := s.PID(t, leader)

	// The leader is stopped while it works on these.
	const many = 8
	var instances []*kairshipv1alpha1.Instance
	for i := range many {
		instance := &kairshipv1alpha1.Instance{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("faults-frozen-%d", i)},
			Spec: kairshipv1alpha1.InstanceSpec{
				Mode: kairshipv1alpha1.InstanceModeExternal,
				KubeconfigSecretRef: &kairshipv1alpha1.SecretKeyReference{
					SecretReference: kairshipv1alpha1.SecretReference{Namespace: kairshipv1alpha1.SystemNamespace, Name: "faults-no-such-secret"},
				},
			},
		}
		s.createFor(t, global, instance)
		instances = append(instances, instance)
	}
	t.Cleanup(func() { s.Heal(t) })
	thaw := s.Freeze(t, leader)
	frozen := time.Now()
	poll.Until(t, leadsWithin, standby+" leads", func(ctx context.Context) error { return s.leadsNow(ctx, t, standby) })
	t.Logf("%s leads %s after %s was stopped", standby, time.Since(frozen).Round(100*time.Millisecond), leader)

	// They get credentials: what the former leader knows of them is the past.
	for _, instance := range instances {
		spec := s.SpecAs(t, "beta", instance.Name)
		poll.Until(t, noticeWithin, "it can be changed", func(ctx context.Context) error {
			if err := global.Get(ctx, client.ObjectKeyFromObject(instance), instance); err != nil {
				return err
			}
			instance.Spec.KubeconfigSecretRef = spec.KubeconfigSecretRef
			return global.Update(ctx, instance)
		})
	}
	said := map[string]map[string]string{}
	poll.Until(t, recoverWithin, "they are ready", func(ctx context.Context) error {
		for _, instance := range instances {
			words, err := conditions(ctx, global, instance.Name)
			if err != nil {
				return err
			}
			for _, kind := range []string{kairshipv1alpha1.ConditionReady, kairshipv1alpha1.ConditionIndexed} {
				if !strings.HasPrefix(words[kind], "True/") {
					return fmt.Errorf("%s of %s is %s", kind, instance.Name, words[kind])
				}
			}
			said[instance.Name] = words
		}
		return nil
	})

	logged := filepath.Join(s.Logs, leader+".log")
	had, err := os.ReadFile(logged)
	if err != nil {
		t.Fatal(err)
	}
	thaw()
	thawed := time.Now()
	s.Gone(t, leader, pid, noticeWithin)
	t.Logf("%s ended %s after it went on", leader, time.Since(thawed).Round(10*time.Millisecond))
	// It ended because it saw who leads, and not because it tried in vain for long enough.
	if last := readFrom(t, logged, int64(len(had))); !strings.Contains(string(last), "another replica leads") {
		t.Errorf("it does not say why it ended:\n%s", last)
	}
	if err := s.leadsNow(t.Context(), t, standby); err != nil {
		t.Error(err)
	}
	for _, instance := range instances {
		words, err := conditions(t.Context(), global, instance.Name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(said[instance.Name], words); diff != "" {
			t.Errorf("the former leader changed what %s says (-before +now):\n%s", instance.Name, diff)
		}
	}
	s.Start(t, leader)
	s.works(t)
}

// conditions are those of an Instance, as status/reason by type.
func conditions(ctx context.Context, global client.Client, name string) (map[string]string, error) {
	instance := &kairshipv1alpha1.Instance{}
	if err := global.Get(ctx, client.ObjectKey{Name: name}, instance); err != nil {
		return nil, err
	}
	words := map[string]string{}
	for _, condition := range instance.Status.Conditions {
		words[condition.Type] = string(condition.Status) + "/" + condition.Reason
	}
	if c := meta.FindStatusCondition(instance.Status.Conditions, kairshipv1alpha1.ConditionReady); c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration != instance.Generation {
		return nil, errors.New("it is not said of the present spec")
	}
	return words, nil
}

// other is the replica that is not this one.
func (s *scene) other(process string) string {
	for _, name := range controllerManagers() {
		if name != process {
			return name
		}
	}
	return ""
}

// leadsNow reports whether a replica does not lead.
func (s *scene) leadsNow(ctx context.Context, t *testing.T, process string) error {
	t.Helper()
	is, err := leads(ctx, s.metricsOf(t, process))
	if err == nil && !is {
		err = fmt.Errorf("%s does not lead", process)
	}
	return err
}

// queued is how many objects are in a replica's queues, and how often it worked on one.
func (s *scene) queued(t *testing.T, process string) (waiting, done int) {
	t.Helper()
	metrics, err := fleet.Metrics(t.Context(), s.metricsOf(t, process))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(metrics) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		number, err := strconv.ParseFloat(value, 64)
		switch {
		case err != nil:
		case strings.HasPrefix(name, "workqueue_depth{"):
			waiting += int(number)
		case strings.HasPrefix(name, "controller_runtime_reconcile_total{"):
			done += int(number)
		}
	}
	return waiting, done
}
