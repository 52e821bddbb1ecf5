package instanceproxy

import (
	"context"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// Over makes a Client from a transport that reaches the instance directly. Each request carries the
// headers of its identity, and there is neither limit nor breaker. Tests and tools use it; see
// package fake.
func Over(name string, transport http.RoundTripper) (Client, error) {
	o := &overTransport{name: name, transport: transport}
	var err error
	if o.clients, err = newClients(name, "kairship", o); err != nil {
		return nil, err
	}
	o.kinds = newDiscoveryCache(context.Background(), o.discovery, time.Minute)
	return o, nil
}

type overTransport struct {
	clients
	name      string
	transport http.RoundTripper
	kinds     *discoveryCache
}

// RoundTrip implements http.RoundTripper.
func (o *overTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	identity, err := identityOf(r.Context())
	if err != nil {
		return nil, err
	}
	out := r.Clone(r.Context())
	setIdentity(out.Header, "", identity)
	response, err := o.transport.RoundTrip(out)
	if err != nil && r.Context().Err() == nil && apierror.CodeOf(err) == apierror.CodeInternal {
		return nil, silent(o.name, err)
	}
	return response, err
}

// Instance implements Client.
func (o *overTransport) Instance() string { return o.name }

// Transport implements Client.
func (o *overTransport) Transport() http.RoundTripper { return o }

// Health implements Client.
func (*overTransport) Health() Health { return Health{Available: true} }

// Discovery implements Client.
func (o *overTransport) Discovery(ctx context.Context) (*Discovery, error) {
	return o.kinds.discovery(ctx, o.name, o.kinds.age)
}

// Rediscover implements Client.
func (o *overTransport) Rediscover(ctx context.Context) (*Discovery, error) {
	return o.kinds.discovery(ctx, o.name, rediscoverAfter)
}

// RESTMapper implements Client.
func (o *overTransport) RESTMapper(ctx context.Context) meta.RESTMapper {
	return &mapper{ctx: ctx, kinds: o.kinds}
}
