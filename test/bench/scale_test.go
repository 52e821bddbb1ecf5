package main

import (
	"testing"

	"github.com/go-logr/logr"

	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
	"github.com/kairship-io/kairship/pkg/projection/projector"
)

func TestMain(m *testing.M) { projectiontest.Main(m) }

// TestScaleFleet: the projector takes the objects that are written for healthy workloads with
// two placements, but for those that are to be DEGRADED.
func TestScaleFleet(t *testing.T) {
	db := projectiontest.Postgres(t)
	kept, err := projection.Open(db.DSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kept.Close() })
	var members []projection.Collection
	for n := range scaleInstances {
		for _, m := range scaleMembers(scaleInstance(n)) {
			members = append(members, projection.Collection{Cluster: m, Instance: scaleInstance(n)})
		}
	}
	x, f := &scaleIndex{dsn: db.DSN}, scaleFleet{400}
	for _, step := range []func() error{
		func() error { return kept.Install(t.Context()) },
		func() error { return kept.SetCollections(t.Context(), members) },
		func() error { return x.seed(t.Context(), f, 0, 100) },
		func() error { return x.seed(t.Context(), f, 100, f.workloads) },
		func() error { return kept.Install(t.Context()) }, // The triggers are off.
		func() error { return kept.Rebuild(t.Context()) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	p := &projector.Projector{DB: kept, Log: logr.Discard(), Metrics: projector.NewMetrics()}
	for taken := 1; taken > 0; {
		if taken, err = p.Step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := db.Number(t, "SELECT count(*) FROM resources"); n != f.workloads*objectsEach+scaleInstances*(2+scaleNamespaces) {
		t.Errorf("the index has %d objects", n)
	}
	for health, want := range map[string]int{"HEALTHY": f.workloads - scaleDegraded, "DEGRADED": scaleDegraded} {
		if n := db.Number(t, "SELECT count(*) FROM kairship.workload WHERE health = ? AND cardinality(scheduled) = 2", health); n != want {
			t.Errorf("%d workloads are %s, want %d", n, health, want)
		}
	}
	if t.Failed() {
		t.Log(db.Text(t, "SELECT string_agg(DISTINCT health || ': ' || message, '; ') FROM kairship.workload JOIN kairship.workload_doc USING (id)"))
	}
	if n := db.Number(t, "SELECT count(*) FROM kairship.workload_doc WHERE desired = 2 AND ready = 2"); n != f.workloads-scaleDegraded {
		t.Errorf("%d workloads have both replicas, want %d", n, f.workloads-scaleDegraded)
	}
	if err := x.remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := db.Number(t, "SELECT count(*) FROM resources"); n != 0 {
		t.Errorf("%d objects are left", n)
	}
}
