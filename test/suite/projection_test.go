package suite

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// TestMetadataSuffices looks at what the index sends: where nothing but metadata is
// selected, no object comes with its spec or its status.
func TestMetadataSuffices(t *testing.T) {
	on, g := behind(t)
	var mu sync.Mutex
	var bodies []string
	index := g.At(on.fleet.IndexURL)
	g.Answer(fleet.IndexAPI, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Accept-Encoding") // What is looked at is not to be compressed.
		kept := httptest.NewRecorder()
		index.ServeHTTP(kept, r)
		mu.Lock()
		bodies = append(bodies, kept.Body.String())
		mu.Unlock()
		for name, values := range kept.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(kept.Code)
		_, _ = io.WriteString(w, kept.Body.String())
	}))
	const metadata = "id namespace name labels { key value } annotations { key value } createdAt resourceVersion"
	gql.MustQuery[any](t, on.kairship, "{ viewer { username } instance(name: \"alpha\") { workloads { nodes { images } } } }", nil) // What the index can do is known from then on.
	for _, tt := range []struct {
		name, query string
		whole       bool
	}{
		{"workloads", `{ workloads { nodes { ` + metadata + ` } totalCount } }`, false},
		{"workloads of instances", `{ instances { nodes { workloads { nodes { ` + metadata + ` } } } } }`, false},
		{"objects of any kind", `{ instance(name: "alpha") { resources(group: "apps", version: "v1", resource: "deployments") { nodes { ` + metadata + ` } } } }`, false},
		{"the policies of workloads", `{ workloads(filter: {kinds: DEPLOYMENT}) { nodes { name policy { ` + metadata + ` } } } }`, false},
		{"what a workload runs", `{ workloads(filter: {kinds: DEPLOYMENT}) { nodes { name images } } }`, true},
		{"manifests", `{ instance(name: "alpha") { resources(group: "apps", version: "v1", resource: "deployments") { nodes { manifest } } } }`, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mu.Lock()
			bodies = nil
			mu.Unlock()
			gql.MustQuery[any](t, on.kairship, tt.query, nil)
			mu.Lock()
			defer mu.Unlock()
			if len(bodies) == 0 {
				t.Fatal("the index was not asked")
			}
			objects, whole := 0, 0
			for _, body := range bodies {
				n, w, err := wholeOf(body)
				if err != nil {
					t.Fatal(err)
				}
				objects, whole = objects+n, whole+w
			}
			if objects == 0 {
				t.Error("the index sent no object: the test proves nothing")
			}
			if (whole > 0) != tt.whole {
				t.Errorf("%d of %d objects came with more than their metadata", whole, objects)
			}
		})
	}
}

// wholeOf counts the objects of an answer of the index, and those that are more
// than metadata.
func wholeOf(body string) (objects, whole int, err error) {
	var list struct{ Items []map[string]json.RawMessage }
	if err := json.NewDecoder(strings.NewReader(body)).Decode(&list); err != nil {
		return 0, 0, fmt.Errorf("an answer of the index: %w: %.200s", err, body)
	}
	for _, o := range list.Items {
		if len(o["spec"]) > 0 || len(o["status"]) > 0 {
			whole++
		}
	}
	return len(list.Items), whole, nil
}
