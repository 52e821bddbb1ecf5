package writes

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// arrives is how long Karmada may take until a change is in the members.
const arrives = 60 * time.Second

// policyKind is one of the four kinds of policy.
type policyKind struct {
	name       string
	namespaced bool
}

var (
	pp  = policyKind{"PropagationPolicy", true}
	cpp = policyKind{"ClusterPropagationPolicy", false}
	op  = policyKind{"OverridePolicy", true}
	cop = policyKind{"ClusterOverridePolicy", false}
)

// field is the name of the policy in a payload.
func (k policyKind) field() string { return strings.ToLower(k.name[:1]) + k.name[1:] }

// policyScene is a namespace of alpha with one ConfigMap, named data.
type policyScene struct {
	*fleet.Fleet
	namespace string
	alice     *gql.Client
}

func newPolicyScene(t *testing.T) *policyScene {
	t.Helper()
	f := fleet.Open(t)
	alpha := f.Client(t, "alpha")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "policies-"}}
	if err := alpha.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = alpha.Delete(context.Background(), namespace) })
	s := &policyScene{Fleet: f, namespace: namespace.Name, alice: person(t, "alice")}
	data := s.data()
	data.Data = map[string]string{"color": "blue"}
	if err := alpha.Create(t.Context(), data); err != nil {
		t.Fatal(err)
	}
	return s
}

// data is the name of the ConfigMap of the scene.
func (s *policyScene) data() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "data"}}
}

// pairs is one label or annotation, as inputs have them.
func pairs(key, value string) []any { return []any{map[string]any{"key": key, "value": value}} }

// says checks the label team and the annotation note of a policy in the instance.
func (s *policyScene) says(t *testing.T, k policyKind, team, note string) {
	t.Helper()
	now := s.stored(t, k)
	if now == nil || now.GetLabels()["team"] != team || now.GetAnnotations()["note"] != note {
		t.Errorf("%s: want team %q and note %q, got %v", k.name, team, note, now)
	}
}

// name is one that a policy without namespace has to itself.
func (s *policyScene) name(k policyKind) string {
	if k.namespaced {
		return "data"
	}
	return s.namespace
}

// input is an input of a mutation of a policy, with what else it says.
func (s *policyScene) input(k policyKind, more map[string]any) map[string]any {
	in := map[string]any{"instance": "alpha", "name": s.name(k)}
	if k.namespaced {
		in["namespace"] = s.namespace
	}
	maps.Copy(in, more)
	return in
}

// selector selects the ConfigMap of the scene.
func (s *policyScene) selector() []any {
	return []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "namespace": s.namespace, "name": "data"}}
}

// to is a spec that sends the ConfigMap to some clusters.
func (s *policyScene) to(clusters ...string) map[string]any {
	return map[string]any{
		"resourceSelectors": s.selector(),
		"placement":         map[string]any{"clusterAffinity": map[string]any{"clusterNames": clusters}},
	}
}

// painted is a spec that changes the ConfigMap on its way to a cluster.
func (s *policyScene) painted(cluster, color string) map[string]any {
	return map[string]any{
		"resourceSelectors": s.selector(),
		"overrideRules": []any{map[string]any{
			"targetCluster": map[string]any{"clusterNames": []any{cluster}},
			"overriders":    map[string]any{"plaintext": []any{map[string]any{"path": "/data/color", "operator": "REPLACE", "value": color}}},
		}},
	}
}

// writtenPolicy is what is asked of a payload.
type writtenPolicy struct {
	Policy *struct {
		Name            string
		Namespace       *string
		ResourceVersion string
		Deleting        bool
		Labels          []struct{ Key, Value string }
		Spec            json.RawMessage
		Freshness       struct{ Source string }
	}
	UsedBy *struct {
		Count int
		More  bool
		Users []struct {
			APIVersion, Kind, Name string
			Namespace              *string
		}
	}
	ConsistencyToken *string
}

// write sends a mutation of a policy as a user; verb is create, update or delete.
func write(t *testing.T, by *gql.Client, verb string, k policyKind, input map[string]any) (*writtenPolicy, *gql.Result) {
	t.Helper()
	used := ""
	if verb == "delete" {
		used = "usedBy { count more users { apiVersion kind namespace name } }"
	}
	spec := "resourceSelectors { kind }"
	title := strings.ToUpper(verb[:1]) + verb[1:] + k.name
	query := fmt.Sprintf(`mutation($input: %sInput!) { payload: %s%s(input: $input) {
		policy: %s { name namespace resourceVersion deleting labels { key value } spec { %s } freshness { source } } %s consistencyToken } }`,
		title, verb, k.name, k.field(), spec, used)
	r := by.Must(t, gql.Request{Query: query, Variables: map[string]any{"input": input}})
	if len(r.Errors) > 0 {
		return nil, r
	}
	var data struct {
		Payload *writtenPolicy `json:"payload"`
	}
	if err := json.Unmarshal(r.Data, &data); err != nil { //nolint:musttag // The names differ in case only.
		t.Fatal(err)
	}
	return data.Payload, r
}

// mustWrite sends a mutation that has to go well.
func mustWrite(t *testing.T, by *gql.Client, verb string, k policyKind, input map[string]any) *writtenPolicy {
	t.Helper()
	p, r := write(t, by, verb, k, input)
	if p == nil {
		t.Fatalf("%s %s %v: %v", verb, k.name, input, r.Errors)
	}
	return p
}

// policyRefusal is what a refusal says to programs.
type policyRefusal struct {
	Message    string
	Extensions struct {
		Code, Argument, Instance, CurrentResourceVersion string
		Fields                                           []struct{ Argument, Message string }
	}
}

// refusedWrite sends a mutation that has to be refused with a code, about an input.
func refusedWrite(t *testing.T, by *gql.Client, verb string, k policyKind, input map[string]any, code, argument string) policyRefusal {
	t.Helper()
	p, r := write(t, by, verb, k, input)
	var body struct {
		Errors []policyRefusal `json:"errors"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil { //nolint:musttag // The names differ in case only.
		t.Fatal(err)
	}
	if p != nil || len(body.Errors) != 1 {
		t.Fatalf("%s %s %v: want it refused, got %s", verb, k.name, input, r.Body)
	}
	if e := body.Errors[0]; e.Extensions.Code != code || e.Extensions.Argument != argument {
		t.Errorf("%s %s: got %s at %q (%s), want %s at %q", verb, k.name, e.Extensions.Code, e.Extensions.Argument, e.Message, code, argument)
	}
	return body.Errors[0]
}

// stored is the policy as alpha has it; nil when there is none.
func (s *policyScene) stored(t *testing.T, k policyKind) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "policy.karmada.io", Version: "v1alpha1", Kind: k.name})
	key := client.ObjectKey{Name: s.name(k)}
	if k.namespaced {
		key.Namespace = s.namespace
	}
	switch err := s.Client(t, "alpha").Get(t.Context(), key, u); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		t.Fatal(err)
	}
	return u
}

// unchanged has the policy as it was; nil stands for none.
func (s *policyScene) unchanged(t *testing.T, k policyKind, before *unstructured.Unstructured) {
	t.Helper()
	now := s.stored(t, k)
	if (now == nil) != (before == nil) || (now != nil && (now.GetUID() != before.GetUID() || now.GetResourceVersion() != before.GetResourceVersion())) {
		t.Errorf("%s: what should have changed nothing made %v of %v", k.name, now, before)
	}
}

// color waits until the ConfigMap has a color in a member; "" stands for no ConfigMap.
func (s *policyScene) color(t *testing.T, member, want string) {
	t.Helper()
	c := s.Client(t, member)
	poll.Until(t, arrives, fmt.Sprintf("the ConfigMap in %s is %q", member, want), func(ctx context.Context) error {
		var data corev1.ConfigMap
		err := c.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: "data"}, &data)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		if data.Data["color"] != want {
			return fmt.Errorf("it is %q", data.Data["color"])
		}
		return nil
	})
}

// gone waits until Karmada has cleaned up behind a policy.
func (s *policyScene) gone(t *testing.T, k policyKind) {
	t.Helper()
	poll.Until(t, arrives, k.name+" is deleted", func(context.Context) error {
		if u := s.stored(t, k); u != nil {
			return fmt.Errorf("it is there, with finalizers %v", u.GetFinalizers())
		}
		return nil
	})
}

// cleanUp deletes a policy that has no namespace when the test ends.
func (s *policyScene) cleanUp(t *testing.T, k policyKind) {
	t.Helper()
	c := s.Client(t, "alpha")
	t.Cleanup(func() {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(schema.GroupVersionKind{Group: "policy.karmada.io", Version: "v1alpha1", Kind: k.name})
		u.SetName(s.name(k))
		if k.namespaced {
			u.SetNamespace(s.namespace)
		}
		_ = c.Delete(context.Background(), u)
	})
}
