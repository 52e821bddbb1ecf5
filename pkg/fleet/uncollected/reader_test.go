package uncollected

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
)

func requestOf(group, version, resource string, f listing.Filter) listing.Request {
	return listing.Request{
		Noun: "Resource", Types: []index.Type{{Group: group, Version: version, Resource: resource}}, Instances: []string{"alpha"},
		Filter: f, WithCount: true, Detail: index.Metadata,
	}
}

func names(r *listing.Result) string {
	var all []string
	for _, o := range r.Items {
		all = append(all, strings.TrimPrefix(o.Meta.Namespace+"/"+o.Meta.Name, "/"))
	}
	return strings.Join(all, " ")
}

// Each person reads what Kairship's permissions and the instance's RBAC allow both, and
// the instance is asked for nothing else.
func TestWhoReadsWhat(t *testing.T) {
	for _, tt := range []struct {
		person, resource string
		filter           listing.Filter
		want             string
		requests         []string
		why              string
	}{
		{"alice", "configmaps", listing.Filter{}, "karmada-cluster/c0 karmada-cluster/c1 ops/c0 ops/c1 shop/c0 shop/c1",
			[]string{"alice /api/v1/configmaps metadata"}, "one list, as the caller"},
		{"alice", "configmaps", listing.Filter{Namespaces: []string{"shop", "none"}}, "shop/c0 shop/c1",
			[]string{"alice /api/v1/namespaces/none/configmaps metadata", "alice /api/v1/namespaces/shop/configmaps metadata"}, "each namespace by itself"},
		{"shop", "configmaps", listing.Filter{}, "shop/c0 shop/c1",
			[]string{"shop /api/v1/namespaces/shop/configmaps metadata"}, "nothing outside is asked for"},
		{"shop", "configmaps", listing.Filter{Namespaces: []string{"ops"}}, "", nil, "that is outside"},
		{"shop", "nodes", listing.Filter{}, "", nil, "objects without namespace are not for a role in namespaces"},
		{"alice", "nodes", listing.Filter{}, "n0", []string{"alice /api/v1/nodes metadata"}, "they are for one in the instance"},
		{"alice", "nodes", listing.Filter{Namespaces: []string{"shop"}}, "", nil, "none is in a namespace"},
		{"alice", "configmaps", listing.Filter{Namespaces: []string{""}}, "", nil, "each is in a namespace"},
		{"alice", "secrets", listing.Filter{}, "karmada-cluster/s0 karmada-cluster/s1 ops/s0 ops/s1 shop/s0 shop/s1",
			[]string{"/api/v1/secrets metadata"}, "the metadata of Secrets is read by Kairship, which RBAC lets editors not list"},
		{"viewer", "secrets", listing.Filter{}, "karmada-cluster/s0 karmada-cluster/s1 ops/s0 ops/s1 shop/s0 shop/s1",
			[]string{"/api/v1/secrets metadata"}, "and viewers not read"},
		{"shop", "secrets", listing.Filter{}, "shop/s0 shop/s1", []string{"/api/v1/namespaces/shop/secrets metadata"}, "also by Kairship in the caller's namespaces alone"},
		{"mallory", "secrets", listing.Filter{}, "", nil, "the instance is hidden"},
		{"mallory", "configmaps", listing.Filter{}, "", nil, "the instance is hidden"},
	} {
		source, server := world(t)
		r, err := source.ListOne(as(t, tt.person), requestOf("", "v1", tt.resource, tt.filter))
		if err != nil {
			t.Errorf("%s, %s: %v: %s", tt.person, tt.resource, err, tt.why)
			continue
		}
		if got := names(r); got != tt.want || *r.Count != int64(len(r.Items)) {
			t.Errorf("%s, %s: got %q and count %d, want %q: %s", tt.person, tt.resource, got, *r.Count, tt.want, tt.why)
		}
		if diff := cmp.Diff(tt.requests, server.requests()); diff != "" {
			t.Errorf("%s, %s: requests (-want +got):\n%s%s", tt.person, tt.resource, diff, tt.why)
		}
		if live := r.Freshness.Source == freshness.SourceLive && *r.Freshness.Lag == 0 && !r.Freshness.Stale; !live {
			t.Errorf("%s, %s: the freshness is %+v", tt.person, tt.resource, r.Freshness)
		}
	}
}

// What the instance refuses is an error and never an empty list.
func TestTheInstanceRefuses(t *testing.T) {
	source, server := world(t)
	server.forbids = func(user, path string) bool { return user == "viewer" && !strings.Contains(path, "shop") }
	_, err := source.ListOne(as(t, "viewer"), requestOf("", "v1", "nodes", listing.Filter{}))
	if !apierror.Is(err, apierror.CodeForbidden) || !errors.Is(err, ErrUnanswered) {
		t.Errorf("got %v", err)
	}
	r, err := source.ListOne(as(t, "viewer"), requestOf("", "v1", "configmaps", listing.Filter{Namespaces: []string{"shop"}}))
	if err != nil || names(r) != "shop/c0 shop/c1" {
		t.Errorf("what it allows: %v, %v", r, err)
	}
	_, err = source.ListOne(as(t, "admin"), listing.Request{Noun: "Resource", Types: []index.Type{{Version: "v1", Resource: "nodes"}}, Instances: []string{"down"}})
	if !apierror.Is(err, apierror.CodeInstanceUnavailable) {
		t.Errorf("an instance that is down: %v", err)
	}
}

// Values are read as the caller alone, where Kairship and the instance both allow it.
func TestValuesOfSecrets(t *testing.T) {
	for _, tt := range []struct {
		person string
		values string
		asked  int
		why    string
	}{
		{"admin", "karmada-cluster ops shop", 1 + 6, "an admin reads all"},
		{"alice", "ops shop", 1 + 6, "Kairship keeps the reserved namespace from an editor, and asks for its keys itself"},
		{"shop", "shop", 1 + 2, "an editor of a namespace reads its own"},
		{"viewer", "", 1 + 6, "a viewer reads none"},
		{"late", "", 1 + 6 + 4, "the instance does not know of the role yet, and is believed"},
	} {
		source, server := world(t)
		server.forbids = func(user, path string) bool {
			return user == "late" || user != "admin" && user != "" && (strings.HasSuffix(path, "/v1/secrets") || strings.Contains(path, "karmada-cluster"))
		}
		people["late"] = people["alice"]
		q := requestOf("", "v1", "secrets", listing.Filter{})
		q.Detail = index.Whole
		r, err := source.ListOne(as(t, tt.person), q)
		if err != nil {
			t.Errorf("%s: %v", tt.person, err)
			continue
		}
		shown := map[string]bool{}
		for _, o := range r.Items {
			text, err := o.Text()
			if err != nil {
				t.Fatal(err)
			}
			in := strings.Contains(tt.values, o.Meta.Namespace)
			if strings.Contains(string(text), value) != in || !strings.Contains(string(text), `"password"`) {
				t.Errorf("%s reads %s: %s", tt.person, text, tt.why)
			}
			if !strings.Contains(string(text), `"apiVersion":"v1"`) || !strings.Contains(string(text), `"kind":"Secret"`) || strings.Contains(string(text), "managedFields") {
				t.Errorf("%s: the manifest is %s", tt.person, text)
			}
			shown[o.Meta.Namespace] = true
		}
		requests := server.requests()
		if len(requests) != tt.asked || len(shown) == 0 {
			t.Errorf("%s: %d requests, want %d: %s: %q", tt.person, len(requests), tt.asked, tt.why, requests)
		}
		// Metadata has copies of values in annotations.
		q.Detail = index.Metadata
		r, err = source.ListOne(as(t, tt.person), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range r.Items {
			if d := cmp.Diff(map[string]string{"team": "storefront"}, o.Meta.Annotations); d != "" {
				t.Errorf("%s: annotations (-want +got):\n%s", tt.person, d)
			}
		}
	}
}

func TestPages(t *testing.T) {
	source, server := world(t)
	selector, part := "app!=c0", "c"
	for _, tt := range []struct {
		filter listing.Filter
		order  index.Order
		want   []string
	}{
		{listing.Filter{}, index.Order{}, []string{"karmada-cluster/c0 karmada-cluster/c1 ops/c0 ops/c1", "shop/c0 shop/c1"}},
		{listing.Filter{}, index.Order{Desc: true}, []string{"shop/c1 shop/c0 ops/c1 ops/c0", "karmada-cluster/c1 karmada-cluster/c0"}},
		{listing.Filter{}, index.Order{Field: index.OrderByName}, []string{"karmada-cluster/c0 ops/c0 shop/c0 karmada-cluster/c1", "ops/c1 shop/c1"}},
		{listing.Filter{Name: []string{"c0"}}, index.Order{}, []string{"karmada-cluster/c0 ops/c0 shop/c0"}},
		{listing.Filter{NameContains: &part, LabelSelector: &selector}, index.Order{Field: index.OrderByCreation}, []string{"karmada-cluster/c1 ops/c1 shop/c1"}},
		{listing.Filter{Name: []string{}}, index.Order{}, []string{""}},
	} {
		var got []string
		var after *string
		size := 4
		for {
			q := requestOf("", "v1", "configmaps", tt.filter)
			q.Order, q.Args = tt.order, page.Args{First: &size, After: after}
			r, err := source.ListOne(as(t, "alice"), q)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, names(r))
			if !r.HasNext {
				break
			}
			cursor := r.Cursor(r.Items[len(r.Items)-1])
			after = &cursor
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%+v %+v (-want +got):\n%s", tt.filter, tt.order, diff)
		}
	}
	server.requests()
}

// A list ends at a number of objects, with an error that says how to narrow it, and so
// does a list of many namespaces.
func TestBounds(t *testing.T) {
	source, server := world(t)
	server.objects["/api/v1/configmaps"] = nil
	for i := range mostObjects {
		server.add("/api/v1/configmaps", fmt.Sprintf("n%02d", i%40), fmt.Sprintf("c%04d", i))
	}
	list := func(f listing.Filter) (*listing.Result, []string, error) {
		r, err := source.ListOne(as(t, "alice"), requestOf("", "v1", "configmaps", f))
		return r, server.requests(), err
	}
	r, asked, err := list(listing.Filter{})
	if err != nil || *r.Count != mostObjects || len(r.Items) != page.DefaultSize || len(asked) != 10 {
		t.Fatalf("as many as may be: %v after %d requests", err, len(asked))
	}
	server.add("/api/v1/configmaps", "n00", "too-many")
	_, asked, err = list(listing.Filter{})
	var e *apierror.Error
	if !errors.As(err, &e) || e.Code != apierror.CodeInvalid || e.Argument != "filter" || !errors.Is(err, ErrUnanswered) || len(asked) != 10 ||
		!strings.Contains(e.Message, "filter.namespaces or filter.labelSelector") {
		t.Errorf("one more: %v after %d requests", err, len(asked))
	}
	var all []string
	for i := range mostNamespaces {
		all = append(all, fmt.Sprintf("m%d", i))
		for k := range mostObjects / mostNamespaces {
			server.add("/api/v1/configmaps", all[i], fmt.Sprintf("c%d", k))
		}
	}
	if r, asked, err = list(listing.Filter{Namespaces: all}); err != nil || *r.Count != mostObjects || len(asked) != mostNamespaces {
		t.Errorf("as many in several namespaces: %v after %d requests", err, len(asked))
	}
	all[0] = "n00"
	for range mostObjects/mostNamespaces - mostObjects/40 {
		server.add("/api/v1/configmaps", "n00", "more")
	}
	if _, _, err = list(listing.Filter{Namespaces: all}); !errors.As(err, &e) || e.Argument != "filter" {
		t.Errorf("one more in several namespaces: %v", err)
	}
	server.objects["/api/v1/configmaps"] = server.objects["/api/v1/configmaps"][:mostObjects+1]
	if r, asked, err = list(listing.Filter{Namespaces: []string{"n00"}}); err != nil || *r.Count != mostObjects/40+1 || len(asked) != 1 {
		t.Errorf("one namespace: %v after %d requests", err, len(asked))
	}
	if r, asked, err = list(listing.Filter{Name: []string{"too-many"}}); err != nil || *r.Count != 1 || len(asked) != 1 {
		t.Errorf("one name: %v after %d requests", err, len(asked))
	}
	var many []string
	for i := range mostNamespaces + 1 {
		many = append(many, fmt.Sprintf("n%02d", i))
	}
	server.objects["/api/v1/configmaps"] = server.objects["/api/v1/configmaps"][:40]
	if r, asked, err = list(listing.Filter{Namespaces: many}); err != nil || *r.Count != mostNamespaces+1 || len(asked) != 1 {
		t.Errorf("many namespaces of an instance that may be listed as a whole: %v after %d requests", err, len(asked))
	}
	people["many"] = people["shop"][:1:1]
	for _, namespace := range many {
		people["many"] = append(people["many"], rule("get list", "instances/namespaces", "alpha:"+namespace))
	}
	_, err = source.ListOne(as(t, "many"), requestOf("", "v1", "configmaps", listing.Filter{}))
	if !errors.As(err, &e) || e.Code != apierror.CodeInvalid || e.Argument != "filter.namespaces" || len(server.requests()) != 0 {
		t.Errorf("many namespaces: %v", err)
	}
	if r, err = source.ListOne(as(t, "many"), requestOf("", "v1", "configmaps", listing.Filter{Namespaces: many[1:]})); err != nil || *r.Count != mostNamespaces {
		t.Errorf("as many as may be: %v", err)
	}
}

// Kinds come and go. What is remembered of an instance spares requests, and is no reason
// to refuse a kind that is there by now.
func TestKindsThatComeAndGo(t *testing.T) {
	source, server := world(t)
	check := func(person, group, resource string) error {
		return source.Check(as(t, person), "alpha", schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource})
	}
	for range 3 {
		if err := check("alice", "", "secrets"); err != nil {
			t.Fatal(err)
		}
	}
	if server.discoveries != 1 {
		t.Errorf("%d discoveries, want 1", server.discoveries)
	}
	began := time.Now()
	for range 3 {
		if err := check("alice", "nope.io", "secrets"); !errors.Is(err, ErrNotServed) {
			t.Errorf("made up: %v", err)
		}
	}
	// One in two seconds, should the machine be so slow.
	if most := 2 + int(time.Since(began)/(2*time.Second)); server.discoveries > most {
		t.Errorf("%d discoveries for a made-up kind, want %d at most", server.discoveries, most)
	}
	for _, hidden := range []string{"nope.io", ""} {
		if err := check("mallory", hidden, "secrets"); err != nil {
			t.Errorf("of a hidden instance it says %v", err)
		}
	}
	if err := source.Check(as(t, "mallory"), "missing", schema.GroupVersionResource{Group: "nope.io", Version: "v1", Resource: "x"}); err != nil {
		t.Errorf("of a missing instance it says %v", err)
	}
	// Another one comes.
	server.mu.Lock()
	server.kinds.Resources[0].APIResources = append(server.kinds.Resources[0].APIResources, api("gadgets", "Gadget", true, "list"))
	server.mu.Unlock()
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for began = time.Now(); check("alice", "", "gadgets") != nil; <-poll.C {
		if time.Since(began) > time.Minute {
			t.Fatal("a kind that came is not found")
		}
	}
	// It goes: the instance itself says so.
	server.mu.Lock()
	server.kinds.Groups, server.kinds.Resources = server.kinds.Groups[:3], server.kinds.Resources[:4]
	server.mu.Unlock()
	_, err := source.ListOne(as(t, "admin"), requestOf("example.com", "v1", "clustersecrets", listing.Filter{}))
	if !errors.Is(err, ErrNotServed) && !apierror.Is(err, apierror.CodeInstanceUnavailable) {
		t.Errorf("a kind that is gone: %v", err)
	}
}
