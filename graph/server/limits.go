package server

import (
	"context"
	"math"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// limits refuses operations that are too deep or too wide, before anything is
// calculated or executed for them.
type limits struct {
	maxDepth      int
	maxFields     int
	introspection bool
}

var _ interface {
	graphql.HandlerExtension
	graphql.OperationContextMutator
} = limits{}

// ExtensionName implements graphql.HandlerExtension.
func (limits) ExtensionName() string { return "Limits" }

// Validate implements graphql.HandlerExtension.
func (limits) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationContext implements graphql.OperationContextMutator.
func (l limits) MutateOperationContext(_ context.Context, opCtx *graphql.OperationContext) *gqlerror.Error {
	opCtx.DisableIntrospection = !l.introspection
	size := measurer{fragments: map[string]extent{}}.selections(opCtx.Operation.SelectionSet)
	switch {
	case size.depth > l.maxDepth:
		return gqlerror.Wrap(apierror.New(apierror.CodeQueryTooComplex,
			"the operation nests fields %d deep, and %d is the limit", size.depth, l.maxDepth))
	case size.fields > l.maxFields:
		return gqlerror.Wrap(apierror.New(apierror.CodeQueryTooComplex,
			"the operation selects more than %d fields, fragments written out; that is the limit", l.maxFields))
	case size.introspects && !l.introspection:
		return gqlerror.Wrap(apierror.New(apierror.CodeInvalid,
			"introspection is switched off on this server; the schema is published with each release"))
	}
	return nil
}

// extent is the size of a selection set with its fragments written out.
type extent struct {
	depth       int
	fields      int
	introspects bool
}

// measurer measures each fragment once: written out, n fragments that spread
// the next one twice have 2^n fields.
type measurer struct {
	fragments map[string]extent
}

func (m measurer) selections(set ast.SelectionSet) extent {
	var sum extent
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			size := m.selections(sel.SelectionSet)
			size.depth++
			size.fields = add(size.fields, 1)
			size.introspects = size.introspects || sel.Name == "__schema" || sel.Name == "__type"
			sum = sum.with(size)
		case *ast.InlineFragment:
			sum = sum.with(m.selections(sel.SelectionSet))
		case *ast.FragmentSpread:
			sum = sum.with(m.fragment(sel))
		}
	}
	return sum
}

// fragment needs no guard against cycles: validation has refused them.
func (m measurer) fragment(spread *ast.FragmentSpread) extent {
	if size, ok := m.fragments[spread.Name]; ok {
		return size
	}
	size := m.selections(spread.Definition.SelectionSet)
	m.fragments[spread.Name] = size
	return size
}

func (e extent) with(other extent) extent {
	return extent{
		depth:       max(e.depth, other.depth),
		fields:      add(e.fields, other.fields),
		introspects: e.introspects || other.introspects,
	}
}

// add stays at the largest number where a sum would pass it.
func add(a, b int) int {
	if a > math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}

// rulesWithoutSuggestions are the default rules, but none of them suggests the
// names of a schema that clients may not read. gqlgen's own switch covers fields alone.
func rulesWithoutSuggestions() *rules.Rules {
	r := rules.NewDefaultRules()
	r.ReplaceRule(rules.KnownArgumentNamesRule.Name, rules.KnownArgumentNamesRuleWithoutSuggestions.RuleFunc)
	r.ReplaceRule(rules.KnownTypeNamesRule.Name, rules.KnownTypeNamesRuleWithoutSuggestions.RuleFunc)
	r.ReplaceRule(rules.ValuesOfCorrectTypeRule.Name, rules.ValuesOfCorrectTypeRuleWithoutSuggestions.RuleFunc)
	return r
}

// Parsed documents are kept, because clients send the same few texts again and
// again. A long document is parsed each time: whoever sends a thousand different
// ones of the largest size must not fill the memory with them.
const (
	cachedDocuments      = 1000
	maxCachedDocumentLen = 16 << 10
)

type documentCache struct {
	*lru.LRU[*ast.QueryDocument]
	looked *prometheus.CounterVec
}

func newDocumentCache(looked *prometheus.CounterVec) documentCache {
	return documentCache{lru.New[*ast.QueryDocument](cachedDocuments), looked}
}

// Get implements graphql.Cache.
func (c documentCache) Get(ctx context.Context, text string) (*ast.QueryDocument, bool) {
	doc, ok := c.LRU.Get(ctx, text)
	result := miss
	if ok {
		result = hit
	}
	c.looked.WithLabelValues(result).Inc()
	return doc, ok
}

// Add implements graphql.Cache.
func (c documentCache) Add(ctx context.Context, text string, doc *ast.QueryDocument) {
	if len(text) <= maxCachedDocumentLen {
		c.LRU.Add(ctx, text, doc)
	}
}
