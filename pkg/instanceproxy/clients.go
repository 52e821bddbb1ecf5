package instanceproxy

import (
	"fmt"
	"net/http"

	karmada "github.com/karmada-io/karmada/pkg/generated/clientset/versioned"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// clients are the clients of an instance, over one transport.
type clients struct {
	karmada    karmada.Interface
	kubernetes kubernetes.Interface
	dynamic    dynamic.Interface
	rest       rest.Interface
	// discovery asks as Kairship.
	discovery discovery.DiscoveryInterface
}

// Karmada implements Client.
func (c clients) Karmada() karmada.Interface { return c.karmada }

// Kubernetes implements Client.
func (c clients) Kubernetes() kubernetes.Interface { return c.kubernetes }

// Dynamic implements Client.
func (c clients) Dynamic() dynamic.Interface { return c.dynamic }

// REST implements Client.
func (c clients) REST() rest.Interface { return c.rest }

func newClients(name, userAgent string, transport http.RoundTripper) (clients, error) {
	config := &rest.Config{
		// The transport knows the endpoint; this only shows in errors.
		Host:      "https://" + name,
		UserAgent: userAgent,
		// The transport limits the requests of all clients of an instance.
		QPS: -1,
	}
	users := &http.Client{Transport: transport, CheckRedirect: noRedirects}
	binary := rest.CopyConfig(config)
	binary.ContentType = "application/vnd.kubernetes.protobuf"
	binary.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"

	var c clients
	var err error
	if c.karmada, err = karmada.NewForConfigAndClient(config, users); err != nil {
		return c, fmt.Errorf("make the client of Karmada: %w", err)
	}
	if c.kubernetes, err = kubernetes.NewForConfigAndClient(binary, users); err != nil {
		return c, fmt.Errorf("make the client of Kubernetes: %w", err)
	}
	if c.dynamic, err = dynamic.NewForConfigAndClient(config, users); err != nil {
		return c, fmt.Errorf("make the dynamic client: %w", err)
	}
	anything := rest.CopyConfig(config)
	anything.APIPath, anything.GroupVersion, anything.NegotiatedSerializer = "/api", &corev1.SchemeGroupVersion, scheme.Codecs.WithoutConversion()
	if c.rest, err = rest.RESTClientForConfigAndClient(anything, users); err != nil {
		return c, fmt.Errorf("make the client of requests to any path: %w", err)
	}
	own := &http.Client{Transport: ownTransport{transport}, CheckRedirect: noRedirects}
	if c.discovery, err = discovery.NewDiscoveryClientForConfigAndClient(config, own); err != nil {
		return c, fmt.Errorf("make the client of discovery: %w", err)
	}
	return c, nil
}

// noRedirects keeps what is meant for one instance from others.
func noRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// ownTransport sends everything as Kairship. Discovery's methods take no context.
type ownTransport struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t ownTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	return t.RoundTripper.RoundTrip(r.WithContext(AsKairship(r.Context())))
}
