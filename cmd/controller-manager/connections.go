package main

import (
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"
	"k8s.io/client-go/rest"
)

// ownConnection returns the configuration for a connection that no other caller uses. client-go
// shares one among all callers with the same credentials, and on it the events of a watch wait
// behind the answers to hundreds of writes: the API server assumes that its client does not read,
// and ends it, again and again.
func ownConnection(config *rest.Config) *rest.Config {
	own := rest.CopyConfig(config)
	if own.Dial == nil {
		// As client-go dials itself.
		own.Dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	return own
}

// limitConcurrency is a client that sends no more than a number of requests at the same time; the
// others wait, in their order. An apiserver that is sent hundreds answers none of them
// sooner, and is late with telling what has changed.
func limitConcurrency(config *rest.Config, number int) (*http.Client, error) {
	bounded := rest.CopyConfig(config)
	free := semaphore.NewWeighted(int64(number))
	bounded.Wrap(func(next http.RoundTripper) http.RoundTripper { return &concurrencyLimiter{next, free} })
	client, err := rest.HTTPClientFor(bounded)
	if err != nil {
		return nil, fmt.Errorf("connect to the global cluster: %w", err)
	}
	return client, nil
}

// concurrencyLimiter lets a number of requests through, until they are answered.
type concurrencyLimiter struct {
	next http.RoundTripper
	free *semaphore.Weighted
}

// RoundTrip implements http.RoundTripper. Its error is that of the request's context
// when the request is not let through before that ends.
func (t *concurrencyLimiter) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := t.free.Acquire(request.Context(), 1); err != nil {
		if request.Body != nil {
			_ = request.Body.Close() // As the sender of a request has to.
		}
		return nil, err
	}
	defer t.free.Release(1)
	return t.next.RoundTrip(request)
}

// WrappedRoundTripper is what client-go looks through for the connection.
func (t *concurrencyLimiter) WrappedRoundTripper() http.RoundTripper { return t.next }
