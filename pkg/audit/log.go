package audit

import (
	"context"
	"log/slog"
	"time"
)

// Message is the message of the lines, by which they are found in the log.
const Message = "audit"

// maxNames limits the instances that a line names. It always has their number.
const maxNames = 50

// Log writes the lines.
type Log struct {
	// Logger receives the lines. They are written whatever its level: an administrator who reduces
	// the log does not mean the audit.
	Logger *slog.Logger
	// Exists reports whether there is an instance of a name. It is asked when the
	// operation is over and answered, so that how long it takes does not reveal
	// anything. nil means that there is none.
	Exists func(ctx context.Context, name string) bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Operation says what was done. Its texts come from Kairship or from parsed
// documents, where they are identifiers, and never from values.
type Operation struct {
	// User is the name of the caller.
	User string
	// Via is the way in: "graphql", "rest", "grpc" or "mcp", followed by the transport of a subscription where the way has
	// several ("graphql-sse", "graphql-websocket", "rest-sse").
	Via string
	// Connection is the trace id of the connection that it shares with others; empty
	// for one of its own.
	Connection string
	// Name and Type of the operation; a query without a name has none.
	Name, Type string
	// Status is that of the HTTP response.
	Status   int
	Duration time.Duration
	// Outcome is what came of it: "ok", "partial", "failed" or "refused"; empty where
	// the line is about its beginning.
	Outcome string
	// Errors counts the errors of the response by code; nil where there are none.
	Errors any
	// Exec is set for a command that was run in a container; nil otherwise.
	Exec *Exec
	// Stream is set for what goes on for long, which has a line when it begins and one
	// when it ends.
	Stream *Stream
}

// Exec is a command that was run in a container. It is the exception among what lines have: its texts
// are as the caller sent them.
type Exec struct {
	// Cluster is the member cluster; empty for the instance itself.
	Cluster        string
	Namespace, Pod string
	// Container is empty where the caller named none.
	Container string
	Command   []string
	// Truncated: the command has more words.
	Truncated bool
}

func (e *Exec) attr() slog.Attr {
	attrs := []any{
		slog.String("cluster", e.Cluster), slog.String("namespace", e.Namespace), slog.String("pod", e.Pod),
		slog.String("container", e.Container), slog.Any("command", e.Command),
	}
	if e.Truncated {
		attrs = append(attrs, slog.Bool("truncated", true))
	}
	return slog.Group("exec", attrs...)
}

// Phase says which line of a stream it is.
type Phase string

// The lines of a stream.
const (
	Begin Phase = "begin"
	End   Phase = "end"
)

// Stream is what the lines about a stream say beside the rest.
type Stream struct {
	Phase Phase
	// Reason is why it ended, in a word of Kairship's own, and Events is how much was sent.
	Reason string
	Events int64
}

func (s *Stream) attrs() []slog.Attr {
	attrs := []slog.Attr{slog.String("phase", string(s.Phase))}
	if s.Phase == End {
		attrs = append(attrs, slog.String("reason", s.Reason), slog.Int64("events", s.Events))
	}
	return attrs
}

// Write writes the line of an operation. The trace id and the address of the
// caller are those of the context, and are added by the logger's handler.
func (l *Log) Write(ctx context.Context, r *Record, op Operation) {
	now, exists := l.Now, l.Exists
	if now == nil {
		now = time.Now
	}
	if exists == nil {
		exists = func(context.Context, string) bool { return false }
	}
	permitted, refused := r.names(func(name string) bool { return exists(ctx, name) })
	if op.Stream == nil || op.Stream.Phase == End {
		decided.WithLabelValues(op.Via, string(r.Decision())).Inc()
	}
	line := slog.NewRecord(now(), slog.LevelInfo, Message, 0)
	line.AddAttrs(
		slog.String("user", op.User),
		slog.String("via", op.Via),
		slog.String("operation", op.Name),
		slog.String("type", op.Type),
		slog.String("decision", string(r.Decision())),
		slog.Any("instances", first(permitted)),
		slog.Int("instanceCount", len(permitted)),
		slog.Int("status", op.Status),
		slog.Float64("durationMs", float64(op.Duration.Microseconds())/1000),
	)
	if op.Outcome != "" {
		line.AddAttrs(slog.String("outcome", op.Outcome))
	}
	if op.Connection != "" {
		line.AddAttrs(slog.String("connection", op.Connection))
	}
	if op.Exec != nil {
		line.AddAttrs(op.Exec.attr())
	}
	if op.Stream != nil {
		line.AddAttrs(op.Stream.attrs()...)
	}
	if len(refused) > 0 {
		line.AddAttrs(slog.Any("refused", first(refused)))
	}
	if op.Errors != nil {
		line.AddAttrs(slog.Any("errors", op.Errors))
	}
	_ = l.Logger.Handler().Handle(ctx, line) // There is nowhere to say that a log can't be written.
}

// first are so many names as a line holds; never nil, so that a reader of JSON
// finds a list.
func first(names []string) []string {
	return append([]string{}, names[:min(len(names), maxNames)]...)
}
