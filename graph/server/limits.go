package server

import (
	"context"
	"fmt"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/parser"

	"github.com/kairship-io/kairship/graph/cost"
	"github.com/kairship-io/kairship/graph/server/document"
	"github.com/kairship-io/kairship/graph/server/plan"
	"github.com/kairship-io/kairship/graph/server/redact"
	"github.com/kairship-io/kairship/pkg/apierror"
)

// limits refuses operations that are too large, or that would cost too much, before
// anything is executed for them.
type limits struct {
	Config

	costs   *cost.Table
	cache   *document.Cache
	metrics *limitMetrics
}

var _ interface {
	graphql.HandlerExtension
	graphql.OperationParameterMutator
	graphql.OperationContextMutator
} = limits{}

// ExtensionName implements graphql.HandlerExtension.
func (limits) ExtensionName() string { return "Limits" }

// Validate implements graphql.HandlerExtension.
func (limits) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationParameters implements graphql.OperationParameterMutator. It refuses
// what would cost validation too much; a document that is known was validated.
func (l limits) MutateOperationParameters(ctx context.Context, params *graphql.RawParams) *gqlerror.Error {
	if _, known := l.cache.Peek(params.Query); known {
		return nil
	}
	doc, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: params.Query}, l.TokenLimit)
	if err != nil {
		return nil //nolint:nilerr // It is parsed once more, and refused with what is wrong.
	}
	if n := longestName(doc); n > maxNameLen {
		return l.refuse("document", "the document has a name of %d bytes, and %d is the limit", n, maxNameLen)
	}
	m := newMeasurer(doc)
	if name := m.spreadsItself(); name != "" {
		// Validation finds every circle there is, which may be many.
		return gqlerror.Wrap(apierror.Invalid("", "the fragment %q spreads itself", name[:min(len(name), redact.MaxName)]))
	}
	pairs := 0
	for _, set := range roots(doc) {
		if m.selections(set).fields > l.MaxFields {
			return l.refuse("fields", "the operation selects more than %d fields, fragments written out; that is the limit", l.MaxFields)
		}
		if pairs += m.comparisons(set); pairs > maxComparisons {
			return l.refuse("document", "the document selects fields of the same name too often in one place")
		}
	}
	graphql.GetOperationContext(ctx).Doc = doc // For variables.
	return nil
}

// roots are the selections of a document that no other one spreads.
func roots(doc *ast.QueryDocument) []ast.SelectionSet {
	var all []ast.SelectionSet
	spread := map[string]bool{}
	var see func(ast.SelectionSet)
	see = func(set ast.SelectionSet) {
		for _, sel := range set {
			switch sel := sel.(type) {
			case *ast.Field:
				see(sel.SelectionSet)
			case *ast.InlineFragment:
				see(sel.SelectionSet)
			case *ast.FragmentSpread:
				spread[sel.Name] = true
			}
		}
	}
	for _, op := range doc.Operations {
		all = append(all, op.SelectionSet)
		see(op.SelectionSet)
	}
	for _, f := range doc.Fragments {
		see(f.SelectionSet)
	}
	for _, f := range doc.Fragments {
		if !spread[f.Name] {
			all = append(all, f.SelectionSet)
		}
	}
	return all
}

// MutateOperationContext implements graphql.OperationContextMutator.
func (l limits) MutateOperationContext(_ context.Context, opCtx *graphql.OperationContext) *gqlerror.Error {
	refused := l.check(opCtx)
	if refused != nil {
		// gqlgen keeps what is valid, before it is known to be too large.
		l.cache.Drop(opCtx.RawQuery)
	}
	return refused
}

// check measures an operation, and finds out what it costs.
func (l limits) check(opCtx *graphql.OperationContext) *gqlerror.Error {
	opCtx.DisableIntrospection = !l.Introspection
	set := opCtx.Operation.SelectionSet
	m := newMeasurer(opCtx.Doc)
	size := m.selections(set)
	switch {
	case size.depth > l.MaxDepth:
		return l.refuse("depth", "the operation nests fields %d deep, and %d is the limit", size.depth, l.MaxDepth)
	case size.fields > l.MaxFields:
		return l.refuse("fields", "the operation selects more than %d fields, fragments written out; that is the limit", l.MaxFields)
	case size.aliases > l.MaxAliases:
		return l.refuse("aliases", "the operation has more than %d aliases, fragments written out; that is the limit", l.MaxAliases)
	case m.rootFields(set) > l.MaxRootFields:
		return l.refuse("root_fields", "the operation selects more than %d fields of %s itself; that is the limit", l.MaxRootFields, opCtx.Operation.Operation)
	case size.introspect && !l.Introspection:
		return gqlerror.Wrap(apierror.New(apierror.CodeInvalid,
			"introspection is switched off on this server; the schema is published with each release"))
	}
	billed := l.costs.Of(opCtx.Operation, opCtx.Variables)
	plan.SetBill(opCtx, plan.Bill{Bill: billed, Limit: l.MaxCost})
	if billed.Cost > l.MaxCost {
		return l.tooDear(opCtx, billed)
	}
	return nil
}

func (l limits) refuse(limit, format string, args ...any) *gqlerror.Error {
	l.metrics.refuse(limit)
	return gqlerror.Wrap(apierror.New(apierror.CodeQueryTooComplex, format, args...))
}

// namedDearest is how many fields the refusal of an operation names that costs too much.
const namedDearest = 3

func (l limits) tooDear(opCtx *graphql.OperationContext, billed cost.Bill) *gqlerror.Error {
	l.metrics.refuse("complexity")
	var dearest []string
	for _, line := range l.costs.Dearest(opCtx.Operation, opCtx.Variables, namedDearest) {
		dearest = append(dearest, fmt.Sprintf("%s (%d)", line.Field, line.Cost))
	}
	err := apierror.New(apierror.CodeQueryTooComplex,
		"the operation costs %d, and %d is the limit; ask for less at a time, with first: most of it is %s",
		billed.Cost, l.MaxCost, strings.Join(dearest, ", "))
	err.Cost = &apierror.Cost{Value: billed.Cost, Limit: l.MaxCost, Dearest: dearest}
	return gqlerror.Wrap(err)
}
