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

	"sigs.k8s.io/controller-runtime/pkg/certwatcher"

	"github.com/kairship-io/kairship/graph/server/subscription"
	"github.com/kairship-io/kairship/pkg/authz"
)

// endpoint is an address that the API is served on.
type endpoint struct {
	flag, address string
	// tls is nil for plain HTTP.
	tls *tls.Config
}

// endpoints are where the API is served: at one address, or over plain HTTP for
// what runs beside the process, and over TLS for all others.
func (o *options) endpoints(serving *tls.Config) []endpoint {
	const usual = "--listen-address"
	if o.tlsListenAddress == "" {
		return []endpoint{{usual, o.listenAddress, serving}}
	}
	return []endpoint{{usual, o.listenAddress, nil}, {"--tls-listen-address", o.tlsListenAddress, serving}}
}

// serveEndpoints serves the API until the context ends, and then for as long as
// it takes to finish what is in progress. It listens at all addresses before it
// serves at any.
func serveEndpoints(ctx context.Context, endpoints []endpoint, api *service, patience time.Duration, logger *slog.Logger) error {
	listeners := make([]net.Listener, 0, len(endpoints))
	for _, e := range endpoints {
		var lc net.ListenConfig
		listener, err := lc.Listen(ctx, "tcp", e.address)
		if err != nil {
			for _, l := range listeners {
				_ = l.Close()
			}
			return fmt.Errorf("%s: %w", e.flag, err)
		}
		listeners = append(listeners, listener)
	}
	ended := make(chan error, len(endpoints))
	servers := make([]*http.Server, len(endpoints))
	for i, e := range endpoints {
		srv := newServer(e, api, logger)
		servers[i] = srv
		go func() {
			if e.tls == nil {
				ended <- srv.Serve(listeners[i])
				return
			}
			ended <- srv.ServeTLS(listeners[i], "", "")
		}()
		logger.Info("serving", "address", listeners[i].Addr().String(), "tls", e.tls != nil, "version", version)
	}
	select {
	case err := <-ended:
		return fmt.Errorf("the API is served no longer: %w", err)
	case <-ctx.Done():
	}
	logger.Info("stopping: requests in progress are finished, subscriptions are to go on elsewhere")
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	drained := make(chan error, len(servers)+1)
	// An http.Server waits for its requests, and knows nothing of WebSockets.
	go func() { drained <- api.graphql.Drain(drain) }()
	for _, srv := range servers {
		go func() { drained <- srv.Shutdown(drain) }()
	}
	var problems []error
	for range len(servers) + 1 {
		if err := <-drained; err != nil {
			problems = append(problems, fmt.Errorf("some requests were cut off after %s: %w", patience, err))
		}
	}
	for range servers {
		// Shutdown has been called on all of them, so none serves any longer.
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// pingAfter is after how long a silence an HTTP/2 connection is asked whether its client is still there.
const pingAfter = 15 * time.Second

// newServer makes what serves an address. It bounds the time for headers; that for bodies
// the handlers do, some of which read for as long as it takes.
func newServer(e endpoint, api *service, logger *slog.Logger) *http.Server {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true) // gRPC takes nothing else, and a proxy may end TLS.
	return &http.Server{
		Protocols: protocols,
		// A stream may be silent for as long as nothing changes: proxies end connections that are.
		HTTP2:   &http.HTTP2Config{SendPingTimeout: pingAfter},
		Handler: leaveInTime(api, api.graphql.IsStopping),
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return authz.WithPeer(subscription.ConnContext(ctx, conn), conn.RemoteAddr())
		},
		TLSConfig:         e.tls,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
}

// leaveInTime makes clients open another connection for their next request once the process is
// about to stop: behind a balancer, at another replica. A connection that is only closed when the
// process stops may meet a request that is on its way, and the client can't know whether that was
// executed. Over HTTP/2 the header makes the connection refuse new requests and finish those that
// it has.
func leaveInTime(next http.Handler, stopping func() bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Upgraded connections are notified by other means.
		if stopping() && r.Header.Get("Upgrade") == "" {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// tlsConfig is the TLS of the endpoint; nil for plain HTTP. Until the context ends,
// the certificate is read again when its files change.
func (o *options) tlsConfig(ctx context.Context, clients *clientAuthorities) (*tls.Config, error) {
	if o.tlsCertFile == "" {
		return nil, nil //nolint:nilnil // Nil is plain HTTP.
	}
	certificate, err := certwatcher.New(o.tlsCertFile, o.tlsKeyFile)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert-file, --tls-private-key-file: %w", err)
	}
	go func() {
		if err := certificate.Start(ctx); err != nil {
			slog.Error("the serving certificate is no longer read again when it changes", "error", err)
		}
	}()
	config := &tls.Config{GetCertificate: certificate.GetCertificate, MinVersion: tls.VersionTLS12}
	clients.serve(config)
	return config, nil
}
