// Package connections holds the controllers' connections: one to each instance
// and to each cluster, which all controllers share. A connection is replaced when
// the credentials change and closed when its object goes; whatever follows it,
// such as a watch, hears of that by its context.
package connections

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/tracing"
)

// Key is what a connection is for.
type Key struct {
	kind, name string
}

// Instance is the key of the connection to an instance. The virtual Cluster that
// stands for the instance has the same one.
func Instance(name string) Key { return Key{kind: "instance", name: name} }

// Cluster is the key of the connection to a Physical cluster.
func Cluster(name string) Key { return Key{kind: "cluster", name: name} }

// Conn is one connection. It is safe for concurrent use.
type Conn struct {
	// HTTP adds the credentials to what is sent. It has no timeout of its own: a
	// watch lasts.
	HTTP *http.Client
	// To is how the other side is reached.
	To connection.Connection

	fingerprint string
	ctx         context.Context //nolint:containedctx // it is the connection's life, not that of a call
	end         context.CancelFunc
}

// Context ends when the connection was replaced or closed. Requests that are under
// way may still finish; watches must end with it.
func (c *Conn) Context() context.Context { return c.ctx }

// RESTConfig is the connection for client-go's constructors that also take HTTP.
// It has no client-side limit of requests: the caller sets its own.
func (c *Conn) RESTConfig() *rest.Config {
	config := c.To.RESTConfig()
	config.QPS, config.UserAgent = -1, UserAgent
	return config
}

// Limited is the connection with what one controller may send: so many requests in a second, bursts of so many, and
// so long for each.
func (c *Conn) Limited(controller string, perSecond float32, burst int, timeout time.Duration) (*rest.Config, *http.Client) {
	config, limited := c.RESTConfig(), *c.HTTP
	config.RateLimiter, config.UserAgent = flowcontrol.NewTokenBucketRateLimiter(perSecond, burst), UserAgent+"/"+controller
	limited.Timeout = timeout
	return config, &limited
}

// UserAgent is how the controllers call themselves.
const UserAgent = "kairship-controller-manager"

// Pool holds connections. The zero value is ready for use.
type Pool struct {
	// Addresses are those that may be connected to; nil for all.
	Addresses *connection.Addresses

	mu    sync.Mutex
	conns map[Key]*Conn
}

// Of is the connection of an object, made new when there is none yet, or when it
// has other credentials than before. Nothing is dialled here.
func (p *Pool) Of(key Key, to connection.Connection) (*Conn, error) {
	fingerprint := to.Fingerprint()
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.conns[key]
	if old != nil && old.fingerprint == fingerprint {
		return old, nil
	}
	client, err := to.HTTPClient(p.Addresses)
	if err != nil {
		return nil, fmt.Errorf("connect to %s %q: %w", key.kind, key.name, err)
	}
	client.Transport = tracing.Transport(tracing.ToInstance)(client.Transport)
	ctx, end := context.WithCancel(context.Background())
	made := &Conn{HTTP: client, To: to, fingerprint: fingerprint, ctx: ctx, end: end}
	if p.conns == nil {
		p.conns = map[Key]*Conn{}
	}
	p.conns[key] = made
	if old != nil {
		old.close()
	}
	return made, nil
}

// Forget closes the connection of an object that no longer exists, or that has no
// credentials any more.
func (p *Pool) Forget(key Key) {
	p.mu.Lock()
	old := p.conns[key]
	delete(p.conns, key)
	p.mu.Unlock()
	if old != nil {
		old.close()
	}
}

// Len is how many connections there are.
func (p *Pool) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

func (c *Conn) close() {
	c.end()
	c.HTTP.CloseIdleConnections()
}
