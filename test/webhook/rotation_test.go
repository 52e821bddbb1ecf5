package webhook

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	gm "github.com/kairship-io/kairship/pkg/globalmanagement"
	"github.com/kairship-io/kairship/pkg/globalmanagement/client"
)

// rotatesWithin is how soon every replica knows a changed Secret, as the guide
// promises.
const rotatesWithin = 10 * time.Second

// TestRotation replaces the secret as the guide says, while events come all the
// time: none is refused, no process is restarted, and the old secret is worth
// nothing afterwards.
func TestRotation(t *testing.T) {
	s := begin(t)
	pids := s.pids()
	raw := make([]byte, 32)
	if _, err := rand.Read(raw); err != nil {
		t.Fatal(err)
	}
	old, fresh := s.secret, []byte(hex.EncodeToString(raw))
	t.Cleanup(func() {
		s.setSecrets(context.WithoutCancel(t.Context()), map[string][]byte{"primary": old})
		s.secret = old
		s.accepted(old, true)
	})

	current := atomic.Pointer[[]byte]{}
	current.Store(&old)
	// Every failure of it is one of the rotation: it tries once.
	stable, err := client.New(client.Options{
		URLs: s.fleet.GlobalManagement.URLs, HTTP: s.http, Attempts: 1,
		Secret: func(context.Context) ([]byte, error) { return *current.Load(), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	failures := make(chan error, 1)
	sent := atomic.Int32{}
	go func() {
		defer close(failures)
		for sequence := int64(1); ctx.Err() == nil; sequence++ {
			if _, err := stable.Change(ctx, s.binding("steady", sequence)); err != nil && ctx.Err() == nil {
				failures <- fmt.Errorf("event %d: %w", sequence, err)
				return
			}
			sent.Add(1)
			time.Sleep(20 * time.Millisecond)
		}
	}()

	s.accepted(old, true)
	s.accepted(fresh, false)
	s.setSecrets(t.Context(), map[string][]byte{"primary": old, "secondary": fresh})
	s.accepted(fresh, true)
	s.accepted(old, true)
	current.Store(&fresh)
	// One that was signed with the old secret may be under way; the next is not.
	under := sent.Load() + 1
	poll.Until(t, tookEffect, "events are signed with the new secret", func(context.Context) error {
		if now := sent.Load(); now <= under && len(failures) == 0 {
			return fmt.Errorf("%d events were sent", now)
		}
		return nil
	})
	s.setSecrets(t.Context(), map[string][]byte{"primary": fresh})
	s.accepted(old, false)
	s.accepted(fresh, true)
	stop()
	if err := <-failures; err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("while the secret was rotated: %v", err)
	}
	t.Logf("%d events were sent meanwhile", sent.Load())
	if after := s.pids(); after != pids {
		t.Errorf("processes %s, were %s", after, pids)
	}
}

func (s *scene) setSecrets(ctx context.Context, data map[string][]byte) {
	s.Helper()
	namespace, name, _ := strings.Cut(s.fleet.GlobalManagement.Secret, "/")
	secret := &corev1.Secret{}
	if err := s.global.Get(ctx, ctrlclient.ObjectKey{Namespace: namespace, Name: name}, secret); err != nil {
		s.Fatal(err)
	}
	secret.Data = data
	if err := s.global.Update(ctx, secret); err != nil {
		s.Fatal(err)
	}
}

// accepted waits until both replicas accept what a secret has signed, or do not.
// The request is malformed, so that nothing is stored.
func (s *scene) accepted(secret []byte, want bool) {
	s.Helper()
	begun := time.Now()
	status := 401
	if want {
		status = 400
	}
	for replica := range s.fleet.GlobalManagement.URLs {
		// The cleanup needs it too, when the test's context has ended.
		err := poll.Try(context.WithoutCancel(s.Context()), rotatesWithin, func(context.Context) error {
			s.signed = s.signed.Add(-time.Millisecond)
			p := post{path: gm.EventsPath, body: "{}"}
			p.timestamp, p.signature = gm.Sign(secret, s.signed, []byte(p.body))
			if got, refusal := s.send(replica, p); got != status {
				return fmt.Errorf("status %d %+v", got, refusal)
			}
			return nil
		})
		if err != nil {
			s.Errorf("replica %d, want %d within %s: %v", replica, status, time.Since(begun).Round(time.Millisecond), err)
		}
	}
}

// pids are the processes of the replicas.
func (s *scene) pids() string {
	s.Helper()
	return fmt.Sprint(s.fleet.PID(s, "kairship-controller-manager-0"), s.fleet.PID(s, "kairship-controller-manager-1"))
}
