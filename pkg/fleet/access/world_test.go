package access_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/index/indextest"
)

// The world of these tests: instances alpha and beta, each with a member, and a
// member that is joined to none.
var joined = inventory{"k-alpha": "alpha", "m1": "alpha", "k-beta": "beta", "m3": "beta"}

var clusters = []string{"k-alpha", "m1", "k-beta", "m3", "free", "unknown"}

type inventory map[string]string

func (i inventory) InstanceOf(_ context.Context, cluster string) string { return i[cluster] }

var (
	secrets    = index.Type{Version: "v1", Resource: "secrets", Kind: "Secret"}
	configMaps = index.Type{Version: "v1", Resource: "configmaps", Kind: "ConfigMap"}
	nodes      = index.Type{Version: "v1", Resource: "nodes", Kind: "Node"}
)

// keys are the objects of the world: the same in every cluster.
var keys = func() []index.Key {
	var all []index.Key
	for _, cluster := range clusters {
		for _, namespace := range []string{"shop", "ops", "billing"} {
			for _, t := range []index.Type{index.Deployments, configMaps, secrets, index.Pods} {
				all = append(all, index.Key{Cluster: cluster, Type: t, Namespace: namespace, Name: "x"})
			}
			all = append(all,
				index.Key{Cluster: cluster, Type: index.Namespaces, Name: namespace},
				index.Key{Cluster: cluster, Type: index.Works, Namespace: "karmada-es-m1", Name: "of-" + namespace})
		}
		all = append(all,
			index.Key{Cluster: cluster, Type: index.Works, Namespace: "karmada-es-m1", Name: "of-none"},
			index.Key{Cluster: cluster, Type: secrets, Namespace: "karmada-cluster", Name: "m1"},
			index.Key{Cluster: cluster, Type: index.ClusterPropagationPolicies, Name: "shop"},
			index.Key{Cluster: cluster, Type: index.MemberClusters, Name: "m1"},
			index.Key{Cluster: cluster, Type: nodes, Name: "shop"})
	}
	return all
}()

// people and their rules.
var people = map[string][]authorizationv1.ResourceRule{
	"nobody":  nil,
	"admin":   {rule("*", "*", "")},
	"alice":   role("alpha", true),
	"bob":     role("beta", false),
	"both":    append(role("alpha", true), role("beta", false)...),
	"shop":    {rule("get", "instances", "alpha"), rule("get list watch", "instances/namespaces", "alpha:shop")},
	"shopper": {rule("get", "instances", "alpha"), rule("*", "instances/namespaces", "alpha:shop"), rule("get", "instances/secrets", "alpha:shop")},
	"mixed": append(role("beta", false),
		rule("get", "instances", "alpha"), rule("get list", "instances/namespaces", "alpha:shop alpha:ops"), rule("get", "instances/secrets", "beta:ops")),
	"namespaces": {rule("get", "instances", "alpha"), rule("get list", "instances/namespaces", "")},
	"seen":       {rule("get", "instances", "alpha beta")},
}

func rule(verbs, resources, names string) authorizationv1.ResourceRule {
	return authorizationv1.ResourceRule{
		APIGroups: []string{"kairship.io"}, Verbs: strings.Fields(verbs), Resources: strings.Fields(resources), ResourceNames: strings.Fields(names),
	}
}

func role(instance string, editor bool) []authorizationv1.ResourceRule {
	rules := []authorizationv1.ResourceRule{rule("get list watch", "instances instances/resources", instance)}
	if editor {
		rules = append(rules, rule("create update patch delete", "instances/resources", instance), rule("get", "instances/secrets", instance))
	}
	return rules
}

// sight is what a user may read, written out: per instance, the namespaces whose objects and whose
// Secrets they may read. "*" is everything, "+" every namespace.
type sight struct{ objects, secrets string }

var mayRead = map[string]map[string]sight{
	"nobody":     {},
	"admin":      {"alpha": {"*", "*"}, "beta": {"*", "*"}},
	"alice":      {"alpha": {"*", "*"}},
	"bob":        {"beta": {"*", ""}},
	"both":       {"alpha": {"*", "*"}, "beta": {"*", ""}},
	"shop":       {"alpha": {"shop", ""}},
	"shopper":    {"alpha": {"shop", "shop"}},
	"mixed":      {"alpha": {"shop ops", ""}, "beta": {"*", "ops"}},
	"namespaces": {"alpha": {"+", ""}},
	"seen":       {"alpha": {"", ""}, "beta": {"", ""}},
}

func covers(namespaces, namespace string) bool {
	switch namespaces {
	case "*":
		return true
	case "+":
		return namespace != ""
	}
	return slices.Contains(strings.Fields(namespaces), namespace)
}

// holdsSecrets reports whether objects of a type have the values of Secrets in them.
func holdsSecrets(t index.Type) bool { return t == secrets || t == index.Works }

// sees reports whether a person may read an object, and whether its body too.
// listed asks about lists: a single Work is found by what it was made for, a list
// of them by where they are.
func sees(person string, k index.Key, listed bool) (visible, body bool) {
	s, ok := mayRead[person][joined[k.Cluster]]
	switch {
	case !ok:
		return false, false
	case k.Type == secrets:
		visible = covers(s.objects, k.Namespace)
		return visible, visible && covers(s.secrets, k.Namespace) && (person == "admin" || k.Namespace != "karmada-cluster")
	case k.Type == index.Namespaces:
		visible = covers(s.objects, k.Name)
		return visible, visible
	case k.Type == index.Works:
		made := strings.TrimPrefix(k.Name, "of-")
		visible = covers(s.objects, k.Namespace) || (!listed && made != "none" && covers(s.objects, made))
		return visible, visible && person == "admin"
	}
	visible = covers(s.objects, k.Namespace)
	return visible, visible
}

// fakeRules lists the rules of the people, and counts.
type fakeRules struct {
	mu    sync.Mutex
	count int
	err   error
	more  map[string][]authorizationv1.ResourceRule
}

func (f *fakeRules) Rules(_ context.Context, u authz.User) (*authorizationv1.SubjectRulesReviewStatus, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	if f.err != nil {
		return nil, f.err
	}
	rules, ok := people[u.Name]
	if !ok {
		rules = f.more[u.Name]
	}
	return &authorizationv1.SubjectRulesReviewStatus{ResourceRules: rules}, nil
}

// standing is a clock that does not advance, so that cached answers never expire.
func standing() time.Time { return time.Time{} }

func as(t testing.TB, person string) context.Context {
	return authz.WithUser(t.Context(), authz.User{Name: person})
}

// recorder is an index.Reader that holds the world, and keeps what it is asked.
type recorder struct {
	objects   map[index.Key]*index.Object
	metadata  map[index.Key]*index.Object
	mu        sync.Mutex
	asked     []asked
	queries   []index.ListQuery
	owners    []index.PodOwner
	requested int
	// unfiltered answers every question with everything, as an index with a bug might.
	unfiltered bool
}

type asked struct {
	key          index.Key
	metadataOnly bool
}

// confidential is the value of a Secret, as Works have it.
const confidential = "confidential"

// shows reports whether an object has the value of a Secret in it, wherever.
func shows(t testing.TB, o *index.Object) bool {
	t.Helper()
	body, err := index.Decode[map[string]any](o)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal([]any{body, o.Meta})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(raw), confidential)
}

func newRecorder(t testing.TB) *recorder {
	t.Helper()
	return &recorder{objects: load(t, index.Whole), metadata: load(t, index.Metadata)}
}

// load makes the objects of the world. Only a Client can: it reads them from an index.
func load(t testing.TB, detail index.Detail) map[index.Key]*index.Object {
	t.Helper()
	type id struct{ cluster, kind, namespace, name string }
	byID := map[id]index.Key{}
	var types []index.Type
	var rows []indextest.Row
	for _, k := range keys {
		row := indextest.Row{
			Cluster: k.Cluster, Group: k.Type.Group, Version: k.Type.Version, Resource: k.Type.Resource, Kind: k.Type.Kind,
			Namespace: k.Namespace, Name: k.Name, Annotations: map[string]string{}, Body: map[string]any{},
		}
		if made, ok := strings.CutPrefix(k.Name, "of-"); ok && made != "none" {
			row.Annotations["resourcebinding.karmada.io/namespace"] = made
		}
		if k.Type == index.Works {
			row.Annotations["kubectl.kubernetes.io/last-applied-configuration"] = confidential
			row.Body["spec"] = map[string]any{"workload": map[string]any{"manifests": []any{map[string]any{"kind": "Secret", "data": confidential}}}}
		}
		if k.Type == secrets {
			row.Annotations["kubectl.kubernetes.io/last-applied-configuration"] = confidential
			row.Annotations["kapp.k14s.io/original"] = confidential
			row.Body["data"] = map[string]string{"password": confidential}
			row.Body["stringData"] = map[string]string{"password": confidential}
		}
		rows = append(rows, row)
		if !slices.Contains(types, k.Type) {
			types = append(types, k.Type)
		}
		byID[id{k.Cluster, k.Type.Kind, k.Namespace, k.Name}] = k
	}
	client, err := index.New(index.Config{REST: &rest.Config{Host: indextest.New(t, rows...).URL}})
	if err != nil {
		t.Fatal(err)
	}
	page, err := client.List(t.Context(), index.ListQuery{Types: types, Clusters: clusters, Limit: len(rows) + 1, Detail: detail})
	if err != nil {
		t.Fatal(err)
	}
	found := map[index.Key]*index.Object{}
	for _, o := range page.Items {
		k, ok := byID[id{o.Cluster, o.Kind, o.Meta.Namespace, o.Meta.Name}]
		if !ok {
			t.Fatalf("unknown object %+v", o)
		}
		found[k] = o
	}
	if len(found) != len(keys) {
		t.Fatalf("%d objects of %d", len(found), len(keys))
	}
	return found
}

// keyOf finds the key of an object that came back, which may be a part of one of ours.
func (r *recorder) keyOf(o *index.Object) index.Key {
	i := slices.IndexFunc(keys, func(k index.Key) bool {
		return k.Cluster == o.Cluster && k.Type.Kind == o.Kind && k.Namespace == o.Meta.Namespace && k.Name == o.Meta.Name
	})
	return keys[i]
}

func (r *recorder) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked, r.queries, r.owners, r.requested = nil, nil, nil, 0
}

// find answers a query, whose clusters are those of parts where there are any.
func (r *recorder) find(q index.ListQuery) *index.Page {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requested++
	r.queries = append(r.queries, q)
	rows := r.objects
	if q.Detail == index.Metadata {
		rows = r.metadata
	}
	page := &index.Page{}
	for _, k := range keys {
		o := rows[k]
		inside := slices.Contains(q.Clusters, o.Cluster) || slices.ContainsFunc(q.Scopes, func(s index.Scope) bool { return s.Holds(o) })
		if r.unfiltered || (inside && slices.Contains(q.Types, k.Type) &&
			(len(q.Namespaces) == 0 || slices.Contains(q.Namespaces, o.Meta.Namespace)) &&
			(len(q.Names) == 0 || slices.Contains(q.Names, o.Meta.Name))) {
			page.Items = append(page.Items, o)
		}
	}
	if q.WithCount {
		n := int64(len(page.Items))
		page.Count = &n
	}
	return page
}

func (r *recorder) List(_ context.Context, q index.ListQuery) (*index.Page, error) {
	return r.find(q), nil
}

func (r *recorder) PageOf(_ context.Context, part index.Part, q index.ListQuery) (*index.Page, error) {
	return r.find(within(q, part)), nil
}

// within is what the index makes of a part: the part's scope, else the whole cluster.
func within(q index.ListQuery, part index.Part) index.ListQuery {
	scopes := q.Scopes
	q.Clusters, q.Scopes = nil, nil
	if i := slices.IndexFunc(scopes, func(s index.Scope) bool { return s.Cluster == part.Cluster }); i >= 0 {
		q.Scopes = scopes[i : i+1]
	} else {
		q.Clusters = []string{part.Cluster}
	}
	return q
}

func (r *recorder) one(k index.Key, detail index.Detail) (*index.Object, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requested++
	r.asked = append(r.asked, asked{k, detail == index.Metadata})
	rows := r.objects
	if detail == index.Metadata {
		rows = r.metadata
	}
	o, ok := rows[k]
	return o, ok
}

func (r *recorder) Get(_ context.Context, k index.Key, detail index.Detail) (*index.Object, error) {
	if o, ok := r.one(k, detail); ok {
		return o, nil
	}
	return nil, k.NotFound()
}

// PodsOf answers with the pods of the whole cluster: the owner's namespace is
// what the caller says it is.
func (r *recorder) PodsOf(_ context.Context, owner index.PodOwner) ([]*index.Object, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requested++
	r.owners = append(r.owners, owner)
	var pods []*index.Object
	for _, k := range keys {
		if k.Type == index.Pods && k.Cluster == owner.Cluster {
			pods = append(pods, r.objects[k])
		}
	}
	return pods, nil
}

func (r *recorder) Prefetch(_ context.Context, wanted []index.Key, detail index.Detail, then func(map[index.Key]*index.Object)) {
	found := map[index.Key]*index.Object{}
	for _, k := range wanted {
		if o, ok := r.one(k, detail); ok {
			found[k] = o
		}
	}
	if then != nil {
		then(found)
	}
}

func (r *recorder) PrefetchPages(_ context.Context, parts []index.Part, q index.ListQuery, then func(map[index.Part]*index.Page)) {
	pages := map[index.Part]*index.Page{}
	for _, part := range parts {
		pages[part] = r.find(within(q, part))
	}
	if then != nil {
		then(pages)
	}
}

func (r *recorder) PrefetchPods(_ context.Context, owners []index.PodOwner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requested++
	r.owners = append(r.owners, owners...)
}

func owner(cluster, namespace string) index.PodOwner {
	return index.PodOwner{Owner: index.Owner{Cluster: cluster, UID: types.UID(cluster + "-x")}, Namespace: namespace}
}
