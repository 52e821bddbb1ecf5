package writes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// A policy that is created, moved and deleted does so to what it propagates, and a
// dry run of each step does not.
func TestPropagationPoliciesReachMembers(t *testing.T) {
	t.Parallel()
	for _, k := range []policyKind{pp, cpp} {
		t.Run(k.name, func(t *testing.T) {
			s := newPolicyScene(t)
			s.cleanUp(t, k)
			create := s.input(k, map[string]any{"spec": s.to("m1"), "labels": pairs("team", "shop"), "annotations": pairs("note", "first")})
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
			if created.ConsistencyToken == nil || created.Policy.Freshness.Source != "LIVE" {
				t.Errorf("got %+v", created)
			}
			s.says(t, k, "shop", "first")
			s.color(t, "m1", "blue")
			tried("create"+k.name, tookEffect)
			refusedWrite(t, s.alice, "create", k, create, "ALREADY_EXISTS", "input.name")

			// Karmada may have touched the policy since.
			first = s.stored(t, k)
			move := s.input(k, map[string]any{"spec": s.to("m2"), "annotations": pairs("note", "second"), "resourceVersion": first.GetResourceVersion()})
			mustWrite(t, s.alice, "update", k, with(move, "dryRun", true))
			s.unchanged(t, k, first)
			moved := mustWrite(t, s.alice, "update", k, move)
			if moved.ConsistencyToken == nil || moved.Policy.ResourceVersion == first.GetResourceVersion() {
				t.Errorf("got %+v", moved)
			}
			second := s.stored(t, k)
			s.says(t, k, "shop", "second")
			if !slices.Equal(second.GetFinalizers(), first.GetFinalizers()) {
				t.Errorf("what the change left out did not stay: finalizers %v", second.GetFinalizers())
			}
			s.color(t, "m2", "blue")
			s.color(t, "m1", "")
			tried("update"+k.name, tookEffect)

			e := refusedWrite(t, s.alice, "update", k, move, "CONFLICT", "input.resourceVersion")
			if now := s.stored(t, k).GetResourceVersion(); e.Extensions.CurrentResourceVersion != now || !strings.Contains(e.Message, now) {
				t.Errorf("the conflict shows version %q, %q; it is %q", e.Extensions.CurrentResourceVersion, e.Message, now)
			}
			testDeletion(t, s, k, "ConfigMap "+s.namespace+"/data")
			// What a policy let go stays where it is, and is what it was: nothing sends changes.
			if err := s.Client(t, "alpha").Patch(t.Context(), s.data(), client.RawPatch(types.MergePatchType, []byte(`{"data":{"color":"white"}}`))); err != nil {
				t.Fatal(err)
			}
			poll.Until(t, arrives, "the ConfigMap has no owner", func(ctx context.Context) error {
				data := s.data()
				if err := s.Client(t, "alpha").Get(ctx, client.ObjectKeyFromObject(data), data); err != nil {
					return err
				}
				for key := range data.Annotations {
					if strings.HasPrefix(key, strings.ToLower(k.name)+".karmada.io/") {
						return fmt.Errorf("it still has %s", key)
					}
				}
				return nil
			})
			tried("delete"+k.name, tookEffect)
		})
	}
}

// A policy that changes what goes to the members does so until it is deleted.
func TestOverridePoliciesReachMembers(t *testing.T) {
	t.Parallel()
	for _, k := range []policyKind{op, cop} {
		t.Run(k.name, func(t *testing.T) {
			s := newPolicyScene(t)
			s.cleanUp(t, k)
			mustWrite(t, s.alice, "create", pp, s.input(pp, map[string]any{"spec": s.to("m1", "m2")}))
			s.color(t, "m1", "blue")

			create := s.input(k, map[string]any{"spec": s.painted("m1", "red"), "labels": pairs("team", "shop"), "annotations": pairs("note", "first")})
			mustWrite(t, s.alice, "create", k, with(create, "dryRun", true))
			s.unchanged(t, k, nil)
			created := mustWrite(t, s.alice, "create", k, create)
			refusedWrite(t, s.alice, "create", k, create, "ALREADY_EXISTS", "input.name")
			s.says(t, k, "shop", "first")
			s.color(t, "m1", "red")
			s.color(t, "m2", "blue")
			tried("create"+k.name, tookEffect)

			update := s.input(k, map[string]any{
				"spec": s.painted("m1", "green"), "labels": pairs("team", "ops"), "annotations": pairs("note", "second"), "resourceVersion": created.Policy.ResourceVersion,
			})
			before := s.stored(t, k)
			mustWrite(t, s.alice, "update", k, with(update, "dryRun", true))
			s.unchanged(t, k, before)
			mustWrite(t, s.alice, "update", k, update)
			s.says(t, k, "ops", "second")
			s.color(t, "m1", "green")
			tried("update"+k.name, tookEffect)
			refusedWrite(t, s.alice, "update", k, update, "CONFLICT", "input.resourceVersion")

			testDeletion(t, s, k, "ConfigMap "+s.namespace+"/data")
			s.color(t, "m1", "blue")
			tried("delete"+k.name, tookEffect)
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
		t.Errorf("a dry run shows who uses it and has no token, got %+v", dry)
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
// has heard of it, and a policy that is not used is deleted without more ado.
func TestUnusedPoliciesAreDeleted(t *testing.T) {
	t.Parallel()
	s := newPolicyScene(t)
	selecting := map[string]any{"resourceSelectors": []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "none"}}}
	for _, k := range []policyKind{pp, op} {
		spec := selecting
		if k == op {
			spec = s.painted("m1", "red") // What it selects is not propagated.
		}
		mustWrite(t, s.alice, "create", k, s.input(k, map[string]any{"spec": spec}))
		if done := mustWrite(t, s.alice, "delete", k, s.input(k, nil)); done.UsedBy.Count != 0 || done.UsedBy.More {
			t.Errorf("%s: no workload uses it, got %+v", k.name, done.UsedBy)
		}
		s.gone(t, k)
	}
}

// An override policy is in use by a propagation policy that waits for it.
func TestDependentsUseOverrides(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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

// Some values of Karmada's types are none that an instance takes. It says so, and
// not Kairship: another version of Karmada may take them.
func TestValuesThatTheInstanceRefuses(t *testing.T) {
	t.Parallel()
	s := newPolicyScene(t)
	where := func(path string, value any) map[string]any {
		spec := map[string]any{"resourceSelectors": s.selector(), "propagateDeps": true}
		at, names := spec, strings.Split(path, ".")
		for _, name := range names[:len(names)-1] {
			below := map[string]any{}
			at[name], at = below, below
		}
		at[names[len(names)-1]] = value
		return spec
	}
	for _, tt := range []struct {
		kind     policyKind
		path     string
		value    any
		argument string
	}{
		{pp, "failover.cluster.purgeMode", "GRACIOUSLY", ""},
		{pp, "failover.cluster.purgeMode", "IMMEDIATELY", ""},
		{pp, "failover.cluster.purgeMode", "NEVER", ""},
		{pp, "schedulePriority", map[string]any{"priorityClassSource": "POD_PRIORITY_CLASS", "priorityClassName": "x"}, ".priorityClassSource"},
		{pp, "schedulePriority", map[string]any{"priorityClassSource": "FEDERATED_PRIORITY_CLASS", "priorityClassName": "x"}, ".priorityClassSource"},
		{pp, "placement.clusterTolerations", []any{map[string]any{"key": "a", "operator": "GT", "value": "1", "effect": "NO_SCHEDULE"}}, "[0].operator"},
		{pp, "placement.clusterTolerations", []any{map[string]any{"key": "a", "operator": "LT", "value": "1", "effect": "NO_SCHEDULE"}}, "[0].operator"},
		{pp, "placement.clusterAffinity.fieldSelector", selecting("EXISTS"), ""},
		{pp, "placement.clusterAffinity.fieldSelector", selecting("DOES_NOT_EXIST"), ""},
		{pp, "placement.clusterAffinity.fieldSelector", selecting("GT", "1"), ""},
		{pp, "placement.clusterAffinity.fieldSelector", selecting("LT", "1"), ""},
		{op, "overriders.argsOverrider", []any{map[string]any{"containerName": "c", "operator": "REPLACE", "value": []any{"-v"}}}, "[0].operator"},
	} {
		spec := where(tt.path, tt.value)
		if tt.kind == op {
			delete(spec, "propagateDeps")
		}
		refusedWrite(t, s.alice, "create", tt.kind, s.input(tt.kind, map[string]any{"spec": spec}), "INVALID", "input.spec."+tt.path+tt.argument)
	}
}

func selecting(operator string, values ...any) map[string]any {
	return map[string]any{"matchExpressions": []any{map[string]any{"key": "region", "operator": operator, "values": values}}}
}

// Every mutation of every kind of policy says which of its inputs is wrong.
func TestPolicyMutationsNameTheInput(t *testing.T) {
	t.Parallel()
	s := newPolicyScene(t)
	for _, k := range []policyKind{pp, cpp, op, cop} {
		s.cleanUp(t, k)
		good, bad, at := s.to("m1"), s.to("m1"), "input.spec.placement.spreadConstraints[0].maxGroups"
		bad["placement"] = map[string]any{"spreadConstraints": []any{map[string]any{"spreadByField": "CLUSTER", "minGroups": 2, "maxGroups": 1}}}
		if k == op || k == cop {
			good, bad, at = s.painted("m1", "red"), s.painted("m1", "red"), "input.spec.overriders"
			bad["overriders"] = map[string]any{"plaintext": []any{map[string]any{"path": "/data/a", "operator": "REMOVE"}}}
		}
		created := mustWrite(t, s.alice, "create", k, s.input(k, map[string]any{"spec": good}))
		update := s.input(k, map[string]any{"resourceVersion": created.Policy.ResourceVersion})
		twice := append(pairs("a", "1"), pairs("a", "2")...)
		for _, tt := range []struct {
			verb     string
			input    map[string]any
			argument string
		}{
			{"create", s.input(k, map[string]any{"spec": bad}), at},
			{"create", s.input(k, map[string]any{"spec": good, "annotations": twice}), "input.annotations[1].key"},
			{"update", with(update, "spec", bad), at},
			{"update", with(update, "labels", twice), "input.labels[1].key"},
			{"update", with(update, "annotations", pairs("not a key", "1")), "input.annotations"},
			{"update", with(update, "name", "a/b"), "input.name"},
			{"delete", s.input(k, map[string]any{"name": ".."}), "input.name"},
		} {
			refusedWrite(t, s.alice, tt.verb, k, tt.input, "INVALID", tt.argument)
		}
		if now := s.stored(t, k); now == nil || now.GetUID() == "" || now.GetGeneration() != 1 {
			t.Errorf("%s: what was refused changed it: %v", k.name, now)
		}
	}
}

// The scheduler and the identity that Karmada gave a policy stay as they are.
func TestWhatStaysOfAPolicy(t *testing.T) {
	t.Parallel()
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

// No user writes where their roles do not let them, and no user learns of what they may not see.
func TestPoliciesOfOthers(t *testing.T) {
	t.Parallel()
	s := newPolicyScene(t)
	mustWrite(t, s.alice, "create", pp, s.input(pp, map[string]any{"spec": s.to("m1")}))
	before := s.stored(t, pp)
	people := map[string]*gql.Client{"bob": person(t, "bob"), "mallory": person(t, "mallory")}
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
