package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// resourceExplained is what an explanation of an object of any kind says, in a line: where it stands, and the codes.
func resourceExplained(raw json.RawMessage) (string, error) {
	var data struct {
		Instance *struct {
			Resource *struct {
				Explanation *struct {
					Stage, State string
					Steps        []struct{ Reasons []struct{ Code string } }
				}
			}
		}
	}
	if err := json.Unmarshal(raw, &data); err != nil {
		return "", err
	}
	switch {
	case data.Instance == nil:
		return "no instance", nil
	case data.Instance.Resource == nil:
		return "no object", nil
	case data.Instance.Resource.Explanation == nil:
		return "null", nil
	}
	e := data.Instance.Resource.Explanation
	words := []string{e.Stage, e.State}
	for _, s := range e.Steps {
		for _, r := range s.Reasons {
			if r.Code != "CLUSTER_AFFINITY" { // Only those who see the members learn why it does not go there.
				words = append(words, r.Code)
			}
		}
	}
	return strings.Join(words, " "), nil
}

// TestExplanationsOfResources explains what a policy propagates, what none does and what none can, to people with and
// without a role in the namespace.
func TestExplanationsOfResources(t *testing.T) {
	on := open(t)
	ns := propagatedConfigMap(t, on)
	of := func(path, namespace, name string) string {
		in := ""
		if namespace != "" {
			in = fmt.Sprintf("namespace: %q, ", namespace)
		}
		return fmt.Sprintf(`{ instance(name: "alpha") { resource(%s, %sname: %q) { explanation { stage state steps { reasons { code } } } } } }`, path, in, name)
	}
	const configMaps = `version: "v1", resource: "configmaps"`
	viewer, other := newPerson(t, on, viewerIn("alpha", ns)), newPerson(t, on, viewerIn("alpha", "shop"))
	const sent, kept = "RUN PASSED POLICY_CLAIMED OVERRIDE_APPLIED", "POLICY FAILED POLICY_NONE"
	for _, tt := range []struct {
		why   string
		as    *gql.Client
		query string
		want  string
	}{
		{"a ConfigMap with a policy and an override", on.kairship, of(configMaps, ns, "sent"), sent},
		{"one that no policy selects", on.kairship, of(configMaps, ns, "kept"), kept},
		{"a Secret, which is read from the instance", on.kairship, of(`version: "v1", resource: "secrets"`, ns, "sent"), "RUN PASSED POLICY_CLAIMED"},
		{"a Namespace", on.kairship, of(`version: "v1", resource: "namespaces"`, "", ns), "null"},
		{"a policy", on.kairship, of(`group: "policy.karmada.io", version: "v1alpha1", resource: "propagationpolicies"`, ns, "all"), "null"},
		{"what is not there", on.kairship, of(configMaps, ns, "none-such"), "no object"},
		{"a viewer of the namespace", viewer.Client, of(configMaps, ns, "sent"), sent},
		{"a viewer of another namespace", other.Client, of(configMaps, ns, "sent"), "no object"},
		{"alice", on.as(t, "alice"), of(configMaps, ns, "kept"), kept},
		{"bob", on.as(t, "bob"), of(configMaps, ns, "sent"), "no instance"},
		{"mallory", on.as(t, "mallory"), of(configMaps, ns, "sent"), "no instance"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			poll.Until(t, propagationTimeout, "it is explained so", func(ctx context.Context) error {
				r, err := tt.as.Do(ctx, gql.Request{Query: tt.query})
				if err != nil {
					return err
				}
				got, err := resourceExplained(r.Data)
				if err == nil && (got != tt.want || len(r.Errors) > 0) {
					err = fmt.Errorf("got %q, want %q: %s", got, tt.want, r.Body)
				}
				return err
			})
		})
	}
}

// TestExplanationsOfAListCostTheSame counts the requests for explanations of Deployments and Services that are listed.
func TestExplanationsOfAListCostTheSame(t *testing.T) {
	on, w := open(t), theWorld(t)
	w.propagated(t, on)
	for _, kind := range []string{`group: "apps", version: "v1", resource: "deployments"`, `version: "v1", resource: "services"`} {
		query := `query($first: Int, $ns: String) { instance(name: "alpha") { resources(` + kind + `, namespace: $ns, first: $first) { nodes { name
			explanation { stage summary steps { reasons { code policy { name } override { name } pod { name } } } } } } } }`
		cost := func(first int) int {
			return warmCost(t, on.kairship, query, map[string]any{"first": first, "ns": w.many})
		}
		if one, many := cost(1), cost(fifty); many > one || one > mostBeyondThePage+6 {
			t.Errorf("%s: an explanation costs %d requests, and fifty cost %d; want at most %d, and the same", kind, one, many, mostBeyondThePage+6)
		}
	}
}
