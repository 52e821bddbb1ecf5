package balancer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

const (
	// shutdownDelay is long enough for the balancer to notice, even on a busy machine.
	shutdownDelay = 4 * time.Second
	// readyWithin bounds how long a replica may take until the balancer sends it connections.
	readyWithin = 60 * time.Second
)

// scene is some replicas behind a balancer.
type scene struct {
	*fleet.Fleet
	balancer *balancer
	trust    *tls.Config
	// replicas run, the oldest first.
	replicas []*fleet.Process
}

func newScene(t testing.TB) *scene {
	t.Helper()
	f := fleet.Open(t)
	authority, err := os.ReadFile(f.KairshipCAFile)
	if err != nil {
		t.Fatal(err)
	}
	trust := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	if !trust.RootCAs.AppendCertsFromPEM(authority) {
		t.Fatalf("%s has no certificate", f.KairshipCAFile)
	}
	return &scene{Fleet: f, trust: trust, balancer: newBalancer(t, trust)}
}

// start adds a replica, which need not be ready yet.
func (s *scene) start(t testing.TB) {
	t.Helper()
	replica := s.Replica(t, fmt.Sprintf("--shutdown-delay=%s", shutdownDelay))
	s.replicas = append(s.replicas, replica)
	s.balancer.add(replica.Address)
}

// ready waits until the balancer sends connections to the youngest replica.
func (s *scene) ready(t testing.TB) {
	t.Helper()
	address := s.replicas[len(s.replicas)-1].Address
	poll.Until(t, readyWithin, "the new replica is ready", func(context.Context) error {
		if ready := s.balancer.ready(); !slices.Contains(ready, address) {
			return fmt.Errorf("%s is not among those that are: %v", address, ready)
		}
		return nil
	})
}

// replace tells the oldest replica to end, as a rollout does, and starts another one
// at the same time: for a while there is one less.
func (s *scene) replace(t testing.TB) {
	t.Helper()
	oldest := s.replicas[0]
	s.replicas = s.replicas[1:]
	begun := time.Now()
	ended := oldest.Terminate(t)
	s.start(t)
	s.ready(t)
	started := time.Since(begun)
	if err := ended(); err != nil {
		t.Errorf("%s did not end in order: %v\n%s", oldest.Address, err, oldest.Tail(20))
	}
	taken := s.balancer.remove(oldest.Address)
	t.Logf("%s took connections %s after %s was told to end, which had ended after %s, with %d connections served",
		s.replicas[len(s.replicas)-1].Address, round(started), oldest.Address, round(time.Since(begun)), taken)
}

// transport is one client's own connections to the balancer.
func (s *scene) transport(t testing.TB, change func(*http.Transport)) *http.Transport {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: s.trust.Clone(), ForceAttemptHTTP2: true}
	change(transport)
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }
