package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/longtest"
	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

// TestAnInstanceGoesAndComesBack kills beta's apiserver, and then has it hang.
func TestAnInstanceGoesAndComesBack(t *testing.T) {
	w := openStatus(t)
	w.becomes("beta", v1alpha1.InstanceStateRunning, turned, time.Now())
	alpha := w.since("alpha", v1alpha1.ConditionReady)

	for _, c := range []struct {
		what       string
		gone, back func()
	}{
		{"killed", func() { w.fleet.Kill(t, "beta-apiserver") }, func() { w.fleet.Heal(t) }},
		{
			"hanging", func() { w.fleet.Signal(t, "beta-apiserver", syscall.SIGSTOP) },
			func() { w.fleet.Signal(t, "beta-apiserver", syscall.SIGCONT) },
		},
	} {
		t.Run(c.what, func(t *testing.T) {
			inner := *w
			inner.T = t
			begun := time.Now()
			c.gone()
			defer c.back()
			stored := inner.becomes("beta", v1alpha1.InstanceStateUnavailable, turned, begun)
			if found := meta.FindStatusCondition(stored.Status.Conditions, v1alpha1.ConditionReachable); found.Status != metav1.ConditionFalse {
				t.Errorf("it is unavailable for another reason: %s", said(stored.Status.Conditions))
			}
			if stored.Status.KubernetesVersion == "" {
				t.Error("the version was forgotten")
			}
			poll.Until(t, turned, "the figures say that they are old", func(ctx context.Context) error {
				instance, err := inner.instance(ctx, "beta")
				if err != nil {
					return err
				}
				cluster, err := inner.cluster(ctx, "m3")
				if err != nil {
					return err
				}
				if s := instance.Status.Summary; s == nil || s.StaleSince == nil || s.Nodes.Total == 0 {
					return fmt.Errorf("the summary of beta is %+v", s)
				}
				if s := cluster.Status.Summary; s == nil || s.StaleSince == nil || s.Nodes.Total == 0 {
					return fmt.Errorf("the summary of m3 is %+v", s)
				}
				return nil
			})
			begun = time.Now()
			c.back()
			inner.becomes("beta", v1alpha1.InstanceStateRunning, turned, begun)
			poll.Until(t, counted, "the figures are current again", func(ctx context.Context) error {
				instance, err := inner.instance(ctx, "beta")
				if err != nil {
					return err
				}
				if s := instance.Status.Summary; s.StaleSince != nil || s.Clusters.Ready != 1 {
					return fmt.Errorf("the summary of beta is %+v", s)
				}
				return nil
			})
		})
	}
	if now := w.since("alpha", v1alpha1.ConditionReady); !now.Equal(alpha) {
		t.Errorf("alpha turned at %s because of beta", now)
	}
}

// TestFlappingIsNotReported registers an alias of alpha, behind a door that opens and
// closes all the time.
func TestFlappingIsNotReported(t *testing.T) {
	w := openStatus(t)
	const name = statusPrefix + "door"
	alias := w.fleet.Alias(t, "alpha")
	door := w.door(alias.Host)
	watches := fleet.Metric(w.metrics(), "kairship_instance_watches")
	begun := time.Now()
	alias.Host = door.Address
	w.register(name, alias.Config(name))
	w.becomes(name, v1alpha1.InstanceStateRunning, turned, begun)
	poll.Until(t, counted, "it is counted", func(ctx context.Context) error {
		instance, err := w.instance(ctx, name)
		if err == nil && instance.Status.Summary == nil {
			err = errors.New("there is no summary")
		}
		return err
	})
	if fleet.Metric(w.metrics(), `kairship_instance_clusters{instance="`+name+`"}`) != "2" {
		t.Error("its metrics do not have two clusters")
	}

	before := w.since(name, v1alpha1.ConditionReady)
	const times, each = 4, 2 * time.Second
	for range times {
		door.shut()
		time.Sleep(each)
		door.open(t, door.Address)
		time.Sleep(each)
		instance, err := w.instance(t.Context(), name)
		w.must(err)
		if instance.Status.State != v1alpha1.InstanceStateRunning {
			t.Errorf("it is %s: %s", instance.Status.State, said(instance.Status.Conditions))
		}
	}
	if now := w.since(name, v1alpha1.ConditionReady); !now.Equal(before) {
		t.Errorf("it turned at %s", now)
	}

	begun = time.Now()
	door.shut()
	w.becomes(name, v1alpha1.InstanceStateUnavailable, turned, begun)
	begun = time.Now()
	door.open(t, door.Address)
	w.becomes(name, v1alpha1.InstanceStateRunning, turned, begun)

	instance, err := w.instance(t.Context(), name)
	w.must(err)
	w.remove(w.global, instance)
	poll.Until(t, counted, "nothing of it is left in the metrics, nor a watch", func(context.Context) error {
		all := w.metrics()
		if strings.Contains(all, name) {
			return errors.New("it has series")
		}
		if now := fleet.Metric(all, "kairship_instance_watches"); now != watches {
			return fmt.Errorf("there are %s watches, want %s", now, watches)
		}
		return nil
	})
}

// TestAPartOfKarmadaFails takes away what makes beta's apiserver a Karmada, one
// after the other.
func TestAPartOfKarmadaFails(t *testing.T) {
	w := openStatus(t)
	w.becomes("beta", v1alpha1.InstanceStateRunning, turned, time.Now())
	w.says("beta", v1alpha1.ConditionControlPlaneHealthy, "True/Serving", wholeLook, "Not visible")

	// That policies are admitted, and who renews a Lease, is looked at once in a while.
	// A new instance is looked at right away, so the short form registers an alias of
	// beta.
	lookedAt := func(inner *watcher) string {
		if longtest.On() {
			return "beta"
		}
		name := fmt.Sprintf("again-%d", time.Now().UnixMilli())
		inner.register(name, inner.fleet.Alias(inner, "beta").Config(name))
		return name
	}
	for _, c := range []struct {
		process, reason string
		in              func(*watcher) string
	}{
		{"beta-aggregated-apiserver", v1alpha1.ReasonAggregationFailed, func(*watcher) string { return "beta" }},
		{"beta-webhook", v1alpha1.ReasonWebhookFailed, lookedAt},
	} {
		t.Run(c.process, func(t *testing.T) {
			inner := *w
			inner.T = t
			w.fleet.Kill(t, c.process)
			name := c.in(&inner)
			inner.says(name, v1alpha1.ConditionControlPlaneHealthy, "False/"+c.reason, wholeLook, "running?")
			stored := inner.becomes(name, v1alpha1.InstanceStateUnavailable, turned, time.Now())
			if !meta.IsStatusConditionTrue(stored.Status.Conditions, v1alpha1.ConditionAPIServerHealthy) ||
				!meta.IsStatusConditionTrue(stored.Status.Conditions, v1alpha1.ConditionReachable) {
				t.Errorf("the apiserver is blamed: %s", said(stored.Status.Conditions))
			}
			aggregated := c.reason == v1alpha1.ReasonAggregationFailed
			if aggregated {
				// Clusterpedia removes what it has of the members.
				inner.says(name, v1alpha1.ConditionIndexed, "False/"+v1alpha1.ReasonCollectionFailed, wholeLook, "does not collect the member clusters")
				poll.Until(t, turned, "the list of members is reported as not complete", func(ctx context.Context) error {
					members, freshness, err := inner.members(ctx, name)
					if err == nil && (len(members) > 0 || !freshness.Stale || !strings.Contains(freshness.Message, "member clusters are not collected")) {
						err = fmt.Errorf("it has %v and says %+v", members, freshness)
					}
					return err
				})
			}
			begun := time.Now()
			w.fleet.Heal(t)
			inner.becomes(name, v1alpha1.InstanceStateRunning, turned, begun)
			if aggregated {
				inner.says(name, v1alpha1.ConditionIndexed, "True/Collecting", wholeLook)
				poll.Until(t, wholeLook, "the members are listed again", func(ctx context.Context) error {
					members, freshness, err := inner.members(ctx, name)
					if err == nil && (!slices.Equal(members, []string{"m3"}) || freshness.Stale) {
						err = fmt.Errorf("it has %v and says %+v", members, freshness)
					}
					return err
				})
			}
		})
	}

	t.Run("a component that leads", func(t *testing.T) {
		inner := *w
		inner.T = t
		beta := w.fleet.Client(t, "beta")
		// The fleet's components elect no leader, so the test keeps the Lease for one.
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-system", Name: "karmada-scheduler"}}
		renewed := metav1.NewMicroTime(time.Now())
		if !longtest.On() {
			renewed.Time = renewed.Add(-time.Hour)
		}
		lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: new("somebody"), LeaseDurationSeconds: new(int32(15)), RenewTime: &renewed}
		inner.must(beta.Create(t.Context(), lease))
		t.Cleanup(func() { inner.remove(beta, lease) })
		name := lookedAt(&inner)
		// It is not renewed any more.
		inner.says(name, v1alpha1.ConditionControlPlaneHealthy, "False/"+v1alpha1.ReasonComponentDown, wholeLook, "karmada-scheduler has not renewed")
		renewed = metav1.NewMicroTime(time.Now().Add(10 * time.Minute))
		inner.must(beta.Get(t.Context(), client.ObjectKeyFromObject(lease), lease))
		lease.Spec.RenewTime = &renewed
		inner.must(beta.Update(t.Context(), lease))
		inner.says(name, v1alpha1.ConditionControlPlaneHealthy, "True/Serving", wholeLook, "Running by their Leases: karmada-scheduler")
	})
	w.becomes("beta", v1alpha1.InstanceStateRunning, wholeLook, time.Now())
}

// TestKubectlTellsTheWholeStory prints what an administrator sees.
func TestKubectlTellsTheWholeStory(t *testing.T) {
	w := openStatus(t)
	w.becomes("alpha", v1alpha1.InstanceStateRunning, turned, time.Now())
	for kind, columns := range map[string][]string{
		"instances": {
			"MODE", "STATE", "INDEXED", "CLUSTERS", "CLUSTERS READY", "NODES", "NODES READY", "KARMADA", "KUBERNETES", "ENDPOINT",
			"REACHABLE", "API SERVER", "CONTROL PLANE", "INDEX", "REGISTERED", "SINCE", "STALE",
		},
		"clusters.kairship.io": {"TYPE", "INSTANCE", "JOINED", "READY", "INDEXED", "NODES", "NODES READY", "KUBERNETES", "ENDPOINT", "REACHABLE", "INDEX", "CREDENTIALS EXPIRE"},
	} {
		table := w.kubectl("get", kind, "-o", "wide")
		header, _, _ := strings.Cut(table, "\n")
		for _, column := range columns {
			if !strings.Contains(header, column) {
				t.Errorf("%s are printed without %s", kind, column)
			}
		}
		t.Logf("\n%s", table)
	}
	poll.Until(t, counted, "a virtual cluster says the same as its instance", func(ctx context.Context) error {
		instance, err := w.instance(ctx, "alpha")
		if err != nil {
			return err
		}
		cluster, err := w.cluster(ctx, "k-alpha")
		if err != nil {
			return err
		}
		if cluster.Status.KubernetesVersion != instance.Status.KubernetesVersion || cluster.Status.KubeSystemID == "" ||
			!meta.IsStatusConditionTrue(cluster.Status.Conditions, v1alpha1.ConditionReady) {
			return fmt.Errorf("it says %+v", cluster.Status)
		}
		return nil
	})
}
