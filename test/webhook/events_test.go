package webhook

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	gm "github.com/kairship-io/kairship/pkg/globalmanagement"
)

// What the storm consists of: 500 deliveries.
const (
	bindings  = 50
	sequences = 5
	copies    = 2
)

// storm is the events of many bindings, each several times, in a random order.
// Every fifth binding ends.
func (s *scene) storm() []gm.Event {
	var events []gm.Event
	roles := []gm.Role{gm.Viewer, gm.Editor, gm.Admin}
	for b := range bindings {
		for sequence := int64(1); sequence <= sequences; sequence++ {
			at := s.binding(fmt.Sprint(b), sequence)
			at.Role = roles[(b+int(sequence))%len(roles)]
			if b%2 == 0 {
				at.Namespaces = []string{"shop", fmt.Sprintf("at-%d", sequence)}
			}
			kind := gm.Changed
			switch {
			case sequence == 1:
				kind = gm.Bound
			case sequence == sequences && b%5 == 0:
				kind = gm.Unbound
			}
			for range copies {
				events = append(events, gm.Event{EventID: fmt.Sprintf("%s/%d", at.BindingID, sequence), Type: kind, Binding: at})
			}
		}
	}
	rand.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	return events
}

// acknowledged is the highest sequence of each binding that Kairship has said to
// have stored.
type acknowledged struct {
	mu        sync.Mutex
	sequences map[string]int64
	count     atomic.Int32
}

// note returns how many there are with this one.
func (a *acknowledged) note(receipt gm.Receipt) int32 {
	a.mu.Lock()
	a.sequences[receipt.BindingID] = max(a.sequences[receipt.BindingID], receipt.Sequence)
	a.mu.Unlock()
	return a.count.Add(1)
}

// snapshot is what has been acknowledged so far.
func (a *acknowledged) snapshot() map[string]int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.sequences)
}

// rage sends all events at once. then is called when so many were acknowledged.
func (s *scene) rage(events []gm.Event, after int32, then func(*acknowledged)) {
	s.Helper()
	acks := &acknowledged{sequences: map[string]int64{}}
	var wg sync.WaitGroup
	reached := make(chan struct{})
	for _, event := range events {
		wg.Go(func() {
			receipt, err := s.platform.Send(s.Context(), event)
			if err != nil {
				s.Errorf("event %s: %v", event.EventID, err)
				return
			}
			if receipt.Sequence < event.Sequence {
				s.Errorf("event %s is acknowledged, and what is stored is at %d", event.EventID, receipt.Sequence)
			}
			if acks.note(receipt) == after {
				close(reached)
			}
		})
	}
	sent := make(chan struct{})
	go func() { defer close(sent); wg.Wait() }()
	if then != nil {
		select {
		case <-reached:
			then(acks)
		case <-sent: // Too many failed, which is told below.
		}
	}
	<-sent
	if got := acks.count.Load(); got != int32(len(events)) {
		s.Fatalf("%d of %d events were acknowledged", got, len(events))
	}
}

// applied fails the test unless every binding is as its last event says.
func (s *scene) applied(events []gm.Event) {
	s.Helper()
	for _, last := range events {
		if last.Sequence != sequences {
			continue
		}
		got := s.stored(last.BindingID[len(s.prefix):]).Spec
		if got.Source.Sequence != sequences || got.Source.EventID != last.EventID || got.Role != v1alpha1.Role(last.Role) ||
			!slices.Equal(got.Namespaces, last.Namespaces) || got.Revoked != (last.Type == gm.Unbound) {
			s.Errorf("%s ends as %+v, want %+v", last.BindingID, got, last)
		}
	}
}

// takeEffect waits until every binding has been turned into access rules, or has
// lost them.
func (s *scene) takeEffect() {
	s.Helper()
	poll.Until(s, tookEffect, "all bindings take effect", func(context.Context) error {
		for b := range bindings {
			is := s.stored(fmt.Sprint(b))
			ready := meta.FindStatusCondition(is.Status.Conditions, v1alpha1.ConditionReady)
			want := v1alpha1.ReasonBound
			if is.Spec.Revoked {
				want = v1alpha1.ReasonRevoked
			}
			// Namespaces that do not exist in the instance are none of the webhook's business.
			if ready == nil || ready.ObservedGeneration != is.Generation || ready.Reason != want && ready.Reason != v1alpha1.ReasonNamespacesMissing {
				return fmt.Errorf("%s: %+v", is.Spec.Source.BindingID, ready)
			}
		}
		return nil
	})
}

// TestStorm sends 500 events of 50 bindings at once over both replicas, every one
// twice and in no order: each binding ends as its last event says.
func TestStorm(t *testing.T) {
	s := begin(t)
	events := s.storm()
	s.rage(events, 0, nil)
	s.applied(events)
	s.takeEffect()
}
