package webhook

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/internal/poll"
)

// TestLeaderKilled kills the leader, with kill -9, in the middle of the storm:
// what was acknowledged by then is stored, the rest is taken by the other
// replica, and the next leader turns all of it into access rules.
func TestLeaderKilled(t *testing.T) {
	s := begin(t)
	leader := s.leader()
	events := s.storm()
	s.rage(events, int32(len(events)/2), func(acks *acknowledged) {
		count := acks.count.Load() // A process takes its time to be gone.
		s.fleet.Kill(t, leader)
		before := acks.snapshot()
		if count == int32(len(events)) {
			t.Errorf("all events were acknowledged before %s had ended: it was not killed in the middle", leader)
		}
		for id, sequence := range before {
			if got := s.stored(id[len(s.prefix):]).Spec.Source.Sequence; got < sequence {
				t.Errorf("%s was acknowledged at %d, and is at %d after the leader was killed", id, sequence, got)
			}
		}
		t.Logf("%s was killed after %d of %d events of %d bindings", leader, count, len(events), len(before))
	})
	s.applied(events)
	s.takeEffect()
}

// leader is the controller manager that leads.
func (s *scene) leader() string {
	s.Helper()
	leader := ""
	poll.Until(s, tookEffect, "one controller manager leads", func(ctx context.Context) error {
		var leaders []string
		for i := range s.fleet.GlobalManagement.URLs {
			name := fmt.Sprintf("kairship-controller-manager-%d", i)
			leads, err := s.leads(ctx, name)
			if err != nil {
				return err
			}
			if leads {
				leaders = append(leaders, name)
			}
		}
		if len(leaders) != 1 {
			return fmt.Errorf("%q lead", leaders)
		}
		leader = leaders[0]
		return nil
	})
	return leader
}

// leads reads from a process's metrics whether it leads.
func (s *scene) leads(ctx context.Context, process string) (bool, error) {
	address := ""
	for _, arg := range s.fleet.Args(s, process) {
		if value, ok := strings.CutPrefix(arg, "--metrics-bind-address="); ok {
			address = value
		}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", http.NoBody)
	if err != nil {
		return false, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false, err
	}
	defer func() { _ = response.Body.Close() }()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), `leader_election_master_status{name="kairship-controller-manager"} `); ok {
			return value == "1", nil
		}
	}
	return false, errors.New("the metrics do not say who leads")
}
