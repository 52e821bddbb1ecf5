package index_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kairship-io/kairship/pkg/index"
)

var configMaps = index.Type{Version: "v1", Resource: "configmaps", Kind: "ConfigMap"}

// overlaid is an object, written as name@version; nil for nothing.
func overlaid(t *testing.T, text string) *index.Object {
	t.Helper()
	name, version, ok := strings.Cut(text, "@")
	if !ok {
		return nil
	}
	o, err := index.NewLive("k-alpha", map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
		"name": name, "namespace": "shop", "uid": name, "resourceVersion": version,
	}}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestOverlay lays one object over a page. The index goes on while it is asked: it may
// have had less when it was asked about the object than when it made the page.
func TestOverlay(t *testing.T) {
	for _, tt := range []struct {
		reason string
		// page is what the index lists, of so many, with more behind it and after.
		page    string
		count   int64
		hasNext bool
		after   string
		// indexed is what it had of b, and now what b is.
		indexed, now string
		want         string
		wantCount    int64
		wantLive     bool
	}{
		{reason: "made, and not known to the index", page: "a@1 c@1", count: 2, now: "b@5", want: "a@1 b@5 c@1", wantCount: 3, wantLive: true},
		{reason: "made, and indexed meanwhile", page: "a@1 b@5 c@1", count: 3, now: "b@5", want: "a@1 b@5 c@1", wantCount: 3},
		{reason: "made and changed, of which the index knows the first", page: "a@1 b@4 c@1", count: 3, now: "b@5", want: "a@1 b@5 c@1", wantCount: 3, wantLive: true},
		{reason: "changed", page: "a@1 b@4", count: 2, indexed: "b@4", now: "b@5", want: "a@1 b@5", wantCount: 2, wantLive: true},
		{reason: "changed again since, by others", page: "a@1 b@7", count: 2, indexed: "b@4", now: "b@5", want: "a@1 b@7", wantCount: 2},
		{reason: "deleted", page: "a@1 b@4", count: 2, indexed: "b@4", want: "a@1", wantCount: 1, wantLive: true},
		{reason: "deleted, and gone from the index meanwhile", page: "a@1 c@1", count: 2, indexed: "b@4", want: "a@1 c@1", wantCount: 2},
		{reason: "deleted on a later page", page: "a@1", count: 3, hasNext: true, indexed: "b@4", want: "a@1", wantCount: 2, wantLive: true},
		{reason: "deleted on an earlier page", page: "c@1", count: 3, after: "b@4", indexed: "b@4", want: "c@1", wantCount: 2, wantLive: true},
		{reason: "made, with its place on a later page", page: "a@1", count: 2, hasNext: true, now: "b@5", want: "a@1", wantCount: 3, wantLive: true},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			q := index.ListQuery{Types: []index.Type{configMaps}, Clusters: []string{"k-alpha"}, Limit: 10, WithCount: true}
			if after := overlaid(t, tt.after); after != nil {
				position := index.PositionOf(after)
				q.After = &position
			}
			page := &index.Page{HasNext: tt.hasNext, Count: &tt.count}
			for text := range strings.FieldsSeq(tt.page) {
				page.Items = append(page.Items, overlaid(t, text))
			}
			got := q.Overlay(page, []index.Replacement{{
				Key:     index.Key{Cluster: "k-alpha", Type: configMaps, Namespace: "shop", Name: "b"},
				Indexed: overlaid(t, tt.indexed), Now: overlaid(t, tt.now),
			}})
			var texts []string
			for _, o := range got.Items {
				texts = append(texts, o.Meta.Name+"@"+o.Meta.ResourceVersion)
			}
			if text := fmt.Sprint(strings.Join(texts, " "), " of ", *got.Count, " live ", got.Live); text != fmt.Sprint(tt.want, " of ", tt.wantCount, " live ", tt.wantLive) {
				t.Errorf("got %s, want %s of %d live %v", text, tt.want, tt.wantCount, tt.wantLive)
			}
		})
	}
}
