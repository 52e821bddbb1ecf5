package resolvers

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	transport "github.com/kairship-io/kairship/graph/stream"
	"github.com/kairship-io/kairship/pkg/fleet/changes"
	"github.com/kairship-io/kairship/pkg/fleet/resource"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

// The selection of a subscription decides which changes it gets. Fields that the objects of its
// events carry are compared before the event is executed. Fields that have to be read are executed,
// and then compared as they were sent.

// fixedFields are those that never change, or that depend on the time of the read and on the user,
// which is no change of the object.
var fixedFields = []string{"__typename", "id", "kind", "namespace", "name", "createdAt", "apiVersion", "uid", "freshness", "viewerCan"}

// references are fields that name another object, of which an object carries
// nothing but the name.
var references = []string{"instance", "policy", "memberCluster", "hostCluster"}

// followed is what is selected on the noun of a subscription's events, of which the
// objects carry some fields.
func followed[T any](ctx context.Context, noun string, carried []changes.Field[T]) changes.Selection {
	names := make([]string, len(carried))
	for i, f := range carried {
		names[i] = f.Name
	}
	s := changes.Selection{Alone: true}
	for _, path := range selected(ctx).under(noun).leaves(nil) {
		s.Alone = s.Alone && !slices.ContainsFunc(path, func(name string) bool { return slices.Contains(looks, name) })
		if slices.Contains(path, "freshness") || slices.Contains(path, "viewerCan") {
			continue
		}
		carries := slices.Contains(names, path[0])
		if carries {
			s.Carried = append(s.Carried, strings.Join(path, "."))
		}
		s.Read = s.Read || reads(path, carries)
		s.Loads = s.Loads || s.Read || slices.ContainsFunc(path[:len(path)-1], func(name string) bool { return name != "instance" && slices.Contains(references, name) })
	}
	s.Alone = s.Alone && !s.Loads
	return s
}

// looks are fields that depend on the user, on the time of the read or on another object.
var looks = append([]string{"freshness", "viewerCan"}, references...)

// reads reports whether a field may have changed although the object that it hangs on
// carries nothing that did.
func reads(path []string, carries bool) bool {
	at := path[len(path)-1]
	for i, name := range path[:len(path)-1] {
		switch {
		case name == "overrides", name == "object":
			return true
		case slices.Contains(references, name) && (carries || name == "instance"):
			return i < len(path)-2 || !slices.Contains(fixedFields, at)
		}
	}
	return !carries && (len(path) > 1 || !slices.Contains(fixedFields, at))
}

// leaves returns the paths of all selected fields that have a value.
func (s selection) leaves(above []string) [][]string {
	var all [][]string
	for _, f := range s.fields {
		path := append(slices.Clone(above), f.Name)
		if inner := below(s.op, f); len(inner) > 0 {
			all = append(all, selection{op: s.op, fields: inner}.leaves(path)...)
			continue
		}
		all = append(all, path)
	}
	return all
}

// changedResources is a function of its own because the resolver has an argument of
// the package's name.
func (r *Resolver) changedResources(ctx context.Context, of resource.Kind, filter *resource.ChangeFilter, after *string) (<-chan *resource.Change, error) {
	return r.Fleet.Live.ResourcesChanged(ctx, of, filter, after, followed(ctx, "resource", resource.Fields()))
}

// liveNeeds is what observed workloads will be asked for beyond what they carry.
func (s selection) liveNeeds() workload.Needs {
	needs := s.needs()
	needs.Binding = false
	// The keys of the objects in the members are read with the status.
	needs.Status = s.under("placements").has("object")
	return needs
}

// change is an event of a subscription, of whatever noun.
type change interface {
	In(ctx context.Context) context.Context
	Remembers() bool
	ShouldSend(selected []byte) bool
}

// Observed implements the schema's directive observed.
func Observed(ctx context.Context, event any, next graphql.Resolver) (any, error) {
	e, ok := event.(change)
	if !ok {
		return next(ctx)
	}
	if slot, ok := ctx.Value(slotKey{}).(*slot); ok {
		slot.event, slot.noun = e, graphql.GetFieldContext(ctx).Field.Alias
	}
	return next(e.In(ctx))
}

// slot takes the event of a response out of its execution.
type slot struct {
	event change
	// noun is the name of the object in the response.
	noun string
}

type slotKey struct{}

// StreamResponses drops the responses of a subscription that repeat what was delivered before, and
// makes the errors of the others name the subscription's field.
func StreamResponses() graphql.ResponseMiddleware {
	return func(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
		if !graphql.HasOperationContext(ctx) {
			return next(ctx)
		}
		op := graphql.GetOperationContext(ctx)
		if op.Operation == nil || op.Operation.Operation != ast.Subscription {
			return next(ctx)
		}
		roots := graphql.CollectFields(op, op.Operation.SelectionSet, []string{"Subscription"})
		if len(roots) == 0 {
			return next(ctx)
		}
		root := roots[0]
		consumer := transport.From(ctx)
		for {
			into := &slot{}
			// Each try has errors of its own.
			attempt := graphql.WithFreshResponseContext(context.WithValue(ctx, slotKey{}, into))
			attempt = graphql.WithFieldContext(attempt, &graphql.FieldContext{Object: "Subscription", Field: root})
			resp := next(attempt)
			if resp == nil || into.event == nil || !into.event.Remembers() || into.event.ShouldSend(shownOf(op, root, into.noun, resp)) {
				return resp
			}
			if consumer != nil {
				consumer.Discard()
				return &graphql.Response{}
			}
		}
	}
}

// shownOf returns the part of a response that shows an event's object, without fields about the
// time of the read; nil when the response is incomplete.
func shownOf(op *graphql.OperationContext, root graphql.CollectedField, noun string, resp *graphql.Response) []byte {
	if len(resp.Errors) > 0 {
		return nil
	}
	var data map[string]map[string]json.RawMessage
	if err := json.Unmarshal(resp.Data, &data); err != nil {
		return nil
	}
	object := data[root.Alias][noun]
	looked := aliases(op, root, "freshness")
	if len(looked) == 0 {
		return object
	}
	var value any
	if err := json.Unmarshal(object, &value); err != nil {
		return nil
	}
	stripped, err := json.Marshal(without(value, looked))
	if err != nil {
		return nil
	}
	return stripped
}

// aliases are the names under which a field is selected anywhere below another.
func aliases(op *graphql.OperationContext, of graphql.CollectedField, name string) []string {
	var found []string
	for _, f := range below(op, of) {
		if f.Name == name {
			found = append(found, f.Alias)
			continue
		}
		found = append(found, aliases(op, f, name)...)
	}
	return found
}

// without takes fields out of a value of JSON.
func without(value any, names []string) any {
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			if slices.Contains(names, name) {
				delete(value, name)
				continue
			}
			value[name] = without(v, names)
		}
	case []any:
		for i, v := range value {
			value[i] = without(v, names)
		}
	}
	return value
}
