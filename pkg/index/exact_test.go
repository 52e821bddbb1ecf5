package index_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/index/indextest"
	"github.com/kairship-io/kairship/pkg/requeststats"
)

// key is the key of a row.
func key(r indextest.Row) index.Key {
	return index.Key{
		Cluster: r.Cluster, Namespace: r.Namespace, Name: r.Name,
		Type: index.Type{Group: r.Group, Version: r.Version, Resource: r.Resource, Kind: r.Kind},
	}
}

// found names the objects under their keys, so that an object under another's key shows.
func found(objects map[index.Key]*index.Object) map[index.Key]string {
	names := map[index.Key]string{}
	for k, o := range objects {
		names[k] = describe(o)
	}
	return names
}

func TestGetMany(t *testing.T) {
	// In each of two clusters all combinations of two namespaces and two names, of two kinds,
	// so that a cross product has what was not asked for.
	var rows []indextest.Row
	for _, cluster := range []string{"k-alpha", "m1"} {
		for _, of := range workloadTypes {
			for _, namespace := range []string{"ops", "shop"} {
				rows = append(rows, row(of, cluster, namespace, "a"), row(of, cluster, namespace, "b"))
			}
		}
		rows = append(rows, row(index.Namespaces, cluster, "", "shop"), row(index.MemberClusters, cluster, "", "shop"))
	}
	x := indextest.New(t, rows...)
	alphaA, alphaB := row(index.Deployments, "k-alpha", "ops", "a"), row(index.Deployments, "k-alpha", "shop", "b")
	memberA := row(index.Deployments, "m1", "shop", "a")
	set := row(index.StatefulSets, "k-alpha", "ops", "a")
	namespace, member := row(index.Namespaces, "k-alpha", "", "shop"), row(index.MemberClusters, "k-alpha", "", "shop")
	missing := row(index.Deployments, "k-alpha", "ops", "none")
	elsewhere := row(index.Deployments, "k-none", "ops", "a")
	older := row(index.Type{Group: "apps", Version: "v1beta1", Resource: "deployments", Kind: "Deployment"}, "k-alpha", "ops", "a")
	for _, tt := range []struct {
		name string
		keys []indextest.Row
		want []indextest.Row
		why  string
	}{
		{"one", []indextest.Row{alphaA}, []indextest.Row{alphaA}, "one object"},
		{"a diagonal", []indextest.Row{alphaA, alphaB}, []indextest.Row{alphaA, alphaB}, "ops/b and shop/a were not asked for"},
		{"kinds and clusters", []indextest.Row{alphaA, memberA, set}, []indextest.Row{alphaA, memberA, set}, "one name in three places is three objects"},
		{"without namespace", []indextest.Row{namespace, member, alphaA}, []indextest.Row{namespace, member, alphaA}, "two kinds may share a name"},
		{"missing", []indextest.Row{alphaA, missing, elsewhere}, []indextest.Row{alphaA}, "what is not there is not in the result"},
		{"all missing", []indextest.Row{missing}, nil, "nothing is there"},
		{"twice", []indextest.Row{alphaA, alphaA}, []indextest.Row{alphaA}, "a key is a key however often it is asked for"},
		{"another version", []indextest.Row{older}, nil, "it is collected in one version only"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := clientOf(t, x)
			for _, detail := range []index.Detail{index.Whole, index.Metadata} {
				var keys []index.Key
				for _, r := range tt.keys {
					keys = append(keys, key(r))
				}
				asked := slices.Clone(keys)
				ctx, recorder := requeststats.With(t.Context())
				got, err := c.GetMany(ctx, keys, detail)
				if err != nil {
					t.Fatal(err)
				}
				want := map[index.Key]string{}
				for _, r := range tt.want {
					want[key(r)] = describeRow(r)
				}
				if diff := cmp.Diff(want, found(got)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tt.why, diff)
				}
				for _, o := range got {
					if o.MetadataOnly() != (detail == index.Metadata) {
						t.Errorf("%s says of its metadata alone: %v", describe(o), o.MetadataOnly())
					}
				}
				if diff := cmp.Diff(asked, keys); diff != "" {
					t.Errorf("the caller's keys were changed:\n%s", diff)
				}
				if got := recorder.Requests(requeststats.Index); got != 1 {
					t.Errorf("it cost %d requests, want 1", got)
				}
			}
		})
	}
}

// API servers refuse a request line of over a megabyte, and SQLite a statement
// that nests too deep, so a large question is asked in parts.
func TestGetManyInParts(t *testing.T) {
	for _, tt := range []struct {
		name  string
		rows  func(i int) indextest.Row
		most  int
		parts int
		why   string
	}{
		{"short names", func(i int) indextest.Row { return row(index.Namespaces, "k-alpha", "", fmt.Sprintf("%x", i)) }, 20_000, 2, "many keys in a request"},
		{
			"long names", func(i int) indextest.Row {
				return row(index.Works, "k-alpha", "karmada-es-"+strings.Repeat("m", 52), fmt.Sprintf("%0200d", i))
			}, 3000, 4, "few keys in a request",
		},
		{"two clusters", func(i int) indextest.Row {
			return row(index.Deployments, []string{"k-alpha", "k-beta"}[i%2], "namespace", fmt.Sprintf("deployment-%08d", i))
		}, 12_000, 3, "a part may end in the middle of a cluster"},
		{"many clusters", func(i int) indextest.Row {
			return row(index.Deployments, fmt.Sprintf("member-%05d", i), "shop", "web")
		}, 2500, 1, "clusters are a list, as names are"},
		{"long names of clusters", func(i int) indextest.Row {
			return row(index.Deployments, fmt.Sprintf("%0200d", i), "shop", "web")
		}, 2500, 3, "a list of clusters has to fit too"},
		{"two kinds in many clusters", func(i int) indextest.Row {
			return row([]index.Type{index.Deployments, index.DaemonSets}[i%2], fmt.Sprintf("member-%05d", i), "shop", "web")
		}, 2500, 3, "each kind in each cluster is a condition of its own"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var rows []indextest.Row
			var keys []index.Key
			for i := range tt.most {
				r := tt.rows(i)
				if keys = append(keys, key(r)); i%3 > 0 {
					rows = append(rows, r)
				}
			}
			x := indextest.New(t, rows...)
			ctx, recorder := requeststats.With(t.Context())
			got, err := clientOf(t, x).GetMany(ctx, keys, index.Metadata)
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != len(rows) {
				t.Errorf("found %d objects of %d", len(got), len(rows))
			}
			for k, o := range got {
				if describe(o) != strings.Join([]string{k.Cluster, k.Type.Kind, k.Namespace, k.Name}, "/") {
					t.Fatalf("%s is under the key %v", describe(o), k)
				}
			}
			if n := recorder.Requests(requeststats.Index); n < tt.parts {
				t.Errorf("asked in %d parts, want at least %d: %s", n, tt.parts, tt.why)
			}
			const limit = 1 << 20
			if most := longest(x.Requests()); most > limit*3/4 {
				t.Errorf("a request of %d bytes is too near what API servers take", most)
			}
		})
	}
}

func TestParseSelector(t *testing.T) {
	for _, tt := range []struct {
		text, want string
		refused    bool
		why        string
	}{
		{text: "app=web", want: "app=web", why: "as it is"},
		{text: " app in (a,b) , !tier ", want: "app in (a,b),!tier", why: "spaces do not matter"},
		{text: "app==web", want: "app==web", why: "two spellings"},
		{text: "", want: "", why: "nothing selects everything"},
		{text: "  ", want: "", why: "nothing selects everything"},
		{text: "replicas>3", refused: true, why: "labels are text, and text compares wrongly: 10 is less than 3"},
		{text: "app,replicas<3", refused: true, why: "wherever it stands"},
		{text: "app=", want: "app=", why: "an empty value is a value"},
		{text: "app in ()", want: "app in ()", why: "one empty value"},
		{text: "app=a=b", refused: true, why: "it can't be read"},
		{text: "app in (a", refused: true, why: "it can't be read"},
		{text: "app=" + strings.Repeat("x", 64), refused: true, why: "no label has such a value"},
		{text: "-app", refused: true, why: "no label has such a key"},
	} {
		got, err := index.ParseSelector(tt.text)
		if (err != nil) != tt.refused {
			t.Errorf("%q: %v; refused: want %v: %s", tt.text, err, tt.refused, tt.why)
			continue
		}
		text := ""
		if got != nil {
			text = got.String()
		}
		if text != tt.want {
			t.Errorf("%q: got %q, want %q: %s", tt.text, text, tt.want, tt.why)
		}
	}
	if got, err := index.ParseSelector(labels.Nothing().String()); got != nil || err != nil {
		t.Errorf("the text of a selector of nothing is empty, and empty text selects everything: %v, %v", got, err)
	}
}

// A selector that is accepted can be sent, and says the same when it is read again.
func FuzzParseSelector(f *testing.F) {
	for _, text := range []string{"", "a=b", "a!=b", "a in (b,c)", "a notin (b)", "!a", "a", "a>1", "a=,b", "x.y/z=1", "a in ()", "a==b,,", "((", "a=b,c\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := index.ParseSelector(text)
		if err != nil || s == nil {
			return
		}
		again, err := index.ParseSelector(s.String())
		if err != nil {
			t.Fatalf("%q became %q, which can't be read: %v", text, s, err)
		}
		if again == nil || again.String() != s.String() {
			t.Errorf("%q became %q and then %v", text, s, again)
		}
	})
}
