// Package presenter converts errors to what the caller may see, and logs their causes.
package presenter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/kairship-io/kairship/graph/server/limit"
	"github.com/kairship-io/kairship/graph/server/redact"
	"github.com/kairship-io/kairship/graph/server/response"
	"github.com/kairship-io/kairship/graph/server/telemetry"
	"github.com/kairship-io/kairship/graph/server/trace"
	"github.com/kairship-io/kairship/graph/server/validation"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/quota"
)

// panicError is a panic of a resolver on its way to the presenter.
type panicError struct {
	value any
	stack string
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// Recover implements graphql.RecoverFunc: it converts a panic into an error for the presenter.
func Recover(_ context.Context, value any) error {
	return &panicError{value: value, stack: string(debug.Stack())}
}

// presenter logs what callers may not see.
type presenter struct {
	logger *slog.Logger
}

// New returns the presenter.
func New(logger *slog.Logger) graphql.ErrorPresenterFunc { return presenter{logger}.present }

// present implements graphql.ErrorPresenterFunc. Nothing of the original error
// is passed on but what classify takes out of it.
func (p presenter) present(ctx context.Context, err error) *gqlerror.Error {
	if held := quota.From(ctx); held != nil {
		_ = held.Hold(limit.ErrorMemory) // A refusal is met by the next field.
		if held.Refusal() != nil && isQuery(ctx) {
			return nil // The refusal will be the whole answer.
		}
	}
	e := classify(ctx, err)
	out := &gqlerror.Error{Message: e.Message, Path: responsePath(ctx, err), Locations: locations(ctx, err)}
	out.Extensions = map[string]any{"code": string(e.Code)}
	if e.Argument != "" {
		out.Extensions[validation.ArgumentKey] = e.Argument
	}
	if len(e.Fields) > 0 {
		out.Extensions["fields"] = e.Fields
	}
	if e.CurrentVersion != "" {
		out.Extensions["currentResourceVersion"] = e.CurrentVersion
	}
	if e.Instance != "" {
		out.Extensions["instance"] = e.Instance
	}
	if e.RetryAfter > 0 {
		out.Extensions["retryAfter"] = response.RetryAfter(e.RetryAfter)
	}
	if e.Cost != nil {
		out.Extensions["cost"] = e.Cost
	}
	if id := trace.From(ctx).ID; id != "" {
		out.Extensions["traceId"] = id
	}
	p.log(ctx, e, out.Path)
	return out
}

// classify finds the error to show. Its Cause is for the log.
func classify(ctx context.Context, err error) *apierror.Error {
	if e, ok := errors.AsType[*apierror.Error](err); ok {
		return e
	}
	if errors.Is(err, context.DeadlineExceeded) || (errors.Is(err, context.Canceled) && ctx.Err() != nil) {
		if fc := graphql.GetFieldContext(ctx); fc != nil && fc.Object == "Mutation" {
			return apierror.New(apierror.CodeTimeout, "the deadline of the request passed before this mutation was answered: read the object to see whether it was changed")
		}
		return apierror.New(apierror.CodeTimeout, "the deadline of the request passed before this part was done")
	}
	g, ok := errors.AsType[*gqlerror.Error](err)
	if !ok {
		return internal(err)
	}
	// gqlgen wraps what a resolver returned; its own text would add the place, and make one cause look like many.
	cause := err
	if g.Err != nil {
		cause = g.Err
	}
	argument, _ := g.Extensions[validation.ArgumentKey].(string)
	switch g.Extensions["code"] {
	case errcode.ParseFailed, errcode.ValidationFailed:
		// gqlparser's limits have no code of their own: "exceeded token limit of 3000".
		if strings.HasPrefix(g.Message, "exceeded ") {
			return apierror.New(apierror.CodeQueryTooComplex, "the document %s", g.Message)
		}
		return apierror.Invalid(argument, "%s", redact.Message(g.Message))
	}
	if _, ok := errors.AsType[*panicError](err); ok {
		return internal(cause)
	}
	if argument := argumentOf(ctx, g.Path); argument != "" {
		return apierror.Invalid(redact.Path(argument), "%s", redact.Message(g.Message))
	}
	return internal(cause)
}

func internal(err error) *apierror.Error {
	return apierror.Wrap(err, apierror.CodeInternal, "internal error")
}

// argumentOf names the argument whose value could not be read. gqlgen appends
// the argument to the path of its field then. Only then are the field's
// arguments still missing, so no error of a resolver is taken for one.
func argumentOf(ctx context.Context, path ast.Path) string {
	fc := graphql.GetFieldContext(ctx)
	if fc == nil || fc.Args != nil || fc.Field.Field == nil || fc.Field.Definition == nil {
		return ""
	}
	field := fc.Path()
	if len(path) <= len(field) || path[:len(field)].String() != field.String() {
		return ""
	}
	argument := path[len(field):]
	if name, ok := argument[0].(ast.PathName); !ok || fc.Field.Definition.Arguments.ForName(string(name)) == nil {
		return ""
	}
	return argument.String()
}

// responsePath returns the path of the field that failed. Errors before execution
// have none: the "path" that gqlparser gives them leads into the variables.
func responsePath(ctx context.Context, err error) ast.Path {
	fc := graphql.GetFieldContext(ctx)
	if fc == nil {
		return nil
	}
	if g, ok := errors.AsType[*gqlerror.Error](err); ok && g.Path != nil && argumentOf(ctx, g.Path) == "" {
		return g.Path
	}
	return fc.Path()
}

// locations returns the places in the document. gqlgen sets them for the errors of
// resolvers, and forgets them for panics and for arguments that it cannot read.
func locations(ctx context.Context, err error) []gqlerror.Location {
	if g, ok := errors.AsType[*gqlerror.Error](err); ok && len(g.Locations) > 0 {
		return g.Locations
	}
	if fc := graphql.GetFieldContext(ctx); fc != nil && fc.Field.Field != nil && fc.Field.Position != nil {
		return []gqlerror.Location{{Line: fc.Field.Position.Line, Column: fc.Field.Position.Column}}
	}
	return nil
}

func isQuery(ctx context.Context) bool {
	op := graphql.GetOperationContext(ctx).Operation
	return op != nil && op.Operation == ast.Query
}

func (p presenter) log(ctx context.Context, e *apierror.Error, path ast.Path) {
	rec := telemetry.From(ctx)
	f := telemetry.Failure{Code: e.Code, Instance: e.Instance}
	level := slog.LevelWarn
	switch e.Code {
	case apierror.CodeInternal:
		level = slog.LevelError
		f.Cause = e.Message
		if e.Cause != nil {
			f.Cause = e.Cause.Error()
		}
	case apierror.CodeInstanceUnavailable, apierror.CodeIndexUnavailable, apierror.CodeTimeout:
		if e.Cause != nil {
			f.Cause = e.Cause.Error()
		}
	default:
		// The request's log line counts the caller's own mistakes, and the caller can find their
		// cause.
	}
	if !rec.AddFailure(f) {
		return
	}
	attrs := []slog.Attr{
		slog.String("code", string(e.Code)),
		slog.String("path", placeOf(ctx, path)),
		slog.String("operation", rec.OperationName()),
		slog.String("cause", f.Cause),
	}
	if e.Instance != "" {
		attrs = append(attrs, slog.String("instance", e.Instance))
	}
	if panicked, ok := errors.AsType[*panicError](e.Cause); ok {
		attrs = append(attrs, slog.String("stack", panicked.stack))
	}
	p.logger.LogAttrs(ctx, level, "part of a request failed", attrs...)
}

// placeOf returns a path of the response as the log has it: with the names that the schema
// gives to fields, because an alias may be anything.
func placeOf(ctx context.Context, path ast.Path) string {
	fc := graphql.GetFieldContext(ctx)
	if fc == nil {
		return path.String()
	}
	var place ast.Path
	for ; fc != nil; fc = fc.Parent {
		switch {
		case fc.Index != nil:
			place = append(place, ast.PathIndex(*fc.Index))
		case fc.Field.Field != nil:
			place = append(place, ast.PathName(fc.Field.Name))
		}
	}
	slices.Reverse(place)
	return place.String()
}
