package projector

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
)

// TestCaptured: the row of each workload that was captured in a fleet has the state that
// its objects give.
func TestCaptured(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(capturedFolder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		w := newWorld(t, index)
		tried := 0
		for _, folder := range folders {
			if info, err := os.Stat(folder); err != nil || !info.IsDir() {
				continue
			}
			c := load(t, filepath.Base(folder))
			w.save(t, c)
			w.is(t, filepath.Base(folder), c)
			for _, cluster := range []string{"k-alpha", "m1", "m2", "m3"} {
				index.Clean(t, cluster)
			}
			w.drain(t)
			for _, table := range []string{"workload", "workload_doc", "member", "outbox"} {
				if n := index.Number(t, "SELECT count(*) FROM kairship."+table); n != 0 {
					t.Errorf("%s: %d rows are left in %s after its deletion", c.key.Name, n, table)
				}
			}
			tried++
		}
		if tried < 30 {
			t.Errorf("only %d workloads were tried", tried)
		}
	})
}

// TestDirty: a change of each object that a state is computed from changes the row.
func TestDirty(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		w := newWorld(t, index)
		c := load(t, "frontend")
		w.save(t, c)
		w.is(t, "at first", c)
		row := func() *projection.Workload { return w.row(t, c.key) }
		healthy := string(workload.HealthHealthy)
		for _, step := range []struct {
			reason string
			do     func()
			is     func(*projection.Workload) bool
		}{
			{"a member is not ready", func() { index.Save(t, c.change(t, "cluster-m1", `"status": "True"`, `"status": "False"`)) },
				func(r *projection.Workload) bool { return r.Health == string(workload.HealthDegraded) }},
			{"the member is ready again", func() { index.Save(t, c.change(t, "cluster-m1", `"status": "False"`, `"status": "True"`)) },
				func(r *projection.Workload) bool { return r.Health == healthy }},
			{"the object in a member has other figures", func() { index.Save(t, c.change(t, "object-m2", `"readyReplicas": 3`, `"readyReplicas": 2`)) },
				func(r *projection.Workload) bool { return r.Ready == 3 }},
			{"the member is joined to another instance", func() { w.collect(t, "m1", "alpha", false, "m2", "beta", false) },
				func(r *projection.Workload) bool { return r.Ready == 4 }},
			{"it is back, and not followed", func() { w.collect(t, "m1", "alpha", false, "m2", "alpha", true) },
				func(r *projection.Workload) bool { return r.Ready == 4 }},
			{"it is followed again", func() { w.collect(t, "m1", "alpha", false, "m2", "alpha", false) },
				func(r *projection.Workload) bool { return r.Ready == 3 }},
			{"the object in a member is deleted", func() { index.Delete(t, c.objects["object-m2"]) },
				func(r *projection.Workload) bool { return r.Ready == 4 }},
			{"the binding is deleted", func() { index.Delete(t, c.objects["binding"]) },
				func(r *projection.Workload) bool { return r.Health != healthy && len(r.Placements) == 0 }},
			{"the template is deleted", func() { index.Delete(t, c.objects["template"]) },
				func(r *projection.Workload) bool { return r == nil }},
		} {
			step.do()
			w.drain(t)
			if got := row(); !step.is(got) {
				t.Errorf("%s: the row is %+v", step.reason, got)
			}
			w.agrees(t, step.reason, 0)
		}
	})
}

// TestPolicy: a policy changed and its binding did not yet, which the state shows.
func TestPolicy(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		w := newWorld(t, index)
		c := load(t, "frontend")
		w.save(t, c)
		ref := workload.PolicyRefOf(c.facts.Template)
		policy := policyOf(ref.Namespace, ref.Name)
		policy.ResourceVersion = "2"
		index.Save(t, policy)
		w.drain(t)
		if got := w.row(t, c.key).Health; got != string(workload.HealthProgressing) {
			t.Errorf("its health is %s after a change of its policy", got)
		}
		w.agrees(t, "the policy changed", 0)
		index.Delete(t, policy)
		w.drain(t)
		c.facts.Policy, c.facts.PolicyMissing = nil, true
		w.is(t, "the policy is deleted, and its claim is left", c)
	})
}

// policyOf is a policy as the collector writes it, of a placement that is no workload's here.
func policyOf(namespace, name string) projectiontest.Object {
	return projectiontest.Object{
		Cluster: "k-alpha", Group: "policy.karmada.io", Version: "v1alpha1", Resource: "propagationpolicies", Namespace: namespace, Name: name,
		UID: "p", ResourceVersion: "1", Text: `{"spec":{"resourceSelectors":[],"placement":{"clusterAffinity":{"clusterNames":["m9"]}}}}`,
	}
}

// TestWork: what a Work records of override policies is part of the state.
func TestWork(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		w := newWorld(t, index)
		c := load(t, "override-replicas")
		w.save(t, c)
		w.is(t, "with its Works", c)
		for _, step := range []struct {
			reason, before, after string
			health                workload.Health
		}{
			{"an earlier version of a policy is recorded", `\"value\":5`, `\"value\":4`, workload.HealthProgressing},
			{"the latest is", `\"value\":4`, `\"value\":5`, workload.HealthHealthy},
		} {
			index.Save(t, c.change(t, "work-m2", step.before, step.after))
			w.drain(t)
			if row := w.row(t, c.key); row.Health != string(step.health) || row.Desired != 7 {
				t.Errorf("%s: it is %s with %d desired replicas, want %s with 7", step.reason, row.Health, row.Desired, step.health)
			}
			w.agrees(t, step.reason, 0)
		}
	})
}

// TestOverridePolicies: an override policy that comes, changes or goes shows in the workloads
// of its namespace or instance, until the Works have followed.
func TestOverridePolicies(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		w := newWorld(t, index)
		c := load(t, "override-replicas")
		elsewhere := load(t, "frontend")
		w.save(t, elsewhere)
		w.save(t, c)
		w.is(t, "at first", c)
		const (
			own, wide  = "override-override-replicas", "override-facts-mirror"
			events     = " has not been applied yet; if it cannot be, the workload's events say so"
			progressed = string(workload.HealthProgressing)
			healthy    = string(workload.HealthHealthy)
		)
		another := func(what, name, namespace string) projectiontest.Object {
			o := c.objects[what]
			o.Name, o.Namespace, o.UID = name, namespace, name
			o.Text = strings.Replace(o.Text, `"name": "`+c.objects[what].Name+`"`, `"name": "`+name+`"`, 1)
			o.Text = regexp.MustCompile(`"resourceSelectors": \[[^]]*\]`).ReplaceAllString(o.Text, `"resourceSelectors": []`)
			return o
		}
		fresh, freshWide, foreign := another(own, "fresh", "facts"), another(wide, "fresh-wide", ""), another(own, "foreign", "other")
		for _, step := range []struct {
			reason          string
			do              func()
			health, message string
		}{
			{"a policy was changed", func() { index.Save(t, c.change(t, own, `"value": 5`, `"value": 6`)) },
				progressed, `m2: a change of override policy "override-replicas"` + events + "; the change to 6 replicas has not reached the cluster yet"},
			{"the Work follows", func() { index.Save(t, c.change(t, "work-m2", `\"value\":5`, `\"value\":6`)) },
				progressed, "m2: the change to 6 replicas has not reached the cluster yet"},
			{"both are as before", func() {
				index.Save(t, c.change(t, own, `"value": 6`, `"value": 5`))
				index.Save(t, c.change(t, "work-m2", `\"value\":6`, `\"value\":5`))
			}, healthy, ""},
			{"a policy was deleted", func() { index.Delete(t, c.objects[own]) },
				progressed, "m2: the change to 2 replicas has not reached the cluster yet"},
			{"it is there again", func() { index.Save(t, c.objects[own]) }, healthy, ""},
			{"a policy was made", func() { index.Save(t, fresh) }, progressed, `m2: override policy "fresh"` + events},
			{"and deleted", func() { index.Delete(t, fresh) }, healthy, ""},
			{"a policy of another namespace was made", func() { index.Save(t, foreign) }, healthy, ""},
			{"a cluster policy was changed", func() { index.Save(t, c.change(t, wide, "mirror.example.com", "other.example.com")) },
				progressed, "m2: a change of a cluster override policy" + events},
			{"a cluster policy was deleted", func() { index.Delete(t, c.objects[wide]) },
				progressed, "m2: its images are still those of before a change of override policies"},
			{"it is there as it was", func() { index.Save(t, c.change(t, wide, "other.example.com", "mirror.example.com")) }, healthy, ""},
			{"a cluster policy was made", func() { index.Save(t, freshWide) }, progressed, "m2: a cluster override policy" + events},
			{"and deleted again", func() { index.Delete(t, freshWide) }, healthy, ""},
		} {
			step.do()
			w.agrees(t, step.reason+", which waits", 0)
			w.drain(t)
			if row := w.row(t, c.key); row.Health != step.health || row.Message != step.message {
				t.Errorf("%s: it is %s %q, want %s %q", step.reason, row.Health, row.Message, step.health, step.message)
			}
			w.agrees(t, step.reason, 0)
		}
		w.is(t, "at last", c)
		w.is(t, "at last, elsewhere", elsewhere)
	})
}

// TestLagOfMany: what a change concerns is as late as the change, not as what it led to.
func TestLagOfMany(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		w := newWorld(t, index)
		c := load(t, "frontend")
		w.save(t, c)
		index.Save(t, c.change(t, "override-frontend-image", "1.8.0-canary", "1.9.0"))
		index.Exec(t, "UPDATE kairship.outbox SET at = at - 100")
		if taken, err := w.Step(t.Context()); taken != 1 || err != nil {
			t.Fatalf("%d changes were taken: %v", taken, err)
		}
		if lag, err := w.DB.Lag(t.Context()); err != nil || lag < 100 {
			t.Errorf("the projection is %f s late (%v), want at least the 100 s of the change", lag, err)
		}
		w.drain(t)
		if lag, err := w.DB.Lag(t.Context()); err != nil || lag != 0 {
			t.Errorf("the projection is %f s late (%v), want nothing", lag, err)
		}
	})
}

// TestUnreadable: an object that cannot be read keeps no other workload from being computed.
func TestUnreadable(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		w := newWorld(t, index)
		c := load(t, "frontend")
		broken := c.objects["template"]
		broken.Name, broken.Text = "broken", `{"metadata":{"name":7}}`
		index.Save(t, broken)
		w.save(t, c)
		w.is(t, "beside one that cannot be read", c)
		row := w.row(t, projection.WorkloadKey{Instance: "alpha", Namespace: c.key.Namespace, Name: "broken", Kind: c.key.Kind})
		if row == nil || row.Health != string(workload.HealthUnknown) || row.Message == "" {
			t.Errorf("the row of the one that cannot be read is %+v", row)
		}
	})
}

// TestRepair: rows that changed behind the projector's back are found, counted and repaired.
func TestRepair(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		w := newWorld(t, index)
		c := load(t, "frontend")
		w.save(t, c)
		for _, step := range []struct {
			reason    string
			statement string
			want      int
		}{
			{"nothing was changed", "DELETE FROM kairship.outbox", 0},
			{"a health", "UPDATE kairship.workload SET health = 'DEGRADED'", 1},
			{"a figure", "UPDATE kairship.workload_doc SET ready = 77", 1},
			{"a whole row", "DELETE FROM kairship.workload", 1},
			{"a row of no workload", "INSERT INTO kairship.workload (instance, namespace, name, kind) VALUES ('alpha', 'shop', 'ghost', 'DEPLOYMENT')", 1},
			{"a member", "DELETE FROM kairship.member WHERE name = 'm1'", 1},
		} {
			index.Exec(t, step.statement)
			before := testutil.ToFloat64(w.Metrics.differences)
			w.agrees(t, step.reason, step.want)
			if got := int(testutil.ToFloat64(w.Metrics.differences) - before); got != step.want {
				t.Errorf("%s: %d differences were counted, want %d", step.reason, got, step.want)
			}
			w.drain(t)
			w.is(t, step.reason, c)
		}
		// A row that a waiting change concerns does not differ: it is on its way.
		index.Save(t, c.change(t, "object-m2", `"readyReplicas": 3`, `"readyReplicas": 2`))
		w.agrees(t, "a change waits", 0)
		if got := w.row(t, c.key).Ready; got != 4 {
			t.Errorf("the comparison took the change that waits: %d replicas are ready", got)
		}
		w.drain(t)
		w.agrees(t, "the change was dealt with", 0)
	})
}

// TestRebuild: rows of a projection that was not kept are computed, and left-over ones removed.
func TestRebuild(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		w := newWorld(t, index)
		c := load(t, "frontend")
		w.save(t, c)
		index.Exec(t, "UPDATE kairship.workload SET health = 'DEGRADED'")
		index.Exec(t, "INSERT INTO kairship.workload (instance, namespace, name, kind) VALUES ('alpha', 'shop', 'ghost', 'DEPLOYMENT')")
		index.Exec(t, "DELETE FROM kairship.member")
		index.Exec(t, "UPDATE kairship.meta SET state = ?", projection.Needed)
		if err := w.rebuildIfNeeded(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, _, err := w.DB.State(t.Context()); err != nil || got != projection.Building {
			t.Errorf("the projection is %s (%v) before the rebuild has ended", got, err)
		}
		w.drain(t)
		if got, _, err := w.DB.State(t.Context()); err != nil || got != projection.Complete {
			t.Errorf("the projection is %s (%v) after the rebuild", got, err)
		}
		w.is(t, "after the rebuild", c)
		if n := index.Number(t, "SELECT count(*) FROM kairship.workload"); n != 1 {
			t.Errorf("%d rows are there, want 1", n)
		}
	})
}

// TestRefresh checks that an older version's rows are read until all are computed again, and that
// none of them counts as a difference.
func TestRefresh(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		w := newWorld(t, index)
		c := load(t, "frontend")
		w.save(t, c)
		index.Exec(t, "UPDATE kairship.workload SET projection = 3")
		index.Exec(t, "UPDATE kairship.meta SET version = 3")
		is := func(reason, want string) {
			t.Helper()
			if got := index.Text(t, "SELECT version || ' ' || state || ' ' || refresh FROM kairship.meta"); got != want {
				t.Errorf("%s: it is %q, want %q", reason, got, want)
			}
			page, err := w.DB.Select(t.Context(), &projection.Query{Instances: []string{"alpha"}, Health: []string{"HEALTHY"}, Limit: 9})
			if err != nil || len(page.Items) != 1 || page.Lag() != 0 {
				t.Errorf("%s: got %+v, %v; want one workload", reason, page, err)
			}
		}
		for range 2 { // As each minute.
			if err := w.inspect(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		is("the version changed", "3 complete needed")
		if err := w.rebuildIfNeeded(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.inspect(t.Context()); err != nil {
			t.Fatal(err)
		}
		is("the rows are computed", "3 complete building")
		w.drain(t)
		is("the rows were computed", strconv.Itoa(projection.Version)+" complete ")
		if err := w.inspect(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := testutil.ToFloat64(w.Metrics.differences); n != 0 {
			t.Errorf("%v rows were repaired, want none", n)
		}
		w.is(t, "afterwards", c)
	})
}

// TestDatabaseError: what cannot be stored stays in the outbox.
func TestDatabaseError(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		w := newWorld(t, index)
		c := load(t, "frontend")
		w.save(t, c)
		refuse, allow := "ALTER TABLE kairship.workload_doc ADD CONSTRAINT refused CHECK (ready <> 3)", "ALTER TABLE kairship.workload_doc DROP CONSTRAINT refused"
		if !index.Postgres {
			refuse = "CREATE TRIGGER refused BEFORE UPDATE ON kairship.workload_doc WHEN NEW.ready = 3 BEGIN SELECT RAISE(ABORT, 'refused'); END"
			allow = "DROP TRIGGER refused"
		}
		index.Exec(t, refuse)
		index.Save(t, c.change(t, "object-m2", `"readyReplicas": 3`, `"readyReplicas": 2`))
		for range 3 {
			if taken, err := w.Step(t.Context()); err == nil || taken != 0 {
				t.Errorf("%d changes were dealt with (%v) although nothing can be stored", taken, err)
			}
		}
		if n := index.Number(t, "SELECT count(*) FROM kairship.outbox"); n != 1 {
			t.Errorf("%d changes are left, want 1", n)
		}
		index.Exec(t, allow)
		w.drain(t)
		if got := w.row(t, c.key).Ready; got != 3 {
			t.Errorf("%d replicas are ready, want 3", got)
		}
		w.agrees(t, "after the error", 0)
	})
}

// TestOvertaken: a projector whose snapshot is old stores nothing.
func TestOvertaken(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		w := newWorld(t, index)
		c := load(t, "frontend")
		w.save(t, c)
		other := open(t, index)
		index.Save(t, c.change(t, "object-m2", `"readyReplicas": 3`, `"readyReplicas": 2`))
		err := w.DB.Round(t.Context(), func(s *projection.Snapshot) (*projection.Writes, error) {
			changes, err := s.Pending(batch)
			if err != nil {
				return nil, err
			}
			writes, err := dealWith(s, changes)
			index.Save(t, c.change(t, "object-m2", `"readyReplicas": 2`, `"readyReplicas": 1`))
			if theirs := drain(t.Context(), &impatient{other}); theirs != nil && !projection.Overtaken(theirs) {
				t.Error(theirs)
			}
			return writes, err
		})
		if err != nil && !projection.Overtaken(err) {
			t.Error(err)
		}
		w.drain(t)
		if got := w.row(t, c.key).Ready; got != 2 {
			t.Errorf("%d replicas are ready, want 2", got)
		}
		w.agrees(t, "after both", 0)
	})
}

// stepper takes changes.
type stepper interface {
	Step(ctx context.Context) (int, error)
	StepPods(ctx context.Context) (int, error)
}

// impatient does not try again when another projector is faster.
type impatient struct{ *Projector }

// Step implements stepper.
func (i *impatient) Step(ctx context.Context) (int, error) {
	taken, err := i.Projector.Step(ctx)
	if projection.Overtaken(err) {
		return 0, nil
	}
	return taken, err
}

// StepPods implements stepper.
func (i *impatient) StepPods(ctx context.Context) (int, error) {
	taken, err := i.Projector.StepPods(ctx)
	if projection.Overtaken(err) {
		return 0, nil
	}
	return taken, err
}

// TestNobodyWaitsForAComparison: rows are compared while another projector stores some.
func TestNobodyWaitsForAComparison(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		w := newWorld(t, index)
		w.save(t, load(t, "frontend"))
		w.drain(t)
		other := open(t, index)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		err := w.DB.Round(t.Context(), func(*projection.Snapshot) (*projection.Writes, error) {
			return &projection.Writes{}, w.DB.RoundOfPods(t.Context(), func(*projection.Snapshot) (*projection.PodWrites, error) {
				differences, err := other.Check(ctx)
				if differences != 0 {
					t.Errorf("%d rows differ", differences)
				}
				return &projection.PodWrites{}, err
			})
		})
		if err != nil {
			t.Error(err)
		}
	})
}
