package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// TestCollectorGone kills the process that fills the index. Nothing else
// notices: the clusters are well, the index answers, and what it reports about its
// collection stays as it was. Everything that is read from it must be said to be
// old anyway.
func TestCollectorGone(t *testing.T) {
	s := begin(t)

	killed := time.Now()
	s.Kill(t, "clustersynchro-manager")
	missed, remove := s.newObject(t, "alpha")
	defer remove()
	poll.Until(t, noticeWithin, "everything from the index reports that it is old", func(ctx context.Context) error {
		now, err := s.instances(ctx)
		if err != nil {
			t.Fatalf("%s after the kill: %v", time.Since(killed), err)
		}
		if diff := cmp.Diff(s.before, pictureOf(now)); diff != "" {
			t.Fatalf("the workloads changed with the collector (-before +now):\n%s", diff)
		}
		for _, i := range now {
			for what, f := range collected(i) {
				if err := f.since(killed); err != nil {
					return fmt.Errorf("%s of %s: %w", what, i.Name, err)
				}
			}
			if f := i.Freshness; f.Stale {
				t.Fatalf("freshness of instance %s is %+v, but the collector has nothing to do with it", i.Name, f)
			}
		}
		return nil
	})
	t.Logf("stale after %s", time.Since(killed).Round(100*time.Millisecond))

	// A server that starts now has never heard of the collector while it lived.
	late := *s
	late.api = gql.New(s.startServer(t), s.Token(t, "admin"))
	poll.Until(t, noticeWithin, "a server that just started says so too", func(ctx context.Context) error {
		now, err := late.instances(ctx)
		if err != nil {
			return err
		}
		for _, i := range now {
			for what, f := range collected(i) {
				if err := f.since(killed); err != nil {
					return fmt.Errorf("%s of %s: %w", what, i.Name, err)
				}
			}
		}
		return nil
	})
	if shown, err := s.shows(t.Context(), "alpha", missed); err != nil || shown {
		t.Errorf("an object that was created after the collector died is shown: %v, %v", shown, err)
	}

	s.Start(t, "clustersynchro-manager")
	healed := time.Now()
	poll.Until(t, recoverWithin, "what was missed is shown", func(ctx context.Context) error {
		shown, err := s.shows(ctx, "alpha", missed)
		if err == nil && !shown {
			err = errors.New("it is not")
		}
		return err
	})
	t.Logf("what was missed is shown %s after it was healed", time.Since(healed).Round(100*time.Millisecond))
	poll.Until(t, recoverWithin, "everything is as before", s.asBefore)
	t.Logf("as before %s after it was healed", time.Since(healed).Round(100*time.Millisecond))
}

// startServer starts another API server of Kairship for the length of a test.
func (s *scene) startServer(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listening := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	server := exec.Command(filepath.Join(s.Bin, "kairship-apiserver"), "--listen-address="+listening,
		"--kubeconfig="+filepath.Join(s.Dir, "kubeconfig", "components", "global-kairship-apiserver.yaml"), fleet.OpenAddresses)
	server.Stdout, server.Stderr = &log, &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
		if t.Failed() {
			t.Logf("the log of the server that was started:\n%s", log.Bytes())
		}
	})
	poll.Until(t, noticeWithin, "the server answers", func(ctx context.Context) error { return alive(ctx, "http://"+listening) })
	return "http://" + listening
}

// collected is the freshness of everything of an instance that is read from the index.
func collected(i *instance) map[string]freshness {
	all := map[string]freshness{"the workloads": i.Workloads.Freshness, "the member clusters": i.MemberClusters.Freshness}
	for _, w := range i.Workloads.Nodes {
		all[w.key()] = w.Freshness
		for _, p := range w.Placements {
			if p.Object != nil {
				all[w.key()+" in "+p.ClusterName] = p.Object.Freshness
			}
		}
	}
	return all
}
