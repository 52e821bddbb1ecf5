package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// An empty list reports that a namespace of its filter is unknown, in the same words for
// one that is hidden, and says nothing about one that is merely empty.
func TestUnknownNamespaceOfAFilter(t *testing.T) {
	on := open(t)
	for _, tt := range []struct {
		reason, who, query string
		// want are path and argument of each warning.
		want string
	}{
		{"a typing error", "alice", `{ workloads(filter: {namespaces: ["shpo"]}) { nodes { name } } }`, "[workloads] filter.namespaces[0];"},
		{"in one instance", "alice", `{ instance(name: "alpha") { w: workloads(filter: {namespaces: ["shpo"]}) { nodes { name } } } }`, "[instance w] filter.namespaces[0];"},
		{"pods", "alice", `{ pods(filter: {namespaces: ["shpo"]}) { nodes { name } } }`, "[pods] filter.namespaces[0];"},
		{"policies", "alice", `{ instance(name: "alpha") { overridePolicies(filter: {namespaces: ["shpo"]}) { nodes { name } } } }`, "[instance overridePolicies] filter.namespaces[0];"},
		{"events", "alice", `{ instance(name: "alpha") { events(filter: {namespaces: ["shpo"]}) { nodes { reason } } } }`, "[instance events] filter.namespaces[0];"},
		{"an argument", "alice", `{ instance(name: "alpha") { resources(version: "v1", resource: "configmaps", namespace: "shpo") { nodes { name } } } }`, "[instance resources] namespace;"},
		{"one of two, and the other has nothing of the name", "alice", `{ workloads(filter: {namespaces: ["shop", "shpo"], name: "none-such"}) { nodes { name } } }`, "[workloads] filter.namespaces[1];"},
		{"the namespace is there, and nothing matches", "alice", `{ workloads(filter: {namespaces: ["shop"], name: "none-such"}) { nodes { name } } }`, ""},
		{"something was found", "alice", `{ workloads(filter: {namespaces: ["shop", "shpo"]}) { nodes { name } } }`, ""},
		{"a namespace of an instance that is hidden is like none", "bob", `{ workloads(filter: {namespaces: ["shop"]}) { nodes { name } } }`, "[workloads] filter.namespaces[0];"},
		{"nothing is visible", "mallory", `{ workloads(filter: {namespaces: ["shop"]}) { nodes { name } } }`, ""},
		{"a list inside a list", "admin", `{ instances { nodes { workloads(filter: {namespaces: ["shop"]}) { nodes { name } } } } }`, ""},
	} {
		// Collection may be late for a moment, and then nothing is claimed.
		poll.Until(t, propagationTimeout, tt.reason, func(ctx context.Context) error {
			r := on.as(t, tt.who).Must(t, gql.Request{Query: tt.query})
			var body struct {
				Errors     []any
				Extensions struct {
					Warnings []struct {
						Code, Argument, Message string
						Path                    []any
					}
				}
			}
			if err := json.Unmarshal(r.Body, &body); err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, w := range body.Extensions.Warnings {
				if w.Code != "UNKNOWN_NAMESPACE" || !strings.Contains(w.Message, "that you can see") {
					t.Errorf("%s: %+v", tt.reason, w)
				}
				got += fmt.Sprint(w.Path) + " " + w.Argument + ";"
			}
			if got != tt.want || len(body.Errors) > 0 {
				return fmt.Errorf("got %q, want %q: %s", got, tt.want, r.Body)
			}
			return nil
		})
	}
}
