package writes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// What a mutation answers is what it wrote, what comes of it, and what is in the way.

// The template of a payload has what was written, also in a dry run.
func TestPayloadsShowTheTemplate(t *testing.T) {
	t.Parallel()
	alice := person(t, "alice")
	namespace, web := running(t)
	type payload struct {
		Workload struct {
			Replicas struct{ Desired int }
			Template struct {
				Replicas, Parallelism      *int
				Containers, InitContainers []struct{ Name, Image string }
			}
		}
	}
	const fields = "workload { replicas { desired } template { replicas parallelism containers { name image } initContainers { name } } }"
	for _, dryRun := range []bool{true, false} {
		p := must[payload](t, alice, "scaleWorkload", but(web, "replicas", 6, "dryRun", dryRun), fields)
		if p.Workload.Replicas.Desired != 6 {
			t.Errorf("dryRun %v: %d replicas are desired, and the policy divides 6", dryRun, p.Workload.Replicas.Desired)
		}
		got := p.Workload.Template
		if got.Replicas == nil || *got.Replicas != 6 || got.Parallelism != nil || len(got.InitContainers) != 0 {
			t.Errorf("dryRun %v: %+v", dryRun, got)
		}
		if fmt.Sprint(got.Containers) != "[{web registry.example.com/web:1}]" {
			t.Errorf("dryRun %v: %+v", dryRun, got)
		}
	}
	nightly := map[string]any{
		"instance": "alpha", "kind": "CRON_JOB", "namespace": namespace, "name": "nightly",
		"images": []any{map[string]any{"container": "job", "image": "registry.example.com/job:2"}},
	}
	got := must[payload](t, alice, "setImage", nightly, fields).Workload.Template
	if got.Replicas != nil || fmt.Sprint(got.Containers) != "[{job registry.example.com/job:2}]" {
		t.Errorf("a CronJob: %+v", got)
	}
}

// setImage says in which clusters an override keeps another image, and which override.
func TestSetImageNamesOverrides(t *testing.T) {
	t.Parallel()
	alice := person(t, "alice")
	namespace, web := running(t)
	mustWrite(t, alice, "create", op, map[string]any{"instance": "alpha", "namespace": namespace, "name": "canary", "spec": map[string]any{
		"resourceSelectors": []any{map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
		"overrideRules": []any{map[string]any{
			"targetCluster": map[string]any{"clusterNames": []any{"m2"}},
			"overriders":    map[string]any{"imageOverrider": []any{map[string]any{"component": "TAG", "operator": "REPLACE", "value": "canary"}}},
		}},
	}})
	type payload struct {
		Overridden []struct {
			ClusterName, Container, Image string
			Override                      struct {
				PolicyName      string
				PolicyNamespace *string
				Policy          *struct{ Name string }
			}
		}
		Workload struct{ Images []string }
	}
	const fields = "workload { images } overridden { clusterName container image override { policyName policyNamespace policy { name } } }"
	to := func(image string) map[string]any {
		return but(web, "images", []any{map[string]any{"container": "web", "image": image}})
	}
	is := func(p payload) error {
		if len(p.Overridden) != 1 || p.Workload.Images[0] != "registry.example.com/web:2" {
			return fmt.Errorf("%+v", p)
		}
		o := p.Overridden[0]
		if o.ClusterName != "m2" || o.Container != "web" || o.Image != "registry.example.com/web:canary" ||
			o.Override.PolicyName != "canary" || o.Override.PolicyNamespace == nil || *o.Override.PolicyNamespace != namespace || o.Override.Policy == nil {
			return fmt.Errorf("%+v", o)
		}
		return nil
	}
	poll.Until(t, within, "a dry run names the override", func(context.Context) error {
		return is(must[payload](t, alice, "setImage", but(to("registry.example.com/web:2"), "dryRun", true), fields))
	})
	if err := is(must[payload](t, alice, "setImage", to("registry.example.com/web:2"), fields)); err != nil {
		t.Error(err)
	}
	// What the override makes of it anyway is no other image.
	if p := must[payload](t, alice, "setImage", but(to("registry.example.com/web:canary"), "dryRun", true), fields); len(p.Overridden) != 0 {
		t.Errorf("%+v", p)
	}
}

// warned are the warnings of a mutation of a policy, as code and argument.
func warned(t *testing.T, by *gql.Client, verb string, k policyKind, input map[string]any) []string {
	t.Helper()
	type payload struct {
		Warnings []struct{ Code, Argument, Message string }
	}
	found := []string{}
	for _, w := range must[payload](t, by, verb+k.name, input, "warnings { code argument message }").Warnings {
		if w.Message == "" {
			t.Errorf("%s %s: %+v says nothing", verb, k.name, w)
		}
		found = append(found, w.Code+" "+w.Argument)
	}
	return found
}

// A policy that names a cluster that the instance does not have says so, and so does
// an update that drops what its author did not mention: the same in a dry run.
func TestPoliciesWarn(t *testing.T) {
	t.Parallel()
	s := newPolicyScene(t)
	for _, tt := range []struct {
		kind policyKind
		// good names a cluster that is there, bad one that is not, and less has the
		// selectors alone.
		good, bad, less map[string]any
		unknown, lost   string
	}{
		{pp, s.to("m1"), s.to("m1", "m9"), map[string]any{"resourceSelectors": s.selector()}, "input.spec.placement.clusterAffinity.clusterNames[1]", "input.spec.placement"},
		{cpp, s.to("m1"), s.to("m9"), map[string]any{"resourceSelectors": s.selector()}, "input.spec.placement.clusterAffinity.clusterNames[0]", "input.spec.placement"},
		{op, s.painted("m1", "red"), s.painted("m9", "red"), map[string]any{"resourceSelectors": s.selector()}, "input.spec.overrideRules[0].targetCluster.clusterNames[0]", "input.spec.overrideRules"},
		{cop, s.painted("m1", "red"), s.painted("m9", "red"), map[string]any{"resourceSelectors": s.selector()}, "input.spec.overrideRules[0].targetCluster.clusterNames[0]", "input.spec.overrideRules"},
	} {
		s.cleanUp(t, tt.kind)
		same := func(verb string, input map[string]any, want ...string) {
			t.Helper()
			for _, dryRun := range []bool{true, false} {
				if got := warned(t, s.alice, verb, tt.kind, with(input, "dryRun", dryRun)); !slices.Equal(got, want) {
					t.Errorf("%s %s, dryRun %v: warned of %q, want %q", verb, tt.kind.name, dryRun, got, want)
				}
			}
		}
		if got := warned(t, s.alice, "create", tt.kind, s.input(tt.kind, map[string]any{"spec": tt.good, "dryRun": true})); len(got) != 0 {
			t.Errorf("%s: warned of %q", tt.kind.name, got)
		}
		same("create", s.input(tt.kind, map[string]any{"spec": tt.bad}), "UNKNOWN_CLUSTER "+tt.unknown)
		update := func(spec map[string]any) map[string]any {
			return s.input(tt.kind, map[string]any{"spec": spec, "resourceVersion": s.stored(t, tt.kind).GetResourceVersion()})
		}
		// Karmada's controllers write labels of a new policy, so that a version may be old at once.
		poll.Until(t, arrives, "an update of what was just read", func(context.Context) error {
			_, r := write(t, s.alice, "update", tt.kind, update(tt.good))
			if len(r.Errors) > 0 {
				return fmt.Errorf("%v", r.Errors)
			}
			return nil
		})
		if got := warned(t, s.alice, "update", tt.kind, with(update(tt.less), "dryRun", true)); !slices.Contains(got, "FIELD_NOT_KEPT "+tt.lost) {
			t.Errorf("%s: an update that drops %s warns of %q", tt.kind.name, tt.lost, got)
		}
		whole := tt.lost[strings.LastIndex(tt.lost, ".")+1:]
		meant := with(tt.less, whole, nil)
		if got := warned(t, s.alice, "update", tt.kind, with(update(meant), "dryRun", true)); slices.Contains(got, "FIELD_NOT_KEPT "+tt.lost) {
			t.Errorf("%s: null is meant, and it warns of %q", tt.kind.name, got)
		}
	}
	// Who may not read the clusters of an instance is not told which there are.
	own := newPolicyScene(t)
	editor := editorOf(t, own)
	if got := warned(t, editor, "create", pp, own.input(pp, map[string]any{"spec": own.to("m9"), "dryRun": true})); len(got) != 0 {
		t.Errorf("an editor of one namespace is told of clusters: %q", got)
	}
}

// Unjoining a cluster says which objects keep it, in the words of its condition.
func TestUnjoinNamesWhatIsInTheWay(t *testing.T) {
	admin, in := person(t, "admin"), map[string]any{"instance": "alpha", "cluster": "m1", "dryRun": true}
	type payload struct {
		Requested bool
		BlockedBy *struct {
			Count   int
			More    bool
			Message string
			Objects []struct {
				APIVersion, Kind, Name string
				Namespace              *string
			}
		}
	}
	const fields = "requested blockedBy { count more message objects { apiVersion kind namespace name } }"
	refused(t, person(t, "alice"), "unjoinCluster", in, "FORBIDDEN", "")
	// Other tests come and go in the instance: what counts is an answer during which it stayed.
	poll.Until(t, within, "it names what the instance sends to the cluster", func(ctx context.Context) error {
		bindings := func() (names []string) {
			var list workv1alpha2.ResourceBindingList
			if err := fleet.Open(t).Client(t, "alpha").List(ctx, &list); err != nil {
				t.Fatal(err)
			}
			for i := range list.Items {
				if r := list.Items[i].Spec.Resource; list.Items[i].Spec.TargetContains("m1") {
					names = append(names, r.Kind+" "+r.Namespace+"/"+r.Name)
				}
			}
			return names
		}
		before := bindings()
		p := must[payload](t, admin, "unjoinCluster", in, fields)
		if !slices.Equal(before, bindings()) {
			return fmt.Errorf("it changed meanwhile")
		}
		b := p.BlockedBy
		if p.Requested || b == nil || b.Count < len(before) || b.More || len(b.Objects) != min(10, b.Count) {
			return poll.Stop(fmt.Errorf("got %+v, want %q", b, before))
		}
		for i, o := range b.Objects {
			if name := o.Kind + " " + *o.Namespace + "/" + o.Name; name != before[i] || !strings.Contains(b.Message, name) || o.APIVersion == "" {
				return poll.Stop(fmt.Errorf("%d: %s, want %s in %q", i, name, before[i], b.Message))
			}
		}
		if !strings.HasPrefix(b.Message, fmt.Sprintf(`%d objects are propagated to the cluster by instance "alpha": `, b.Count)) {
			return poll.Stop(fmt.Errorf("it says %q", b.Message))
		}
		return nil
	})
	if p := must[payload](t, admin, "unjoinCluster", but(in, "force", true), fields); p.BlockedBy != nil {
		t.Errorf("it is forced, and kept by %+v", p.BlockedBy)
	}
	if c, _ := storedIn(t, "global", "", "m1", &kairshipv1alpha1.Cluster{}); c.Spec.InstanceRef == nil {
		t.Error("a dry run had it leave")
	}
}
