package writes

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/test/internal/gql"
)

// A policy that is created, moved and deleted does so to what it propagates, and a
// dry run of each step does not.
func TestPropagationPoliciesReachMembers(t *testing.T) {
	for _, k := range []policyKind{pp, cpp} {
		t.Run(k.name, func(t *testing.T) {
			s := newPolicyScene(t)
			s.cleanUp(t, k)
			create := s.input(k, map[string]any{"spec": s.to("m1"), "labels": []any{map[string]any{"key": "team", "value": "shop"}}})
			dry := mustWrite(t, s.alice, "create", k, with(create, "dryRun", true))
			if dry.Policy == nil || dry.ConsistencyToken != nil {
				t.Errorf("a dry run answers with the policy and without a token, got %+v", dry)
			}
			s.unchanged(t, k, nil)

			created := mustWrite(t, s.alice, "create", k, create)
			first := s.stored(t, k)
			if created.Policy.ResourceVersion != first.GetResourceVersion() && created.Policy.ResourceVersion == "" {
				t.Errorf("created at version %q", created.Policy.ResourceVersion)
			}
			if created.ConsistencyToken == nil || created.Policy.Freshness.Source != "LIVE" || first.GetLabels()["team"] != "shop" {
				t.Errorf("got %+v of %v", created, first.GetLabels())
			}
			s.color(t, "m1", "blue")
			refusedWrite(t, s.alice, "create", k, create, "ALREADY_EXISTS", "input.name")

			// Karmada may have touched the policy since.
			first = s.stored(t, k)
			move := s.input(k, map[string]any{"spec": s.to("m2"), "resourceVersion": first.GetResourceVersion()})
			mustWrite(t, s.alice, "update", k, with(move, "dryRun", true))
			s.unchanged(t, k, first)
			moved := mustWrite(t, s.alice, "update", k, move)
			if moved.ConsistencyToken == nil || moved.Policy.ResourceVersion == first.GetResourceVersion() {
				t.Errorf("got %+v", moved)
			}
			second := s.stored(t, k)
			if second.GetLabels()["team"] != "shop" || !slices.Equal(second.GetFinalizers(), first.GetFinalizers()) {
				t.Errorf("what the change left out did not stay: labels %v, finalizers %v", second.GetLabels(), second.GetFinalizers())
			}
			s.color(t, "m2", "blue")
			s.color(t, "m1", "")

			e := refusedWrite(t, s.alice, "update", k, move, "CONFLICT", "input.resourceVersion")
			if now := s.stored(t, k).GetResourceVersion(); e.Extensions.CurrentResourceVersion != now || !strings.Contains(e.Message, now) {
				t.Errorf("the conflict tells of version %q, %q; it is %q", e.Extensions.CurrentResourceVersion, e.Message, now)
			}
			testDeletion(t, s, k, "ConfigMap "+s.namespace+"/data")
			// What a policy let go stays where it is.
			s.color(t, "m2", "blue")
		})
	}
}

// A policy that changes what goes to the members does so until it is deleted.
func TestOverridePoliciesReachMembers(t *testing.T) {
	for _, k := range []policyKind{op, cop} {
		t.Run(k.name, func(t *testing.T) {
			s := newPolicyScene(t)
			s.cleanUp(t, k)
			mustWrite(t, s.alice, "create", pp, s.input(pp, map[string]any{"spec": s.to("m1", "m2")}))
			s.color(t, "m1", "blue")

			create := s.input(k, map[string]any{"spec": s.painted("m1", "red")})
			mustWrite(t, s.alice, "create", k, with(create, "dryRun", true))
			s.unchanged(t, k, nil)
			created := mustWrite(t, s.alice, "create", k, create)
			s.color(t, "m1", "red")
			s.color(t, "m2", "blue")

			update := s.input(k, map[string]any{"spec": s.painted("m1", "green"), "resourceVersion": created.Policy.ResourceVersion})
			before := s.stored(t, k)
			mustWrite(t, s.alice, "update", k, with(update, "dryRun", true))
			s.unchanged(t, k, before)
			mustWrite(t, s.alice, "update", k, update)
			s.color(t, "m1", "green")
			refusedWrite(t, s.alice, "update", k, update, "CONFLICT", "input.resourceVersion")

			testDeletion(t, s, k, "ConfigMap "+s.namespace+"/data")
			s.color(t, "m1", "blue")
		})
	}
}

// testDeletion deletes a policy that one object uses.
func testDeletion(t *testing.T, s *policyScene, k policyKind, user string) {
	t.Helper()
	before := s.stored(t, k)
	e := refusedWrite(t, s.alice, "delete", k, s.input(k, nil), "CONFLICT", "input.allowInUse")
	if !strings.Contains(e.Message, "in use by 1: "+user) {
		t.Errorf("the conflict should name %s, got %q", user, e.Message)
	}
	refusedWrite(t, s.alice, "delete", k, s.input(k, map[string]any{"dryRun": true}), "CONFLICT", "input.allowInUse")
	refusedWrite(t, s.alice, "delete", k, s.input(k, map[string]any{"allowInUse": true, "resourceVersion": "1"}), "CONFLICT", "input.resourceVersion")
	dry := mustWrite(t, s.alice, "delete", k, s.input(k, map[string]any{"allowInUse": true, "dryRun": true}))
	if dry.UsedBy.Count != 1 || dry.ConsistencyToken != nil {
		t.Errorf("a dry run tells who uses it and has no token, got %+v", dry)
	}
	s.unchanged(t, k, before)
	done := mustWrite(t, s.alice, "delete", k, s.input(k, map[string]any{"allowInUse": true, "resourceVersion": before.GetResourceVersion()}))
	if done.ConsistencyToken == nil || done.UsedBy.Count != 1 || len(done.UsedBy.Users) != 1 || done.UsedBy.Users[0].Name != "data" {
		t.Errorf("got %+v", done)
	}
	if done.Policy != nil && !done.Policy.Deleting {
		t.Errorf("the policy that is left is not being deleted: %+v", done.Policy)
	}
	s.gone(t, k)
	refusedWrite(t, s.alice, "delete", k, s.input(k, nil), "NOT_FOUND", "input.name")
}

// Who uses a policy is asked of the instance: its binding counts before the index
// has heard of it, and a policy that nobody uses is deleted without more ado.
func TestUnusedPoliciesAreDeleted(t *testing.T) {
	s := newPolicyScene(t)
	selecting := map[string]any{"resourceSelectors": []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "none"}}}
	for _, k := range []policyKind{pp, op} {
		spec := selecting
		if k == op {
			spec = s.painted("m1", "red") // What it selects is not propagated.
		}
		mustWrite(t, s.alice, "create", k, s.input(k, map[string]any{"spec": spec}))
		if done := mustWrite(t, s.alice, "delete", k, s.input(k, nil)); done.UsedBy.Count != 0 || done.UsedBy.More {
			t.Errorf("%s: nobody uses it, got %+v", k.name, done.UsedBy)
		}
		s.gone(t, k)
	}
}

// An override policy is in use by a propagation policy that waits for it.
func TestDependentsUseOverrides(t *testing.T) {
	s := newPolicyScene(t)
	mustWrite(t, s.alice, "create", op, s.input(op, map[string]any{"spec": s.painted("m1", "red")}))
	spec := s.to("m2") // Elsewhere: nothing that goes there is changed.
	spec["dependentOverrides"] = []any{"data"}
	mustWrite(t, s.alice, "create", pp, s.input(pp, map[string]any{"spec": spec}))
	s.color(t, "m2", "blue")
	e := refusedWrite(t, s.alice, "delete", op, s.input(op, nil), "CONFLICT", "input.allowInUse")
	if !strings.Contains(e.Message, "in use by 1: PropagationPolicy "+s.namespace+"/data.") {
		t.Errorf("got %q", e.Message)
	}
}

// What is wrong is said at the input that says it: by Kairship, by the schema of
// the kind, by Karmada's webhook.
func TestInvalidPoliciesNameTheInput(t *testing.T) {
	s := newPolicyScene(t)
	spec := func(more map[string]any) map[string]any {
		out := map[string]any{"resourceSelectors": s.selector()}
		maps.Copy(out, more)
		return out
	}
	for _, tt := range []struct {
		reason    string
		kind      policyKind
		input     map[string]any
		arguments []string
	}{
		{"what excludes each other", pp, map[string]any{"spec": spec(map[string]any{"placement": map[string]any{
			"clusterAffinity": map[string]any{}, "clusterAffinities": []any{map[string]any{"affinityName": "a"}},
		}})}, []string{"input.spec.placement.clusterAffinities"}},
		{"the schema of the kind", pp, map[string]any{"spec": map[string]any{"resourceSelectors": []any{}}}, []string{"input.spec.resourceSelectors"}},
		{"a number out of range", cpp, map[string]any{"spec": spec(map[string]any{"placement": map[string]any{"replicaScheduling": map[string]any{
			"weightPreference": map[string]any{"staticWeightList": []any{map[string]any{"targetCluster": map[string]any{}, "weight": 0}}},
		}}})}, []string{"input.spec.placement.replicaScheduling.weightPreference.staticWeightList[0].weight"}},
		{"Karmada's webhook, twice", pp, map[string]any{"spec": map[string]any{
			"resourceSelectors": []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default"}}, "preemption": "ALWAYS",
		}}, []string{"input.spec.resourceSelectors[0].namespace", "input.spec.resourceSelectors[0].name"}},
		{"Karmada's webhook, on overrides", op, map[string]any{"spec": spec(map[string]any{"overrideRules": []any{map[string]any{
			"targetCluster": map[string]any{"fieldSelector": map[string]any{"matchExpressions": []any{map[string]any{"key": "planet", "operator": "IN", "values": []any{"mars"}}}}},
			"overriders":    map[string]any{},
		}}})}, []string{"input.spec.overrideRules[0].targetCluster.fieldSelector"}},
		{"a name that is none", cop, map[string]any{"name": "No_Name", "spec": spec(nil)}, []string{"input.name"}},
		{"a name that would be a path", pp, map[string]any{"name": "../configmaps/data", "spec": spec(nil)}, []string{"input.name"}},
		{"no namespace", pp, map[string]any{"namespace": "", "spec": spec(nil)}, []string{"input.namespace"}},
		{"a label that is none", pp, map[string]any{"labels": []any{map[string]any{"key": "a b", "value": ""}}, "spec": spec(nil)}, []string{"input.labels"}},
		{"a label twice", pp, map[string]any{"labels": []any{map[string]any{"key": "a", "value": ""}, map[string]any{"key": "a", "value": "1"}}, "spec": spec(nil)}, []string{"input.labels[1].key"}},
	} {
		for _, dryRun := range []bool{true, false} {
			e := refusedWrite(t, s.alice, "create", tt.kind, with(s.input(tt.kind, tt.input), "dryRun", dryRun), "INVALID", tt.arguments[0])
			var named []string
			for _, f := range e.Extensions.Fields {
				named = append(named, f.Argument)
			}
			if len(named) > 0 && !slices.Equal(named, tt.arguments) {
				t.Errorf("%s (dry run: %t): names %v, want %v", tt.reason, dryRun, named, tt.arguments)
			}
		}
		s.unchanged(t, tt.kind, nil)
	}
	refusedWrite(t, s.alice, "create", pp, s.input(pp, map[string]any{"namespace": "no-such", "spec": spec(nil)}), "NOT_FOUND", "input.namespace")
}

// The scheduler and the identity that Karmada gave a policy stay as they are.
func TestWhatStaysOfAPolicy(t *testing.T) {
	s := newPolicyScene(t)
	created := mustWrite(t, s.alice, "create", pp, s.input(pp, map[string]any{"spec": s.to("m1"), "labels": []any{map[string]any{"key": "a", "value": "1"}}}))
	s.color(t, "m1", "blue")
	update := func(more map[string]any) map[string]any {
		return s.input(pp, with(more, "resourceVersion", s.stored(t, pp).GetResourceVersion()))
	}
	spec := s.to("m1")
	spec["schedulerName"] = "other"
	refusedWrite(t, s.alice, "update", pp, update(map[string]any{"spec": spec}), "INVALID", "input.spec.schedulerName")
	id := created.Policy.Labels[slices.IndexFunc(created.Policy.Labels, func(l struct{ Key, Value string }) bool { return strings.HasSuffix(l.Key, "/permanent-id") })]
	refusedWrite(t, s.alice, "update", pp, update(map[string]any{"labels": []any{map[string]any{"key": id.Key, "value": "mine"}}}), "INVALID", "input.labels")
	mustWrite(t, s.alice, "update", pp, update(map[string]any{"labels": []any{}}))
	if labels := s.stored(t, pp).GetLabels(); len(labels) != 1 || labels[id.Key] != id.Value {
		t.Errorf("labels are %v, want Karmada's own alone", labels)
	}
	mustWrite(t, s.alice, "update", pp, update(nil))
	s.color(t, "m1", "blue")
}

// Nobody writes where their roles do not let them, and nobody learns of what they may not see.
func TestPoliciesOfOthers(t *testing.T) {
	s := newPolicyScene(t)
	mustWrite(t, s.alice, "create", pp, s.input(pp, map[string]any{"spec": s.to("m1")}))
	before := s.stored(t, pp)
	people := map[string]*gql.Client{"bob": gql.New(s.KairshipURL, s.Token(t, "bob")), "mallory": gql.New(s.KairshipURL, s.Token(t, "mallory"))}
	for _, k := range []policyKind{pp, cpp, op, cop} {
		spec := s.to("m1")
		if k == op || k == cop {
			spec = s.painted("m1", "red")
		}
		for verb, more := range map[string]map[string]any{
			"create": {"spec": spec}, "update": {"spec": spec, "resourceVersion": before.GetResourceVersion()}, "delete": {"allowInUse": true},
		} {
			for name, person := range people {
				for _, instance := range []string{"alpha", "no-such"} {
					e := refusedWrite(t, person, verb, k, with(s.input(k, more), "instance", instance), "NOT_FOUND", "input.instance")
					if want := `Instance "` + instance + `" was not found`; e.Message != want {
						t.Errorf("%s, %s: got %q, want %q", name, instance, e.Message, want)
					}
				}
			}
			// Bob sees beta, and may read there only.
			refusedWrite(t, people["bob"], verb, k, with(with(s.input(k, more), "instance", "beta"), "name", "web"), "FORBIDDEN", "")
		}
	}
	s.unchanged(t, pp, before)
}

// with is an input with one more field.
func with(input map[string]any, key string, value any) map[string]any {
	out := map[string]any{key: value}
	for k, v := range input {
		if k != key {
			out[k] = v
		}
	}
	return out
}
