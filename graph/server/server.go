package server

import (
	"context"
	"io"
	"log/slog"
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/kairship-io/kairship/graph/cost"
	"github.com/kairship-io/kairship/graph/operation"
	"github.com/kairship-io/kairship/graph/server/answercache"
	"github.com/kairship-io/kairship/graph/server/console"
	"github.com/kairship-io/kairship/graph/server/cookie"
	"github.com/kairship-io/kairship/graph/server/document"
	"github.com/kairship-io/kairship/graph/server/execution"
	"github.com/kairship-io/kairship/graph/server/graphiql"
	"github.com/kairship-io/kairship/graph/server/httptransport"
	"github.com/kairship-io/kairship/graph/server/identity"
	"github.com/kairship-io/kairship/graph/server/limit"
	"github.com/kairship-io/kairship/graph/server/mcp"
	"github.com/kairship-io/kairship/graph/server/origin"
	"github.com/kairship-io/kairship/graph/server/presenter"
	"github.com/kairship-io/kairship/graph/server/readiness"
	"github.com/kairship-io/kairship/graph/server/reference"
	"github.com/kairship-io/kairship/graph/server/rest"
	"github.com/kairship-io/kairship/graph/server/rpc"
	"github.com/kairship-io/kairship/graph/server/session"
	"github.com/kairship-io/kairship/graph/server/signin"
	"github.com/kairship-io/kairship/graph/server/sse"
	"github.com/kairship-io/kairship/graph/server/subscription"
	"github.com/kairship-io/kairship/graph/server/telemetry"
	"github.com/kairship-io/kairship/graph/server/trace"
	"github.com/kairship-io/kairship/graph/server/validation"
	"github.com/kairship-io/kairship/graph/server/websocket"
	"github.com/kairship-io/kairship/graph/warning"
	"github.com/kairship-io/kairship/pkg/audit"
)

// Handler is the handler of the whole API.
type Handler struct {
	mux     *http.ServeMux
	secured http.Handler
	streams *subscription.Manager
}

var _ http.Handler = (*Handler)(nil)

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.secured.ServeHTTP(w, r) }

// Stopping has /readyz say that the process is about to stop. Everything is served
// as before.
func (h *Handler) Stopping() { h.streams.Stop() }

// IsStopping reports whether the process is about to stop.
func (h *Handler) IsStopping() bool { return h.streams.IsStopping() }

// Drain ends all subscriptions and WebSockets, so that their clients connect again,
// elsewhere; /readyz fails from now on. It returns once they have ended, or
// with the context's error after it has cut off those that were left. http.Server
// knows nothing of WebSockets, so call it beside Shutdown.
func (h *Handler) Drain(ctx context.Context) error { return h.streams.Drain(ctx) }

// New makes the handler of the whole API: /graphql, /graphql/session, /api/v1, the methods of gRPC, /mcp, /healthz,
// /readyz and, when switched on, /session, /graphiql, and the console at every other
// address. It fails only when cfg misses something that is required.
func New(cfg Config) (*Handler, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	logger := slog.New(trace.LogHandler(cfg.Logger.Handler()))

	h := &Handler{mux: http.NewServeMux(), streams: subscription.New(cfg.Streams, cfg.Sessions, cfg.Registerer)}
	api, err := newEndpoint(cfg, h.streams, logger)
	if err != nil {
		return nil, err
	}
	ready := readiness.New(cfg.Checks, h.streams.IsStopping, logger, cfg.Now)
	var graphql http.Handler = api
	if cfg.SignIn != nil {
		graphql = cfg.SignIn.Bearer(api)
		h.mux.Handle(signin.Path, cfg.SignIn)
		h.mux.Handle(signin.Path+"/", cfg.SignIn)
	}
	h.mux.Handle("/graphql", api.Origins.Handler(graphql))
	if len(cfg.Operations) > 0 {
		h.mux.Handle(operation.Prefix, api.Origins.Handler(graphql))
	}
	// The page shows the types of the schema: it is there where clients may read these.
	if len(cfg.OpenAPI) > 0 && cfg.Introspection {
		page, err := reference.Handler(cfg.OpenAPI, api.Origins.Handler(graphql))
		if err != nil {
			return nil, err
		}
		h.mux.Handle(operation.Prefix+"{$}", page)
	}
	if api.rpc != nil {
		// No cookie counts here.
		for _, path := range []string{api.rpc.Path, rpc.ReflectionPath, rpc.ReflectionAlphaPath} {
			h.mux.Handle(path, api.Origins.Handler(api))
		}
		h.mux.Handle(rpc.Health(api.rpc, ready))
	}
	if cfg.MCP {
		var confirmations *cookie.Jar
		if cfg.MCPWrites {
			confirmations = mcp.Confirmations(cfg.SessionKeys, cfg.Now)
		}
		tools, err := mcp.New(cfg.Operations, cfg.Schema.Schema(), api, confirmations, cfg.MaxBodyBytes, logger)
		if err != nil {
			return nil, err
		}
		api.tools = tools
		h.mux.Handle(mcp.Path, api)
	}
	h.mux.Handle(session.Path, api)
	h.mux.HandleFunc("GET /healthz", healthz)
	h.mux.Handle("GET /readyz", ready)
	if cfg.GraphiQL {
		page := graphiql.Handler()
		h.mux.Handle("GET "+graphiql.Path, page)
		h.mux.Handle("GET "+graphiql.Path+"/", page)
	}
	switch {
	case cfg.Console:
		h.mux.Handle("/", console.Handler())
	case cfg.GraphiQL:
		h.mux.Handle("GET /{$}", http.RedirectHandler(graphiql.Path, http.StatusFound))
	}
	h.secured = secured(cfg.HSTS, h.mux)
	return h, nil
}

// healthz reports that the process serves HTTP, and nothing about what it needs: a
// restart mends the first, and never the second.
func healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	io.WriteString(w, "ok\n") //nolint:errcheck // The prober went away.
}

func newEndpoint(cfg Config, streams *subscription.Manager, logger *slog.Logger) (*endpoint, error) {
	e := &endpoint{
		Executor: execution.Executor{
			Present: presenter.New(logger), Begin: cfg.Begin, BeginStream: cfg.BeginStream, Timeout: cfg.RequestTimeout, TokenLimit: cfg.TokenLimit,
			Quotas: cfg.Quotas, LimitMetrics: limit.NewMetrics(cfg.Registerer), Origins: origin.NewPolicy(cfg.AllowedOrigins),
			Answers: answercache.New(cfg.Schema.Schema(), cfg.Shared, cfg.Now),
		},
		identifier: identity.Identifier{Authenticator: cfg.Authenticator, Authorizer: cfg.Authorizer},
		recorder: &telemetry.Recorder{
			Logger: logger,
			Audit:  &audit.Log{Logger: logger, Exists: cfg.InstanceExists, Now: cfg.Now},
			Now:    cfg.Now, Metrics: telemetry.NewMetrics(cfg.Registerer, cfg.OperationNames),
			Slow: cfg.SlowOperation, Cost: cfg.OperationCost, Documents: cfg.TraceDocuments,
		},
		newTraceID: cfg.NewTraceID,
		session:    session.New(cfg.SessionKeys, cfg.Now),
		routes:     rest.NewRouter(cfg.Operations),
		openAPI:    cfg.OpenAPI,
	}
	if cfg.RPC != nil {
		var err error
		if e.rpc, err = rpc.New(cfg.Operations, cfg.Schema.Schema(), cfg.RPC); err != nil {
			return nil, err
		}
	}
	cfg.Quotas.OnRefusal(e.LimitMetrics.Refuse)
	e.graphql = newServer(cfg, e, streams)
	return e, nil
}

// newServer joins gqlgen's executor with our transports, limits and errors.
func newServer(cfg Config, e *endpoint, streams *subscription.Manager) *handler.Server {
	srv := handler.New(cfg.Schema)
	srv.AddTransport(websocket.New(websocket.Transport{Executor: e.Executor, Streams: streams, Identifier: e.identifier, Recorder: e.recorder, NewTraceID: e.newTraceID}))
	if e.rpc != nil {
		srv.AddTransport(rpc.NewTransport(e.Executor, e.rpc, streams, cfg.MaxBodyBytes))
	}
	events := sse.Transport{Executor: e.Executor, Streams: streams}
	srv.AddTransport(rest.Transport{Executor: e.Executor, Schema: cfg.Schema.Schema(), Events: events, MaxBodyBytes: cfg.MaxBodyBytes})
	srv.AddTransport(httptransport.Transport{Executor: e.Executor, Events: events, MaxBodyBytes: cfg.MaxBodyBytes})
	srv.SetErrorPresenter(e.Present)
	srv.SetRecoverFunc(presenter.Recover)
	cache := document.NewCache(cfg.Registerer)
	srv.SetQueryCache(cache)
	srv.SetParserTokenLimit(cfg.TokenLimit)
	srv.SetDisableSuggestion(!cfg.Introspection)
	srv.SetValidationRulesFn(func() *rules.Rules { return validation.Rules(cfg.Introspection) })
	// The order matters: a hash becomes a document, then documents are measured, their
	// variables read, and those remembered that were found small enough.
	persisted := document.NewPersisted(cfg.PersistedDocuments, documentsOf(cfg.Operations), cfg.TrustedDocuments, func() { e.LimitMetrics.Refuse("trusted") }, cfg.Registerer)
	srv.Use(persisted)
	srv.Use(limit.Extension{Limits: cfg.Limits, Introspection: cfg.Introspection, Costs: cost.NewTable(cfg.Schema.Schema(), cfg.Prices), Cache: cache, Metrics: e.LimitMetrics})
	srv.Use(validation.Variables{Schema: cfg.Schema.Schema(), Cache: cache, Suggest: cfg.Introspection})
	srv.Use(persisted.Remember())
	srv.AroundOperations(func(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
		if isSubscription(ctx) {
			return next(ctx)
		}
		scoped := warning.With(cfg.RequestScope(ctx))
		telemetry.From(ctx).SetExecution(scoped)
		return next(scoped)
	})
	srv.AroundFields(aroundFields(cfg.AroundMutations))
	srv.AroundRootFields(execution.AroundRootField(e.recorder.Metrics))
	srv.AroundResponses(aroundResponses(cfg))
	return srv
}

// documentsOf are the documents of operations, by their names and hashes.
func documentsOf(operations []*operation.Operation) document.Trusted {
	list := document.Trusted{}
	for _, op := range operations {
		list.Put(op.Name, op.Document)
	}
	return list
}

func isSubscription(ctx context.Context) bool {
	op := graphql.GetOperationContext(ctx).Operation
	return op != nil && op.Operation == ast.Subscription
}

// aroundFields returns the one function that goes around each field, because an answer has thousands: a further one would
// cost each of them an allocation and a piece of stack.
func aroundFields(aroundMutations graphql.FieldMiddleware) graphql.FieldMiddleware {
	return func(ctx context.Context, next graphql.Resolver) (any, error) {
		if aroundMutations != nil && graphql.GetFieldContext(ctx).Object == "Mutation" {
			resolve := next
			next = func(ctx context.Context) (any, error) { return aroundMutations(ctx, resolve) }
		}
		value, err := limit.HoldField(ctx, next)
		answercache.NoteFreshness(ctx, value)
		return value, err
	}
}

// aroundResponses returns what goes around every result.
func aroundResponses(cfg Config) graphql.ResponseMiddleware {
	return func(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
		if isSubscription(ctx) {
			if cfg.StreamResponses != nil {
				return cfg.StreamResponses(ctx, next)
			}
			return next(ctx)
		}
		resp := next(ctx)
		if resp == nil {
			return nil
		}
		extend := func(name string, value any) {
			if resp.Extensions == nil {
				resp.Extensions = map[string]any{}
			}
			resp.Extensions[name] = value
		}
		if cfg.ResponseExtensions != nil {
			for name, value := range cfg.ResponseExtensions(ctx) {
				extend(name, value)
			}
		}
		if warnings := warning.Of(ctx); len(warnings) > 0 {
			extend("warnings", warnings)
		}
		return resp
	}
}
