package balancer

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

const (
	// probeEvery is how often the balancer asks each replica whether it is ready.
	probeEvery = 250 * time.Millisecond
	// probeTimeout is generous: a busy machine is no replica that stops.
	probeTimeout = 5 * time.Second
)

// balancer passes TCP connections on to replicas in turn. It knows nothing of what is
// sent: a connection stays with its replica for as long as it lasts. New ones go only
// to replicas that say at /readyz that they are ready; those to a replica that no
// longer does are left to drain.
type balancer struct {
	// Address is where it listens, as host:port.
	Address string
	probes  *http.Client

	mu       sync.Mutex
	replicas []*backend
	next     int
	// behind says which replica a client's connection went to, by the client's address.
	behind map[string]string
	// refused counts connections for which no replica was ready.
	refused int
}

// backend is a replica as the balancer sees it.
type backend struct {
	address string
	ready   bool
	// leave ends the probes.
	leave context.CancelFunc
	// taken counts connections there ever were, strays those that it was given after it
	// said that it is not ready.
	taken int
}

// newBalancer starts a balancer, which stops with the test.
func newBalancer(t testing.TB, trust *tls.Config) *balancer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &balancer{
		Address: listener.Addr().String(),
		behind:  map[string]string{},
		// Probes have connections of their own, as those of a real balancer.
		probes: &http.Client{Timeout: probeTimeout, Transport: &http.Transport{TLSClientConfig: trust, DisableKeepAlives: true}},
	}
	t.Cleanup(func() {
		_ = listener.Close()
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, r := range b.replicas {
			r.leave()
		}
	})
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go b.pass(conn.(*net.TCPConn)) //nolint:forcetypeassert // A TCP listener has no others.
		}
	}()
	return b
}

// add has a replica take connections from when it is ready on.
func (b *balancer) add(address string) {
	ctx, cancel := context.WithCancel(context.Background())
	r := &backend{address: address, leave: cancel}
	b.mu.Lock()
	b.replicas = append(b.replicas, r)
	b.mu.Unlock()
	go func() {
		for ctx.Err() == nil {
			ready := b.probe(ctx, address)
			b.mu.Lock()
			r.ready = ready
			b.mu.Unlock()
			select {
			case <-ctx.Done():
			case <-time.After(probeEvery):
			}
		}
	}()
}

func (b *balancer) probe(ctx context.Context, address string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/readyz", http.NoBody)
	if err != nil {
		return false
	}
	response, err := b.probes.Do(r)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode == http.StatusOK
}

// remove forgets a replica that has ended, and says how many connections it had taken.
func (b *balancer) remove(address string) (taken int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.replicas = slices.DeleteFunc(b.replicas, func(r *backend) bool {
		if r.address == address {
			r.leave()
			taken = r.taken
		}
		return r.address == address
	})
	return taken
}

// ready are the replicas that take connections now.
func (b *balancer) ready() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var found []string
	for _, r := range b.replicas {
		if r.ready {
			found = append(found, r.address)
		}
	}
	return found
}

// of is the replica that a client's connection went to.
func (b *balancer) of(client net.Addr) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.behind[client.String()]
}

// pick is the replica whose turn it is.
func (b *balancer) pick(client net.Addr) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.replicas {
		r := b.replicas[b.next%len(b.replicas)]
		b.next++
		if r.ready {
			r.taken++
			b.behind[client.String()] = r.address
			return r.address
		}
	}
	b.refused++
	return ""
}

// pass copies one connection's bytes in both directions until both are at their end.
func (b *balancer) pass(client *net.TCPConn) {
	defer func() { _ = client.Close() }()
	address := b.pick(client.RemoteAddr())
	if address == "" {
		return
	}
	conn, err := net.DialTimeout("tcp", address, probeTimeout)
	if err != nil {
		return // As any balancer would that has nothing to read the request with.
	}
	replica := conn.(*net.TCPConn) //nolint:forcetypeassert // It was dialled as one.
	defer func() { _ = replica.Close() }()
	done := make(chan struct{})
	go func() {
		defer close(done)
		half(replica, client)
	}()
	half(client, replica)
	<-done
}

// half copies one direction. Its end is passed on, and so is a connection that broke.
func half(to, from *net.TCPConn) {
	if _, err := io.Copy(to, from); err != nil && !errors.Is(err, net.ErrClosed) {
		_ = to.Close()
		_ = from.Close()
		return
	}
	_ = to.CloseWrite()
}
