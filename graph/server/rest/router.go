package rest

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/kairship-io/kairship/graph/operation"
)

// Router finds the operation of a request.
type Router struct{ routes []route }

// route is an operation with the parts of its path.
type route struct {
	parts     []string
	operation *operation.Operation
}

// Match is an operation that a request asks for.
type Match struct {
	Operation *operation.Operation
	// Path are the variables in the path.
	Path map[string]string
}

// NewRouter returns a router over operations.
func NewRouter(operations []*operation.Operation) *Router {
	r := &Router{}
	for _, op := range operations {
		r.routes = append(r.routes, route{partsOf(op.Path, op.Method), op})
	}
	// A word is before a variable, so that it is found first.
	slices.SortStableFunc(r.routes, func(a, b route) int { return slices.Compare(a.parts, b.parts) })
	return r
}

// Find returns the operation of a method and a path that is not escaped. Without one, it returns the methods that the path
// has; none where there is no such path.
func (r *Router) Find(method, path string) (*Match, []string) {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	plain, action := partsOf(path, http.MethodGet), partsOf(path, http.MethodPost)
	var allowed []string
	for i := range r.routes {
		of, parts := &r.routes[i], plain
		if of.operation.Method == http.MethodPost {
			parts = action
		}
		switch has := of.operation.Method; {
		case !of.matches(parts):
		case has == method:
			return &Match{Operation: of.operation, Path: of.variables(parts)}, nil
		case !slices.Contains(allowed, has):
			allowed = append(allowed, has)
		}
	}
	return nil, allowed
}

// partsOf are the segments of a path. The verb of an action is one too: {name}:scale is {name} and :scale. It is the last
// colon of a POST, because names have colons as well, as in system:node.
func partsOf(path, method string) []string {
	parts := strings.Split(path, "/")
	last := len(parts) - 1
	if at := strings.LastIndexByte(parts[last], ':'); at >= 0 && method == http.MethodPost {
		return append(parts[:last:last], parts[last][:at], parts[last][at:])
	}
	return parts
}

// matches reports whether a path is one of the route's. No variable is empty.
func (r *route) matches(parts []string) bool {
	if len(parts) != len(r.parts) {
		return false
	}
	for i, want := range r.parts {
		if isVariable := strings.HasPrefix(want, "{"); isVariable && parts[i] == "" || !isVariable && parts[i] != want {
			return false
		}
	}
	return true
}

// variables are those in a path that matches.
func (r *route) variables(parts []string) map[string]string {
	found := map[string]string{}
	for i, want := range r.parts {
		if name, isVariable := strings.CutPrefix(want, "{"); isVariable {
			found[strings.TrimSuffix(name, "}")] = parts[i]
		}
	}
	return found
}

type matchKey struct{}

// With returns a context with the operation of its request.
func With(ctx context.Context, m *Match) context.Context {
	return context.WithValue(ctx, matchKey{}, m)
}

// From returns the operation of a context's request; nil for none.
func From(ctx context.Context) *Match {
	m, _ := ctx.Value(matchKey{}).(*Match)
	return m
}
