package server

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// maxRequestErrors is how many errors a document gets at once. Nobody mends
// more, and a document of errors alone would have thousands.
const maxRequestErrors = 10

// httpTransport serves operations with one response over POST and GET. gqlgen's
// own transports differ from the GraphQL over HTTP specification in their
// statuses, and repeat a body that they cannot read.
type httpTransport struct {
	present      graphql.ErrorPresenterFunc
	begin        func(context.Context, http.Header, map[string]any) (context.Context, error)
	timeout      time.Duration
	maxBodyBytes int64
	tokenLimit   int
}

var _ graphql.Transport = httpTransport{}

// Supports implements graphql.Transport: it is the last transport, so that whatever
// no other one takes is answered here with what is wrong about it.
func (httpTransport) Supports(*http.Request) bool { return true }

// Do implements graphql.Transport.
func (t httpTransport) Do(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor) {
	mediaType, acceptable := negotiate(r)
	// Panics of resolvers do not come here; this is for gqlgen's own and ours.
	defer func() {
		if v := recover(); v != nil {
			t.fail(r.Context(), w, mediaType, http.StatusInternalServerError, recoverPanic(r.Context(), v))
		}
	}()
	if !acceptable {
		t.refuse(w, r, mediaType, refuse(http.StatusNotAcceptable, "", "a response is %s or %s, and the Accept header has neither", mediaGraphQL, mediaJSON))
		return
	}
	params, refused := t.params(w, r)
	if refused != nil {
		t.refuse(w, r, mediaType, refused)
		return
	}
	params.Headers = r.Header
	t.execute(w, r, exec, mediaType, params)
}

func (t httpTransport) params(w http.ResponseWriter, r *http.Request) (*graphql.RawParams, *refusal) {
	if r.Method == http.MethodGet {
		return getParams(r, t.maxBodyBytes)
	}
	if !isJSON(r.Header) {
		return nil, refuse(http.StatusUnsupportedMediaType, "", "the Content-Type of a POST must be %s in UTF-8", mediaJSON)
	}
	return postParams(w, r, t.maxBodyBytes)
}

func (t httpTransport) execute(w http.ResponseWriter, r *http.Request, exec graphql.GraphExecutor, mediaType string, params *graphql.RawParams) {
	ctx, cancel := context.WithTimeout(r.Context(), t.timeout)
	defer cancel()
	opCtx, errs := exec.CreateOperationContext(ctx, params)
	requestFrom(ctx).setOperation(opCtx)
	if len(errs) > 0 {
		t.refuseOperation(ctx, w, exec, mediaType, opCtx, errs)
		return
	}
	switch kind := opCtx.Operation.Operation; {
	case kind == ast.Subscription:
		t.refuse(w, r, mediaType, refuse(http.StatusBadRequest, "", "a subscription has many responses, and this request can have one"))
		return
	case kind != ast.Query && r.Method == http.MethodGet:
		w.Header().Set("Allow", http.MethodPost)
		t.refuse(w, r, mediaType, refuse(http.StatusMethodNotAllowed, "", "GET is for queries: send a %s with POST", kind))
		return
	}
	if t.begin != nil {
		begun, err := t.begin(ctx, r.Header, params.Extensions)
		if err != nil {
			t.fail(ctx, w, mediaType, apierror.CodeOf(err).HTTPStatus(), err)
			return
		}
		ctx = begun
	}
	responses, ctx := exec.DispatchOperation(ctx, opCtx)
	resp := responses(ctx)
	if resp == nil {
		// gqlgen gives no response when the context ended before execution began.
		t.fail(ctx, w, mediaType, apierror.CodeTimeout.HTTPStatus(), ctx.Err())
		return
	}
	writeResult(w, mediaType, resp)
}

// refuseOperation answers a document that does not parse, is not valid, or
// does not fit its variables or the limits. Old clients, those that accept
// application/json alone, look for errors in a 200.
func (t httpTransport) refuseOperation(ctx context.Context, w http.ResponseWriter, exec graphql.GraphExecutor, mediaType string, opCtx *graphql.OperationContext, errs gqlerror.List) {
	if opCtx.Doc != nil && opCtx.Operation == nil {
		errs = gqlerror.List{gqlerror.Wrap(unknownOperation(opCtx.OperationName))}
	}
	errs = distinct(errs)
	errs = errs[:min(len(errs), maxRequestErrors)]
	nameArguments(opCtx, t.tokenLimit, errs)
	resp := exec.DispatchError(graphql.WithOperationContext(ctx, opCtx), errs)
	status := http.StatusBadRequest
	if mediaType == mediaJSON {
		status = http.StatusOK
	}
	writeErrors(w, mediaType, status, resp.Errors)
}

// distinct drops repeated errors: gqlparser checks a fragment by itself and once more where it is used.
func distinct(errs gqlerror.List) gqlerror.List {
	seen := map[string]bool{}
	return slices.DeleteFunc(errs, func(err *gqlerror.Error) bool {
		text := err.Error()
		repeated := seen[text]
		seen[text] = true
		return repeated
	})
}

// unknownOperation replaces gqlgen's error, which reads "operation  not found" where no name was given.
func unknownOperation(name string) *apierror.Error {
	if name == "" {
		return apierror.Invalid("operationName", "the document has several operations: name the one to run")
	}
	return apierror.Invalid("operationName", "the document has no operation of this name")
}

func (t httpTransport) refuse(w http.ResponseWriter, r *http.Request, mediaType string, refused *refusal) {
	t.fail(r.Context(), w, mediaType, refused.status, refused.err)
}

func (t httpTransport) fail(ctx context.Context, w http.ResponseWriter, mediaType string, status int, err error) {
	writeErrors(w, mediaType, status, gqlerror.List{t.present(ctx, err)})
}
