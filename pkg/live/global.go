package live

import (
	"fmt"
	"net/http"
	"net/url"

	"k8s.io/client-go/rest"
)

// GlobalTransport sends requests to the cluster of a configuration, whatever their
// scheme and host.
func GlobalTransport(config *rest.Config) (http.RoundTripper, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making the transport of the global cluster: %w", err)
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the global cluster: %w", err)
	}
	if base.Path == "" {
		base.Path = "/" // Else what is joined to it would be a relative path.
	}
	transport := client.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	return &toCluster{transport: transport, base: base}, nil
}

// toCluster puts requests below a cluster's address.
type toCluster struct {
	transport http.RoundTripper
	base      *url.URL
}

// RoundTrip implements http.RoundTripper.
func (t *toCluster) RoundTrip(r *http.Request) (*http.Response, error) {
	out := r.Clone(r.Context())
	to := t.base.JoinPath(r.URL.Path)
	to.RawQuery = r.URL.RawQuery
	out.URL, out.Host = to, ""
	return t.transport.RoundTrip(out)
}
