package faults

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

// controllerManagers are the two replicas.
func controllerManagers() []string {
	return []string{"kairship-controller-manager-0", "kairship-controller-manager-1"}
}

// leadsWithin bounds how long no controller works after the leader was killed: the
// length of its Lease, 15 seconds, and what it takes to begin.
const leadsWithin = 45 * time.Second

// TestLeaderGone kills the controller manager that leads: the other one takes
// over, and works.
func TestLeaderGone(t *testing.T) {
	s := begin(t)
	leader := s.leader(t)
	s.Kill(t, leader)
	killed := time.Now()

	var next string
	poll.Until(t, leadsWithin, "the other one leads", func(ctx context.Context) error {
		leading, err := s.leading(ctx, t)
		if err != nil {
			return err
		}
		next = leading
		return nil
	})
	t.Logf("%s leads %s after %s was killed", next, time.Since(killed).Round(100*time.Millisecond), leader)
	if next == leader {
		t.Fatalf("%s was killed, and leads", leader)
	}
	s.works(t)

	// Two replicas are one more than one leader.
	s.Start(t, leader)
	if now := s.leader(t); now != next {
		t.Errorf("%s leads since %s came back", now, leader)
	}
	s.works(t)
}

// works gives the controllers something to do, and waits until it is done.
func (s *scene) works(t *testing.T) {
	t.Helper()
	global := s.Client(t, "global")
	instance := &kairshipv1alpha1.Instance{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "faults-"},
		Spec: kairshipv1alpha1.InstanceSpec{
			Mode: kairshipv1alpha1.InstanceModeExternal,
			KubeconfigSecretRef: &kairshipv1alpha1.SecretKeyReference{
				SecretReference: kairshipv1alpha1.SecretReference{Namespace: kairshipv1alpha1.SystemNamespace, Name: "faults-no-such-secret"},
			},
		},
	}
	if err := global.Create(t.Context(), instance); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	poll.Until(t, noticeWithin, "a new Instance is looked at by every controller", func(ctx context.Context) error {
		if err := global.Get(ctx, client.ObjectKeyFromObject(instance), instance); err != nil {
			return err
		}
		for _, typ := range []string{kairshipv1alpha1.ConditionIndexed, kairshipv1alpha1.ConditionReachable, kairshipv1alpha1.ConditionReady} {
			if c := meta.FindStatusCondition(instance.Status.Conditions, typ); c == nil || c.Reason != kairshipv1alpha1.ReasonCredentialsMissing {
				return fmt.Errorf("condition %s is %+v", typ, c)
			}
		}
		return nil
	})
	t.Logf("a new Instance was looked at after %s", time.Since(begun).Round(10*time.Millisecond))
	if err := global.Delete(t.Context(), instance); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, noticeWithin, "it is removed", func(ctx context.Context) error { return gone(ctx, global, instance) })
}

// leader is the controller manager that leads.
func (s *scene) leader(t *testing.T) string {
	t.Helper()
	var leader string
	poll.Until(t, noticeWithin, "one controller manager leads", func(ctx context.Context) (err error) {
		leader, err = s.leading(ctx, t)
		return err
	})
	return leader
}

// leading asks the controller managers which one leads.
func (s *scene) leading(ctx context.Context, t *testing.T) (string, error) {
	var leaders []string
	for _, name := range controllerManagers() {
		leads, err := leads(ctx, s.metricsOf(t, name))
		if err == nil && leads {
			leaders = append(leaders, name)
		}
	}
	if len(leaders) != 1 {
		return "", fmt.Errorf("%q lead", leaders)
	}
	return leaders[0], nil
}

// metricsAddresses are remembered, because a process that has ended has no arguments.
var metricsAddresses = map[string]string{}

func (s *scene) metricsOf(t *testing.T, process string) string {
	t.Helper()
	if metricsAddresses[process] == "" {
		for _, arg := range s.Args(t, process) {
			if address, ok := strings.CutPrefix(arg, "--metrics-bind-address="); ok {
				metricsAddresses[process] = address
			}
		}
	}
	if metricsAddresses[process] == "" {
		t.Fatalf("%s has no address for metrics", process)
	}
	return metricsAddresses[process]
}

// leads reads from a process's metrics whether it leads.
func leads(ctx context.Context, address string) (bool, error) {
	metrics, err := fleet.Metrics(ctx, address)
	if err != nil {
		return false, err
	}
	if value := fleet.Metric(metrics, `leader_election_master_status{name="kairship-controller-manager"}`); value != "" {
		return value == "1", nil
	}
	return false, errors.New("it does not say whether it leads")
}
