package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kairship-io/kairship/graph/cost"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/consistency"
	"github.com/kairship-io/kairship/pkg/quota"
)

// Limits of a request when Config leaves them at zero. Validation compares fields
// of the same name in pairs: a document of DefaultTokenLimit costs it at most
// half a second, twice as many tokens four times that.
const (
	DefaultRequestTimeout = 10 * time.Second
	DefaultMaxBodyBytes   = 1 << 20
	DefaultTokenLimit     = 3_000
	DefaultMaxDepth       = 20
	DefaultMaxFields      = 5_000
	DefaultMaxAliases     = 250
	DefaultMaxRootFields  = 50
	DefaultMaxCost        = 1_000_000
	// DefaultSharedBytes is enough for a thousand different pages a second. Config has no
	// default for it.
	DefaultSharedBytes = 64 << 20
)

// Config says what New serves and how much one request may ask.
type Config struct {
	// Schema is the executable schema. Required.
	Schema graphql.ExecutableSchema
	// Authenticator identifies who sends a request to /graphql. Required.
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
	// Prices is what the schema's fields cost beyond 1 for each object they are on; see
	// cost.Prices.
	Prices map[string]cost.Price
	// Quotas limit what one user may ask for; nil for the defaults.
	Quotas *quota.Users

	// Shared are the answers that equal queries share; the zero value for none.
	Shared SharedAnswers

	// PersistedDocuments is how many documents are remembered that clients name by
	// their hash; zero for DefaultPersistedDocuments, less for none.
	PersistedDocuments int
	// TrustedDocuments are the only documents that are executed; nil where all are.
	TrustedDocuments func() TrustedDocuments
	// AllowedOrigins are those whose pages may call the API beside the server's own, as
	// ParseOrigin returns them.
	AllowedOrigins []string
	// HSTS is how long browsers are told to reach the server over TLS alone, where they
	// reach it over TLS; zero for DefaultHSTS, less for not telling them.
	HSTS time.Duration

	// Streams bounds subscriptions and the connections that carry them.
	Streams StreamLimits
	// Sentry checks the callers of subscriptions for as long as they run; nil means
	// that they are checked at their beginning alone.
	Sentry *authz.SessionChecker
	// StreamResponses goes around every result of a subscription; nil for nothing.
	StreamResponses graphql.ResponseMiddleware
	// SessionKeys are the secrets, which all replicas share, that the cookies of
	// EventSources are sealed with; nil means that there are none.
	SessionKeys consistency.Keys
	// Registerer takes the metrics of operations and streams; nil for none.
	Registerer prometheus.Registerer
	// OperationNames are the names of operations that metrics tell apart. A client may
	// call its operation anything, so there is no label for any other name.
	OperationNames []string
	// SlowOperation is from when on a query or mutation gets a line of its own in the
	// log, with the operation's shape and no value in it; zero for never.
	SlowOperation time.Duration
	// OperationCost returns what that line reports about what the operation cost. It sees the
	// context of RequestScope.
	OperationCost func(context.Context) []slog.Attr
	// TraceDocuments has spans hold the operation's shape, without values.
	TraceDocuments bool

	// GraphiQL serves the page for exploring at /graphiql.
	GraphiQL bool
	// Introspection lets clients read the schema. Without it, errors suggest no names either.
	Introspection bool

	// Checks are what /readyz asks.
	Checks []Check

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
	setDefault(&c.RequestTimeout, DefaultRequestTimeout)
	setDefault(&c.MaxBodyBytes, DefaultMaxBodyBytes)
	setDefault(&c.TokenLimit, DefaultTokenLimit)
	setDefault(&c.MaxDepth, DefaultMaxDepth)
	setDefault(&c.MaxFields, DefaultMaxFields)
	setDefault(&c.MaxAliases, DefaultMaxAliases)
	setDefault(&c.MaxRootFields, DefaultMaxRootFields)
	setDefault(&c.MaxCost, DefaultMaxCost)
	if c.PersistedDocuments == 0 {
		c.PersistedDocuments = DefaultPersistedDocuments
	}
	if c.HSTS == 0 {
		c.HSTS = DefaultHSTS
	}
	c.Streams.setDefaults()
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
		c.NewTraceID = randomTraceID
	}
	return c, nil
}

func setDefault[T int | int64 | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

func randomTraceID() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
