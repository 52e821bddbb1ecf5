package instanceaccess

import (
	"fmt"
	"sync"
	"time"

	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"

	"github.com/kairship-io/kairship/pkg/controllers/internal/connections"
)

// The limit for one instance: a thousand bindings are written in ten seconds,
// and the instance has others to serve.
const (
	requestsPerSecond = 100
	burst             = 200
)

// clients are the clients of instances, by name, each with a limit of its own. One
// is replaced when the connection is. The zero value is ready for use.
type clients struct {
	mu     sync.Mutex
	byName map[string]cachedClient
}

type cachedClient struct {
	conn *connections.Conn
	rbac rbacclient.RbacV1Interface
}

// of is the client of an instance. Nothing is dialled here.
func (c *clients) of(instance string, conn *connections.Conn, timeout time.Duration) (rbacclient.RbacV1Interface, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, found := c.byName[instance]; found && old.conn == conn {
		return old.rbac, nil
	}
	limited := *conn.HTTP
	limited.Timeout = timeout
	config := conn.RESTConfig()
	config.QPS, config.Burst, config.UserAgent = requestsPerSecond, burst, connections.UserAgent+"/"+Name
	rbac, err := rbacclient.NewForConfigAndClient(config, &limited)
	if err != nil {
		return nil, fmt.Errorf("connect to instance %q: %w", instance, err)
	}
	if c.byName == nil {
		c.byName = map[string]cachedClient{}
	}
	c.byName[instance] = cachedClient{conn: conn, rbac: rbac}
	return rbac, nil
}

// forget drops the client of an instance that nothing is left to do in. The
// connection is not closed: others use it too.
func (c *clients) forget(instance string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byName, instance)
}
