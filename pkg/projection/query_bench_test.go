package projection_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
)

// BenchmarkSelect reads the states of 50, and pages of 50 with their count, from 100,000 workloads in 20
// instances, of which 160 are degraded.
func BenchmarkSelect(b *testing.B) {
	var instances []string
	for i := range 20 {
		instances = append(instances, fmt.Sprintf("instance-%02d", i))
	}
	for name, of := range map[string]func(testing.TB) *projectiontest.Database{"sqlite": projectiontest.SQLite, "postgres": projectiontest.Postgres} {
		b.Run(name, func(b *testing.B) {
			index := of(b)
			db := filled(b, index, nil)
			const size, chunk = 100_000, 1000
			for at := 0; at < size; at += chunk {
				err := db.Round(b.Context(), func(*projection.Snapshot) (*projection.Writes, error) {
					w := &projection.Writes{}
					for i := at; i < at+chunk; i++ {
						w.Workloads = append(w.Workloads, manyth(instances, i))
					}
					return w, nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			index.Exec(b, "ANALYZE")
			b.Run("find", func(b *testing.B) {
				keys := make([]projection.WorkloadKey, 50)
				for i := range keys {
					keys[i] = manyth(instances, i*1999).WorkloadKey
				}
				for b.Loop() {
					found, err := db.Find(context.Background(), keys, projection.Show{States: true, Objects: true})
					if err != nil || len(found.Items) != len(keys) {
						b.Fatalf("got %+v, %v", found, err)
					}
				}
			})
			b.Run("page-of-two-parts", func(b *testing.B) {
				q := &projection.Query{Limit: 50, Show: projection.Show{States: true, Objects: true}}
				for b.Loop() {
					found, _, err := db.SelectParts(context.Background(), q, []projection.Part{{Instance: instances[0]}, {Instance: "none"}})
					if err != nil || len(found[0].Items) != 50 {
						b.Fatalf("got %+v, %v", found, err)
					}
				}
			})
			for _, q := range []struct {
				name  string
				query projection.Query
				count int64
			}{
				{"page", projection.Query{Instances: instances}, 100_000},
				{"page-by-creation", projection.Query{Instances: instances, Order: projection.Order{Field: projection.ByCreation, Desc: true}}, 100_000},
				{"page-of-one-instance", projection.Query{Instances: instances[:1]}, 5000},
				{"page-after-400-in-one-namespace", projection.Query{Instances: instances, Namespaces: []string{"namespace-7"}, After: deep("namespace-7")}, 2000},
				{"page-after-400-in-three-namespaces", projection.Query{Instances: instances, Namespaces: []string{"namespace-7", "namespace-8", "namespace-9"}, After: deep("namespace-7")}, 6000},
				{"page-of-a-label", projection.Query{Instances: instances, Labels: []string{"team=team-3"}}, 10_000},
				{"degraded", projection.Query{Instances: instances, Health: []string{"DEGRADED"}}, 160},
				{"healthy", projection.Query{Instances: instances, Health: []string{"HEALTHY"}}, 99_840},
				{"degraded-by-creation", projection.Query{Instances: instances, Health: []string{"DEGRADED"}, Order: projection.Order{Field: projection.ByCreation, Desc: true}}, 160},
				{"degraded-in-one-namespace", projection.Query{Scopes: []projection.Scope{{Instance: instances[0], Namespaces: []string{"namespace-0"}}}, Health: []string{"DEGRADED"}}, 8},
			} {
				q.query.Limit, q.query.Show = 50, projection.Show{States: true, Objects: true}
				for _, withCount := range []bool{false, true} {
					q.query.WithCount = withCount
					b.Run(fmt.Sprintf("%s/count=%t", q.name, withCount), func(b *testing.B) {
						for b.Loop() {
							page, err := db.Select(context.Background(), &q.query)
							if err != nil || withCount && *page.Count != q.count {
								b.Fatalf("got %+v, %v; want %d", page, err, q.count)
							}
						}
					})
				}
			}
		})
	}
}

// deep is the place of a workload of a namespace that follows some hundred others.
func deep(namespace string) *projection.Position {
	return &projection.Position{WorkloadKey: projection.WorkloadKey{Namespace: namespace, Name: "workload-020000"}}
}

var two int32 = 2

// manyth is one of many workloads.
func manyth(instances []string, i int) projection.Workload {
	health := "HEALTHY"
	if i < 80_000 && i/20%500 == 0 {
		health = "DEGRADED"
	}
	return projection.Workload{
		WorkloadKey: projection.WorkloadKey{
			Instance: instances[i%20], Namespace: fmt.Sprintf("namespace-%d", i/20%50), Name: fmt.Sprintf("workload-%06d", i), Kind: "DEPLOYMENT",
		},
		WorkloadState: projection.WorkloadState{
			Health: health, CreatedAt: int64(1_700_000_000 + i), UID: fmt.Sprintf("00000000-0000-0000-0000-%012d", i), ResourceVersion: "123456", LabelKV: []string{"app=app", fmt.Sprintf("team=team-%d", i%10)}, Clusters: []string{"m1", "m2"}, Scheduled: []string{"m1", "m2"}, PolicyNamespace: "namespace", PolicyName: "policy", WorkName: fmt.Sprintf("workload-%06d-5d4b664d9c", i), Projection: projection.Version,
		},
		WorkloadDoc: projection.WorkloadDoc{
			Labels: map[string]string{"app": "app"}, Images: []string{}, Placements: []projection.Placement{
				{Cluster: "m1", Scheduled: true, Applied: true, Desired: &two, Ready: &two, Available: &two, Updated: &two, Health: health},
				{Cluster: "m2", Scheduled: true, Applied: true, Desired: &two, Ready: &two, Available: &two, Updated: &two, Health: health},
			},
		},
		WorkloadSearch: projection.WorkloadSearch{
			ImageKeys: []string{},
		},
		WorkloadObject: projection.WorkloadObject{
			Object: json.RawMessage(fmt.Sprintf(`{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "workload-%06d"}}`, i)),
		},
	}
}
