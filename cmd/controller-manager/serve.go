package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kairship-io/kairship/cmd/internal/buildversion"
	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers"
	"github.com/kairship-io/kairship/pkg/tracing"
)

// serve runs the manager until the context ends.
func serve(ctx context.Context, o *options) error {
	setUpLog(o)
	log := ctrl.Log.WithName("setup")
	log.Info("Starting", "version", version, "settings", o.given.Values(), "given", o.given.Given())
	if len(o.given.Ignored) > 0 {
		log.Info("These variables of the environment are no settings", "variables", o.given.Ignored)
	}

	stopTracing, err := o.tracing.Setup(ctx, program, version, slog.New(logr.ToSlogHandler(log)))
	if err != nil {
		return err
	}
	defer stopTracing()
	metrics.Registry.MustRegister(buildversion.Metric(program, version))
	config, err := globalCluster(o)
	if err != nil {
		return err
	}
	if err := waitForAPIs(ctx, config, o.waitForAPIs); err != nil {
		return err
	}
	ctx, lost := context.WithCancelCause(ctx)
	defer lost(nil)
	mgr, err := newManager(config, o, lost)
	if err != nil {
		return fmt.Errorf("set up the manager: %w", err)
	}
	settings := o.settings()
	settings.Metrics = metrics.Registry
	if settings.Activity, err = openActivity(o.indexDatabaseFile); err != nil {
		return err
	}
	if err := controllers.Setup(ctx, mgr, settings); err != nil {
		return err
	}
	if err := keepProjection(mgr, o.indexDatabaseFile, o.historyRetention); err != nil {
		return err
	}
	err = mgr.Start(ctx)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	if err != nil {
		return fmt.Errorf("run the manager: %w", err)
	}
	log.Info("Stopped")
	return nil
}

// setUpLog sends the log of the controllers and of client-go to the same place,
// standard error, in the same form.
func setUpLog(o *options) {
	level, err := parseLevel(o.logLevel)
	if err != nil {
		level = zapcore.InfoLevel // validate has refused it before
	}
	encoder := zap.JSONEncoder
	if o.logFormat == "text" {
		encoder = zap.ConsoleEncoder
	}
	logger := zap.New(zap.Level(level), zap.StacktraceLevel(zapcore.DPanicLevel),
		encoder(func(c *zapcore.EncoderConfig) { c.EncodeTime = zapcore.RFC3339NanoTimeEncoder }))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger.WithName("client-go"))
}

// globalCluster is the connection to the cluster in which Kairship runs.
func globalCluster(o *options) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("find the global cluster: %w; set --kubeconfig", err)
	}
	config.QPS, config.Burst = o.kubeAPIQPS, o.kubeAPIBurst
	config.UserAgent = program + "/" + version
	config.Wrap(tracing.Transport(tracing.ToGlobal))
	return config, nil
}

// newManager makes the manager. It calls lost when another replica leads, though
// this one did.
func newManager(config *rest.Config, o *options, lost func(error)) (manager.Manager, error) {
	lease, err := newLock(config, o, lost)
	if err != nil {
		return nil, err
	}
	watches := controllers.Cache(ctrl.Log.WithName("cache"), o.credentialsNamespaces...)
	if watches.HTTPClient, err = rest.HTTPClientFor(ownConnection(config)); err != nil {
		return nil, fmt.Errorf("connect to the global cluster: %w", err)
	}
	writes, err := limitConcurrency(config, o.kubeAPIConcurrency)
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 controllers.Scheme(),
		Cache:                  watches,
		Client:                 client.Options{HTTPClient: writes},
		Metrics:                o.metrics(),
		PprofBindAddress:       o.pprofAddress,
		HealthProbeBindAddress: o.healthAddress,
		LeaderElection:         o.leaderElect,
		LeaderElectionID:       leaseName,
		// The Lease and its namespace are in there.
		LeaderElectionResourceLockInterface: lease,
		// The process ends with the manager, so the Lease can be given back at once
		// and the next replica does not wait for its end.
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &o.leaseDuration,
		RenewDeadline:                 &o.renewDeadline,
		RetryPeriod:                   &o.retryPeriod,
		GracefulShutdownTimeout:       &o.shutdownTimeout,
	})
	if err != nil {
		return nil, err
	}
	lease.recorder = mgr.GetEventRecorder("leader-election")
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return nil, err
	}
	if err := mgr.AddReadyzCheck("caches", func(request *http.Request) error {
		ctx, cancel := context.WithTimeout(request.Context(), time.Second)
		defer cancel()
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return errors.New("the caches are not filled yet")
		}
		return nil
	}); err != nil {
		return nil, err
	}
	return mgr, nil
}

// neededAPIs are the custom resources without which no controller can start.
var neededAPIs = map[schema.GroupVersion][]string{
	v1alpha1.GroupVersion:            {"instances", "clusters", "instanceregistrations", "instancerolebindings"},
	pediav1alpha2.SchemeGroupVersion: {"pediaclusters"},
}

// waitForAPIs waits until the global cluster serves what is needed. Installing
// everything at once is common, and a process that ends meanwhile is restarted
// with growing pauses.
func waitForAPIs(ctx context.Context, config *rest.Config, patience time.Duration) error {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("connect to the global cluster: %w", err)
	}
	const interval = 2 * time.Second
	deadline := time.Now().Add(patience)
	for {
		err := missingAPIs(client)
		if err == nil {
			return nil
		}
		if time.Now().Add(interval).After(deadline) {
			return fmt.Errorf("the global cluster is not prepared: %w; install the CRDs of Kairship and Clusterpedia there", err)
		}
		ctrl.Log.WithName("setup").Info("Waiting for the global cluster", "cause", err.Error())
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(interval):
		}
	}
}

func missingAPIs(client discovery.DiscoveryInterface) error {
	var problems []error
	for version, resources := range neededAPIs {
		served, err := client.ServerResourcesForGroupVersion(version.String())
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", version, err))
			continue
		}
		names := map[string]bool{}
		for i := range served.APIResources {
			names[served.APIResources[i].Name] = true
		}
		for _, resource := range resources {
			if !names[resource] {
				problems = append(problems, fmt.Errorf("%s: %s is not served", version, resource))
			}
		}
	}
	return errors.Join(problems...)
}
