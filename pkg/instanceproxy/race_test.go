package instanceproxy_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
)

// TestManyUsersWhileInstancesComeAndGo has a hundred users ask while instances
// rotate their credentials, vanish and appear again. No user may ever get an
// answer of another instance, or as another user; no user may fail on an instance
// that only rotates; and nothing may be left running.
func TestManyUsersWhileInstancesComeAndGo(t *testing.T) {
	ignore := goleak.IgnoreCurrent()
	w := newWorld(t)
	const users, instances = 100, 6
	length := 3 * time.Second
	if testing.Short() {
		length = time.Second
	}
	servers := make([]*apiserver, instances)
	for n := range servers {
		servers[n] = newAPIServer(t, fmt.Sprintf("i%d", n), nil)
		servers[n].accept("first")
		w.put(servers[n].name, servers[n].kubeconfig("first"))
	}
	c := w.collection(nil)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()

	var all sync.WaitGroup
	for n, s := range servers {
		all.Go(func() {
			last := "first"
			for round := 0; ctx.Err() == nil; round++ {
				time.Sleep(rand.N(60 * time.Millisecond))
				if n%2 == 1 {
					// Odd ones vanish and appear again.
					w.delete(s.name)
					time.Sleep(rand.N(10 * time.Millisecond))
					w.put(s.name, s.kubeconfig(last))
					continue
				}
				next := fmt.Sprintf("token-%d", round)
				s.accept(next)
				w.put(s.name, s.kubeconfig(next))
				s.revoke(last)
				last = next
				// No credentials are replaced before they were used: on a busy machine a request
				// would find one after the other revoked, for as long as Kairship tries.
				for used := s.accepted(); ctx.Err() == nil && s.accepted() < used+users/instances; {
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	var answers, vanished atomic.Int64
	// On a machine that is busy it goes on until something was tried.
	all.Go(func() {
		defer stop()
		<-time.After(length)
		_ = poll.Try(ctx, time.Minute, func(context.Context) error {
			if answers.Load() < users {
				return errors.New("too few answers yet")
			}
			return nil
		})
	})
	for n := range users {
		all.Go(func() {
			name := fmt.Sprintf("user-%d", n)
			for ctx.Err() == nil {
				at := rand.N(instances)
				instance := servers[at].name
				path := fmt.Sprintf("/%s/%s/%d", instance, name, rand.Int())
				got, err := askAs(authz.WithUser(ctx, authz.User{Name: name, Groups: []string{"of-" + name}}), c, instance, path)
				switch {
				case err == nil:
					answers.Add(1)
					if got.Instance != instance || got.User != name || got.Path != path || len(got.Groups) != 1 || got.Groups[0] != "of-"+name {
						t.Errorf("%s asked %s for %s and was answered by %s, as %s %v, about %s", name, instance, path, got.Instance, got.User, got.Groups, got.Path)
					}
				case ctx.Err() != nil:
				case at%2 == 1 && (apierror.Is(err, apierror.CodeNotFound) || errors.Is(err, context.Canceled)):
					vanished.Add(1)
				default:
					t.Errorf("%s of %s: %v (%v)", name, instance, err, errors.Unwrap(err))
				}
			}
		})
	}
	all.Wait()
	if answers.Load() < users {
		t.Errorf("only %d answers: nothing was tried", answers.Load())
	}
	t.Logf("%d answers, %d times an instance was not there", answers.Load(), vanished.Load())
	c.Close()
	for _, s := range servers {
		s.Close()
	}
	goleak.VerifyNone(t, ignore)
}
