package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kairship-io/kairship/graph/cost"
	"github.com/kairship-io/kairship/graph/operation"
	"github.com/kairship-io/kairship/graph/server/answercache"
	"github.com/kairship-io/kairship/graph/server/document"
	"github.com/kairship-io/kairship/graph/server/limit"
	"github.com/kairship-io/kairship/graph/server/readiness"
	"github.com/kairship-io/kairship/graph/server/signin"
	"github.com/kairship-io/kairship/graph/server/subscription"
	"github.com/kairship-io/kairship/graph/server/trace"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/consistency"
	"github.com/kairship-io/kairship/pkg/quota"
)

// Defaults of Config, which has none for shared answers.
const (
	DefaultRequestTimeout = 10 * time.Second
	DefaultMaxBodyBytes   = 1 << 20
	// DefaultSharedBytes is enough for a thousand different pages a second.
	DefaultSharedBytes = 64 << 20
)

// Config configures what New serves, and limits it.
type Config struct {
	// Schema is the executable schema. Required.
	Schema graphql.ExecutableSchema
	// Authenticator authenticates requests to /graphql. Required.
	Authenticator authz.Authenticator
	// Authorizer reports whether that user is served. Required.
	Authorizer authz.Authorizer
	// RequestScope returns a context that carries what lives as long as one
	// operation, for example its dataloaders. It sees the user (authz.UserFrom).
	// Subscriptions have none: what they read must be as old as the event alone.
	RequestScope func(context.Context) context.Context

	// Begin, where not nil, takes what a request brings beside its operation, and
	// returns the context of the operation. An error refuses the request.
	Begin func(ctx context.Context, headers http.Header, extensions map[string]any) (context.Context, error)
	// BeginStream is the same for subscriptions.
	BeginStream func(ctx context.Context, headers http.Header, extensions map[string]any) (context.Context, error)

	// ResponseExtensions returns what goes into the response's extensions when the
	// operation is done; nil for nothing. It sees the context of RequestScope.
	ResponseExtensions func(context.Context) map[string]any

	// RequestTimeout is the deadline of one operation. Parts that are done by then
	// are returned, the others carry CodeTimeout.
	RequestTimeout time.Duration
	// MaxBodyBytes is the size of the largest body that is read, and of the longest query string.
	MaxBodyBytes int64
	// Limits limit single operations.
	limit.Limits
	// Prices is what the schema's fields cost beyond 1 for each object they are on; see
	// cost.Prices.
	Prices map[string]cost.Price
	// Quotas limit what one user may ask for; nil for the defaults.
	Quotas *quota.Users

	// Shared are the answers that equal queries share; the zero value for none.
	Shared answercache.Options

	// PersistedDocuments is how many documents are remembered that clients name by
	// their hash; zero for document.DefaultPersisted, less for none.
	PersistedDocuments int
	// Operations are the named operations that the REST API has; none for no such API. Clients of GraphQL may name them too.
	Operations []*operation.Operation
	// RPC is the definition of the same operations for gRPC, gRPC-Web and Connect; nil where they are not served so.
	RPC protoreflect.ServiceDescriptor
	// MCP serves some of the operations to assistants, at /mcp.
	MCP bool
	// MCPWrites adds the tools that write.
	MCPWrites bool
	// OpenAPI is the document that describes the REST API.
	OpenAPI []byte
	// TrustedDocuments are the only documents that are executed beside those of Operations; nil where all are.
	TrustedDocuments func() document.Trusted
	// AllowedOrigins are those whose pages may call the API beside the server's own, as
	// origin.Parse returns them.
	AllowedOrigins []string
	// HSTS is how long browsers are to reach the server over TLS alone, where they
	// reach it over TLS; zero for DefaultHSTS, less for no header.
	HSTS time.Duration

	// Streams bounds subscriptions and the connections that carry them.
	Streams subscription.Limits
	// Sessions checks the callers of subscriptions for as long as they run; nil means
	// that they are checked at their beginning alone.
	Sessions *authz.SessionChecker
	// StreamResponses goes around every result of a subscription; nil for nothing.
	StreamResponses graphql.ResponseMiddleware
	// AroundMutations goes around each field of a mutation's first level; nil for nothing.
	AroundMutations graphql.FieldMiddleware
	// SessionKeys are the secrets, which all replicas share, that the cookies of
	// EventSources are sealed with; nil means that there are none.
	SessionKeys consistency.Keys
	// SignIn signs people in to the pages; nil where they cannot.
	SignIn *signin.Handler
	// Registerer takes the metrics of operations and streams; nil for none.
	Registerer prometheus.Registerer
	// OperationNames are the names of operations that are labels of metrics. A client may give its
	// operation any name, so there is no label for any other.
	OperationNames []string
	// SlowOperation is from when on a query or mutation gets a line of its own in the
	// log, with the operation's shape and no value in it; zero for never.
	SlowOperation time.Duration
	// OperationCost returns what that line reports about what the operation cost. It sees the
	// context of RequestScope.
	OperationCost func(context.Context) []slog.Attr
	// TraceDocuments has spans hold the operation's shape, without values.
	TraceDocuments bool

	// Console serves the console at /. Without it, / leads to GraphiQL.
	Console bool
	// GraphiQL serves the page for exploring at /graphiql.
	GraphiQL bool
	// Introspection lets clients read the schema. Without it, errors suggest no names either.
	Introspection bool

	// Checks are what /readyz asks.
	Checks []readiness.Check

	// Logger gets one line per operation, which is the audit line where the caller is
	// known, and one per failure whose cause callers do not see. nil means slog.Default().
	Logger *slog.Logger
	// InstanceExists reports whether there is an instance of a name, for the audit
	// lines; see audit.Log. nil means that there is none.
	InstanceExists func(ctx context.Context, name string) bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// NewTraceID makes the trace id of a request that brings none: 32 lower-case
	// hexadecimal digits. nil means random ones.
	NewTraceID func() string
}

func (c Config) withDefaults() (Config, error) {
	if c.Schema == nil || c.Authenticator == nil || c.Authorizer == nil {
		return c, errors.New("server: Config needs a Schema, an Authenticator and an Authorizer")
	}
	limit.SetDefault(&c.RequestTimeout, DefaultRequestTimeout)
	limit.SetDefault(&c.MaxBodyBytes, DefaultMaxBodyBytes)
	c.Limits.SetDefaults()
	if c.PersistedDocuments == 0 {
		c.PersistedDocuments = document.DefaultPersisted
	}
	if c.HSTS == 0 {
		c.HSTS = DefaultHSTS
	}
	c.Streams.SetDefaults()
	if c.RequestScope == nil {
		c.RequestScope = func(ctx context.Context) context.Context { return ctx }
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Quotas == nil {
		c.Quotas = quota.New(quota.Limits{}, c.Now)
	}
	if c.NewTraceID == nil {
		c.NewTraceID = trace.NewID
	}
	return c, nil
}
