package server

import (
	"context"
	"io"
	"log/slog"
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/99designs/gqlgen/graphql/handler/extension"

	"github.com/kairship-io/kairship/graph/server/graphiql"
	"github.com/kairship-io/kairship/pkg/audit"
)

// New makes the handler of the whole API: /graphql, /healthz, /readyz and, when
// switched on, /graphiql with a redirect from /. It fails only when cfg misses
// something that is required.
func New(cfg Config) (http.Handler, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	logger := slog.New(LogHandler(cfg.Logger.Handler()))

	mux := http.NewServeMux()
	mux.Handle("/graphql", newEndpoint(cfg, logger))
	mux.HandleFunc("GET /healthz", healthz)
	mux.Handle("GET /readyz", newReadiness(cfg.Checks, logger, cfg.Now))
	if cfg.GraphiQL {
		page := graphiql.Handler()
		mux.Handle("GET "+graphiql.Path, page)
		mux.Handle("GET "+graphiql.Path+"/", page)
		mux.Handle("GET /{$}", http.RedirectHandler(graphiql.Path, http.StatusFound))
	}
	return mux, nil
}

// healthz says that the process serves HTTP, and nothing about what it needs: a
// restart mends the first, and never the second.
func healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	io.WriteString(w, "ok\n") //nolint:errcheck // The prober went away.
}

func newEndpoint(cfg Config, logger *slog.Logger) *endpoint {
	p := presenter{logger: logger}
	return &endpoint{
		graphql:       newExecutor(cfg, p),
		authenticator: cfg.Authenticator,
		authorizer:    cfg.Authorizer,
		presenter:     p,
		logger:        logger,
		audit:         &audit.Log{Logger: logger, Exists: cfg.InstanceExists, Now: cfg.Now},
		now:           cfg.Now,
		newTraceID:    cfg.NewTraceID,
	}
}

// newExecutor joins gqlgen's executor with our transport, limits and errors.
func newExecutor(cfg Config, p presenter) *handler.Server {
	srv := handler.New(cfg.Schema)
	srv.AddTransport(httpTransport{
		present:      p.present,
		begin:        cfg.Begin,
		timeout:      cfg.RequestTimeout,
		maxBodyBytes: cfg.MaxBodyBytes,
		tokenLimit:   cfg.TokenLimit,
	})
	srv.SetErrorPresenter(p.present)
	srv.SetRecoverFunc(recoverPanic)
	srv.SetQueryCache(newDocumentCache())
	srv.SetParserTokenLimit(cfg.TokenLimit)
	if !cfg.Introspection {
		srv.SetDisableSuggestion(true)
		srv.SetValidationRulesFn(rulesWithoutSuggestions)
	}
	// The order matters: the complexity of an operation may be calculated only once limits found it small enough.
	srv.Use(limits{maxDepth: cfg.MaxDepth, maxFields: cfg.MaxFields, introspection: cfg.Introspection})
	if cfg.Complexity > 0 {
		srv.Use(extension.FixedComplexityLimit(cfg.Complexity))
	}
	srv.AroundOperations(func(ctx context.Context, next graphql.OperationHandler) graphql.ResponseHandler {
		return next(cfg.RequestScope(ctx))
	})
	if cfg.ResponseExtensions != nil {
		srv.AroundResponses(func(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
			resp := next(ctx)
			if resp == nil {
				return nil
			}
			for name, value := range cfg.ResponseExtensions(ctx) {
				if resp.Extensions == nil {
					resp.Extensions = map[string]any{}
				}
				resp.Extensions[name] = value
			}
			return resp
		})
	}
	return srv
}
