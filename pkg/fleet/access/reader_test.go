package access_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/index"
)

// methods has a test for every way to read. Each reads everything that there is
// as one person, and holds what went down and what came back against what the
// person may see.
var methods = map[string]func(t *testing.T, person string, r *access.Reader, below *recorder){
	"List":          testList,
	"PageOf":        testPageOf,
	"Get":           testGet,
	"PodsOf":        testPodsOf,
	"Prefetch":      testPrefetch,
	"PrefetchPages": testPrefetchPages,
	"PrefetchPods":  testPrefetchPods,
}

func TestEveryReadIsConfined(t *testing.T) {
	reader := reflect.TypeFor[index.Reader]()
	for method := range reader.Methods() {
		if _, ok := methods[method.Name]; !ok {
			t.Errorf("index.Reader.%s has no test here: whatever reads must be confined", method.Name)
		}
	}
	rules := &fakeRules{}
	resolver := authz.NewResolver(rules, nil, standing, nil)
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		if _, ok := reader.MethodByName(name); !ok {
			t.Errorf("%s is no method of index.Reader any more", name)
		}
		for _, person := range slices.Sorted(maps.Keys(people)) {
			t.Run(name+"/"+person, func(t *testing.T) {
				below := newRecorder(t)
				methods[name](t, person, access.NewReader(below, resolver, joined), below)
				checkKeys(t, person, below.asked)
				for _, q := range below.queries {
					checkQuery(t, person, q)
				}
				for _, o := range below.owners {
					if visible, _ := sees(person, index.Key{Cluster: o.Cluster, Type: index.Pods, Namespace: o.Namespace}, false); !visible {
						t.Errorf("the pods of %+v were asked for", o)
					}
				}
			})
		}
	}
	if rules.count != len(people) {
		t.Errorf("%d reviews for %d people, want one each", rules.count, len(people))
	}
}

// checkKeys checks the keys that were requested from the index. A Work's key does not show the
// object that it was made for, so all those in a visible instance may be requested.
func checkKeys(t *testing.T, person string, down []asked) {
	t.Helper()
	for _, a := range down {
		visible, _ := sees(person, a.key, false)
		if a.key.Type == index.Works {
			visible = mayRead[person][joined[a.key.Cluster]].objects != ""
		}
		if !visible {
			t.Errorf("asked for %+v", a.key)
		}
	}
}

// checkQuery looks at a query that went down: whatever it can match must be visible.
func checkQuery(t *testing.T, person string, q index.ListQuery) {
	t.Helper()
	if len(q.Clusters)+len(q.Scopes) == 0 {
		t.Errorf("asked for nothing: %+v", q)
	}
	// The others must not learn of more by the time that an answer takes.
	if seesAll := person == "admin"; q.Confined == seesAll {
		t.Errorf("confined: %t, although the caller sees every instance: %t", q.Confined, seesAll)
	}
	for _, k := range keys {
		inside := slices.Contains(q.Clusters, k.Cluster) || slices.ContainsFunc(q.Scopes, func(s index.Scope) bool {
			o := &index.Object{Cluster: k.Cluster}
			o.Meta.Namespace, o.Meta.Name = k.Namespace, k.Name
			return s.Holds(o)
		})
		if !inside || !slices.Contains(q.Types, k.Type) {
			continue
		}
		if visible, _ := sees(person, k, true); !visible {
			t.Errorf("asked for a list that holds %+v: %+v", k, q)
		}
	}
}

// lists returns the types that are listed in one request.
func lists() [][]index.Type {
	return [][]index.Type{
		{index.Deployments}, {index.Deployments, configMaps}, {secrets}, {index.Deployments, secrets}, {index.Namespaces},
		{index.Namespaces, configMaps}, {index.Works}, {index.ClusterPropagationPolicies}, {index.MemberClusters}, {nodes, configMaps},
	}
}

// filters are further conditions on a list.
func filters() []index.ListQuery {
	return []index.ListQuery{
		{}, {Namespaces: []string{"shop"}}, {Namespaces: []string{"billing", "ops"}}, {Namespaces: []string{""}}, {Namespaces: []string{"", "shop"}},
		{Names: []string{"shop"}}, {Names: []string{"x", "ops"}}, {Detail: index.Metadata}, {Detail: index.Known},
	}
}

// expected are the objects that a list has to hold.
func expected(person string, q index.ListQuery) []index.Key {
	var out []index.Key
	for _, k := range keys {
		wanted := slices.Contains(q.Types, k.Type) && slices.Contains(q.Clusters, k.Cluster) &&
			(len(q.Namespaces) == 0 || slices.Contains(q.Namespaces, k.Namespace)) && (len(q.Names) == 0 || slices.Contains(q.Names, k.Name))
		visible, _ := sees(person, k, true)
		if slices.Contains(q.Types, index.Namespaces) && len(q.Types) > 1 && k.Type == index.Namespaces {
			// Among others, Namespaces are judged as objects without namespace.
			visible, _ = sees(person, index.Key{Cluster: k.Cluster, Type: nodes}, true)
		}
		if wanted && visible {
			out = append(out, k)
		}
	}
	return out
}

func checkPage(t *testing.T, person string, below *recorder, q index.ListQuery, page *index.Page) {
	t.Helper()
	want := expected(person, q)
	var got []index.Key
	for _, o := range page.Items {
		k := below.keyOf(o)
		got = append(got, k)
		if _, body := sees(person, k, true); shows(t, o) != (holdsSecrets(k.Type) && body) {
			t.Errorf("%+v shows the value of a Secret: %v", k, shows(t, o))
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%+v (-want +got):\n%s", q, d)
	}
	if (page.Count != nil) != q.WithCount || (page.Count != nil && *page.Count != int64(len(want))) {
		t.Errorf("%+v: count %v, want %d", q, page.Count, len(want))
	}
	if len(want) == 0 && len(page.Items) == 0 && len(mayRead[person]) == 0 && below.requested > 0 {
		t.Errorf("a list for a user who sees nothing cost %d requests", below.requested)
	}
}

func eachQuery(clusters []string, do func(q index.ListQuery)) {
	for _, types := range lists() {
		for _, q := range filters() {
			q.Types, q.Clusters, q.Limit, q.WithCount = types, clusters, 100, true
			do(q)
			q.WithCount = false
			do(q)
		}
	}
}

func testList(t *testing.T, person string, r *access.Reader, below *recorder) {
	t.Helper()
	for _, from := range [][]string{clusters, {"k-alpha"}, {"k-beta", "m1"}, {"free", "unknown"}, nil} {
		eachQuery(from, func(q index.ListQuery) {
			page, err := r.List(as(t, person), q)
			if err != nil {
				t.Fatal(err)
			}
			checkPage(t, person, below, q, page)
		})
	}
}

func testPageOf(t *testing.T, person string, r *access.Reader, below *recorder) {
	t.Helper()
	for _, cluster := range clusters {
		eachQuery([]string{"k-ignored"}, func(q index.ListQuery) {
			page, err := r.PageOf(as(t, person), index.Part{Cluster: cluster}, q)
			if err != nil {
				t.Fatal(err)
			}
			q.Clusters = []string{cluster}
			checkPage(t, person, below, q, page)
		})
	}
}

func testPrefetchPages(t *testing.T, person string, r *access.Reader, below *recorder) {
	t.Helper()
	var parts []index.Part
	for _, cluster := range clusters {
		parts = append(parts, index.Part{Cluster: cluster}, index.Part{Cluster: cluster, Value: "v"})
	}
	eachQuery(nil, func(q index.ListQuery) {
		below.reset()
		found := map[index.Part]*index.Page{}
		r.PrefetchPages(as(t, person), parts, q, func(pages map[index.Part]*index.Page) { maps.Copy(found, pages) })
		for _, part := range parts {
			of := q
			of.Clusters = []string{part.Cluster}
			if page, ok := found[part]; ok {
				checkPage(t, person, below, of, page)
			} else if n := len(expected(person, of)); n > 0 {
				t.Errorf("%+v of %+v was not read ahead", q, part)
			}
		}
		// PageOf has to ask the same, or what was read ahead is of no use.
		ahead := slices.Clone(below.queries)
		for _, part := range parts {
			below.reset()
			if _, err := r.PageOf(as(t, person), part, q); err != nil {
				t.Fatal(err)
			}
			for _, one := range below.queries {
				if !slices.ContainsFunc(ahead, func(a index.ListQuery) bool { return cmp.Equal(a, one) }) {
					t.Errorf("PageOf asks what was not read ahead: %+v", one)
				}
			}
		}
		r.PrefetchPages(as(t, person), parts, q, nil)
	})
}

func testGet(t *testing.T, person string, r *access.Reader, below *recorder) {
	t.Helper()
	for _, detail := range details {
		testOne(t, person, r, below, detail)
	}
}

var details = []index.Detail{index.Whole, index.Known, index.Metadata}

func testOne(t *testing.T, person string, r *access.Reader, below *recorder, detail index.Detail) {
	t.Helper()
	all := slices.Clone(keys)
	for _, k := range keys {
		k.Name = "missing"
		all = append(all, k)
	}
	for _, k := range all {
		before := below.requested
		o, err := r.Get(as(t, person), k, detail)
		visible, body := sees(person, k, false)
		_, exists := below.objects[k]
		switch {
		case visible && exists:
			if err != nil {
				t.Errorf("%+v: %v", k, err)
			} else if o.MetadataOnly() != (detail == index.Metadata) || shows(t, o) != (holdsSecrets(k.Type) && body) {
				t.Errorf("%+v: metadata only is %v, the value of a Secret is there: %v", k, o.MetadataOnly(), shows(t, o))
			}
		case !apierror.Is(err, apierror.CodeNotFound) || err.Error() != k.NotFound().Error():
			t.Errorf("%+v: got %v, %v, want the error of a missing object", k, o, err)
		case !visible && k.Type != index.Works && below.requested != before:
			t.Errorf("%+v is hidden and was asked for", k)
		}
	}
}

func testPrefetch(t *testing.T, person string, r *access.Reader, below *recorder) {
	t.Helper()
	for _, detail := range details {
		found := map[index.Key]*index.Object{}
		r.Prefetch(as(t, person), keys, detail, func(rows map[index.Key]*index.Object) { found = rows })
		for _, k := range keys {
			visible, body := sees(person, k, false)
			o, got := found[k]
			if got != visible || (got && shows(t, o) != (holdsSecrets(k.Type) && body)) {
				t.Errorf("%+v, detail %d: got %v, want %v", k, detail, got, visible)
			}
		}
		r.Prefetch(as(t, person), keys, detail, nil)
	}
	if len(mayRead[person]) == 0 && below.requested > 0 {
		t.Errorf("reading ahead for a user who sees nothing cost %d requests", below.requested)
	}
}

func testPodsOf(t *testing.T, person string, r *access.Reader, below *recorder) {
	t.Helper()
	for _, cluster := range clusters {
		for _, namespace := range []string{"shop", "ops", "billing", ""} {
			before := below.requested
			pods, err := r.PodsOf(as(t, person), owner(cluster, namespace))
			if err != nil {
				t.Fatal(err)
			}
			visible, _ := sees(person, index.Key{Cluster: cluster, Type: index.Pods, Namespace: namespace}, false)
			if !visible {
				if len(pods) > 0 || below.requested != before {
					t.Errorf("%s/%s: %d pods, %d requests, want none", cluster, namespace, len(pods), below.requested-before)
				}
				continue
			}
			// The owner was said to be in the namespace; the pods have to be in one that may be read.
			for _, o := range pods {
				if ok, _ := sees(person, index.Key{Cluster: o.Cluster, Type: index.Pods, Namespace: o.Meta.Namespace}, false); !ok {
					t.Errorf("a pod of %s/%s came back", o.Cluster, o.Meta.Namespace)
				}
			}
			if namespace != "" && !slices.ContainsFunc(pods, func(o *index.Object) bool { return o.Meta.Namespace == namespace }) {
				t.Errorf("%s/%s: its own pods are missing", cluster, namespace)
			}
		}
	}
}

func testPrefetchPods(t *testing.T, person string, r *access.Reader, below *recorder) {
	t.Helper()
	var owners, want []index.PodOwner
	for _, cluster := range clusters {
		for _, namespace := range []string{"shop", "ops", "billing", ""} {
			o := owner(cluster, namespace)
			owners = append(owners, o)
			if visible, _ := sees(person, index.Key{Cluster: cluster, Type: index.Pods, Namespace: namespace}, false); visible {
				want = append(want, o)
			}
		}
	}
	r.PrefetchPods(as(t, person), owners)
	if d := cmp.Diff(want, below.owners); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if len(want) == 0 && below.requested > 0 {
		t.Error("nothing was asked for, with a request")
	}
}
