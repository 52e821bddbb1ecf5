package upgrade

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/kairship-io/kairship/test/internal/gql"
)

// balancer sends each new connection to the API servers in turn. One that refuses it is passed by,
// as by any balancer, and counted.
type balancer struct {
	addresses []string
	next      atomic.Int64
	refused   atomic.Int64
}

func (b *balancer) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	var failed error
	first := int(b.next.Add(1))
	for i := range b.addresses {
		address := b.addresses[(first+i)%len(b.addresses)]
		conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, network, address)
		if err == nil {
			return conn, nil
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			b.refused.Add(1)
		}
		failed = err
	}
	return nil, failed
}

// client is one of a person, with connections of its own. Each connection serves for a second, so
// that all API servers are asked.
func (s *scene) client(t *testing.T, person string) *gql.Client {
	t.Helper()
	authority, err := os.ReadFile(s.KairshipCAFile)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authority)
	transport := &http.Transport{
		DialContext: s.balancer.dial, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12},
	}
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	go func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(time.Second):
				transport.CloseIdleConnections()
			}
		}
	}()
	c := gql.New(s.KairshipTLSURL, s.Token(t, person))
	c.HTTP = &http.Client{Transport: transport, Timeout: time.Minute}
	return c
}

// tally counts what clients did, and keeps the failures.
type tally struct {
	mu       sync.Mutex
	did      map[string]int
	refused  int
	failures map[string]int
	slowest  time.Duration
}

// answered counts an answer. A refusal because all states are computed is counted separately: only
// releases before meta.refresh give it during a rebuild.
func (y *tally) answered(what string, took time.Duration, err error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.did[what]++
	y.slowest = max(y.slowest, took)
	switch {
	case err == nil:
	case strings.Contains(err.Error(), "states of all workloads are being computed"):
		y.refused++
	default:
		y.failures[what+": "+err.Error()]++
	}
}

// report logs and clears the tally, and fails the test for each failure.
func (y *tally) report(t *testing.T, phase string, mayRefuse bool) {
	t.Helper()
	y.mu.Lock()
	defer y.mu.Unlock()
	t.Logf("%s: answers %v, the slowest after %s; %d refused during a rebuild", phase, y.did, y.slowest.Round(time.Millisecond), y.refused)
	if y.refused > 0 && !mayRefuse {
		t.Errorf("%s: %d lists were refused during a rebuild, want none", phase, y.refused)
	}
	for _, failure := range slices.Sorted(maps.Keys(y.failures)) {
		t.Errorf("%s: %d times: %s", phase, y.failures[failure], failure)
	}
	y.did, y.refused, y.failures, y.slowest = map[string]int{}, 0, map[string]int{}, 0
}

const (
	// pace is between two operations of one client.
	pace    = 100 * time.Millisecond
	byState = `query ($health: [WorkloadHealth!]!) { workloads(first: 500, filter: {health: $health, namespaces: ["` + namespace + `"]}, orderBy: {field: HEALTH, direction: DESC}) {
		totalCount facets(fields: [HEALTH]) { values { value count } } freshness { stale } nodes { name health replicas { ready } } } }`
	single = `query ($name: String!) { instance(name: "alpha") { workload(kind: DEPLOYMENT, namespace: "` + namespace + `", name: $name) { name health replicas { desired ready } placements { clusterName ready } } } }`
	scale  = `mutation ($name: String!, $replicas: Int!) { scaleWorkload(input: {instance: "alpha", kind: DEPLOYMENT, namespace: "` + namespace + `", name: $name, replicas: $replicas}) { workload { name } } }`
)

// listed is a list by health.
type listed struct {
	Workloads struct {
		TotalCount int
		Facets     []struct {
			Values []struct {
				Value string
				Count int
			}
		}
		Nodes []struct {
			Name, Health string
			Replicas     struct{ Ready int }
		}
	}
}

// healths are all states of health.
var healths = []string{"HEALTHY", "PROGRESSING", "DEGRADED", "UNSCHEDULED", "UNPROPAGATED", "UNMANAGED", "UNKNOWN"}

// contradicts returns what is impossible in a list by health: a workload of another health, numbers
// that differ from each other, or, of a list of everything, another number than there are workloads.
func (l *listed) contradicts(wanted []string) error {
	count := 0
	for _, facet := range l.Workloads.Facets {
		for _, value := range facet.Values {
			count += value.Count
			if !slices.Contains(wanted, value.Value) {
				return fmt.Errorf("a list of %v counts %s", wanted, value.Value)
			}
		}
	}
	for _, node := range l.Workloads.Nodes {
		if !slices.Contains(wanted, node.Health) {
			return fmt.Errorf("a list of %v has %s", wanted, node.Health)
		}
	}
	if len(l.Workloads.Nodes) != l.Workloads.TotalCount {
		return fmt.Errorf("a list has %d workloads and counts %d", len(l.Workloads.Nodes), l.Workloads.TotalCount)
	}
	if len(wanted) == len(healths) && (l.Workloads.TotalCount != workloads || count != workloads) {
		return fmt.Errorf("a list of everything has %d workloads and facets of %d, want %d", l.Workloads.TotalCount, count, workloads)
	}
	return nil
}

// load has clients read and write until stop is called.
func (s *scene) load(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	loop := func(what string, c *gql.Client, do func(ctx context.Context, c *gql.Client, n int) error) {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				begun := time.Now()
				if err := do(ctx, c, n); ctx.Err() == nil {
					s.tally.answered(what, time.Since(begun), err)
				}
				select {
				case <-ctx.Done():
				case <-time.After(pace):
				}
			}
		})
	}
	for range 2 {
		loop("lists by health", s.client(t, "admin"), func(ctx context.Context, c *gql.Client, n int) error {
			wanted := [][]string{healths, {"HEALTHY"}, {"PROGRESSING", "DEGRADED"}, {"UNPROPAGATED"}}[n%4]
			got, _, err := gql.Query[listed](ctx, c, byState, map[string]any{"health": wanted})
			if err != nil {
				return err
			}
			return got.contradicts(wanted)
		})
		loop("gets", s.client(t, "admin"), func(ctx context.Context, c *gql.Client, n int) error {
			type one struct {
				Instance struct{ Workload *struct{ Name string } }
			}
			name := nameOf(n % workloads)
			got, _, err := gql.Query[one](ctx, c, single, map[string]any{"name": name})
			if err == nil && (got.Instance.Workload == nil || got.Instance.Workload.Name != name) {
				err = fmt.Errorf("got %+v", got.Instance.Workload)
			}
			return err
		})
	}
	loop("writes", s.client(t, "admin"), func(ctx context.Context, c *gql.Client, n int) error {
		// Each round gives other numbers of replicas.
		_, _, err := gql.Query[struct{}](ctx, c, scale, map[string]any{"name": nameOf(n % workloads), "replicas": 1 + (n/workloads+n)%3})
		return err
	})
	return func() { cancel(); all.Wait() }
}
