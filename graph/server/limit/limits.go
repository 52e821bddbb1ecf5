// Package limit refuses operations that are too large or cost too much, and counts the
// memory of answers.
package limit

import (
	"context"
	"fmt"
	"strings"
	"time"

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

// Limits of one operation.
type Limits struct {
	// TokenLimit is the number of lexical tokens that a document may have.
	TokenLimit int
	// MaxDepth is how deep fields may nest, fragments included.
	MaxDepth int
	// MaxFields is how many fields an operation may have once its fragments are written out, aliases counted each.
	MaxFields int
	// MaxAliases is how many of its fields may have an alias.
	MaxAliases int
	// MaxRootFields is how many fields of Query, Mutation or Subscription itself it may have.
	MaxRootFields int
	// MaxCost is what an operation may cost, in values of its answer; see package cost.
	MaxCost int
}

// Defaults of Limits. Validation compares fields of the same name in pairs: a document of
// DefaultTokenLimit costs it at most half a second, twice as many tokens four times that.
const (
	DefaultTokenLimit    = 3_000
	DefaultMaxDepth      = 20
	DefaultMaxFields     = 5_000
	DefaultMaxAliases    = 250
	DefaultMaxRootFields = 50
	DefaultMaxCost       = 1_000_000
)

// SetDefaults sets the limits that are zero or less.
func (l *Limits) SetDefaults() {
	SetDefault(&l.TokenLimit, DefaultTokenLimit)
	SetDefault(&l.MaxDepth, DefaultMaxDepth)
	SetDefault(&l.MaxFields, DefaultMaxFields)
	SetDefault(&l.MaxAliases, DefaultMaxAliases)
	SetDefault(&l.MaxRootFields, DefaultMaxRootFields)
	SetDefault(&l.MaxCost, DefaultMaxCost)
}

// SetDefault sets a limit that is zero or less.
func SetDefault[T int | int64 | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

// Extension refuses operations that are too large, or that would cost too much, before
// anything is executed for them.
type Extension struct {
	Limits

	Introspection bool
	Costs         *cost.Table
	Cache         *document.Cache
	Metrics       *Metrics
}

var _ interface {
	graphql.HandlerExtension
	graphql.OperationParameterMutator
	graphql.OperationContextMutator
} = Extension{}

// ExtensionName implements graphql.HandlerExtension.
func (Extension) ExtensionName() string { return "Limits" }

// Validate implements graphql.HandlerExtension.
func (Extension) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationParameters implements graphql.OperationParameterMutator. It refuses
// what would cost validation too much; a document that is known was validated.
func (l Extension) MutateOperationParameters(ctx context.Context, params *graphql.RawParams) *gqlerror.Error {
	if _, known := l.Cache.Peek(params.Query); known {
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

// roots returns the selections of a document that no other one spreads.
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
func (l Extension) MutateOperationContext(_ context.Context, opCtx *graphql.OperationContext) *gqlerror.Error {
	refused := l.check(opCtx)
	if refused != nil {
		// gqlgen keeps what is valid, before it is known to be too large.
		l.Cache.Drop(opCtx.RawQuery)
	}
	return refused
}

// check measures an operation, and finds out what it costs.
func (l Extension) check(opCtx *graphql.OperationContext) *gqlerror.Error {
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
	billed := l.Costs.Of(opCtx.Operation, opCtx.Variables)
	plan.SetBill(opCtx, plan.Bill{Bill: billed, Limit: l.MaxCost})
	if billed.Cost > l.MaxCost {
		return l.tooExpensive(opCtx, billed)
	}
	return nil
}

func (l Extension) refuse(limit, format string, args ...any) *gqlerror.Error {
	l.Metrics.Refuse(limit)
	return gqlerror.Wrap(apierror.New(apierror.CodeQueryTooComplex, format, args...))
}

// namedFields is how many fields the refusal of an operation names that costs too much.
const namedFields = 3

func (l Extension) tooExpensive(opCtx *graphql.OperationContext, billed cost.Bill) *gqlerror.Error {
	l.Metrics.Refuse("complexity")
	var named []string
	for _, line := range l.Costs.MostExpensive(opCtx.Operation, opCtx.Variables, namedFields) {
		named = append(named, fmt.Sprintf("%s (%d)", line.Field, line.Cost))
	}
	err := apierror.New(apierror.CodeQueryTooComplex,
		"the operation costs %d, and %d is the limit; ask for less at a time, with first: most of it is %s",
		billed.Cost, l.MaxCost, strings.Join(named, ", "))
	err.Cost = &apierror.Cost{Value: billed.Cost, Limit: l.MaxCost, MostExpensive: named, Dearest: named}
	return gqlerror.Wrap(err)
}
