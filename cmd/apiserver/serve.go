package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kairship-io/kairship/graph/server/trace"
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
	logger = slog.New(trace.LogHandler(logger.Handler()))
	slog.SetDefault(logger)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(o.limits.softMemoryLimit())
	}
	klog.SetLogger(logr.FromSlogHandler(logger.Handler()))
	ctrllog.SetLogger(logr.FromSlogHandler(logger.Handler()))

	logger.Info("starting", "version", version, "settings", o.settings.Values(), "given", o.settings.Given())
	if len(o.settings.Ignored) > 0 {
		logger.Warn("these variables of the environment are no settings", "variables", o.settings.Ignored)
	}

	stopTracing, err := o.observability.tracing.Setup(ctx, program, version, logger)
	if err != nil {
		return err
	}
	defer stopTracing()
	config, err := o.restConfig()
	if err != nil {
		return err
	}
	ctx, reported := delayed(ctx, o.shutdownDelay)
	clients, err := o.clientAuthorities(ctx, logger)
	if err != nil {
		return err
	}
	api, err := build(ctx, o, config, clients, logger)
	if err != nil {
		return err
	}
	defer api.flush()
	reported(api.graphql.Stopping)
	serving, err := o.tlsConfig(ctx, clients)
	if err != nil {
		return err
	}
	if o.metricsAddress != "" {
		if err := serveMetrics(ctx, o, config, serving, clients, logger); err != nil {
			return err
		}
	}
	if o.pprofAddress != "" {
		if err := servePprof(ctx, o.pprofAddress, logger); err != nil {
			return err
		}
	}
	return serveEndpoints(ctx, o.endpoints(serving), api, o.shutdownTimeout, logger)
}

// delayed is a context that ends some time after another one, and a way to hear of
// the end of that one at once.
func delayed(ctx context.Context, by time.Duration) (later context.Context, reported func(func())) {
	if by <= 0 {
		return ctx, func(tell func()) { context.AfterFunc(ctx, tell) }
	}
	later, end := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() { time.AfterFunc(by, end) })
	return later, func(tell func()) { context.AfterFunc(ctx, tell) }
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
