package server

import (
	"context"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/graph/server/signature"
	"github.com/kairship-io/kairship/pkg/tracing"
)

// beginSpan begins the span of an operation, within that of its request.
func (r *request) beginSpan(ctx context.Context) context.Context {
	ctx, r.span = tracing.Start(ctx, unknownOperationSpan, tracing.Server)
	return ctx
}

// unknownOperationSpan is what a span is called whose operation is none.
const unknownOperationSpan = "GraphQL Operation"

// describeSpan says what the operation is, by the semantic conventions for GraphQL.
func (r *request) describeSpan(op *ast.OperationDefinition) {
	if !r.span.Recording() {
		return
	}
	r.span.Rename(string(op.Operation))
	r.span.Text(tracing.OperationType, string(op.Operation))
	if r.operation != "" {
		r.span.Text(tracing.OperationName, r.operation)
	}
	if r.journal != nil && r.journal.documents {
		r.span.Text(tracing.Document, signature.Of(op, maxTracedDocument))
	}
}

// maxTracedDocument is how much of a document goes into a span.
const maxTracedDocument = 4 << 10
