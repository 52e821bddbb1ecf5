package telemetry

import (
	"context"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/graph/server/signature"
	"github.com/kairship-io/kairship/pkg/tracing"
)

// BeginSpan begins the span of an operation, within that of its request.
func (r *Record) BeginSpan(ctx context.Context) context.Context {
	ctx, r.span = tracing.Start(ctx, UnknownOperation, tracing.Server)
	return ctx
}

// UnknownOperation is the name of a span whose operation is not known.
const UnknownOperation = "GraphQL Operation"

// SetSpan has the record describe and end a span that began elsewhere.
func (r *Record) SetSpan(s tracing.Span) { r.span = s }

// EndSpan ends the span before the line is written.
func (r *Record) EndSpan() { r.span.End() }

// describeSpan describes the operation, by the semantic conventions for GraphQL.
func (r *Record) describeSpan(op *ast.OperationDefinition) {
	if !r.span.Recording() {
		return
	}
	r.span.Rename(string(op.Operation))
	r.span.Text(tracing.OperationType, string(op.Operation))
	if r.operation != "" {
		r.span.Text(tracing.OperationName, r.operation)
	}
	if r.recorder.Documents {
		r.span.Text(tracing.Document, signature.Of(op, maxTracedDocument))
	}
}

// maxTracedDocument is how much of a document goes into a span.
const maxTracedDocument = 4 << 10
