package escalation

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/graph/permission"
	"github.com/kairship-io/kairship/test/internal/gql"
	"github.com/kairship-io/kairship/test/internal/schema"
)

// TestMutationsAskForWhatTheReferenceSays calls every mutation with every role, as a dry
// run, mostly about objects that do not exist: it is refused as FORBIDDEN to the roles that do not
// have its permission in the role reference, and to no other.
func TestMutationsAskForWhatTheReferenceSays(t *testing.T) {
	s := schema.Load()
	ns := namespace(t, "alpha")
	for _, role := range permission.Roles() {
		var namespaces []string
		name := string(role.Role)
		if role.Namespaced {
			namespaces, name = []string{ns}, name+" of a namespace"
		}
		t.Run(name, func(t *testing.T) {
			p := newPerson(t, role.Role, namespaces...)
			eventually(t, "the role is in effect in the namespace", func(ctx context.Context) error {
				return p.direct.List(ctx, &corev1.ConfigMapList{}, client.InNamespace(ns))
			})
			count := 0
			for _, m := range s.Mutation.Fields {
				if strings.HasPrefix(m.Name, "__") {
					continue
				}
				count++
				field := permission.Fields["Mutation."+m.Name]
				extent, err := field.Of(role)
				if err != nil {
					t.Fatal(err)
				}
				if want, body := extent == permission.None, refusal(t, p, m.Name, ns); want != strings.Contains(body, `"FORBIDDEN"`) {
					t.Errorf("%s: refused by the role reference: %v; the answer is %s", m.Name, want, body)
				}
			}
			if count < 30 {
				t.Errorf("only %d mutations were called", count)
			}
		})
	}
}

// refusal calls a mutation with the least input that it takes, and returns the answer.
func refusal(t *testing.T, p *person, mutation, namespace string) string {
	t.Helper()
	s := schema.Load()
	input := s.Types[s.Mutation.Fields.ForName(mutation).Arguments.ForName("input").Type.Name()]
	selection := "__typename"
	if mutation == "applyManifests" || mutation == "deployApplication" {
		selection = "results { error { code } }" // Each object is refused for itself.
	}
	given := schema.Least(s, input, namespace)
	given["dryRun"] = true
	if input.Fields.ForName("instance") != nil {
		given["instance"] = "alpha"
	}
	if mutation == "deployApplicationToInstances" {
		selection, given["instances"] = "results { results { error { code } } }", []any{"alpha"}
	}
	if mutation == "joinCluster" || mutation == "unjoinCluster" || mutation == "moveCluster" || mutation == "updateCluster" || mutation == "removeCluster" {
		given["cluster"] = "m1" // One that the role does not let see is missing, whatever the permission.
	}
	r := p.graphql.Must(t, gql.Request{
		Query:     "mutation($input: " + input.Name + "!) { " + mutation + "(input: $input) { " + selection + " } }",
		Variables: map[string]any{"input": given},
	})
	return string(r.Body)
}
