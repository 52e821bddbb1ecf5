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
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/kairship-io/kairship/cmd/internal/flags"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
)

// metricsPath is also what RBAC calls the right to read metrics.
const metricsPath = "/metrics"

// serveMetrics serves what Prometheus reads, until the context ends, at a listener
// of its own. Metrics name the instances: on the loopback interface nobody is
// asked who reads them, and anywhere else they are served with TLS, to those who
// may get /metrics in the global cluster.
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
		metrics = forReaders(metrics, authenticator, kube.AuthorizationV1().SubjectAccessReviews())
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+metricsPath, metrics)
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", o.metricsAddress)
	if err != nil {
		return fmt.Errorf("--metrics-bind-address: %w", err)
	}
	if serving != nil {
		listener = tls.NewListener(listener, serving)
	}
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug)}
	go func() {
		if err := srv.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			logger.Error("metrics are no longer served", "error", err)
		}
	}()
	context.AfterFunc(ctx, func() { _ = srv.Close() })
	logger.Info("serving metrics", "address", listener.Addr().String(), "tls", serving != nil)
	return nil
}

// forReaders lets those through who may get /metrics in the global cluster, as its
// own components do. Each scrape is a review; who a token is of, is remembered.
func forReaders(next http.Handler, authenticator authz.Authenticator, reviews authorizationclient.SubjectAccessReviewInterface) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
		defer cancel()
		user, err := authenticator.Authenticate(ctx, authz.RequestCredentials(r))
		if err != nil {
			status := http.StatusServiceUnavailable
			if apierror.CodeOf(err) == apierror.CodeUnauthenticated {
				status = http.StatusUnauthorized
			}
			http.Error(w, "send a bearer token of the global cluster in the Authorization header", status)
			return
		}
		extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
		for key, values := range user.Extra {
			extra[key] = values
		}
		review, err := reviews.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user.Name, UID: user.UID, Groups: user.Groups, Extra: extra,
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: metricsPath, Verb: "get"},
		}}, metav1.CreateOptions{})
		switch {
		case err != nil:
			http.Error(w, "the global cluster does not say who may read metrics", http.StatusServiceUnavailable)
		case !review.Status.Allowed:
			http.Error(w, "you may not get "+metricsPath+" in the global cluster", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}
