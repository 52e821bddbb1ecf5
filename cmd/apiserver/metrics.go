package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kairship-io/kairship/cmd/internal/flags"
	"github.com/kairship-io/kairship/cmd/internal/readers"
	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/pkg/authz"
)

// serveMetrics serves the metrics, until the context ends, at a listener of its own. Metrics name
// the instances: on the loopback interface clients are not authenticated, and anywhere else they
// are served with TLS, to users who may get /metrics in the global cluster.
func serveMetrics(ctx context.Context, o *options, config *rest.Config, serving *tls.Config, accepted *clientAuthorities, logger *slog.Logger) error {
	metrics := promhttp.Handler()
	host, _, _ := net.SplitHostPort(o.metricsAddress) // Checked by validate.
	if flags.Loopback(host) {
		serving = nil
	} else {
		kube, err := kubernetes.NewForConfig(config)
		if err != nil {
			return fmt.Errorf("making the client that asks who may read metrics: %w", err)
		}
		authenticator := authz.NewAuthenticator(kube.AuthenticationV1().TokenReviews(), time.Now)
		authenticator.Authorities = accepted.accept
		metrics = readers.Only(metrics, authenticator, kube.AuthorizationV1().SubjectAccessReviews())
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+readers.MetricsPath, metrics)
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", o.metricsAddress)
	if err != nil {
		return fmt.Errorf("--metrics-bind-address: %w", err)
	}
	if serving != nil {
		listener = tls.NewListener(listener, serving)
	}
	srv := newMetricsServer(mux, logger)
	go func() {
		if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			logger.Error("metrics are no longer served", "error", err)
		}
	}()
	context.AfterFunc(ctx, func() { _ = srv.Close() })
	logger.Info("serving metrics", "address", listener.Addr().String(), "tls", serving != nil)
	return nil
}

// newMetricsServer makes what serves metrics. It bounds the time for whole requests,
// because it also reads those that it refuses to their end.
func newMetricsServer(metrics http.Handler, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler: server.NoSniff(metrics), ReadTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
}
