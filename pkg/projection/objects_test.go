package projection_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/pkg/projection"
	"github.com/kairship-io/kairship/pkg/projection/projectiontest"
)

// saved saves an object of the index, and returns its key.
func saved(t *testing.T, index *projectiontest.Database, cluster, group, resource, namespace, name string) projection.ResourceKey {
	t.Helper()
	index.Save(t, projectiontest.Object{
		Cluster: cluster, Group: group, Version: "v1", Resource: resource, Namespace: namespace, Name: name, UID: name, ResourceVersion: "1",
		Text: `{"metadata": {"name": "` + name + `"}, "spec": {"of": "` + cluster + `"}}`,
	})
	return projection.ResourceKey{Cluster: cluster, Group: group, Version: "v1", Resource: resource, Namespace: namespace, Name: name}
}

// TestObjects: the objects that workloads consist of are read by their whole keys, and
// nothing else is.
func TestObjects(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		db := open(t, index.DSN)
		here := saved(t, index, "m1", "apps", "deployments", "shop", "web")
		if found, err := db.Objects(t.Context(), projection.Whole, []projection.ResourceKey{here}); index.Postgres != errors.Is(err, projection.ErrIncomplete) || index.Postgres == (len(found) > 0) {
			t.Errorf("before anything was installed: got %v, %v", found, err)
		}
		install(t, db)
		binding := saved(t, index, "k-alpha", "work.karmada.io", "resourcebindings", "shop", "web-deployment")
		override := saved(t, index, "k-alpha", "policy.karmada.io", "overridepolicies", "shop", "image")
		secret := saved(t, index, "m1", "", "secrets", "shop", "web")
		saved(t, index, "m2", "apps", "deployments", "shop", "web")
		elsewhere, other := here, here
		elsewhere.Cluster, other.Version = "m3", "v1beta1"
		keys := []projection.ResourceKey{secret, here, elsewhere, binding, other, override}
		for piece, want := range map[projection.Piece]string{projection.Whole: `"spec":{"of":"m1"}`, projection.Metadata: `{"name":"web"}`} {
			found, err := db.Objects(t.Context(), piece, keys)
			if err != nil {
				t.Fatal(err)
			}
			var got []projection.ResourceKey
			for _, o := range found {
				got = append(got, o.ResourceKey)
				if text := strings.ReplaceAll(string(o.Text), " ", ""); o.ResourceKey == here && !strings.Contains(text, want) {
					t.Errorf("%s of it is %s", piece, text)
				}
			}
			if len(got) != 3 || !slices.Contains(got, here) || !slices.Contains(got, binding) || !slices.Contains(got, override) {
				t.Errorf("%s: got %+v", piece, got)
			}
		}
		if found, err := db.Objects(t.Context(), projection.Whole, nil); err != nil || len(found) != 0 {
			t.Errorf("of nothing: got %v, %v", found, err)
		}
		if !projection.Readable("apps", "deployments") || projection.Readable("", "secrets") {
			t.Error("what is readable is not what is read")
		}
	})
}

// TestPods: the pods of workloads are read through what stands between, in their
// namespaces alone.
func TestPods(t *testing.T) {
	projectiontest.Each(t, func(t *testing.T, index *projectiontest.Database) {
		db := open(t, index.DSN)
		if _, err := db.Pods(t.Context(), projection.Owned{Owners: []string{"web"}}); !errors.Is(err, projection.ErrIncomplete) {
			t.Errorf("before anything was installed: got %v", err)
		}
		install(t, db)
		if _, _, err := db.OwnedPods(t.Context(), projection.Owned{Owners: []string{"web"}}); !errors.Is(err, projection.ErrIncomplete) {
			t.Errorf("before there are rows: got %v", err)
		}
		var rows []projection.PodRow
		owned := func(cluster, group, resource, namespace, name, owner string) {
			index.Save(t, projectiontest.Object{
				Cluster: cluster, Group: group, Version: "v1", Resource: resource, Namespace: namespace, Name: name, UID: name, ResourceVersion: "1", OwnerUID: owner,
				Text: `{"metadata": {"name": "` + name + `"}}`,
			})
			if resource == "pods" && name != "alone" {
				rows = append(rows, projection.PodRow{
					IndexPodKey: projection.IndexPodKey{Cluster: cluster, Namespace: namespace, Name: name}, Instance: "alpha", UID: name, Phase: "RUNNING", Restarts: 2,
					LabelKV: []string{"app=" + owner}, Images: []string{"image"}, ImageKeys: []string{}, Projection: projection.PodVersion,
				})
			}
		}
		owned("m1", "apps", "replicasets", "shop", "web-1", "web")
		owned("m1", "", "pods", "shop", "web-1-b", "web-1")
		owned("m1", "", "pods", "shop", "web-1-a", "web-1")
		owned("m1", "", "pods", "shop", "db-0", "db")
		owned("m1", "batch", "jobs", "shop", "report-1", "report")
		owned("m1", "", "pods", "shop", "report-1-x", "report-1")
		owned("m1", "", "pods", "shop", "alone", "")
		owned("m1", "", "pods", "shop", "others", "other")
		owned("m2", "", "pods", "shop", "web-1-z", "web-1") // A UID means something in its own cluster.
		owned("m1", "", "pods", "ops", "db-1", "db")
		index.Exec(t, "DELETE FROM kairship.pod_outbox")
		if err := db.RebuildPods(t.Context()); err != nil {
			t.Fatal(err)
		}
		storePods(t, db, rows, true)
		shop := projection.Place{Cluster: "m1", Namespace: "shop"}
		for _, tt := range []struct {
			reason string
			of     projection.Owned
			want   string
		}{
			{"a deployment", projection.Owned{Owners: []string{"web"}, Places: []projection.Place{shop}}, "web/web-1-a web/web-1-b"},
			{"several kinds", projection.Owned{Owners: []string{"report", "db", "web", "none"}, Places: []projection.Place{shop}}, "db/db-0 report/report-1-x web/web-1-a web/web-1-b"},
			{"two clusters", projection.Owned{Owners: []string{"web"}, Places: []projection.Place{shop, {Cluster: "m2", Namespace: "shop"}}}, "web/web-1-a web/web-1-b"},
			{"two namespaces", projection.Owned{Owners: []string{"db"}, Places: []projection.Place{shop, {Cluster: "m1", Namespace: "ops"}}}, "db/db-0 db/db-1"},
			{"nobody's", projection.Owned{Owners: []string{""}, Places: []projection.Place{shop}}, ""},
			{"no place", projection.Owned{Owners: []string{"web"}, Places: []projection.Place{}}, ""},
			{"nobody", projection.Owned{Places: []projection.Place{shop}}, ""},
		} {
			pods, err := db.Pods(t.Context(), tt.of)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range pods {
				got = append(got, p.Owner+"/"+p.Name)
				if p.Cluster != "m1" || p.Resource != "pods" || !strings.Contains(string(p.Text), p.Name) {
					t.Errorf("%s: got %+v", tt.reason, p)
				}
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("%s: got %q, want %q", tt.reason, got, tt.want)
			}
			found, _, err := db.OwnedPods(t.Context(), tt.of)
			if err != nil {
				t.Fatal(err)
			}
			got = nil
			for _, p := range found {
				got = append(got, p.Owner+"/"+p.Name)
				if p.Instance != "alpha" || p.Cluster != "m1" || p.UID != p.Name || p.Phase != "RUNNING" || p.Restarts != 2 || len(p.Labels) != 1 || len(p.Images) != 1 {
					t.Errorf("%s: the row is %+v", tt.reason, p)
				}
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("%s: got the rows %q, want %q", tt.reason, got, tt.want)
			}
		}
		index.Exec(t, "DELETE FROM kairship.pod WHERE name = 'web-1-a'")
		found, _, err := db.OwnedPods(t.Context(), projection.Owned{Owners: []string{"web"}, Places: []projection.Place{shop}})
		if err != nil || len(found) != 1 || found[0].Name != "web-1-b" {
			t.Errorf("a pod without a row is left out: got %+v, %v", found, err)
		}
	})
}

// TestObjectsAreFoundByTheirNames: an object is found as quickly when every cluster has one of its name,
// and when its namespace has thousands of others.
func TestObjectsAreFoundByTheirNames(t *testing.T) {
	index := projectiontest.Postgres(t)
	db := filled(t, index, nil)
	// Most names are of one object, so that PostgreSQL takes any name to be rare.
	index.Exec(t, `INSERT INTO resources ("group", version, resource, kind, cluster, namespace, name, uid, resource_version, owner_uid, object, created_at, synced_at)
		SELECT 'apps', 'v1', 'deployments', 'Deployment', repeat('m', 100) || LEAST(i, 499), repeat('shop', 30), CASE WHEN i < 500 THEN 'web' ELSE 'web-' || i END, 'uid-' || i, '1', '', '{"metadata": {}}', now(), now() FROM generate_series(0, 49999) AS i`)
	index.Exec(t, "VACUUM ANALYZE")
	for _, name := range []string{"web", "web-30000"} {
		key := projection.ResourceKey{Cluster: strings.Repeat("m", 100) + "499", Group: "apps", Version: "v1", Resource: "deployments", Namespace: strings.Repeat("shop", 30), Name: name}
		text, err := projection.ExplainObjects(t.Context(), db, []projection.ResourceKey{key})
		if err != nil {
			t.Fatal(err)
		}
		var plans []struct {
			Plan node `json:"Plan"`
		}
		if err := json.Unmarshal(text, &plans); err != nil {
			t.Fatal(err)
		}
		plan := &plans[0].Plan
		if read := plan.read(); read < 1 || read > 5 {
			t.Errorf("%g rows are read for %s:\n%s", read, name, plan.text(""))
		}
		// The levels of the index, the row, and what it points to.
		if pages := plan.Hit + plan.Read; pages > 10 {
			t.Errorf("%d pages are read for %s:\n%s", pages, name, plan.text(""))
		}
	}
}
