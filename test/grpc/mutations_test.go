package grpc

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/graph/operation"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/picture"
	"github.com/kairship-io/kairship/test/internal/schema"
)

// TestMutationsAreRefusedAlike sends every mutation by GraphQL, REST and gRPC, as those who may not change what it is about. Each
// is one that an administrator may send: its dry run as admin succeeds, with the same payload by each way, and as alice it has
// the same answer.
func TestMutationsAreRefusedAlike(t *testing.T) {
	f := fleet.Open(t)
	values := readVariables(t)
	values.Writes["RegisterCluster"]["kubeconfig"] = string(f.Alias(t, "m3").Kubeconfig(t, "matrix"))
	values.Writes["RegisterInstance"]["kubeconfig"] = string(f.Alias(t, "beta").Kubeconfig(t, "matrix"))
	ways := map[string]way{byGraphQL: graphQL(f), byREST: rest(f), byGRPC: gRPC(f, dial(t, f))}
	addScene(t, f, values)
	before := picture.Whole(t, f)
	all := those(t, func(op *operation.Operation) bool { return !op.Reads() })
	for _, op := range all {
		given := values.ofMutation(t, f, op)
		if got := tryOut(t, f, values, op, "admin", ways); got.Code != "" {
			t.Errorf("admin gets %s (%s: %s) of a dry run of %s with %v: add values to writes in test/rest/variables.json", got.Code, got.Argument, got.Message, op.Name, given)
		}
		tryOut(t, f, values, op, "alice", ways)
		for _, person := range []string{"bob", "mallory"} {
			sent := given
			if op.Name == "ChangeWorkloads" {
				tried, _ := ways[byGraphQL](t, op, person, with(given, "dryRun", true)).Object.(map[string]any)
				sent = with(given, "expect", tried["fingerprint"])
			}
			refused(t, op, person, compare(t, op, person, sent, ways), notFound, forbidden)
		}
		if _, has := given["instance"]; has {
			// Bob sees beta, and may change nothing in it.
			refused(t, op, "bob", compare(t, op, "bob", with(withoutNames(given), "instance", "beta"), ways), forbidden)
		}
	}
	if changes := picture.Differences(before, picture.Whole(t, f)); len(changes) > 0 {
		t.Errorf("what was refused or tried changed %s", strings.Join(changes, ", "))
	}
	if len(all) < 60 {
		t.Errorf("only %d mutations were sent", len(all))
	}
}

const forbidden = "FORBIDDEN"

// ofAlpha are names of objects that only alpha has.
var ofAlpha = regexp.MustCompile(`\b(alpha|shop|frontend|node-agents|migrate|m1|m2|orphan)\b`)

// withoutNames returns values without names of alpha: bob sees his own attempts in beta, which name what he sent.
func withoutNames(values map[string]any) map[string]any {
	var without func(any) any
	without = func(value any) any {
		switch v := value.(type) {
		case string:
			return ofAlpha.ReplaceAllString(v, "matrix")
		case []any:
			out := make([]any, len(v))
			for i := range v {
				out[i] = without(v[i])
			}
			return out
		case map[string]any:
			return withoutNames(v)
		}
		return value
	}
	out := make(map[string]any, len(values))
	for name, value := range values {
		out[name] = without(value)
	}
	return out
}

// refused checks that an outcome is one of the refusals. Where each object is answered for itself, none is changed.
func refused(t *testing.T, op *operation.Operation, person string, got outcome, codes ...string) {
	t.Helper()
	object, _ := got.Object.(map[string]any)
	results, _ := object["results"].([]any)
	for _, result := range results {
		of, _ := result.(map[string]any)
		inner, _ := of["results"].([]any)
		for _, one := range append(inner, result) {
			of, _ := one.(map[string]any)
			if e, ok := of["error"].(map[string]any); ok {
				got.Code, _ = e["code"].(string)
			}
		}
	}
	if op.Name == "ChangeWorkloads" && object["total"] == "0" {
		return // Its filter finds nothing that they may see.
	}
	if !slices.Contains(codes, got.Code) {
		t.Errorf("%s is not refused by %s: %+v", person, op.Name, got)
	}
}

// tryOut sends the dry run of a mutation, and returns what GraphQL answers. Where controllers wrote the object between two
// ways, all of them send it again with the newer version.
func tryOut(t *testing.T, f *fleet.Fleet, values variables, op *operation.Operation, person string, ways map[string]way) outcome {
	t.Helper()
	for attempt := 1; ; attempt++ {
		answers := ask(t, op, person, with(values.ofMutation(t, f, op), "dryRun", true), ways)
		moved := false
		for _, answer := range answers {
			moved = moved || answer.Code == "CONFLICT"
		}
		if !moved || attempt == 5 {
			return alike(t, op, person, answers)
		}
	}
}

// ofMutation are the variables of a mutation: those that it needs, of the object that the operation reads that has its noun,
// and its own.
func (v variables) ofMutation(t *testing.T, f *fleet.Fleet, op *operation.Operation) map[string]any {
	t.Helper()
	needed := &ast.Definition{}
	for _, d := range op.Definition.VariableDefinitions {
		needed.Fields = append(needed.Fields, &ast.FieldDefinition{Name: d.Variable, Type: d.Type, DefaultValue: d.DefaultValue})
	}
	given := schema.Least(schema.Load(), needed, "shop")
	noun, creates := strings.CutPrefix(op.Name, "Create")
	for name := range given {
		if value, ok := v.Objects[name]; ok && (name != "name" || !creates) {
			given[name] = value
		}
	}
	if !creates {
		noun = strings.TrimPrefix(strings.TrimPrefix(op.Name, "Update"), "Delete")
		maps.Copy(given, v.Own["Get"+noun])
	}
	maps.Copy(given, v.Writes[op.Name])
	_, versioned := given[operation.Version]
	all := reads(t)
	at := slices.IndexFunc(all, func(read *operation.Operation) bool { return read.Name == "Get"+noun && read.Versioned })
	if versioned && at >= 0 && v.Writes[op.Name][operation.Version] == nil {
		read := map[string]any{}
		for _, d := range all[at].Definition.VariableDefinitions {
			read[d.Variable] = v.Objects[d.Variable]
			if value, ok := given[d.Variable]; ok {
				read[d.Variable] = value
			}
		}
		object, _ := graphQL(f)(t, all[at], "admin", read).Object.(map[string]any)
		given[operation.Version] = object[operation.Version]
	}
	return given
}

func with(given map[string]any, name string, value any) map[string]any {
	out := maps.Clone(given)
	out[name] = value
	return out
}
