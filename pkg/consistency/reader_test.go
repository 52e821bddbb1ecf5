package consistency

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
	"github.com/kairship-io/kairship/pkg/instanceproxy/fake"
)

var secretsResource = corev1.SchemeGroupVersion.WithResource("secrets")

var configMaps = index.Type{Version: "v1", Resource: "configmaps", Kind: "ConfigMap"}

// lagging is an index that shows its second state after some looks.
type lagging struct {
	index.Reader

	mu         sync.Mutex
	looks      int
	after      int
	then, last map[string]*index.Object
	// listed is what lists have; nil for what there is otherwise.
	listed map[string]*index.Object
}

func (l *lagging) state() map[string]*index.Object {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.looks > l.after {
		return l.last
	}
	return l.then
}

func (l *lagging) GetMany(_ context.Context, keys []index.Key, _ index.Detail) (map[index.Key]*index.Object, error) {
	l.mu.Lock()
	l.looks++
	l.mu.Unlock()
	found := map[index.Key]*index.Object{}
	for _, k := range keys {
		if o, ok := l.state()[k.Name]; ok {
			found[k] = o
		}
	}
	return found, nil
}

func (l *lagging) List(context.Context, index.ListQuery) (*index.Page, error) {
	page, state := &index.Page{}, l.listed
	if state == nil {
		state = l.state()
	}
	for _, name := range []string{"a", "b", "c"} {
		if o, ok := state[name]; ok {
			page.Items = append(page.Items, o)
		}
	}
	count := int64(len(page.Items))
	page.Count = &count
	return page, nil
}

func (l *lagging) Get(_ context.Context, key index.Key, _ index.Detail) (*index.Object, error) {
	if o, ok := l.state()[key.Name]; ok {
		return o, nil
	}
	return nil, key.NotFound()
}

func configMap(name, uid, version string) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
		"name": name, "namespace": "shop", "uid": uid, "resourceVersion": version,
	}}
}

func indexed(t *testing.T, name, uid, version string) *index.Object {
	t.Helper()
	o, err := index.NewLive("k-alpha", configMap(name, uid, version), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// instances serve config maps by name; nil is an instance that is away.
func instances(t *testing.T, objects map[string]map[string]any) instanceproxy.Clients {
	t.Helper()
	if objects == nil {
		return fake.New(t, map[string]http.Handler{"alpha": fake.Unavailable})
	}
	return fake.New(t, map[string]http.Handler{"alpha": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		switch o, ok := objects[name]; {
		case r.Header.Get("Impersonate-User") != "alice":
			w.WriteHeader(http.StatusForbidden)
		case !ok:
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404})
		default:
			_ = json.NewEncoder(w).Encode(o)
		}
	})})
}

func version(name, uid, rv string, deleted bool) Version {
	return Version{Instance: "alpha", Version: "v1", Resource: "configmaps", Kind: "ConfigMap", Namespace: "shop", Name: name, UID: uid, ResourceVersion: rv, Deleted: deleted}
}

func TestReader(t *testing.T) {
	const never = 1 << 30
	for _, tt := range []struct {
		name         string
		then, last   map[string]*index.Object
		listed       map[string]*index.Object
		after        int
		live         map[string]map[string]any
		uncollected  bool
		versions     []Version
		want         string
		wantLive     bool
		wantCode     apierror.Code
		wantOneLook  bool
		wantGetEmpty string
		why          string
	}{
		{
			name: "at once", then: map[string]*index.Object{"a": indexed(t, "a", "1", "9")}, after: never, live: map[string]map[string]any{},
			versions: []Version{version("a", "1", "9", false)}, want: "a@9", wantOneLook: true, why: "the index has it",
		},
		{
			name: "newer", then: map[string]*index.Object{"a": indexed(t, "a", "1", "10")}, after: never,
			versions: []Version{version("a", "1", "9", false)}, want: "a@10", wantOneLook: true, why: "versions are numbers",
		},
		{
			name: "after a while", then: map[string]*index.Object{}, last: map[string]*index.Object{"a": indexed(t, "a", "1", "9")}, after: 3,
			versions: []Version{version("a", "1", "9", false)}, want: "a@9", why: "the index is waited for, and the instance is not asked: it is away",
		},
		{
			name: "created", then: map[string]*index.Object{"a": indexed(t, "a", "1", "5"), "c": indexed(t, "c", "3", "5")}, after: never,
			live: map[string]map[string]any{"b": configMap("b", "2", "9")}, versions: []Version{version("b", "2", "9", false)},
			want: "a@5 b@9 c@5", wantLive: true, why: "it stands in its place",
		},
		{
			name: "changed", then: map[string]*index.Object{"a": indexed(t, "a", "1", "5"), "b": indexed(t, "b", "2", "5")}, after: never,
			live: map[string]map[string]any{"a": configMap("a", "1", "9")}, versions: []Version{version("a", "1", "9", false)},
			want: "a@9 b@5", wantLive: true,
		},
		{
			name: "created, and indexed meanwhile", then: map[string]*index.Object{"a": indexed(t, "a", "1", "5")}, after: never,
			listed: map[string]*index.Object{"a": indexed(t, "a", "1", "5"), "b": indexed(t, "b", "2", "9")},
			live:   map[string]map[string]any{"b": configMap("b", "2", "9")}, versions: []Version{version("b", "2", "9", false)},
			want: "a@5 b@9", why: "the index has it when it lists, and counts it",
		},
		{
			name: "created and changed, and half of it indexed meanwhile", then: map[string]*index.Object{}, after: never,
			listed: map[string]*index.Object{"b": indexed(t, "b", "2", "7")},
			live:   map[string]map[string]any{"b": configMap("b", "2", "9")}, versions: []Version{version("b", "2", "9", false)},
			want: "b@9", wantLive: true, why: "it is counted once",
		},
		{
			name: "deleted, and indexed meanwhile", then: map[string]*index.Object{"a": indexed(t, "a", "1", "5"), "b": indexed(t, "b", "2", "5")}, after: never,
			listed: map[string]*index.Object{"b": indexed(t, "b", "2", "5")},
			live:   map[string]map[string]any{}, versions: []Version{version("a", "1", "", true)}, want: "b@5", wantGetEmpty: "a", why: "it is not counted any more",
		},
		{
			name: "deleted", then: map[string]*index.Object{"a": indexed(t, "a", "1", "5"), "b": indexed(t, "b", "2", "5")}, after: never,
			live: map[string]map[string]any{}, versions: []Version{version("a", "1", "", true)}, want: "b@5", wantLive: true, wantGetEmpty: "a",
		},
		{
			name: "deleted and made anew", then: map[string]*index.Object{"a": indexed(t, "a", "2", "12")}, after: never,
			versions: []Version{version("a", "1", "", true)}, want: "a@12", wantOneLook: true, why: "the one that was deleted is left out",
		},
		{
			name: "not collected", then: map[string]*index.Object{}, after: never, uncollected: true,
			live: map[string]map[string]any{"a": configMap("a", "1", "9")}, versions: []Version{version("a", "1", "9", false)},
			want: "a@9", wantLive: true, why: "there is nothing to wait for",
		},
		{
			name: "nothing answers", then: map[string]*index.Object{}, after: never,
			versions: []Version{version("a", "1", "9", false)}, wantCode: apierror.CodeInstanceUnavailable, why: "an old answer would break the promise",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			idx := &lagging{then: tt.then, last: tt.last, listed: tt.listed, after: tt.after}
			waiter := &IndexWaiter{
				Index: idx, Clients: instances(t, tt.live), Wait: 100 * time.Millisecond, Now: time.Now,
				Collected: func(context.Context, string, string, string) (string, bool) { return "v1", !tt.uncollected },
			}
			r := NewReader(idx, waiter)
			ctx := With(as(t, "alice"), tt.versions)
			q := index.ListQuery{Types: []index.Type{configMaps}, Clusters: []string{"k-alpha"}, Limit: 10, WithCount: true}
			page, err := r.List(ctx, q)
			if tt.wantCode != "" {
				if !apierror.Is(err, tt.wantCode) {
					t.Fatalf("got %v, want %s: %s", err, tt.wantCode, tt.why)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, textOf(page)); diff != "" {
				t.Errorf("%s: %s", tt.why, diff)
			}
			if page.Live != tt.wantLive || *page.Count != int64(len(page.Items)) {
				t.Errorf("live: %v, count: %d of %d", page.Live, *page.Count, len(page.Items))
			}
			if tt.wantOneLook && idx.looks != 1 {
				t.Errorf("looked %d times", idx.looks)
			}
			looked := idx.looks
			for part := range strings.FieldsSeq(tt.want) {
				name, rv, _ := strings.Cut(part, "@")
				o, err := r.Get(ctx, index.Key{Cluster: "k-alpha", Type: configMaps, Namespace: "shop", Name: name}, index.Whole)
				if err != nil || o.Meta.ResourceVersion != rv {
					t.Errorf("get %s: %v, %v", part, o, err)
				}
			}
			if tt.wantGetEmpty != "" {
				if _, err := r.Get(ctx, index.Key{Cluster: "k-alpha", Type: configMaps, Namespace: "shop", Name: tt.wantGetEmpty}, index.Whole); !apierror.Is(err, apierror.CodeNotFound) {
					t.Errorf("get %s: %v, want NOT_FOUND", tt.wantGetEmpty, err)
				}
			}
			if idx.looks != looked {
				t.Error("an operation waits more than once")
			}
		})
	}
}

// An operation without a token, or about another instance, does not wait.
func TestReaderDoesNotWait(t *testing.T) {
	idx := &lagging{then: map[string]*index.Object{}}
	r := NewReader(idx, &IndexWaiter{Index: idx, Wait: time.Hour, Now: time.Now})
	for name, ctx := range map[string]context.Context{
		"no token":         as(t, "alice"),
		"another instance": With(as(t, "alice"), []Version{version("a", "1", "9", false)}),
	} {
		if _, err := r.List(ctx, index.ListQuery{Types: []index.Type{configMaps}, Clusters: []string{"k-beta"}, Limit: 1}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if idx.looks != 0 {
		t.Errorf("looked %d times", idx.looks)
	}
}

// Pods are in members, of which no token has a version.
func TestReaderDoesNotWaitForPods(t *testing.T) {
	idx := &lagging{then: map[string]*index.Object{}}
	r := NewReader(idx, &IndexWaiter{Index: idx, Wait: time.Hour, Now: time.Now})
	ctx := With(as(t, "alice"), []Version{version("a", "1", "9", false)})
	q := index.ListQuery{Types: []index.Type{index.Pods}, Clusters: []string{"k-alpha"}, Projected: &index.Projected{Pods: &index.PodFilter{}}, Limit: 1}
	if page, err := r.List(ctx, q); err != nil || page.Live || idx.looks != 0 {
		t.Errorf("looked %d times: %+v, %v", idx.looks, page, err)
	}
}

// Fields that are resolved concurrently share one index wait.
func TestReaderWaitsOnce(t *testing.T) {
	idx := &lagging{then: map[string]*index.Object{}, last: map[string]*index.Object{"a": indexed(t, "a", "1", "9")}, after: 2}
	r := NewReader(idx, &IndexWaiter{
		Index: idx, Wait: time.Minute, Now: time.Now,
		Collected: func(context.Context, string, string, string) (string, bool) { return "v1", true },
	})
	ctx := With(as(t, "alice"), []Version{version("a", "1", "9", false)})
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			o, err := r.Get(ctx, index.Key{Cluster: "k-alpha", Type: configMaps, Namespace: "shop", Name: "a"}, index.Whole)
			if err != nil || o.Meta.ResourceVersion != "9" {
				t.Errorf("%v, %v", o, err)
			}
		})
	}
	all.Wait()
	if idx.looks != 3 {
		t.Errorf("looked %d times, want 3", idx.looks)
	}
}

func TestRequested(t *testing.T) {
	for _, tt := range []struct {
		header    []string
		extension any
		want      []string
		wantErr   bool
	}{
		{},
		{header: []string{"a, b", "c"}, want: []string{"a", "b", "c"}},
		{extension: "a", want: []string{"a"}},
		{extension: []any{"a", "b"}, want: []string{"a", "b"}},
		{header: []string{"a"}, extension: "b", want: []string{"a", "b"}},
		{extension: 1, wantErr: true},
		{extension: []any{1}, wantErr: true},
		{header: []string{strings.Repeat("a,", maxTokens+1)}, wantErr: true},
	} {
		got, err := requestedToken(tt.header, tt.extension)
		if diff := cmp.Diff(tt.want, got); (err != nil) != tt.wantErr || (!tt.wantErr && diff != "") {
			t.Errorf("%v: %v, %s", tt, err, diff)
		}
	}
}

func textOf(page *index.Page) string {
	var names []string
	for _, o := range page.Items {
		names = append(names, o.Meta.Name+"@"+o.Meta.ResourceVersion)
	}
	return strings.Join(names, " ")
}
