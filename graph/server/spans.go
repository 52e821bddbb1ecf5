package server

import (
	"context"
	"net/http"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/graph/server/signature"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/tracing"
)

// beginHTTP begins the span of a request to an address, and finds its trace id:
// that of the span, and without tracing that of the caller or a new one. Callers whose
// credentials are valid may have their traces kept. The authenticator remembers what it
// finds, so that the global cluster is not asked twice.
func beginHTTP(r *http.Request, route string, newTraceID func() string, known authz.Authenticator) (context.Context, tracing.Span, string) {
	ctx := r.Context()
	if !tracing.On() {
		traceID := tracing.CallersTraceID(r.Header)
		if traceID == "" {
			traceID = newTraceID()
		}
		return ctx, tracing.Span{}, traceID
	}
	method := tracing.MethodOf(r)
	ctx, span := tracing.Serve(ctx, r.Header, method+" "+route, func() bool {
		credentials := authz.RequestCredentials(r)
		if credentials.Empty() {
			return false
		}
		_, err := known.Authenticate(r.Context(), credentials)
		return err == nil
	})
	span.Text(tracing.Method, method)
	span.Text(tracing.Route, route)
	return ctx, span, span.TraceID()
}

// endHTTP ends the span of a request with the status of its answer. What goes on
// for long ends it when the answer begins: a span is not visible before its end.
func endHTTP(span tracing.Span, status int) {
	span.Number(tracing.Status, status)
	if status >= http.StatusInternalServerError {
		span.Fail(http.StatusText(status))
	}
	span.End()
}

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
