package writes

import (
	"context"
	"fmt"
	"maps"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

const bulkFields = `action fingerprint total changed failed skipped consistencyToken freshness { stale }
	results { instanceName kind namespace name outcome workload { name } error { code argument message } }`

type bulkPayload struct {
	Action, Fingerprint             string
	Total, Changed, Failed, Skipped int
	ConsistencyToken                *string
	Results                         []struct {
		InstanceName, Kind, Namespace, Name, Outcome string
		Workload                                     *struct{ Name string }
		Error                                        *struct{ Code, Argument string }
	}
}

// inBulk tries a change until it hits as many workloads as it is to, and then makes it.
func inBulk(t *testing.T, as *gql.Client, total int, input map[string]any) bulkPayload {
	t.Helper()
	var tried bulkPayload
	poll.Until(t, within, "the index has all of them", func(context.Context) error {
		tried = must[bulkPayload](t, as, "changeWorkloads", but(input, "dryRun", true), bulkFields)
		if tried.Total != total || tried.Changed != total || tried.ConsistencyToken != nil {
			return fmt.Errorf("%+v", tried)
		}
		return nil
	})
	done := must[bulkPayload](t, as, "changeWorkloads", but(input, "expect", tried.Fingerprint), bulkFields)
	if done.Changed != total || done.Failed+done.Skipped != 0 || done.ConsistencyToken == nil || done.Fingerprint != tried.Fingerprint {
		t.Errorf("%v: %+v", input, done)
	}
	return done
}

func TestManyWorkloads(t *testing.T) {
	t.Parallel()
	alice := person(t, "alice")
	namespace, _ := running(t)
	filter := map[string]any{"instances": []any{"alpha"}, "namespaces": []any{namespace}}
	change := func(action string, more ...any) map[string]any {
		return but(map[string]any{"filter": filter, "action": action}, more...)
	}
	deployments := but(filter, "kinds", []any{"DEPLOYMENT"})
	stored := func() *appsv1.Deployment {
		d := &appsv1.Deployment{}
		if err := fleet.Open(t).Client(t, "alpha").Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "web"}, d); err != nil {
			t.Fatal(err)
		}
		return d
	}

	t.Run("it has to be tried first, and hits what was tried", func(t *testing.T) {
		refused(t, alice, "changeWorkloads", change("PAUSE"), "INVALID", "input.expect")
		pause := must[bulkPayload](t, alice, "changeWorkloads", change("PAUSE", "dryRun", true), bulkFields)
		refused(t, alice, "changeWorkloads", change("RESUME", "expect", pause.Fingerprint), "CONFLICT", "input.expect")
		refused(t, alice, "changeWorkloads", change("PAUSE", "filter", deployments, "expect", pause.Fingerprint), "CONFLICT", "input.expect")
		refused(t, alice, "changeWorkloads", change("SCALE", "dryRun", true), "INVALID", "input.replicas")
		refused(t, alice, "changeWorkloads", change("SCALE", "replicas", 1, "dryRun", true, "filter", but(filter, "kinds", []any{"JOB"})), "INVALID", "input.filter.kinds[0]")
		refused(t, alice, "changeWorkloads", change("DELETE", "dryRun", true, "filter", map[string]any{"labelSelector": "a b"}), "INVALID", "input.filter.labelSelector")
		if stored().Spec.Paused {
			t.Error("something was changed")
		}
	})
	t.Run("each filter", func(t *testing.T) {
		for _, f := range []map[string]any{
			{"name": []any{"web"}},
			{"nameContains": "we"},
			{"labelSelector": "tier=none"},
			{"cluster": []any{"m1"}},
			{"policy": map[string]any{"namespace": namespace, "name": "all"}},
			{"health": []any{"HEALTHY", "PROGRESSING", "DEGRADED", "UNSCHEDULED", "UNPROPAGATED", "UNMANAGED", "UNKNOWN"}},
			{"images": []any{"registry.example.com/web:1"}},
			{"text": "web"},
			{"drifted": false},
			{"kinds": []any{"DEPLOYMENT", "STATEFUL_SET", "DAEMON_SET", "JOB", "CRON_JOB"}},
		} {
			maps.Copy(f, filter)
			p := must[bulkPayload](t, alice, "changeWorkloads", map[string]any{"filter": f, "action": "DELETE", "dryRun": true}, bulkFields)
			if p.Total != p.Changed || p.Total > 2 {
				t.Errorf("%v: %+v", f, p)
			}
		}
		refused(t, alice, "changeWorkloads", change("DELETE", "dryRun", true, "filter", map[string]any{"kinds": []any{"CUSTOM"}}), "INVALID", "input.filter.kinds[0]")
		refused(t, alice, "changeWorkloads", change("DELETE", "dryRun", true, "filter", map[string]any{"customKinds": []any{"Rollout.argoproj.io"}}), "INVALID", "input.filter.customKinds")
	})
	t.Run("others", func(t *testing.T) {
		everything := map[string]any{"filter": map[string]any{}, "action": "RESTART", "dryRun": true}
		if p := must[bulkPayload](t, person(t, "mallory"), "changeWorkloads", everything, bulkFields); p.Total != 0 {
			t.Errorf("mallory hits %+v", p)
		}
		bob := must[bulkPayload](t, person(t, "bob"), "changeWorkloads", everything, bulkFields)
		if bob.Total == 0 || bob.Failed != bob.Total {
			t.Errorf("bob may only read beta: %+v", bob)
		}
		for _, r := range bob.Results {
			if r.InstanceName != "beta" || r.Outcome != "FAILED" || r.Error.Code != "FORBIDDEN" {
				t.Errorf("bob hits %+v", r)
			}
		}
		bob = must[bulkPayload](t, person(t, "bob"), "changeWorkloads", but(everything, "dryRun", false, "expect", bob.Fingerprint, "maxFailedPercent", 0), bulkFields)
		if bob.Changed != 0 || bob.Failed == 0 || bob.ConsistencyToken != nil {
			t.Errorf("bob changes %+v", bob)
		}
		hidden := must[bulkPayload](t, person(t, "bob"), "changeWorkloads", but(everything, "filter", filter), bulkFields)
		missing := must[bulkPayload](t, person(t, "bob"), "changeWorkloads", but(everything, "filter", but(filter, "instances", []any{"aleph"})), bulkFields)
		if hidden.Total != 0 || hidden.Fingerprint != missing.Fingerprint {
			t.Errorf("bob can tell a hidden instance from a missing one: %+v, %+v", hidden, missing)
		}
		tried("changeWorkloads", wrongUser)
	})
	t.Run("all actions", func(t *testing.T) {
		inBulk(t, alice, 1, change("SCALE", "replicas", 4))
		inMembers(t, namespace, "2 ready replicas in each", func(d *appsv1.Deployment) bool { return d.Status.ReadyReplicas == 2 })
		tried("changeWorkloads", tookEffect)
		inBulk(t, alice, 2, change("PAUSE"))
		if !stored().Spec.Paused {
			t.Error("it is not paused")
		}
		inBulk(t, alice, 2, change("RESUME"))
		inBulk(t, alice, 1, change("SET_IMAGE", "filter", deployments, "images", []any{map[string]any{"container": "web", "image": "registry.example.com/web:2"}}))
		allPods(t, namespace, "registry.example.com/web:2")
		inBulk(t, alice, 1, change("RESTART"))
		inBulk(t, alice, 2, change("LABEL", "labels", []any{map[string]any{"key": "team", "value": "a"}}))
		if stored().Labels["team"] != "a" {
			t.Errorf("its labels are %v", stored().Labels)
		}
		inBulk(t, alice, 2, change("LABEL", "removeLabels", []any{"team"}, "maxFailedPercent", 5))
		if _, has := stored().Labels["team"]; has {
			t.Errorf("its labels are %v", stored().Labels)
		}
		inBulk(t, alice, 1, change("DELETE", "filter", deployments))
		err := fleet.Open(t).Client(t, "alpha").Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "web"}, &appsv1.Deployment{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("it is still there: %v", err)
		}
	})
	t.Run("a container that only some have", func(t *testing.T) {
		p := must[bulkPayload](t, alice, "changeWorkloads", change("SET_IMAGE", "dryRun", true, "images", []any{map[string]any{"container": "job", "image": "registry.example.com/job:2"}}), bulkFields)
		for _, r := range p.Results {
			if (r.Kind == "CRON_JOB") != (r.Outcome == "CHANGED") {
				t.Errorf("%+v", r)
			}
		}
	})
}
