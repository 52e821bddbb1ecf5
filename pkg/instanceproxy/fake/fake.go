// Package fake stands in for the instances of a fleet, in tests of edges that a
// real one can't be brought to.
package fake

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
)

// Clients implements instanceproxy.Clients over HTTP handlers, one for each instance. The clients
// are real: a handler sees what an API server would see, with Impersonate-User and the other
// headers of the user.
type Clients map[string]instanceproxy.Client

var _ instanceproxy.Clients = Clients{}

// Unavailable is the handler of an instance that does not answer.
var Unavailable http.Handler

// New starts a server for each handler, until the test ends.
func New(t testing.TB, instances map[string]http.Handler) Clients {
	t.Helper()
	made := Clients{}
	for name, handler := range instances {
		client, err := instanceproxy.Over(name, transport(t, handler))
		if err != nil {
			t.Fatal(err)
		}
		made[name] = client
	}
	return made
}

// Get implements instanceproxy.Clients.
func (c Clients) Get(_ context.Context, instance string) (instanceproxy.Client, error) {
	client, ok := c[instance]
	if !ok {
		return nil, apierror.NotFound("instance", instance)
	}
	return client, nil
}

func transport(t testing.TB, handler http.Handler) http.RoundTripper {
	t.Helper()
	if handler == nil {
		return roundTripper(func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") })
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		out := r.Clone(r.Context())
		out.URL.Scheme, out.URL.Host, out.Host = address.Scheme, address.Host, ""
		return server.Client().Transport.RoundTrip(out)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
