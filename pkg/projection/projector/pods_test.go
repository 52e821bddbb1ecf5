package projector

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
)

// podNamed makes a pod of a cluster.
func podNamed(cluster, name string, version int) projectiontest.Object {
	ready := []string{"True", "False"}[version%2]
	return projectiontest.Object{
		Cluster: cluster, Version: "v1", Resource: "pods", Namespace: "shop", Name: name, UID: "uid-" + name, ResourceVersion: fmt.Sprint(version),
		Text: fmt.Sprintf(`{"metadata": {"name": %[1]q, "namespace": "shop", "creationTimestamp": "2026-01-02T03:04:05Z", "labels": {"app": "web", "version": "v%[2]d"}},
			"spec": {"nodeName": "n1", "containers": [{"name": "main", "image": "registry.example.com:5000/web:%[2]d"}], "initContainers": [{"name": "init", "image": "init"}]},
			"status": {"phase": "Running", "podIP": "10.0.0.1", "conditions": [{"type": "Ready", "status": %[3]q}],
				"containerStatuses": [{"name": "main", "restartCount": %[2]d, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}}`, name, version, ready),
	}
}

// podsOf are the rows that follow from the index, and those that there are, by key.
func (w *world) podsOf(t *testing.T) (want, got []projection.PodRow) {
	t.Helper()
	instances := map[string]string{}
	var keys []projection.IndexPodKey
	rows, err := w.index.SQL.QueryContext(t.Context(), `SELECT cluster, namespace, name FROM resources WHERE "group" = '' AND resource = 'pods' UNION SELECT cluster, namespace, name FROM `+
		map[bool]string{true: "kairship.pod", false: "kairship_pod"}[w.index.Postgres])
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var key projection.IndexPodKey
		if err := rows.Scan(&key.Cluster, &key.Namespace, &key.Name); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	err = untilFirst(t.Context(), w.DB.RoundOfPods, func(s *projection.Snapshot) (*projection.PodWrites, error) {
		collections, err := s.Collections()
		if err != nil {
			return nil, err
		}
		for _, c := range collections {
			instances[c.Cluster] = c.Instance
		}
		pods, err := s.Pods(keys)
		if err != nil {
			return nil, err
		}
		want = nil
		for i := range pods {
			want = append(want, podRowOf(&pods[i], instances[pods[i].Cluster]))
		}
		got, err = s.PodRows(keys)
		return &projection.PodWrites{}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return want, got
}

// podsAgree expects that the rows of pods are those that follow from the index.
func (w *world) podsAgree(t *testing.T, reason string) {
	t.Helper()
	want, got := w.podsOf(t)
	less := func(a, b projection.PodRow) bool {
		return a.Cluster+"/"+a.Namespace+"/"+a.Name < b.Cluster+"/"+b.Namespace+"/"+b.Name
	}
	if diff := cmp.Diff(want, got, cmpopts.SortSlices(less)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", reason, diff)
	}
	w.agrees(t, reason, 0)
}

// TestPodsRandom checks that the rows are exact after any changes, in Rounds between any of them.
func TestPodsRandom(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		w := newWorld(t, index)
		w.collect(t, "m1", "alpha", false, "m2", "alpha", false, "m3", "beta", false)
		random := rand.New(rand.NewPCG(1, 2))
		for i := range 600 {
			cluster := fmt.Sprintf("m%d", 1+random.IntN(4)) // m4 is joined to nothing.
			o := podNamed(cluster, fmt.Sprintf("web-%d", random.IntN(20)), i)
			switch n := random.IntN(100); {
			case n < 60:
				index.Save(t, o)
			case n < 75:
				index.Delete(t, o)
			case n < 77:
				index.Clean(t, cluster)
			case n < 82:
				w.collect(t, "m1", "alpha", false, "m2", []string{"alpha", "beta", ""}[random.IntN(3)], false, "m3", "beta", false)
			case n < 85:
				index.Save(t, projectiontest.Object{Cluster: "k-alpha", Version: "v1", Resource: "pods", Namespace: "shop", Name: "of-the-control-plane", ResourceVersion: fmt.Sprint(i), Text: "{}"})
			default:
				if _, err := w.StepPods(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if i%100 == 99 {
				w.drain(t)
				index.Exec(t, "DELETE FROM resources WHERE cluster = 'k-alpha'")
				w.drain(t)
				w.podsAgree(t, fmt.Sprint("after change ", i))
			}
		}
		if n := testutil.ToFloat64(w.Metrics.differences); n != 0 {
			t.Errorf("%v rows were repaired, want none", n)
		}
		for _, table := range []string{"pod_outbox", "outbox"} {
			if n := index.Number(t, "SELECT count(*) FROM kairship."+table); n != 0 {
				t.Errorf("%d changes are left in %s", n, table)
			}
		}
	})
}

// TestPodRow checks the row of a pod, and of one that cannot be read.
func TestPodRow(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		w := newWorld(t, index)
		w.collect(t, "m1", "alpha", false)
		index.Save(t, podNamed("m1", "web", 3))
		broken := podNamed("m1", "broken", 1)
		broken.Text = `{"spec": {"containers": "none"}}`
		index.Save(t, broken)
		w.drain(t)
		w.podsAgree(t, "both")
		_, got := w.podsOf(t)
		slices.SortFunc(got, func(a, b projection.PodRow) int { return len(b.Name) - len(a.Name) })
		if len(got) != 2 || got[0].Phase != "UNKNOWN" || got[0].Message == "" {
			t.Fatalf("the rows are %+v", got)
		}
		want := projection.PodRow{
			IndexPodKey: projection.IndexPodKey{Cluster: "m1", Namespace: "shop", Name: "web"}, Instance: "alpha", UID: "uid-web", ResourceVersion: "3", CreatedAt: 1767323045,
			Phase: "RUNNING", Restarts: 3, Node: "n1", PodIP: "10.0.0.1", Message: "container main: CrashLoopBackOff", LabelKV: []string{"app=web", "version=v3"},
			Images: []string{"registry.example.com:5000/web:3", "init"}, ImageKeys: []string{"init", "registry.example.com:5000/web", "registry.example.com:5000/web:3"},
			Search: "web\nshop\napp=web\nversion=v3\nregistry.example.com:5000/web:3\ninit", Projection: projection.PodVersion,
		}
		if diff := cmp.Diff(want, got[1]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestPodsRepaired checks that rows of pods that a trigger missed are found, counted and repaired.
func TestPodsRepaired(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		w := newWorld(t, index)
		w.collect(t, "m1", "alpha", false)
		for i := range 5 {
			index.Save(t, podNamed("m1", fmt.Sprint("web-", i), 1))
		}
		w.drain(t)
		w.podsAgree(t, "at first")
		for _, step := range []struct {
			reason, statement string
			want              int
		}{
			{"a row was dropped", "DELETE FROM kairship.pod WHERE name = 'web-1'", 1},
			{"a change was missed", "UPDATE kairship.pod SET resource_version = '0', ready = true WHERE name < 'web-2'", 2},
			{"a row of no pod", "INSERT INTO kairship.pod (cluster, namespace, name) VALUES ('m1', 'shop', 'ghost')", 1},
			{"a row of another instance", "UPDATE kairship.pod SET instance = 'beta' WHERE name = 'web-0'", 1},
			{"a row of another version", "UPDATE kairship.pod SET projection = 0", 5},
		} {
			index.Exec(t, step.statement)
			w.agrees(t, step.reason, step.want)
			w.podsAgree(t, step.reason)
		}
		if n := testutil.ToFloat64(w.Metrics.differences); n != 10 {
			t.Errorf("%v differences were counted, want 10", n)
		}
		index.Save(t, podNamed("m1", "web-0", 2))
		w.agrees(t, "a change waits", 0)
		w.drain(t)
		w.podsAgree(t, "it was dealt with")
	})
}

// TestPodsRebuilt checks that pods are built again on demand while they are read, and that rows of pods
// that are not there any more are removed.
func TestPodsRebuilt(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		w := newWorld(t, index)
		w.collect(t, "m1", "alpha", false)
		index.Save(t, podNamed("m1", "web", 1))
		w.drain(t)
		for _, demand := range []struct {
			set    string
			served bool
		}{{"refresh = 'needed'", true}, {"pods = 'needed'", false}} {
			index.Exec(t, "UPDATE kairship.pod SET phase = 'FAILED'")
			index.Exec(t, "INSERT INTO kairship.pod (cluster, namespace, name) VALUES ('m1', 'shop', 'ghost')")
			index.Exec(t, "UPDATE kairship.meta SET "+demand.set)
			if err := w.rebuildIfNeeded(t.Context()); err != nil {
				t.Fatal(err)
			}
			page, err := w.DB.SelectPods(t.Context(), &projection.PodQuery{Instances: []string{"alpha"}, Limit: 9})
			if demand.served != (err == nil) || err == nil && page.Lag() != 0 {
				t.Errorf("%s: got %+v, %v; want an answer: %t", demand.set, page, err, demand.served)
			}
			w.drain(t)
			w.podsAgree(t, demand.set)
			if page, err := w.DB.SelectPods(t.Context(), &projection.PodQuery{Instances: []string{"alpha"}, Limit: 9}); err != nil || len(page.Items) != 1 {
				t.Errorf("%s: got %+v, %v afterwards", demand.set, page, err)
			}
		}
	})
}

// TestPodsAfterUpgrade checks that an upgrade from a release without pods serves workloads while pods are
// built, and that pods which change while that release is back are not lost.
func TestPodsAfterUpgrade(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		w := newWorld(t, index)
		c := load(t, "frontend")
		w.save(t, c)
		// The release before has neither triggers nor tables of pods.
		drop := []string{"DROP TRIGGER kairship_pod_inserted", "DROP TRIGGER kairship_pod_updated", "DROP TRIGGER kairship_pod_deleted", "DROP TRIGGER kairship_moved_inserted", "DROP TRIGGER kairship_moved_updated"}
		if index.Postgres {
			drop = []string{"DROP FUNCTION kairship.record_pod, kairship.record_deleted_pods, kairship.record_moved CASCADE"}
		}
		for _, statement := range append(drop, "DROP TABLE kairship.pod", "DROP TABLE kairship.pod_outbox", "ALTER TABLE kairship.meta DROP COLUMN pods", "ALTER TABLE kairship.meta DROP COLUMN pods_version") {
			index.Exec(t, statement)
		}
		for i := range 7 {
			index.Save(t, podNamed("m1", fmt.Sprint("web-", i), 1))
		}
		serves := func(reason string, pods int) {
			t.Helper()
			if page, err := w.DB.Select(t.Context(), &projection.Query{Instances: []string{"alpha"}, Health: []string{"HEALTHY"}, Limit: 9}); err != nil || len(page.Items) != 1 || page.Lag() != 0 {
				t.Errorf("%s: workloads: got %+v, %v; want one", reason, page, err)
			}
			page, err := w.DB.SelectPods(t.Context(), &projection.PodQuery{Instances: []string{"alpha"}, Limit: 9})
			if pods < 0 != (err != nil) || err == nil && len(page.Items) != pods {
				t.Errorf("%s: pods: got %+v, %v; want %d", reason, page, err, pods)
			}
		}
		serves("before the upgrade", -1)
		if err := w.DB.Install(t.Context()); err != nil {
			t.Fatal(err)
		}
		serves("after the upgrade", -1)
		if err := w.rebuildIfNeeded(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.DB.Install(t.Context()); err != nil { // As each minute.
			t.Fatal(err)
		}
		serves("pods are built", -1)
		w.drain(t)
		serves("pods were built", 7)
		w.podsAgree(t, "after the upgrade")
		w.is(t, "after the upgrade", c)

		// The release before takes its own outbox alone.
		index.Delete(t, podNamed("m1", "web-0", 1))
		index.Save(t, podNamed("m1", "web-1", 2))
		w.collect(t, "m1", "beta", false)
		for taken := 1; taken > 0; {
			var err error
			if taken, err = w.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		index.Exec(t, "UPDATE kairship.pod_outbox SET at = at - 100")
		if page, err := w.DB.SelectPods(t.Context(), &projection.PodQuery{Instances: []string{"alpha"}, Limit: 9}); err != nil || page.Lag().Seconds() < 100 {
			t.Errorf("before the projector is back: got %+v, %v; want it late", page, err)
		}
		if lag, err := w.DB.PodLag(t.Context()); err != nil || lag < 100 {
			t.Errorf("pods are %v s late, %v", lag, err)
		}
		if err := w.DB.Install(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.drain(t)
		w.podsAgree(t, "after the downgrade")
	})
}

// TestPodsKilled checks that projectors that are killed while pods change lose none.
func TestPodsKilled(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		w := newWorld(t, index)
		w.collect(t, "m1", "alpha", false)
		first, second := process(t, index), process(t, index)
		defer func() { kill(first); kill(second) }()
		for version := range 6 {
			for n := range 60 {
				if err := index.TrySave(context.Background(), podNamed("m1", fmt.Sprint("web-", n), version)); err != nil {
					t.Fatal(err)
				}
				if n == 30 {
					kill(first)
					first, second = second, process(t, index)
				}
			}
		}
		for _, p := range []*exec.Cmd{first, second} {
			kill(p)
		}
		w.drain(t)
		w.podsAgree(t, "after all kills")
		if n := index.Number(t, "SELECT count(*) FROM kairship.pod WHERE resource_version = '5'"); n != 60 {
			t.Errorf("%d pods have the last version, want 60", n)
		}
	})
}

// TestPodsDoNotWaitForWorkloads: their rows are stored while the rows of workloads are computed, and the
// other way round.
func TestPodsDoNotWaitForWorkloads(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		w := newWorld(t, index)
		c := load(t, "frontend")
		w.save(t, c)
		w.drain(t)
		before := w.row(t, c.key).Ready
		index.Save(t, c.change(t, "object-m2", `"readyReplicas": 3`, `"readyReplicas": 2`))
		index.Save(t, podNamed("m1", "web-1", 1))
		other := open(t, index)
		pods := 0
		err := w.DB.Round(t.Context(), func(s *projection.Snapshot) (*projection.Writes, error) {
			changes, err := s.Pending(batch)
			if err != nil {
				return nil, err
			}
			writes, err := dealWith(s, changes)
			if err != nil {
				return nil, err
			}
			for more := true; more; {
				taken, err := other.StepPods(t.Context())
				if err != nil {
					return nil, err
				}
				pods += taken
				more = taken > 0
			}
			return writes, nil
		})
		if err != nil || pods == 0 {
			t.Errorf("%d pods were stored while a Round of workloads went on, which ended with %v", pods, err)
		}
		if got := w.row(t, c.key).Ready; got != before-1 {
			t.Errorf("%d replicas are ready, want %d", got, before-1)
		}
		w.podsAgree(t, "after both")
	})
}
