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

// globalClients are clients of the global cluster. Each has a rate limit of its own: a flood of one
// kind of requests must not delay another.
type globalClients struct {
	// kube is for all requests that authenticated users cause.
	kube kubernetes.Interface
	// tokenReviews reviews tokens that any client may have made up.
	tokenReviews kubernetes.Interface
	// tokenReviewQPS is how many of these a second are sent, on average.
	tokenReviewQPS float32
	// checks is for the readiness checks. If they waited for requests of users, a busy replica
	// would seem broken.
	checks kubernetes.Interface
}

// newGlobalClients makes the clients. Authenticating an unknown token costs up to two requests, one
// of tokenReviews and one of kube, so half of kube's rate authenticates as many users.
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

// newTokenReviewLimiter limits the concurrent reviews of unknown tokens to the number that is sent
// within a second: a client that would wait longer should try again later.
func newTokenReviewLimiter(g *globalClients) *authz.TokenReviewLimiter {
	return &authz.TokenReviewLimiter{Reviews: g.tokenReviews.AuthenticationV1().TokenReviews(), Limit: max(2, int(g.tokenReviewQPS))}
}
