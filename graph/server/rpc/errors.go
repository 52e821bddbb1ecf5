package rpc

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// domain is that of the reasons of errors.
const domain = "kairship.io"

// codes are those of gRPC for the codes of errors; all others are internal.
var codes = map[apierror.Code]connect.Code{
	apierror.CodeUnauthenticated:     connect.CodeUnauthenticated,
	apierror.CodeForbidden:           connect.CodePermissionDenied,
	apierror.CodeNotFound:            connect.CodeNotFound,
	apierror.CodeAlreadyExists:       connect.CodeAlreadyExists,
	apierror.CodeConflict:            connect.CodeAborted,
	apierror.CodeInvalid:             connect.CodeInvalidArgument,
	apierror.CodeStaleCursor:         connect.CodeInvalidArgument,
	apierror.CodeQueryTooComplex:     connect.CodeInvalidArgument,
	apierror.CodeInstanceUnavailable: connect.CodeUnavailable,
	apierror.CodeIndexUnavailable:    connect.CodeUnavailable,
	apierror.CodeRateLimited:         connect.CodeResourceExhausted,
	apierror.CodeTimeout:             connect.CodeDeadlineExceeded,
}

// CodeOf is the code of gRPC for a code of the API.
func CodeOf(code apierror.Code) connect.Code {
	if c, ok := codes[code]; ok {
		return c
	}
	return connect.CodeInternal
}

// errorOf is the error of an answer without an object, of at least one error: its first one, with google.rpc details.
func errorOf(errs gqlerror.List) *connect.Error {
	first := errs[0]
	code, _ := first.Extensions["code"].(string)
	out := connect.NewError(CodeOf(apierror.Code(code)), errors.New(first.Message))
	reason := &errdetails.ErrorInfo{Reason: code, Domain: domain, Metadata: map[string]string{}}
	for name, value := range first.Extensions {
		if name != "code" {
			reason.Metadata[name] = textOf(value)
		}
	}
	addDetail(out, reason)
	if wrong := violations(errs); len(wrong.GetFieldViolations()) > 0 {
		addDetail(out, wrong)
	}
	if seconds, ok := first.Extensions["retryAfter"].(int); ok {
		addDetail(out, retryAfter(time.Duration(seconds)*time.Second))
	}
	return out
}

func retryAfter(d time.Duration) *errdetails.RetryInfo {
	return &errdetails.RetryInfo{RetryDelay: durationpb.New(d)}
}

// violations are the arguments that are wrong.
func violations(errs gqlerror.List) *errdetails.BadRequest {
	wrong := &errdetails.BadRequest{}
	add := func(argument, message string) {
		wrong.FieldViolations = append(wrong.FieldViolations, &errdetails.BadRequest_FieldViolation{Field: argument, Description: message})
	}
	for _, err := range errs {
		if fields, ok := err.Extensions["fields"].([]apierror.Field); ok {
			for _, field := range fields {
				add(field.Argument, field.Message)
			}
			continue
		}
		if argument, ok := err.Extensions["argument"].(string); ok {
			add(strings.TrimPrefix(argument, "$"), err.Message) // A variable is a field of the request.
		}
	}
	return wrong
}

func addDetail(to *connect.Error, detail proto.Message) {
	if d, err := connect.NewErrorDetail(detail); err == nil {
		to.AddDetail(d)
	}
}

// textOf is a value of an error's extensions, as JSON where it is no text.
func textOf(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}

// statusKeeper keeps the status that the log has of an answer whose protocol has another one.
type statusKeeper interface{ Keep(status int) }

// Fail answers a request that is refused before its method.
func (s *Service) Fail(w http.ResponseWriter, r *http.Request, presented *gqlerror.Error) {
	out := errorOf(gqlerror.List{presented})
	code, _ := presented.Extensions["code"].(string)
	if keeper, ok := w.(statusKeeper); ok {
		keeper.Keep(apierror.Code(code).HTTPStatus())
	}
	if !s.errors.IsSupported(r) {
		w.Header().Set("Accept-Post", "application/json, application/proto, application/grpc, application/grpc-web")
		http.Error(w, out.Message(), apierror.Code(code).HTTPStatus())
		return
	}
	s.errors.Write(w, r, out) //nolint:errcheck // The client went away.
}
