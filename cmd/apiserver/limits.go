package main

import (
	"context"
	"log/slog"
	"net/http"

	"k8s.io/client-go/rest"

	"github.com/kairship-io/kairship/graph/cost"
	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/graph/server/document"
	"github.com/kairship-io/kairship/pkg/quota"
	"github.com/kairship-io/kairship/pkg/reload"
	"github.com/kairship-io/kairship/pkg/requeststats"
)

// limit puts the limits of the flags into the server's configuration.
func (o *options) limit(ctx context.Context, cfg *server.Config, logger *slog.Logger) error {
	l := o.limits
	cfg.RequestTimeout, cfg.MaxBodyBytes = o.requestTimeout, o.maxBodyBytes
	cfg.MCPWrites = o.mcpWrites
	cfg.Console, cfg.MCP, cfg.GraphiQL, cfg.Introspection = o.console, o.mcp, o.graphiql, o.introspection
	cfg.MaxDepth, cfg.MaxFields, cfg.TokenLimit = l.maxDepth, l.maxFields, l.maxTokens
	cfg.MaxAliases, cfg.MaxRootFields = l.maxAliases, l.maxRootFields
	cfg.MaxCost, cfg.Prices = l.maxCost, cost.Prices()
	cfg.AllowedOrigins = o.origins()
	cfg.PersistedDocuments, cfg.HSTS = orNever(l.persistedDocuments), orNever(l.hsts)
	if l.trustedFile == "" {
		return nil
	}
	trusted, err := reload.Watch(ctx, reload.Options[document.Trusted]{
		Setting: "trusted-documents-file", Path: l.trustedFile, Parse: document.ParseTrusted, Logger: logger,
	})
	if err != nil {
		return err
	}
	cfg.TrustedDocuments = trusted.Get
	return nil
}

// orNever is what the server takes for never, where a flag says 0.
func orNever[T ~int | ~int64](v T) T {
	if v == 0 {
		return -1
	}
	return v
}

// counted has requests to the global cluster written down that operations cause.
func counted(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return globalCounter{next} })
	return config
}

type globalCounter struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (g globalCounter) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := requeststats.From(r.Context()).Send(requeststats.Target{Kind: requeststats.Global})
	response, err := g.RoundTripper.RoundTrip(r)
	sent(err)
	if err == nil {
		response.Body = quota.Body(r.Context(), response.Body)
	}
	return response, err
}

// WrappedRoundTripper implements k8s.io/apimachinery/pkg/util/net.RoundTripperWrapper.
func (g globalCounter) WrappedRoundTripper() http.RoundTripper { return g.RoundTripper }
