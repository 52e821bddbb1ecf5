package index_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/index/indextest"
	"github.com/kairship-io/kairship/pkg/requeststats"
)

// reads are the ways to read two objects of one type.
var reads = map[string]func(t *testing.T, c *index.Client, of index.Type, detail index.Detail) []*index.Object{
	"list": func(t *testing.T, c *index.Client, of index.Type, detail index.Detail) []*index.Object {
		count := int64(2)
		page, err := c.List(t.Context(), index.ListQuery{Types: []index.Type{of}, Clusters: []string{"m1", "m2"}, Limit: 5, WithCount: true, Detail: detail})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&count, page.Count); diff != "" {
			t.Errorf("count (-want +got):\n%s", diff)
		}
		return page.Items
	},
	"parts": func(t *testing.T, c *index.Client, of index.Type, detail index.Detail) []*index.Object {
		parts := []index.Part{{Cluster: "m1"}, {Cluster: "m2"}}
		found, err := c.ListParts(t.Context(), index.ListQuery{Types: []index.Type{of}, Limit: 5, Detail: detail}, parts)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Concat(found[parts[0]].Items, found[parts[1]].Items)
	},
	"single": func(t *testing.T, c *index.Client, of index.Type, detail index.Detail) []*index.Object {
		var objects []*index.Object
		for _, k := range []index.Key{
			{Cluster: "m1", Type: of, Namespace: "shop", Name: "a"}, {Cluster: "m2", Type: of, Namespace: "shop", Name: "b"},
			{Cluster: "m1", Type: of, Namespace: "ops", Name: "missing"}, {Cluster: "nowhere", Type: of, Namespace: "shop", Name: "a"},
		} {
			ctx, recorder := requeststats.With(t.Context())
			found, err := c.GetMany(ctx, []index.Key{k}, detail)
			if err != nil {
				t.Fatal(err)
			}
			if n := recorder.Requests(requeststats.Index); n != 1 {
				t.Errorf("%+v costs %d requests", k, n)
			}
			if o := found[k]; o != nil {
				objects = append(objects, o)
			}
		}
		return objects
	},
	"exact": func(t *testing.T, c *index.Client, of index.Type, detail index.Detail) []*index.Object {
		found, err := c.GetMany(t.Context(), []index.Key{
			{Cluster: "m1", Type: of, Namespace: "shop", Name: "a"}, {Cluster: "m2", Type: of, Namespace: "shop", Name: "b"},
			{Cluster: "m1", Type: of, Namespace: "ops", Name: "missing"},
		}, detail)
		if err != nil {
			t.Fatal(err)
		}
		objects := slices.Collect(maps.Values(found))
		slices.SortFunc(objects, func(a, b *index.Object) int { return cmpText(describe(a), describe(b)) })
		return objects
	},
}

func cmpText(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}

// TestDetail checks that an object never has less than was requested, and that using it as a whole
// one is an error when it is not.
func TestDetail(t *testing.T) {
	for _, tt := range []struct {
		name   string
		of     index.Type
		detail index.Detail
		// body and newer report whether the spec is there, and in it the field that the index's own
		// version of the type lacks.
		body, newer, manifest bool
		why                   string
	}{
		{"whole, built in", index.Deployments, index.Whole, true, true, true, "a manifest shows every field, also those that the index does not know"},
		{"known, built in", index.Deployments, index.Known, true, false, false, "the index's own types do for computing"},
		{"metadata, built in", index.Deployments, index.Metadata, false, false, false, "that is what was asked for"},
		{"whole, custom", index.ResourceBindings, index.Whole, true, true, true, "custom resources pass through the index untouched"},
		{"known, custom", index.ResourceBindings, index.Known, true, true, true, "custom resources pass through the index untouched"},
		{"metadata, custom", index.ResourceBindings, index.Metadata, false, false, false, "that is what was asked for"},
	} {
		for _, how := range slices.Sorted(maps.Keys(reads)) {
			t.Run(tt.name+", "+how, func(t *testing.T) {
				a, b := row(tt.of, "m1", "shop", "a"), row(tt.of, "m2", "shop", "b")
				a.Body = map[string]any{"spec": map[string]any{"replicas": 2, indextest.NewField: true}}
				b.Body = a.Body
				// The same name in another cluster and namespace is another object.
				x := indextest.New(t, a, b, row(tt.of, "m3", "shop", "a"))
				objects := reads[how](t, clientOf(t, x), tt.of, tt.detail)
				want := []string{"m1/" + tt.of.Kind + "/shop/a", "m2/" + tt.of.Kind + "/shop/b"}
				if diff := cmp.Diff(want, describeAll(objects)); diff != "" {
					t.Fatalf("-want +got:\n%s", diff)
				}
				for _, o := range objects {
					checkDetail(t, o, tt.body, tt.newer, tt.manifest, tt.why)
					if want := tt.of.GroupVersionResource().GroupVersion().String(); o.APIVersion != want {
						t.Errorf("the object says that it is %s, not %s", o.APIVersion, want)
					}
				}
			})
		}
	}
}

func checkDetail(t *testing.T, o *index.Object, body, newer, manifest bool, why string) {
	t.Helper()
	got, err := index.Decode[struct {
		Spec struct {
			Replicas          int  `json:"replicas"`
			NewerThanTheIndex bool `json:"newerThanTheIndex"`
		} `json:"spec"`
	}](o)
	if err != nil {
		t.Fatal(err)
	}
	if (got.Spec.Replicas == 2) != body || got.Spec.NewerThanTheIndex != newer || o.MetadataOnly() != !body {
		t.Errorf("got %+v, metadata only %v: %s", *got, o.MetadataOnly(), why)
	}
	if _, err := o.Manifest(); (err == nil) != manifest {
		t.Errorf("its manifest: error %v: %s", err, why)
	}
}

// TestKindWithoutEndpoint: a kind that was never collected is not there, which is
// no failure, and is not looked for in vain every time.
func TestKindWithoutEndpoint(t *testing.T) {
	x := indextest.New(t)
	c := clientOf(t, x)
	read := func() int {
		x.Forget()
		if found := reads["exact"](t, c, index.ResourceBindings, index.Whole); len(found) != 0 {
			t.Errorf("found %v", describeAll(found))
		}
		return len(x.Requests())
	}
	if first, second := read(), read(); first != 2 || second != 1 {
		t.Errorf("reading it cost %d requests and then %d, want 2 and then 1", first, second)
	}
}

// TestExactIsExact: what is read beside the objects that were asked for, because
// their names are asked for in all clusters at once, is not in the answer.
func TestExactIsExact(t *testing.T) {
	of := index.Deployments
	x := indextest.New(t, row(of, "m1", "shop", "a"), row(of, "m1", "shop", "b"), row(of, "m2", "shop", "a"), row(of, "m2", "shop", "b"), row(of, "m2", "ops", "a"))
	got := reads["exact"](t, clientOf(t, x), of, index.Known)
	if diff := cmp.Diff([]string{"m1/Deployment/shop/a", "m2/Deployment/shop/b"}, describeAll(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
