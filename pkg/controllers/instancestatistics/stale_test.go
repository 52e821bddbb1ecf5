package instancestatistics

import (
	"net/http"
	"testing"
	"time"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// brief is a patience that tests have.
const brief = 700 * time.Millisecond

// TestOneWatchIsMissing has single kinds refused while everything else goes on.
func TestOneWatchIsMissing(t *testing.T) {
	for _, c := range []struct {
		reason, resource, kind string
		status                 int
		// counted reports whether its figures are kept, and stale whether they are reported as
		// stale.
		counted, stale bool
	}{
		{"members that do not come are old", "clusters", "Cluster", http.StatusServiceUnavailable, true, true},
		{"members that may not be read any more are old, and not none", "clusters", "Cluster", http.StatusForbidden, false, true},
		{"members that are not served any more are old, and not none", "clusters", "Cluster", http.StatusNotFound, false, true},
		{"another kind that does not come is old", "jobs", "Job", http.StatusInternalServerError, true, true},
		{"one that may not be read any more is left out", "jobs", "Job", http.StatusForbidden, false, false},
		{"one that is not served any more is left out", "jobs", "Job", http.StatusNotFound, false, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			k, s := newKarmada(t), newStage(t)
			s.observers.patience = brief
			k.objects["clusters"], k.objects["jobs"] = []string{m1}, []string{`{"metadata":{"name":"j"}}`}
			o := s.observe("alpha", k.connection())
			defer s.observers.forget("alpha")
			s.comesToRest(o)
			poll.True(t, within, "every kind is watched and counted", func() bool {
				return int(k.open.Load()) == len(sources) && len(o.figures()) == len(sources) && o.stale().IsZero()
			})

			begun := time.Now()
			k.refuse(c.resource, c.status)
			poll.True(t, within, "it counts that the watch is missing", func() bool { return !o.stale().IsZero() || o.figures()[c.kind] == nil })
			if lasted := time.Since(begun); lasted < brief {
				t.Errorf("that counts after %s already", lasted)
			}
			if _, counted := o.figures()[c.kind]; counted != c.counted || o.stale().IsZero() == c.stale {
				t.Errorf("it is counted: %v, and old since %s", counted, o.stale())
			}
			if since := o.stale(); c.stale && since.Before(begun) {
				t.Errorf("it is old since %s, and was refused at %s", since, begun)
			}
			if f := o.figures(); len(f["Deployment"]) != 0 || f["Deployment"] == nil {
				t.Error("other kinds are not counted any more")
			}
			s.reported("that it is missing")

			k.refuse(c.resource, 0)
			poll.True(t, within, "it is followed again", func() bool { return o.stale().IsZero() && len(o.figures()[c.kind]) == 1 && o.known() })
			s.reported("that it is there again")
		})
	}
}

// reported waits for a reported change, and then until no more are reported.
func (s *stage) reported(what string) {
	s.Helper()
	select {
	case <-s.observers.changed:
	case <-time.After(10 * time.Second):
		s.Fatalf("%s was not told", what)
	}
	for {
		select {
		case <-s.observers.changed:
		case <-time.After(3 * debounceInterval):
			return
		}
	}
}

// TestMembersThatWereNeverRead begins to watch where the members cannot be read.
func TestMembersThatWereNeverRead(t *testing.T) {
	for _, status := range []int{http.StatusForbidden, http.StatusNotFound, http.StatusServiceUnavailable} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			k := newKarmada(t)
			k.objects["clusters"] = []string{m1}
			k.refuse("clusters", status)
			c := newCounting(t, 0, alpha(t, k)...)
			c.observers.patience = brief
			instance, cluster := c.stored()
			instance.Status.Summary = &v1alpha1.InstanceSummary{Clusters: v1alpha1.ReadyCount{Total: 2, Ready: 2}, CPU: total("8", "1")}
			cluster.Status.Summary = &v1alpha1.ClusterSummary{Nodes: v1alpha1.ReadyCount{Total: 3, Ready: 3}}
			for _, update := range []error{c.kube.Status().Update(t.Context(), instance), c.kube.Status().Update(t.Context(), cluster)} {
				if update != nil {
					t.Fatal(update)
				}
			}

			c.reconcile("alpha")
			c.written("nothing is known yet", 0, 0)
			poll.True(t, within, "the figures are old", func() bool {
				c.reconcile("alpha")
				instance, cluster = c.stored()
				return instance.Status.Summary.StaleSince != nil
			})
			if s := instance.Status.Summary; s.Clusters.Total != 2 || s.CPU.Allocatable.Value() != 8 || len(s.Workloads) != 0 {
				t.Errorf("alpha says %+v", s)
			}
			if s := cluster.Status.Summary; s == nil || s.Nodes.Total != 3 || s.StaleSince == nil {
				t.Errorf("m1 says %+v", s)
			}
			for range 10 {
				c.reconcile("alpha")
				time.Sleep(brief / 10)
			}
			c.written("that they are old is told once", 1, 1)

			k.refuse("clusters", 0)
			poll.True(t, within, "they are counted", func() bool {
				c.reconcile("alpha")
				instance, cluster = c.stored()
				return instance.Status.Summary.StaleSince == nil
			})
			if s := instance.Status.Summary; s.Clusters.Total != 1 || s.Nodes.Total != 3 || len(s.Workloads) == 0 {
				t.Errorf("alpha says %+v", s)
			}
			if s := cluster.Status.Summary; s == nil || s.Nodes.Ready != 2 || s.StaleSince != nil {
				t.Errorf("m1 says %+v", s)
			}
		})
	}
}
