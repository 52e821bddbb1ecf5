package faults

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

const (
	// noticeWithin bounds how long anything may take to notice that a part is stopped.
	noticeWithin = time.Minute
	// recoverWithin bounds how long anything may take to be well again. Clusterpedia's
	// collector waits up to a minute before it watches again, and answers are stale until
	// it is known to do so.
	recoverWithin = 150 * time.Second
	// collectorWithin bounds how long Clusterpedia's collector may take to hear of
	// the global cluster again: it waits longer after each attempt that failed.
	collectorWithin = 3 * time.Minute
	// collectorHearsWithin is after how long it is told again.
	collectorHearsWithin = 20 * time.Second
)

// scene is the fleet in the hands of one test.
type scene struct {
	*fleet.Fleet
	// api asks as the administrator, and is impatient.
	api *gql.Client
	// at are the administrator's clients of all clusters, by name.
	at map[string]client.Client
	// before is how the workloads were when the first test began.
	before picture
	// server is Kairship's API server, which has to live through everything.
	server int
}

var (
	// before is how the fleet was when the first test began.
	before picture
	// unwell is why the fleet did not come to rest before the first test, or could not be healed
	// after a test.
	unwell error
)

// begin gives the fleet to a test when it is well, and sees to it that it is
// well again when the test ends.
func begin(t *testing.T) *scene {
	t.Helper()
	f := fleet.Open(t)
	if unwell != nil {
		t.Fatalf("an earlier test left the fleet unwell: %v", unwell)
	}
	s := &scene{Fleet: f, api: gql.New(f.KairshipURL, f.Token(t, "admin")), at: map[string]client.Client{}}
	s.api.HTTP = &http.Client{Transport: impatient{t}}
	for _, cluster := range f.Clusters {
		s.at[cluster.Name] = f.Client(t, cluster.Name)
	}
	watchLogs(t, f)

	if before == nil {
		f.Heal(t)
		before = s.firstPicture(t)
	}
	s.before = before
	s.server = f.PID(t, "kairship-apiserver")
	t.Cleanup(func() { s.mend(t) })
	return s
}

// firstPicture is the fleet before the first test, when it has come to rest: what the suites
// before this one made may still be on its way out, and would be missing afterwards.
func (s *scene) firstPicture(t *testing.T) picture {
	t.Helper()
	if _, err := tryStable(t.Context(), s.atRest); err != nil {
		s.restartControllers(t, fmt.Errorf("nothing came to rest within %s: %w", stableWithin, err))
		if _, unwell = tryStable(t.Context(), s.atRest); unwell != nil {
			// All other tests would wait as long for the same.
			t.Fatalf("something is on its way out before the first test: %v", unwell)
		}
	}
	return stable(t, "the fleet is well", s.expected)
}

// restartControllers restarts the controllers of Kubernetes and of Karmada; Kairship's go on. A controller
// whose watch broke while an object was deleted and made again never learns of the deletion, and Karmada
// tries again what failed after pauses that double up to a quarter of an hour.
func (s *scene) restartControllers(t *testing.T, why error) {
	t.Helper()
	t.Logf("the controllers of the clusters are restarted: %v", why)
	for _, instance := range s.Names(fleet.RoleInstance) {
		for _, cluster := range append(s.Members(instance), instance) {
			s.Restart(t, cluster+"-kcm")
		}
		s.Restart(t, instance+"-controller-manager")
	}
}

// mend heals the fleet and waits until everything is as it was.
func (s *scene) mend(t *testing.T) {
	t.Helper()
	// The context of the test has ended.
	ctx, cancel := context.WithTimeout(context.Background(), collectorWithin+recoverWithin)
	defer cancel()
	begun := time.Now()
	s.Heal(t)
	unwell = s.collectorHears(ctx, s.Client(t, "global"))
	if unwell == nil {
		unwell = poll.Try(ctx, recoverWithin, s.asBefore)
	}
	if unwell != nil {
		t.Errorf("the fleet is not well after the test: %v", unwell)
	} else {
		s.NoDifference(ctx, t, s.Projection(t))
	}
	t.Logf("the fleet is well %s after the test", time.Since(begun).Round(100*time.Millisecond))
	if now := s.PID(t, "kairship-apiserver"); now != s.server {
		t.Errorf("kairship-apiserver was process %d and is %d: it did not live through the fault", s.server, now)
	}
}

// asBefore reports whether everything is as it was when the first test began.
func (s *scene) asBefore(ctx context.Context) error {
	now, err := s.expected(ctx)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(s.before, now); diff != "" {
		return fmt.Errorf("the workloads are not as they were (-before +now):\n%s", diff)
	}
	return nil
}

// collectorHears waits until Clusterpedia's collector hears of changes of its
// PediaClusters. While it does not, it cannot write their status either, and
// the next test would see what was true before the last one. It repairs the
// status of each that changes, which shows that it heard.
func (s *scene) collectorHears(ctx context.Context, global client.Client) error {
	pedia := &pediav1alpha2.PediaCluster{}
	if err := global.Get(ctx, client.ObjectKey{Name: "m3"}, pedia); err != nil {
		return err
	}
	// Its own status may cross with a wrong one that it has not heard of: then it has to hear of another one.
	right, wrong := pedia.Spec.APIServer, 0
	var since time.Time
	err := poll.Try(ctx, collectorWithin, func(ctx context.Context) error {
		if err := global.Get(ctx, client.ObjectKey{Name: "m3"}, pedia); err != nil {
			return err
		}
		if wrong > 0 && pedia.Status.APIServer == right {
			return nil
		}
		if time.Since(since) > collectorHearsWithin {
			wrong++
			since = time.Now()
			changed := pedia.DeepCopy()
			changed.Status.APIServer = fmt.Sprintf("https://does-the-collector-hear-%d.invalid", wrong)
			if err := global.Status().Patch(ctx, changed, client.MergeFrom(pedia)); err != nil {
				return err
			}
		}
		return errors.New("it has not repaired a status")
	})
	if err != nil {
		return fmt.Errorf("Clusterpedia's collector does not hear of changes within %s: %w", collectorWithin, err)
	}
	return nil
}
