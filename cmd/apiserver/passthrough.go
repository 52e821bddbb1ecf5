package main

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kairship-io/kairship/graph/server/body"
	"github.com/kairship-io/kairship/graph/server/trace"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/fleet/kubeconfig"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
	"github.com/kairship-io/kairship/pkg/instanceproxy/passthrough"
	"github.com/kairship-io/kairship/pkg/reload"
)

// reachInstances makes the clients of all instances. They live as long as the
// process: requests in progress need them when it stops.
func reachInstances(ctx context.Context, o instanceOptions, inventory cache.Cache, kube kubernetes.Interface, logger *slog.Logger) (*instanceproxy.Collection, error) {
	return instanceproxy.New(ctx, instanceproxy.Options{
		Instances:     inventory,
		Secrets:       kube.CoreV1(),
		QPS:           o.qps,
		Burst:         o.burst,
		DialTimeout:   o.dialTimeout,
		HeaderTimeout: o.responseTimeout,
		PingAfter:     o.pingAfter,
		DrainTimeout:  o.drainTimeout,
		Failures:      o.failures,
		RetryInterval: o.retryInterval,
		Addresses:     o.addresses.Limits(),
		UserAgent:     program + "/" + version,
		Registerer:    prometheus.DefaultRegisterer,
		Logger:        logger,
	})
}

// withPassthrough serves the instances' native APIs beside another handler. It stands before the
// other's routes, which would redirect requests of Kubernetes clients. Call flush before the
// process ends.
func withPassthrough(ctx context.Context, api http.Handler, config passthrough.Config, people signIn, inventory cache.Cache, kube kubernetes.Interface) (both http.Handler, flush func(), err error) {
	config.Reviews = kube.AuthorizationV1().SubjectAccessReviews()
	config.Audit = &audit.Log{Logger: config.Logger, Exists: instanceExists(inventory)}
	config.Registerer = prometheus.DefaultRegisterer
	config.Stopping = ctx
	native, err := passthrough.New(config)
	if err != nil {
		return nil, nil, err
	}
	return beside(people.ofPages(native), api, config.Authenticator), native.Flush, nil
}

// beside serves the passthrough at its addresses, and the API at all others.
func beside(native, api http.Handler, known authz.Authenticator) http.Handler {
	native = body.Deadline(trace.Handler(native, passthrough.Route, passthrough.Lasts, known))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if passthrough.Serves(r) {
			native.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, kubeconfig.WithAddress(r))
	})
}

// kubeconfigs makes the service for the files with which kubectl uses the passthrough.
func (o *options) kubeconfigs(ctx context.Context, allowed *access.Access, logger *slog.Logger) (*kubeconfig.Service, error) {
	s := &kubeconfig.Service{Access: allowed, ExternalURL: o.externalURL}
	if o.externalCAFile == "" {
		return s, nil
	}
	file, err := reload.Watch(ctx, reload.Options[[]byte]{Setting: "external-ca-file", Path: o.externalCAFile, Parse: kubeconfig.Certificates, Logger: logger})
	if err != nil {
		return nil, err
	}
	s.CertificateAuthority = file.Get
	return s, nil
}
