package index_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kairship-io/kairship/pkg/index"
)

// picked are objects as a cluster lists them: two in each of two namespaces.
func picked(t *testing.T, detail index.Detail) []*index.Object {
	t.Helper()
	var all []*index.Object
	for n, at := range []string{"b/y", "a/y", "b/x", "a/x"} {
		namespace, name, _ := strings.Cut(at, "/")
		item := fmt.Sprintf(`{"metadata":{"namespace":%q,"name":%q,"labels":{"n":"%d"},"creationTimestamp":"2026-05-01T12:00:0%dZ","managedFields":[{"manager":"m"}]},"spec":{"big":9007199254740993}}`, namespace, name, n, n)
		o, err := index.NewListed("k-alpha", index.Type{Group: "example.com", Version: "v1", Resource: "widgets", Kind: "Widget"}, json.RawMessage(item), detail, time.Unix(9, 0))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, o)
	}
	return all
}

func TestPick(t *testing.T) {
	selector, err := labels.Parse("n!=0")
	if err != nil {
		t.Fatal(err)
	}
	whole := index.ListQuery{Clusters: []string{"k-alpha"}, Limit: 3, WithCount: true}
	query := func(change func(*index.ListQuery)) index.ListQuery {
		q := whole
		change(&q)
		return q
	}
	after := index.Position{Cluster: "k-alpha", Namespace: "a", Name: "y", Kind: "Widget"}
	for _, tt := range []struct {
		q     index.ListQuery
		want  string
		count int64
		next  bool
		why   string
	}{
		{whole, "a/x a/y b/x", 4, true, "by namespace and name"},
		{query(func(q *index.ListQuery) { q.After = &after }), "b/x b/y", 4, false, "what follows; all are counted"},
		{query(func(q *index.ListQuery) { q.Order.Desc, q.After = true, &after }), "a/x", 4, false, "the other way"},
		{query(func(q *index.ListQuery) { q.Order.Field = index.OrderByName }), "a/x b/x a/y", 4, true, "by name"},
		{query(func(q *index.ListQuery) { q.Order.Field = index.OrderByCreation }), "b/y a/y b/x", 4, true, "by age"},
		{query(func(q *index.ListQuery) { q.Selector = selector }), "a/x a/y b/x", 3, false, "by labels"},
		{query(func(q *index.ListQuery) { q.NameContains = "x" }), "a/x b/x", 2, false, "by part of the name"},
		{query(func(q *index.ListQuery) { q.Owners = []string{"", "none"} }), "", 0, false, "by owner"},
		{query(func(q *index.ListQuery) { q.Names, q.Namespaces = []string{"x"}, []string{"b"} }), "b/x", 1, false, "by name and namespace"},
		{query(func(q *index.ListQuery) {
			q.Clusters, q.Scopes = nil, []index.Scope{{Cluster: "k-alpha", Namespaces: []string{"a"}}}
		}), "a/x a/y", 2, false, "in a scope"},
		{query(func(q *index.ListQuery) { q.Clusters = []string{"k-beta"} }), "", 0, false, "of another cluster"},
	} {
		p := tt.q.Pick(picked(t, index.Metadata))
		var names []string
		for _, o := range p.Items {
			names = append(names, o.Meta.Namespace+"/"+o.Meta.Name)
		}
		if got := strings.Join(names, " "); got != tt.want || *p.Count != tt.count || p.HasNext != tt.next {
			t.Errorf("%s: got %q of %d, next %v; want %q of %d", tt.why, got, *p.Count, p.HasNext, tt.want, tt.count)
		}
	}
	whole.WithCount = false
	if p := whole.Pick(picked(t, index.Metadata)); p.Count != nil {
		t.Errorf("it counts %d, and was not asked to", *p.Count)
	}
}

func TestNewListed(t *testing.T) {
	o := picked(t, index.Whole)[0]
	text, err := o.Text()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Spec       map[string]any `json:"spec"`
	}
	if err := json.Unmarshal(text, &got); err != nil || got.APIVersion != "example.com/v1" || got.Kind != "Widget" || got.Spec == nil || got.Metadata["managedFields"] != nil {
		t.Errorf("%v: %s", err, text)
	}
	if at, live := o.Live(); !live || !at.Equal(time.Unix(9, 0)) || o.Meta.Labels["n"] != "0" {
		t.Errorf("%v, %v, %+v", at, live, o.Meta)
	}
	bare := picked(t, index.Metadata)[0]
	if text, err := bare.Text(); err == nil || !bare.MetadataOnly() {
		t.Errorf("metadata alone is shown as a manifest: %s", text)
	}
	if _, err := index.NewListed("k-alpha", index.Pods, json.RawMessage(`{"metadata":1}`), index.Whole, time.Time{}); err == nil {
		t.Error("what is no object is read as one")
	}
}
