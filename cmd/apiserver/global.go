package main

import (
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kairship-io/kairship/pkg/authz"
)

// What asks whether the global cluster is well is a few requests a second, however many ask
// for readiness.
const (
	checksQPS   = 10
	checksBurst = 20
)

// globalClients are clients of the global cluster. Each has requests of its own to wait
// for: a flood of one kind must not hold up another.
type globalClients struct {
	// kube is for everything that people cause whom the global cluster knows.
	kube kubernetes.Interface
	// tokenReviews reviews tokens that any client may have made up.
	tokenReviews kubernetes.Interface
	// tokenReviewQPS is how many of these a second are sent, on average.
	tokenReviewQPS float32
	// checks asks whether the cluster is well. Were it to wait for what people cause, a
	// replica that has much to do would seem broken.
	checks kubernetes.Interface
}

// newGlobalClients makes the clients. A stranger who is let in costs two requests, one of
// which is no stranger's any more: so half of what people may cause admits as many.
func newGlobalClients(config *rest.Config) (*globalClients, error) {
	g := &globalClients{tokenReviewQPS: config.QPS / 2}
	for _, c := range []struct {
		client *kubernetes.Interface
		qps    float32
		burst  int
	}{
		{&g.kube, config.QPS, config.Burst},
		{&g.tokenReviews, g.tokenReviewQPS, max(1, config.Burst/2)},
		{&g.checks, checksQPS, checksBurst},
	} {
		limited := rest.CopyConfig(config)
		limited.QPS, limited.Burst = c.qps, c.burst
		made, err := kubernetes.NewForConfig(limited)
		if err != nil {
			return nil, fmt.Errorf("making the clients of the global cluster: %w", err)
		}
		*c.client = made
	}
	return g, nil
}

// newTokenReviewLimiter bounds the reviews of strangers' tokens to those that are sent within a
// second: a client that waits longer had better come again.
func newTokenReviewLimiter(g *globalClients) *authz.TokenReviewLimiter {
	return &authz.TokenReviewLimiter{Reviews: g.tokenReviews.AuthenticationV1().TokenReviews(), Limit: max(2, int(g.tokenReviewQPS))}
}
