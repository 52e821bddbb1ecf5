package balancer

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/longtest"
	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/consistency"
)

const (
	// convergeTimeout bounds how long the last event may take to reach everybody.
	convergeTimeout = 30 * time.Second

	writers     = 3
	subscribers = 4 // Of each transport.
)

// loadFor is how long everybody is at it.
func loadFor() time.Duration {
	if longtest.On() {
		return time.Minute
	}
	return 30 * time.Second
}

// TestRollout replaces both replicas, one after the other, while people
// read, write and subscribe, and the key that replicas seal with. No request may fail,
// and no event may be lost.
func TestRollout(t *testing.T) {
	s := newScene(t)
	s.start(t)
	s.ready(t)
	s.start(t)
	s.ready(t)

	count := &tally{}
	namespace := s.namespace(t)
	book := &record{now: map[string]string{}, ever: map[string]bool{}}
	following, stopFollowing := context.WithCancel(t.Context())
	defer stopFollowing()
	working, stopWorking := context.WithCancel(t.Context())
	defer stopWorking()
	var followers, workers sync.WaitGroup

	var all []*subscriber
	for i := range subscribers {
		how := browsers[i%len(browsers)]
		all = append(all,
			&subscriber{name: fmt.Sprintf("stream %d (%s)", i, how.name), connect: streams(s.person(t, "alice", how.change))},
			&subscriber{name: fmt.Sprintf("WebSocket %d", i), connect: s.sockets(s.Token(t, "alice"))})
	}
	for _, f := range all {
		f.tally, f.namespace, f.known, f.ever = count, namespace, map[string]string{}, map[string]bool{}
		followers.Go(func() { f.run(following) })
	}
	for i := range writers {
		w := &writer{tally: count, scene: s, number: i, namespace: namespace, record: book, api: s.person(t, "alice", browsers[2-i%2].change)}
		workers.Go(func() { w.run(working) })
	}
	for _, how := range browsers {
		for person, instance := range map[string]string{"alice": "alpha", "bob": "beta"} {
			c := s.person(t, person, how.change)
			workers.Go(func() { count.browses(working, c, how.name, instance) })
		}
	}

	begun, load := time.Now(), loadFor()
	const replacements = 2
	s.replaceKey(t)
	for i := range replacements {
		pause(t.Context(), time.Until(begun.Add(time.Duration(2*i+1)*load/(2*replacements+1))))
		s.replace(t)
	}
	pause(t.Context(), time.Until(begun.Add(load)))
	stopWorking()
	workers.Wait()

	now, ever := book.read()
	poll.Until(t, convergeTimeout, "all subscribers have every object", func(context.Context) error {
		for _, f := range all {
			if err := f.lacks(now, ever); err != nil {
				return err
			}
		}
		return nil
	})
	stopFollowing()
	followers.Wait()
	count.report(t)
	t.Logf("%d objects were made, %d are left; %d subscribers were told of every one", len(ever), len(now), len(all))
	for _, f := range all {
		if again := f.connected - 1; again > replacements {
			t.Errorf("%s connected again %d times, and there were %d replacements", f.name, again, replacements)
		}
	}
	if s.balancer.refused > 0 {
		t.Errorf("%d connections found no replica", s.balancer.refused)
	}
	s.provesMuch(t, count, len(ever))
}

// provesMuch checks that there was what could have gone wrong.
func (s *scene) provesMuch(t testing.TB, count *tally, objects int) {
	t.Helper()
	for what, atLeast := range map[string]int{
		"of these at another replica than wrote it": 10,
		"streams that said connect again":           2 * subscribers,
		"events told":                               2 * subscribers * objects,
		"writes":                                    30,
	} {
		if got := count.of(what); got < atLeast {
			t.Errorf("%d %s: this proves too little, want at least %d", got, what, atLeast)
		}
	}
}

// replaceKey does what docs/operations.md says. One replica will know the new key before
// the other does.
func (s *scene) replaceKey(t testing.TB) {
	t.Helper()
	var secret corev1.Secret
	poll.Until(t, convergeTimeout, "a key was needed", func(ctx context.Context) error { // In a new fleet none was needed yet.
		return s.Client(t, "global").Get(ctx, client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: "kairship-consistency-tokens"}, &secret)
	})
	fresh := make([]byte, consistency.KeySize)
	rand.Read(fresh)
	secret.Data[consistency.SecretPreviousKey], secret.Data[consistency.SecretKey] = secret.Data[consistency.SecretKey], fresh
	if err := s.Client(t, "global").Update(t.Context(), &secret); err != nil {
		t.Fatal(err)
	}
}

// namespace makes a namespace of the test's own in alpha.
func (s *scene) namespace(t testing.TB) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "balancer-"}}
	if err := s.Client(t, "alpha").Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(s.Client(t, "alpha").Delete(context.Background(), ns)); err != nil {
			t.Error(err)
		}
	})
	return ns.Name
}
