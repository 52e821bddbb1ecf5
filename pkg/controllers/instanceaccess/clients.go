package instanceaccess

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	admissionclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/rest"

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
	inside
}

// inside is the client of an instance.
type inside struct {
	rbac      rbacclient.RbacV1Interface
	core      coreclient.CoreV1Interface
	admission admissionclient.AdmissionregistrationV1Interface
}

// of is the client of an instance. Nothing is dialled here.
func (c *clients) of(instance string, conn *connections.Conn, timeout time.Duration) (inside, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, found := c.byName[instance]; found && old.conn == conn {
		return old.inside, nil
	}
	made, err := newInside(conn.Limited(Name, requestsPerSecond, burst, timeout))
	if err != nil {
		return inside{}, fmt.Errorf("connect to instance %q: %w", instance, err)
	}
	if c.byName == nil {
		c.byName = map[string]cachedClient{}
	}
	c.byName[instance] = cachedClient{conn: conn, inside: made}
	return made, nil
}

func newInside(config *rest.Config, over *http.Client) (made inside, err error) {
	if made.rbac, err = rbacclient.NewForConfigAndClient(config, over); err != nil {
		return made, err
	}
	if made.core, err = coreclient.NewForConfigAndClient(config, over); err != nil {
		return made, err
	}
	made.admission, err = admissionclient.NewForConfigAndClient(config, over)
	return made, err
}

// forget drops the client of an instance that nothing is left to do in. The
// connection is not closed: others use it too.
func (c *clients) forget(instance string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byName, instance)
}
