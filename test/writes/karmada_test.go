package writes

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
	served "github.com/kairship-io/kairship/test/internal/schema"
)

// karmadaKind is a kind of Karmada's own API that is no policy, with specs in the words of the API: the first is
// created and the second replaces it, and the rest use what else Karmada accepts.
type karmadaKind struct {
	name, group string
	wide        bool
	// by is who may write it.
	by    string
	specs []string
	// wrong are specs that Karmada refuses, and where.
	wrong []wrongSpec
	// noticed reports whether Karmada has done something about the object.
	noticed func(u *unstructured.Unstructured) bool
}

type wrongSpec struct{ spec, argument string }

const targetWeb = `"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}`

func karmadaKinds() []karmadaKind {
	has := func(path ...string) func(*unstructured.Unstructured) bool {
		return func(u *unstructured.Unstructured) bool {
			_, found, err := unstructured.NestedFieldNoCopy(u.Object, append([]string{"status"}, path...)...)
			return found && err == nil
		}
	}
	return []karmadaKind{
		{
			name: "FederatedHPA", group: "autoscaling.karmada.io", by: "alice",
			specs: []string{
				`{` + targetWeb + `, "minReplicas": 1, "maxReplicas": 3, "metrics": [{"type": "RESOURCE", "resource": {"name": "cpu", "target": {"type": "UTILIZATION", "averageUtilization": 80}}}]}`,
				`{` + targetWeb + `, "maxReplicas": 4, "metrics": [{"type": "CONTAINER_RESOURCE", "containerResource": {"name": "memory", "container": "main", "target": {"type": "AVERAGE_VALUE", "averageValue": "64Mi"}}}],
					"behavior": {"scaleUp": {"stabilizationWindowSeconds": 30, "selectPolicy": "MAX", "policies": [{"type": "PODS", "value": 2, "periodSeconds": 60}]},
						"scaleDown": {"selectPolicy": "DISABLED", "policies": [{"type": "PERCENT", "value": 10, "periodSeconds": 60}]}}}`,
				`{` + targetWeb + `, "minReplicas": 2, "maxReplicas": 4, "metrics": [
					{"type": "OBJECT", "object": {"describedObject": {"apiVersion": "v1", "kind": "Service", "name": "web"}, "target": {"type": "VALUE", "value": "5"}, "metric": {"name": "hits"}}},
					{"type": "PODS", "pods": {"target": {"type": "AVERAGE_VALUE", "averageValue": "500m"}, "metric": {"name": "hits", "selector": {"matchLabels": [{"key": "verb", "value": "GET"}]}}}}],
					"behavior": {"scaleDown": {"selectPolicy": "MIN", "tolerance": "100m", "policies": [{"type": "PODS", "value": 1, "periodSeconds": 15}]}}}`,
			},
			wrong: []wrongSpec{{`{` + targetWeb + `, "minReplicas": 5, "maxReplicas": 3}`, "input.spec.maxReplicas"}, {
				// Karmada has no external metrics, although its type has.
				`{` + targetWeb + `, "maxReplicas": 3, "metrics": [{"type": "EXTERNAL", "external": {"target": {"type": "VALUE", "value": "7"}, "metric": {"name": "queue"}}}]}`, "input.spec.metrics[0].type",
			}},
			noticed: has("conditions"),
		},
		{
			name: "CronFederatedHPA", group: "autoscaling.karmada.io", by: "alice",
			specs: []string{
				`{` + targetWeb + `, "rules": [{"name": "never", "schedule": "0 0 30 2 *", "targetReplicas": 1, "suspend": true}]}`,
				`{` + targetWeb + `, "rules": [{"name": "morning", "schedule": "0 8 1 1 *", "targetReplicas": 2, "timeZone": "Europe/Berlin", "successfulHistoryLimit": 1, "failedHistoryLimit": 2}]}`,
				`{"scaleTargetRef": {"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA", "name": "web"}, "rules": [{"name": "wide", "schedule": "0 8 1 1 *", "targetMinReplicas": 2, "targetMaxReplicas": 6}]}`,
			},
			wrong:   []wrongSpec{{`{` + targetWeb + `, "rules": [{"name": "wrong", "schedule": "every morning", "targetReplicas": 1}]}`, "input.spec.rules[0].schedule"}},
			noticed: has("executionHistories"),
		},
		{
			name: "MultiClusterService", group: "networking.karmada.io", by: "alice",
			specs: []string{
				`{"types": ["CROSS_CLUSTER"], "ports": [{"name": "http", "port": 80}], "providerClusters": [{"name": "m1"}], "consumerClusters": [{"name": "m2"}]}`,
				`{"types": ["CROSS_CLUSTER"], "ports": [{"port": 8080}], "providerClusters": [{"name": "m1"}], "consumerClusters": [{"name": "m1"}, {"name": "m2"}]}`,
				`{"types": ["LOAD_BALANCER"], "range": {"clusterNames": ["m1"]}, "serviceProvisionClusters": ["m1"], "serviceConsumptionClusters": ["m2"]}`,
			},
			wrong: []wrongSpec{{`{"types": ["CROSS_CLUSTER"], "ports": [{"name": "http", "port": 70000}]}`, "input.spec.ports[0].port"}},
			noticed: func(u *unstructured.Unstructured) bool {
				return u.GetLabels()["multiclusterservice.karmada.io/permanent-id"] != ""
			},
		},
		{
			name: "FederatedResourceQuota", group: "policy.karmada.io", by: "admin",
			specs: []string{
				`{"overall": [{"name": "cpu", "quantity": "100"}]}`,
				`{"overall": [{"name": "cpu", "quantity": "200"}, {"name": "memory", "quantity": "1Ti"}], "staticAssignments": [{"clusterName": "m1", "hard": [{"name": "cpu", "quantity": "50"}]}]}`,
			},
			wrong:   []wrongSpec{{`{"overall": [{"name": "cpu", "quantity": "1"}, {"name": "cpu", "quantity": "2"}]}`, "input.spec.overall[1].name"}},
			noticed: has("overall"),
		},
		{
			name: "WorkloadRebalancer", group: "apps.karmada.io", wide: true, by: "alice",
			specs: []string{
				`{"workloads": [{"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "none-such"}]}`,
				`{"workloads": [{"apiVersion": "v1", "kind": "ConfigMap", "namespace": "shop", "name": "none-such"}], "ttlSecondsAfterFinished": 3600}`,
			},
			wrong:   []wrongSpec{{`{"workloads": []}`, "input.spec.workloads"}},
			noticed: has("observedWorkloads"),
		},
	}
}

// field is the name of the object in a payload.
func (k karmadaKind) field() string { return strings.ToLower(k.name[:1]) + k.name[1:] }

// karmadaScene is an object of a kind with a name of its own.
type karmadaScene struct {
	karmadaKind
	*policyScene
	typ string
}

func newKarmadaScene(t *testing.T, k karmadaKind) *karmadaScene {
	t.Helper()
	s := &karmadaScene{karmadaKind: k, policyScene: newPolicyScene(t), typ: k.name + "Spec"}
	c := s.Client(t, "alpha")
	t.Cleanup(func() { _ = c.Delete(context.Background(), s.object()) })
	return s
}

func (s *karmadaScene) object() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: s.group, Version: "v1alpha1", Kind: s.karmadaKind.name})
	u.SetName(s.namespace)
	if !s.wide {
		u.SetNamespace(s.namespace)
	}
	return u
}

// stored is the object as alpha has it; nil when there is none.
func (s *karmadaScene) stored(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	u := s.object()
	err := s.Client(t, "alpha").Get(t.Context(), client.ObjectKeyFromObject(u), u)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// input is an input of a mutation, with what else it says. Pairs are names and values.
func (s *karmadaScene) input(t *testing.T, more ...any) map[string]any {
	t.Helper()
	in := map[string]any{"instance": "alpha", "name": s.namespace}
	if !s.wide {
		in["namespace"] = s.namespace
	}
	for i := 0; i < len(more); i += 2 {
		name, value := more[i].(string), more[i+1]
		if text, ok := value.(string); ok && name == "spec" {
			var spec map[string]any
			if err := json.Unmarshal([]byte(text), &spec); err != nil {
				t.Fatal(err)
			}
			value = spec
		}
		in[name] = value
	}
	return in
}

// karmadaPayload is what is asked of a payload.
type karmadaPayload struct {
	Object *struct {
		Name            string         `json:"name"`
		ResourceVersion string         `json:"resourceVersion"`
		Deleting        bool           `json:"deleting"`
		Spec            map[string]any `json:"spec"`
		Freshness       struct {
			Source string `json:"source"`
		} `json:"freshness"`
	} `json:"object"`
	Warnings []struct {
		Code     string `json:"code"`
		Argument string `json:"argument"`
	} `json:"warnings"`
	ConsistencyToken *string `json:"consistencyToken"`
}

// send sends a mutation; verb is create, update or delete.
func (s *karmadaScene) send(t *testing.T, by *gql.Client, verb string, input map[string]any) (*karmadaPayload, *gql.Result) {
	t.Helper()
	warnings := "warnings { code argument }"
	if verb == "delete" {
		warnings = ""
	}
	spec := strings.ReplaceAll(served.Selection(theSchema(), s.typ, 12), "__typename", "")
	query := fmt.Sprintf(`mutation($input: %s%sInput!) { payload: %s%s(input: $input) { object: %s { name resourceVersion deleting spec %s freshness { source } } %s consistencyToken } }`,
		strings.ToUpper(verb[:1])+verb[1:], s.karmadaKind.name, verb, s.karmadaKind.name, s.karmadaKind.field(), spec, warnings)
	r := by.Must(t, gql.Request{Query: query, Variables: map[string]any{"input": input}})
	if len(r.Errors) > 0 {
		return nil, r
	}
	var data struct {
		Payload *karmadaPayload `json:"payload"`
	}
	if err := json.Unmarshal(r.Data, &data); err != nil {
		t.Fatal(err)
	}
	return data.Payload, r
}

// must sends a mutation that has to go well.
func (s *karmadaScene) must(t *testing.T, by *gql.Client, verb string, input map[string]any) *karmadaPayload {
	t.Helper()
	p, r := s.send(t, by, verb, input)
	if p == nil {
		t.Fatalf("%s %v: %s", verb, input, r.Body)
	}
	return p
}

// refused sends a mutation that has to be refused with a code, about an input.
func (s *karmadaScene) refused(t *testing.T, by *gql.Client, verb string, input map[string]any, code, argument string) {
	t.Helper()
	_, r := s.send(t, by, verb, input)
	if len(r.Errors) != 1 || r.Errors[0].Extensions.Code != code || r.Errors[0].Extensions.Argument != argument {
		t.Errorf("%s %s: got %s, want %s at %q", verb, s.karmadaKind.name, r.Body, code, argument)
	}
}

// unchanged has the object with the spec and labels that it had; nil stands for none.
func (s *karmadaScene) unchanged(t *testing.T, before *unstructured.Unstructured) {
	t.Helper()
	now := s.stored(t)
	if (now == nil) != (before == nil) || now != nil && (now.GetUID() != before.GetUID() || now.GetGeneration() != before.GetGeneration() || !cmp.Equal(now.GetLabels(), before.GetLabels())) {
		t.Errorf("%s: what should have changed nothing made %v of %v", s.karmadaKind.name, now, before)
	}
}

// TestKarmadaResources creates, changes and deletes an object of each kind, each first in a dry run, sends back what
// the API shows, and has Karmada notice it.
func TestKarmadaResources(t *testing.T) {
	t.Parallel()
	for _, k := range karmadaKinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			s := newKarmadaScene(t, k)
			by := person(t, k.by)
			create := s.input(t, "spec", k.specs[0], "labels", pairs("team", "shop"), "annotations", pairs("note", "first"))
			if dry := s.must(t, by, "create", with(create, "dryRun", true)); dry.Object == nil || dry.ConsistencyToken != nil {
				t.Errorf("a dry run answers with the object and without a token, got %+v", dry)
			}
			s.unchanged(t, nil)
			created := s.must(t, by, "create", create)
			if created.ConsistencyToken == nil || created.Object.Freshness.Source != "LIVE" || len(created.Warnings) > 0 {
				t.Errorf("got %+v", created)
			}
			poll.Until(t, arrives, "Karmada notices it", func(context.Context) error {
				if u := s.stored(t); u == nil || !k.noticed(u) {
					return fmt.Errorf("it is %v", u)
				}
				return nil
			})
			tried("create"+k.name, tookEffect)
			s.refused(t, by, "create", create, "ALREADY_EXISTS", "input.name")

			poll.Until(t, arrives, "it is changed, and Karmada does not change it meanwhile", func(context.Context) error {
				first := s.stored(t)
				update := s.input(t, "spec", k.specs[1], "labels", pairs("team", "ops"), "annotations", pairs("note", "second"), "resourceVersion", first.GetResourceVersion())
				for _, dryRun := range []bool{true, false} {
					p, r := s.send(t, by, "update", with(update, "dryRun", dryRun))
					if p == nil {
						return fmt.Errorf("%s", r.Body)
					}
				}
				return nil
			})
			now := s.stored(t)
			if now.GetGeneration() < 2 || now.GetLabels()["team"] != "ops" || now.GetAnnotations()["note"] != "second" {
				t.Errorf("it is %v", now)
			}
			tried("update"+k.name, tookEffect)
			s.refused(t, by, "update", s.input(t, "spec", k.specs[0], "resourceVersion", "1"), "CONFLICT", "input.resourceVersion")
			s.refused(t, by, "delete", s.input(t, "resourceVersion", "1"), "CONFLICT", "input.resourceVersion")

			s.must(t, by, "delete", s.input(t, "dryRun", true))
			s.unchanged(t, now)
			if done := s.must(t, by, "delete", s.input(t)); done.ConsistencyToken == nil || (done.Object != nil && !done.Object.Deleting) {
				t.Errorf("got %+v", done)
			}
			poll.Until(t, arrives, "it is deleted", func(context.Context) error {
				if u := s.stored(t); u != nil {
					return fmt.Errorf("it is there, with finalizers %v", u.GetFinalizers())
				}
				return nil
			})
			tried("delete"+k.name, tookEffect)
			s.refused(t, by, "delete", s.input(t), "NOT_FOUND", "input.name")
			s.refused(t, by, "update", s.input(t, "spec", k.specs[0], "resourceVersion", "1"), "NOT_FOUND", "input.name")
		})
	}
}

// TestKarmadaResourcesMayBeSentBack creates an object of every spec, in a dry run, and sends back what the API shows.
func TestKarmadaResourcesMayBeSentBack(t *testing.T) {
	t.Parallel()
	for _, k := range karmadaKinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			s := newKarmadaScene(t, k)
			by := person(t, k.by)
			for _, spec := range k.specs {
				first := s.must(t, by, "create", s.input(t, "spec", spec, "dryRun", true)).Object
				again := s.must(t, by, "create", s.input(t, "spec", first.Spec, "dryRun", true)).Object
				if diff := cmp.Diff(first.Spec, again.Spec); diff != "" {
					t.Errorf("%s sent back (-shown +then):\n%s", spec, diff)
				}
			}
		})
	}
}

// TestInvalidKarmadaResourcesNameTheInput sends what is wrong: the error names the input.
func TestInvalidKarmadaResourcesNameTheInput(t *testing.T) {
	t.Parallel()
	for _, k := range karmadaKinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			s := newKarmadaScene(t, k)
			by, twice := person(t, k.by), append(pairs("a", "1"), pairs("a", "2")...)
			for _, wrong := range k.wrong {
				s.refused(t, by, "create", s.input(t, "spec", wrong.spec), "INVALID", wrong.argument)
			}
			s.refused(t, by, "create", s.input(t, "spec", k.specs[0], "annotations", twice), "INVALID", "input.annotations[1].key")
			s.refused(t, by, "update", s.input(t, "spec", k.specs[0], "labels", twice, "resourceVersion", "1"), "INVALID", "input.labels[1].key")
			s.refused(t, by, "delete", s.input(t, "name", ".."), "INVALID", "input.name")
			s.unchanged(t, nil)
		})
	}
	s := newKarmadaScene(t, karmadaKinds()[2])
	spec := `{"types": ["CROSS_CLUSTER"], "providerClusters": [{"name": "m9"}]}`
	if p := s.must(t, s.alice, "create", s.input(t, "spec", spec, "dryRun", true)); len(p.Warnings) != 1 || p.Warnings[0].Argument != "input.spec.providerClusters[0].name" {
		t.Errorf("it warns of a cluster that is not there: %+v", p.Warnings)
	}
}

// TestKarmadaResourcesOfOneNamespace writes as an editor of one namespace, who sets no limits and rebalances nothing, and
// as an editor of the instance, who sets no limits.
func TestKarmadaResourcesOfOneNamespace(t *testing.T) {
	t.Parallel()
	var editor *gql.Client
	var of string
	for _, k := range karmadaKinds() {
		s := newKarmadaScene(t, k)
		if editor == nil {
			editor, of = editorOf(t, s.policyScene), s.namespace
		}
		s.namespace = of
		for by, may := range map[*gql.Client]bool{editor: k.by == "alice" && !k.wide, s.alice: k.by == "alice"} {
			create := s.input(t, "spec", k.specs[0], "dryRun", true)
			update := s.input(t, "spec", k.specs[0], "resourceVersion", "1", "dryRun", true)
			remove := s.input(t, "dryRun", true)
			if may {
				s.must(t, by, "create", create)
				s.refused(t, by, "update", update, "NOT_FOUND", "input.name")
				s.refused(t, by, "delete", remove, "NOT_FOUND", "input.name")
				continue
			}
			s.refused(t, by, "create", create, "FORBIDDEN", "")
			s.refused(t, by, "update", update, "FORBIDDEN", "")
			s.refused(t, by, "delete", remove, "FORBIDDEN", "")
		}
		if !k.wide {
			s.refused(t, editor, "create", s.input(t, "spec", k.specs[0], "namespace", "shop", "dryRun", true), "FORBIDDEN", "")
		}
		for _, name := range []string{"bob", "mallory"} {
			s.refused(t, person(t, name), "create", s.input(t, "spec", k.specs[0]), "NOT_FOUND", "input.instance")
		}
	}
}
