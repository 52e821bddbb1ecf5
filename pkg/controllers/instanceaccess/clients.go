package instanceaccess

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"

	"github.com/kairship-io/kairship/pkg/connection"
)

// The limit for one instance: a thousand bindings are written in ten seconds,
// and the instance has others to serve.
const (
	requestsPerSecond = 100
	burst             = 200
)

// clients are the clients of instances, by name. One is replaced when the
// credentials change. The zero value is ready for use.
type clients struct {
	mu     sync.Mutex
	byName map[string]cachedClient
}

type cachedClient struct {
	fingerprint string
	http        *http.Client
	rbac        rbacclient.RbacV1Interface
}

// of is the client of an instance. Nothing is dialled here.
func (c *clients) of(instance string, to connection.Connection, timeout time.Duration) (rbacclient.RbacV1Interface, error) {
	fingerprint := to.Fingerprint()
	c.mu.Lock()
	defer c.mu.Unlock()
	old, found := c.byName[instance]
	if found && old.fingerprint == fingerprint {
		return old.rbac, nil
	}
	transport, err := to.HTTPClient()
	if err != nil {
		return nil, fmt.Errorf("connect to instance %q: %w", instance, err)
	}
	transport.Timeout = timeout
	config := to.RESTConfig()
	config.QPS, config.Burst, config.UserAgent = requestsPerSecond, burst, "kairship-controller-manager/"+Name
	rbac, err := rbacclient.NewForConfigAndClient(config, transport)
	if err != nil {
		return nil, fmt.Errorf("connect to instance %q: %w", instance, err)
	}
	if found {
		old.http.CloseIdleConnections()
	}
	if c.byName == nil {
		c.byName = map[string]cachedClient{}
	}
	c.byName[instance] = cachedClient{fingerprint: fingerprint, http: transport, rbac: rbac}
	return rbac, nil
}

// forget closes the connections to an instance that nothing is left to do in.
func (c *clients) forget(instance string) {
	c.mu.Lock()
	old, found := c.byName[instance]
	delete(c.byName, instance)
	c.mu.Unlock()
	if found {
		old.http.CloseIdleConnections()
	}
}
