package projection_test

import (
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
