package docs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
	"github.com/kairship-io/kairship/test/internal/schema"
)

var theSchema = schema.Load()

// TestEveryDocumentedOperationIsValid needs no fleet.
func TestEveryDocumentedOperationIsValid(t *testing.T) {
	for _, blocks := range documents(t) {
		for _, b := range blocks {
			if _, errs := gqlparser.LoadQueryWithRules(theSchema, b.text, rules.NewDefaultRules()); len(errs) > 0 && b.fails == "" {
				t.Errorf("%s is no operation of this API, and no part of a schema either: %v\n%s", b.where, errs, b.text)
			}
		}
	}
}

// TestTheGuideLeavesNoMutationOut looks for the names of all; those of policies have
// a guide that shows one of each.
func TestTheGuideLeavesNoMutationOut(t *testing.T) {
	root, err := fleet.Root()
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile(filepath.Join(root, "docs", "mutations.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, field := range theSchema.Mutation.Fields {
		if !strings.HasSuffix(field.Name, "Policy") && !strings.Contains(string(guide), "`"+field.Name+"`") {
			t.Errorf("docs/mutations.md does not mention %s", field.Name)
		}
	}
}

// TestEveryDocumentedOperationRuns runs what every document shows, in its order.
func TestEveryDocumentedOperationRuns(t *testing.T) {
	all := documents(t)
	ran := map[ast.Operation]int{}
	followed := map[string]bool{}
	shared := newScene(t) // of all documents that change nothing
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			var s *scene
			switch {
			case !slices.ContainsFunc(all[name], block.needsScene):
				s = emptyScene(t)
			case slices.ContainsFunc(all[name], block.changes):
				s = newScene(t)
			default:
				s = shared
			}
			for _, b := range all[name] {
				for _, op := range s.operations(t, b) {
					ran[op.Operation]++
					if op.Operation == ast.Subscription {
						followed[op.SelectionSet[0].(*ast.Field).Name] = true
					}
					t.Run(strings.TrimSpace(fmt.Sprintf("%s %s", b.where, op.Name)), func(t *testing.T) { s.run(t, b, op) })
				}
			}
		})
	}
	t.Logf("%v of %d documents", ran, len(all))
	if ran[ast.Query] < 20 || ran[ast.Mutation] < 15 || ran[ast.Subscription] < 10 {
		t.Errorf("only %v were run", ran)
	}
	if len(followed) != len(theSchema.Subscription.Fields) {
		t.Errorf("the documents show how to follow %v, and there is more: %d", slices.Sorted(maps.Keys(followed)), len(theSchema.Subscription.Fields))
	}
}

// run runs one operation.
func (s *scene) run(t *testing.T, b block, op *ast.OperationDefinition) {
	t.Helper()
	request := gql.Request{Query: s.own(b.text), OperationName: op.Name}
	if op.Operation == ast.Subscription {
		request.Variables = s.variables(t, b, op)
		s.follow(t, request)
		return
	}
	var result *gql.Result
	// What was written a moment ago may have to arrive in the members and the index
	// first. A mutation that failed has changed nothing, and may be sent again.
	err := poll.Try(t.Context(), within, func(ctx context.Context) error {
		// Versions too: Karmada writes the status of what they are of.
		request.Variables = s.variables(t, b, op)
		var err error
		if result, err = s.admin.Do(ctx, request); err != nil {
			return err
		}
		return judge(b, op, result)
	})
	if err != nil {
		// Not their values: a kubeconfig is among them.
		t.Fatalf("%v\n%s\nvariables: %v", err, request.Query, slices.Sorted(maps.Keys(request.Variables)))
	}
	s.remember(t, result)
	// A list is read to its end, as the document says.
	if pages := endCursors(result.Data); op.VariableDefinitions.ForName("after") != nil && len(pages) > 0 && request.Variables["after"] == nil {
		request.Variables["after"] = pages[0]
		err := poll.Try(t.Context(), within, func(ctx context.Context) error {
			next, err := s.admin.Do(ctx, request)
			if err != nil || len(next.Errors) == 0 {
				return err
			}
			return failed(next.Errors, fmt.Errorf("%v", next.Errors))
		})
		if err != nil {
			t.Errorf("the next page: %v", err)
		}
	}
}

// operations are those of a block.
func (s *scene) operations(t *testing.T, b block) ast.OperationList {
	t.Helper()
	doc, errs := gqlparser.LoadQueryWithRules(theSchema, s.own(b.text), rules.NewDefaultRules())
	if len(errs) > 0 {
		// One that is shown because it is not valid only has to be readable.
		var err error
		if doc, err = parser.ParseQuery(&ast.Source{Input: s.own(b.text)}); b.fails == "" || err != nil {
			t.Errorf("%s: %v", b.where, errs)
			return nil
		}
	}
	return doc.Operations
}

func (s *scene) variables(t *testing.T, b block, op *ast.OperationDefinition) map[string]any {
	t.Helper()
	variables := map[string]any{}
	for _, v := range op.VariableDefinitions {
		if shown, ok := b.variables[v.Variable]; ok {
			raw, err := json.Marshal(shown)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(s.own(string(raw))), &shown); err != nil {
				t.Fatal(err)
			}
			variables[v.Variable] = shown
		} else if v.DefaultValue == nil {
			variables[v.Variable] = s.variable(t, v.Variable)
		}
	}
	return variables
}

// failed has a query asked again when all that went wrong is that something did not
// answer: that passes. Reads do not fail otherwise while something is on its way.
func failed(errs []gql.Error, err error) error {
	for _, e := range errs {
		if !slices.Contains([]string{"INDEX_UNAVAILABLE", "INSTANCE_UNAVAILABLE", "TIMEOUT"}, e.Extensions.Code) {
			return poll.Stop(err)
		}
	}
	if len(errs) == 0 {
		return poll.Stop(err)
	}
	return err
}

// judge compares an answer with what its document expects.
func judge(b block, op *ast.OperationDefinition, result *gql.Result) error {
	if b.fails != "" {
		if len(result.Errors) != 1 || result.Errors[0].Extensions.Code != b.fails {
			err := fmt.Errorf("%s is said to fail with %s: %s", b.where, b.fails, result.Body)
			if op.Operation == ast.Query {
				return failed(result.Errors, err)
			}
			return poll.Stop(err)
		}
		return nil
	}
	if len(result.Errors) > 0 {
		err := fmt.Errorf("%v", result.Errors)
		if op.Operation == ast.Query {
			return failed(result.Errors, err)
		}
		return err
	}
	var data map[string]any
	if err := json.Unmarshal(result.Data, &data); err != nil {
		return poll.Stop(err)
	}
	return shows(op.SelectionSet, data)
}

// shows says what an answer does not show although the operation names it: an
// example that finds nothing is none. A mutation that writes several objects must
// have written them.
func shows(set ast.SelectionSet, data map[string]any) error {
	for _, selection := range set {
		switch selection := selection.(type) {
		case *ast.FragmentSpread:
			if err := shows(selection.Definition.SelectionSet, data); err != nil {
				return err
			}
		case *ast.Field:
			value := data[selection.Alias]
			inner, isObject := value.(map[string]any)
			switch {
			case value == nil && len(selection.Arguments) > 0:
				return fmt.Errorf("%s is null", selection.Alias)
			case value == false && slices.Contains([]string{"applied", "deployed", "promoted", "requested"}, selection.Name):
				return poll.Stop(fmt.Errorf("%s is false: %v", selection.Name, data))
			case isObject:
				if nodes, isList := inner["nodes"].([]any); isList && len(nodes) == 0 && len(selection.Arguments) > 0 && !mayBeEmpty(selection) {
					return fmt.Errorf("%s is empty", selection.Alias)
				}
				if err := shows(selection.SelectionSet, inner); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// mayBeEmpty reports whether the document states that a list has nothing in a
// fleet without trouble.
func mayBeEmpty(field *ast.Field) bool {
	return field.Comment != nil && len(field.Comment.List) > 0 && strings.HasPrefix(strings.TrimSpace(field.Comment.List[0].Text()), "None while ")
}

// remember keeps what later operations of the document need: what has begun, and
// what they have to see.
func (s *scene) remember(t *testing.T, result *gql.Result) {
	t.Helper()
	var payloads map[string]json.RawMessage
	if err := json.Unmarshal(result.Data, &payloads); err != nil {
		return // A refusal has no data.
	}
	for _, raw := range payloads {
		var payload struct {
			Operation        string `json:"operation"`
			ConsistencyToken string `json:"consistencyToken"`
		}
		if json.Unmarshal(raw, &payload) != nil {
			continue // A list.
		}
		if payload.Operation != "" {
			s.operation = payload.Operation
		}
		if payload.ConsistencyToken != "" {
			s.admin.Consistency = payload.ConsistencyToken
		}
	}
}

// endCursors are the ends of the pages of an answer that more follows.
func endCursors(raw json.RawMessage) []string {
	var data map[string]struct {
		PageInfo struct {
			HasNextPage bool   `json:"hasNextPage"`
			EndCursor   string `json:"endCursor"`
		} `json:"pageInfo"`
	}
	var all []string
	if json.Unmarshal(raw, &data) == nil {
		for _, list := range data {
			if list.PageInfo.HasNextPage {
				all = append(all, list.PageInfo.EndCursor)
			}
		}
	}
	return all
}

// follow runs a subscription until it has told what there is, or a line of a log, or has come to its end. One of the activity
// has nothing to tell until something changes.
func (s *scene) follow(t *testing.T, request gql.Request) {
	t.Helper()
	stream := s.admin.MustSubscribe(t, request)
	defer stream.Close()
	if strings.Contains(request.Query, "activityAdded") {
		s.change(t)
	}
	for delivered := 0; ; delivered++ {
		e := stream.Next(within)
		var err error
		switch {
		case e == nil:
			err = errors.New("it says nothing more")
		case e.Lost != nil:
			err = e.Lost
		case len(e.Errors) > 0:
			err = fmt.Errorf("%v", e.Errors)
		case strings.Contains(string(e.Data), `"state":"FAILED"`):
			err = fmt.Errorf("the operation failed: %s", e.Data)
		case e.Complete || strings.Contains(string(e.Data), `"type":"SYNCED"`), strings.Contains(string(e.Data), `"type":"LINE"`), strings.Contains(string(e.Data), "activityAdded"):
			return
		}
		if err != nil {
			t.Fatalf("after %d events: %v\n%s\nvariables: %v", delivered, err, request.Query, request.Variables)
		}
	}
}

// change labels a workload of alpha, and takes the label away.
func (s *scene) change(t *testing.T) {
	t.Helper()
	for _, value := range []string{`"a"`, "null"} {
		s.admin.Must(t, gql.Request{Query: `mutation { patchResource(input: {instance: "alpha", group: "apps", version: "v1", resource: "deployments", namespace: "shop", name: "orphan",
			type: MERGE, patch: {metadata: {labels: {documented: ` + value + `}}}}) { consistencyToken } }`})
	}
}
