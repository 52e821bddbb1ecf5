package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/fleet/kubeconfig"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
	"github.com/kairship-io/kairship/pkg/instanceproxy/passthrough"
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
		UserAgent:     program + "/" + version,
		Registerer:    prometheus.DefaultRegisterer,
		Logger:        logger,
	})
}

// withPassthrough serves the instances' native APIs beside another handler. It
// stands before the other's routes, which would redirect what a client of
// Kubernetes sends. flush is to be called before the process ends.
func withPassthrough(
	ctx context.Context, api http.Handler, clients instanceproxy.Clients, authenticator authz.Authenticator,
	permissions *authz.Resolver, indexed passthrough.Index, inventory cache.Cache, kube kubernetes.Interface, logger *slog.Logger,
) (both http.Handler, flush func(), err error) {
	native, err := passthrough.New(passthrough.Config{
		Clients:       clients,
		Authenticator: authenticator,
		Permissions:   permissions,
		Reviews:       kube.AuthorizationV1().SubjectAccessReviews(),
		Audit:         &audit.Log{Logger: logger, Exists: instanceExists(inventory)},
		Logger:        logger,
		Index:         indexed,
		Registerer:    prometheus.DefaultRegisterer,
		Stopping:      ctx,
	})
	if err != nil {
		return nil, nil, err
	}
	traced := server.Traced(native, passthrough.Route, passthrough.Lasts)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if passthrough.Serves(r) {
			traced.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, kubeconfig.WithAddress(r))
	}), native.Flush, nil
}

// kubeconfigs makes what hands out the files with which kubectl comes back here.
func (o *options) kubeconfigs(allowed *access.Access) (*kubeconfig.Service, error) {
	s := &kubeconfig.Service{Access: allowed, ExternalURL: o.externalURL}
	if o.externalCAFile == "" {
		return s, nil
	}
	pem, err := os.ReadFile(o.externalCAFile) //nolint:gosec // The administrator names the file.
	if err != nil {
		return nil, fmt.Errorf("--external-ca-file: %w", err)
	}
	if s.CertificateAuthority, err = kubeconfig.Certificates(pem); err != nil {
		return nil, fmt.Errorf("--external-ca-file: %s: %w", o.externalCAFile, err)
	}
	return s, nil
}
