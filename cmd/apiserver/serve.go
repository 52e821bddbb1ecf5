package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/kairship-io/kairship/graph/server"

	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// gcPercent is how much is allocated between two garbage collections, in percent
// of what is in use. Nearly everything that a query allocates is garbage when it
// is answered, and little else is in use, so Go's default collects many times a
// second: twice the memory, some hundred MiB under load, saves a fifth of the CPU
// time. The environment variable GOGC goes before it.
const gcPercent = 200

// serve runs the API until the context ends.
func serve(ctx context.Context, o *options) error {
	logger := o.logger(os.Stderr)
	logger = slog.New(server.LogHandler(logger.Handler()))
	slog.SetDefault(logger)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	klog.SetLogger(logr.FromSlogHandler(logger.Handler()))
	ctrllog.SetLogger(logr.FromSlogHandler(logger.Handler()))

	config, err := o.restConfig()
	if err != nil {
		return err
	}
	handler, err := build(ctx, o, config, logger)
	if err != nil {
		return err
	}
	tlsConfig, err := o.tlsConfig()
	if err != nil {
		return err
	}
	if o.metricsAddress != "" {
		if err := serveMetrics(ctx, o.metricsAddress, logger); err != nil {
			return err
		}
	}
	if o.pprofAddress != "" {
		if err := servePprof(ctx, o.pprofAddress, logger); err != nil {
			return err
		}
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", o.listenAddress)
	if err != nil {
		return fmt.Errorf("--listen-address: %w", err)
	}
	srv := &http.Server{
		Handler:           handler,
		TLSConfig:         tlsConfig,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() {
		if tlsConfig == nil {
			failed <- srv.Serve(listener)
			return
		}
		failed <- srv.ServeTLS(listener, "", "")
	}()
	logger.Info("serving", "address", listener.Addr().String(), "tls", tlsConfig != nil, "version", version)
	select {
	case err := <-failed:
		return fmt.Errorf("serving on %s: %w", o.listenAddress, err)
	case <-ctx.Done():
	}
	logger.Info("stopping: requests in progress are finished")
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.shutdownTimeout)
	defer cancel()
	if err := srv.Shutdown(drain); err != nil {
		return fmt.Errorf("some requests were cut off after %s: %w", o.shutdownTimeout, err)
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// restConfig is how the global cluster is reached.
func (o *options) restConfig() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("finding the global cluster: %w", err)
	}
	config.UserAgent = program + "/" + version
	config.QPS, config.Burst = o.kubeAPIQPS, o.kubeAPIBurst
	return config, nil
}

// tlsConfig is the TLS of the endpoint; nil for plain HTTP.
func (o *options) tlsConfig() (*tls.Config, error) {
	if o.tlsCertFile == "" {
		return nil, nil //nolint:nilnil // Nil is plain HTTP.
	}
	cert, err := tls.LoadX509KeyPair(o.tlsCertFile, o.tlsKeyFile)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert-file, --tls-private-key-file: %w", err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	if o.clientCAFile == "" {
		return config, nil
	}
	pem, err := os.ReadFile(o.clientCAFile) //nolint:gosec // The administrator names the file.
	if err != nil {
		return nil, fmt.Errorf("--client-ca-file: %w", err)
	}
	config.ClientCAs = x509.NewCertPool()
	if !config.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--client-ca-file: %s holds no certificate in PEM", o.clientCAFile)
	}
	// A certificate is one way to say who you are, a token the other.
	config.ClientAuth = tls.VerifyClientCertIfGiven
	return config, nil
}
