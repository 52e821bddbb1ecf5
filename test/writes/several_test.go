package writes

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

type several struct {
	Deployed         bool
	ConsistencyToken *string
	Results          []struct {
		InstanceName, Outcome string
		Operation             *string
		Error                 *struct{ Code string }
		Results               []struct {
			Name, Action string
			Error        *struct{ Code string }
			Rollback     *struct{ Outcome string }
		}
	}
}

// String shows how far it has come in each instance.
func (s several) String() string {
	text := ""
	for _, r := range s.Results {
		text += r.InstanceName + " " + r.Outcome + ";"
		for _, o := range r.Results {
			text += " " + o.Name + " " + o.Action
			if o.Error != nil {
				text += " " + o.Error.Code
			}
			if o.Rollback != nil {
				text += " " + o.Rollback.Outcome
			}
			text += ";"
		}
	}
	return text
}

const severalFields = "deployed consistencyToken results { instanceName outcome operation error { code } results { name action error { code } rollback { outcome } } }"

func TestDeployToInstances(t *testing.T) {
	t.Parallel()
	f, admin := fleet.Open(t), person(t, "admin")
	namespace := namespaceIn(t)
	beta := f.Client(t, "beta")
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := beta.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = beta.Delete(context.Background(), ns) })
	stored := func(instance, name string) bool {
		err := f.Client(t, instance).Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &corev1.ConfigMap{})
		return err == nil
	}
	manifest := func(name string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {a: b}\n", name)
	}
	policy := func(kind, name string) map[string]any {
		spec := map[string]any{
			"resourceSelectors": []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "settings"}},
			"placement":         map[string]any{"clusterAffinity": map[string]any{"clusterNames": []any{"m1", "m3"}}},
		}
		if kind == "override" {
			spec = map[string]any{
				"resourceSelectors": []any{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "name": "settings"}},
				"overrideRules":     []any{map[string]any{"overriders": map[string]any{"labelsOverrider": []any{map[string]any{"operator": "ADD", "value": []any{map[string]any{"key": "a", "value": "b"}}}}}}},
			}
		}
		return map[string]any{"name": name, "spec": spec}
	}
	input := map[string]any{
		"instances": []any{"alpha", "beta"}, "namespace": namespace, "manifests": manifest("settings"),
		"propagationPolicies": []any{policy("propagation", "settings")},
	}
	both := func(as *gql.Client, in map[string]any) several {
		t.Helper()
		return must[several](t, as, "deployApplicationToInstances", in, severalFields)
	}

	if p := both(admin, but(input, "dryRun", true)); !p.Deployed || p.ConsistencyToken != nil || p.Results[1].Outcome != "TRIED" || stored("alpha", "settings") {
		t.Errorf("a dry run: %v", p)
	}
	// One that may not be seen is missing, and nothing is written to the other.
	refused(t, person(t, "alice"), "deployApplicationToInstances", input, "NOT_FOUND", "input.instances[1]")
	refused(t, person(t, "bob"), "deployApplicationToInstances", input, "NOT_FOUND", "input.instances[0]")
	refused(t, person(t, "mallory"), "deployApplicationToInstances", input, "NOT_FOUND", "input.instances[0]")
	if p := both(person(t, "bob"), but(input, "instances", []any{"beta"})); p.Deployed || p.Results[0].Outcome != "FAILED" || p.Results[0].Results[0].Error.Code != "FORBIDDEN" {
		t.Errorf("bob may only read beta: %v", p)
	}
	refused(t, admin, "deployApplicationToInstances", but(input, "instances", []any{"alpha", "alpha"}), "INVALID", "input.instances[1]")
	refused(t, admin, "deployApplicationToInstances", but(input, "instances", []any{}), "INVALID", "input.instances")
	refused(t, admin, "deployApplicationToInstances", but(input, "manifests", "a: ["), "INVALID", "input.manifests[0]")
	if stored("alpha", "settings") || stored("beta", "settings") {
		t.Error("something was written")
	}
	tried("deployApplicationToInstances", wrongUser)

	p := both(admin, input)
	if !p.Deployed || p.ConsistencyToken == nil || !stored("alpha", "settings") || !stored("beta", "settings") || p.Results[0].Operation == nil || p.Results[1].Operation == nil {
		t.Fatalf("%v", p)
	}
	tried("deployApplicationToInstances", tookEffect)

	// What another manager has in one instance keeps it out of both.
	if err := beta.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "theirs"}, Data: map[string]string{"a": "c"}}); err != nil {
		t.Fatal(err)
	}
	theirs := but(input, "manifests", manifest("theirs"), "propagationPolicies", nil)
	if p := both(admin, theirs); p.Deployed || p.Results[0].Outcome != "TRIED" || p.Results[1].Outcome != "FAILED" || stored("alpha", "theirs") {
		t.Errorf("a conflict in one: %v", p)
	}
	tried("deployApplicationToInstances", conflicted)
	if p := both(admin, but(theirs, "force", true, "rollback", true, "overridePolicies", []any{policy("override", "labels")})); !p.Deployed || !stored("alpha", "theirs") {
		t.Errorf("by force: %v", p)
	}
}
