// Package probe looks at an apiserver and says in a condition's words how it is.
package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"

	"github.com/kairship-io/kairship/pkg/connection"
)

const (
	// maxBody bounds what is read of an answer: the other side is not ours.
	maxBody = 1 << 20
	// maxVersion bounds what an apiserver may call its version.
	maxVersion = 64
)

// karmadaPaths are the API groups without which an apiserver is no Karmada. The
// first is served by karmada-aggregated-apiserver, so it also tells whether
// that one works; the second comes with Karmada's CRDs.
var karmadaPaths = []string{"/apis/cluster.karmada.io/v1alpha1", "/apis/policy.karmada.io/v1alpha1"}

// Observation is what one look at an apiserver showed.
type Observation struct {
	// Version is what /version says; empty when Err is set.
	Version string
	// KubeSystemID is the UID of the namespace kube-system, as far as it may be read.
	KubeSystemID string
	// Err is why /version gave no version: a transport error, or an *HTTPError.
	Err error
	// Health is why /readyz is not content; nil as well when we may not ask.
	Health error
	// Karmada is why Karmada's APIs cannot be used; nil as well for a plain cluster.
	Karmada error
	// Endpoint and Timeout are for messages.
	Endpoint string
	Timeout  time.Duration
}

// HTTPError is an answer that is not 200.
type HTTPError struct {
	Path   string
	Status int
	Body   []byte
}

func (e *HTTPError) Error() string { return fmt.Sprintf("HTTP %d for %s", e.Status, e.Path) }

// Prober looks at apiservers. It keeps a connection to each, by name, which is
// replaced when the credentials change. The zero value has no timeout and is of
// no use. One Prober serves one kind of object.
type Prober struct {
	// Timeout bounds one look, all its requests together.
	Timeout time.Duration

	mu      sync.Mutex
	clients map[string]cachedClient
}

type cachedClient struct {
	fingerprint string
	http        *http.Client
}

// Instance looks at a Karmada control plane. The name is that of the Instance.
func (p *Prober) Instance(ctx context.Context, name string, to connection.Connection) Observation {
	return p.look(ctx, name, to, func(ctx context.Context, get getter, seen *Observation) {
		for _, path := range karmadaPaths {
			if _, err := get(ctx, path); err != nil {
				seen.Karmada = err
				return
			}
		}
	})
}

// Cluster looks at a Kubernetes cluster. The name is that of the Cluster resource.
func (p *Prober) Cluster(ctx context.Context, name string, to connection.Connection) Observation {
	return p.look(ctx, name, to, func(ctx context.Context, get getter, seen *Observation) {
		body, err := get(ctx, "/api/v1/namespaces/kube-system")
		if err != nil {
			return // It is nice to know, and not everybody may read it.
		}
		namespace := &metav1.PartialObjectMetadata{}
		if json.Unmarshal(body, namespace) == nil && len(namespace.UID) <= maxVersion {
			seen.KubeSystemID = string(namespace.UID)
		}
	})
}

// Forget closes the connection of an object that is gone.
func (p *Prober) Forget(name string) {
	p.mu.Lock()
	old, found := p.clients[name]
	delete(p.clients, name)
	p.mu.Unlock()
	if found {
		old.http.CloseIdleConnections()
	}
}

type getter func(ctx context.Context, path string) ([]byte, error)

func (p *Prober) look(ctx context.Context, name string, to connection.Connection, more func(context.Context, getter, *Observation)) Observation {
	seen := Observation{Endpoint: to.Endpoint, Timeout: p.Timeout}
	client, err := p.client(name, to)
	if err != nil {
		seen.Err = err
		return seen
	}
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	get := func(ctx context.Context, path string) ([]byte, error) { return get(ctx, client, to.Endpoint, path) }

	body, err := get(ctx, "/version")
	if err != nil {
		seen.Err = err
		return seen
	}
	info := version.Info{}
	if json.Unmarshal(body, &info) != nil || info.GitVersion == "" || len(info.GitVersion) > maxVersion {
		seen.Err = errNotKubernetes
		return seen
	}
	seen.Version = info.GitVersion

	if _, err := get(ctx, "/readyz"); err != nil {
		var refused *HTTPError
		if !errors.As(err, &refused) || refused.Status >= http.StatusInternalServerError {
			seen.Health = err
			return seen
		}
		// Who may not ask, or asks something without /readyz, learns nothing from it.
	}
	more(ctx, get, &seen)
	return seen
}

// errNotKubernetes means that something else answers at the endpoint.
var errNotKubernetes = errors.New("what answers is not a Kubernetes apiserver")

func (p *Prober) client(name string, to connection.Connection) (*http.Client, error) {
	fingerprint := to.Fingerprint()
	p.mu.Lock()
	defer p.mu.Unlock()
	old, found := p.clients[name]
	if found && old.fingerprint == fingerprint {
		return old.http, nil
	}
	client, err := to.HTTPClient()
	if err != nil {
		return nil, err
	}
	if found {
		old.http.CloseIdleConnections()
	}
	if p.clients == nil {
		p.clients = map[string]cachedClient{}
	}
	p.clients[name] = cachedClient{fingerprint: fingerprint, http: client}
	return client, nil
}

func get(ctx context.Context, client *http.Client, endpoint, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "kairship-controller-manager")
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, &HTTPError{Path: path, Status: response.StatusCode, Body: body}
	}
	return body, nil
}
