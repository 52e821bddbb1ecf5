package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
	"github.com/kairship-io/kairship/test/internal/schema"
)

// promptly is how soon it is told that the index does not answer.
const promptly = 2 * time.Second

// behind is a Kairship of the test's own, whose index is behind a gateway. It has no
// projection, and so reads everything from the index.
func behind(t *testing.T, flags ...string) (*target, *fleet.Gateway) {
	t.Helper()
	f := fleet.Open(t)
	g := f.NewGateway(t)
	p := f.Kairship(t, g, append(flags, "--index-database-file=")...)
	url := "http://" + p.Address
	return &target{fleet: f, kairship: gql.New(url, f.Token(t, "admin")), url: url, log: p.Log}, g
}

// nowhere is an address that nothing listens on.
func nowhere(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return "https://" + l.Addr().String()
}

// TestEveryFieldSaysThatTheIndexIsDown asks for everything that the index has while
// there is none: each part says so for itself, by a code, and waits for no deadline: they are later than
// the client has patience. What Kairship knows without the index is still there.
func TestEveryFieldSaysThatTheIndexIsDown(t *testing.T) {
	on, g := behind(t, "--index-timeout=1h", "--request-timeout=1h")
	w := &world{id: "none", a: "shop", many: "shop"}
	asked := map[string]string{}
	for _, list := range schema.Lists(theSchema) {
		if list.Parent != "Query" && list.Parent != "Instance" {
			continue // What has the list is not there.
		}
		asked[list.Key()] = fmt.Sprintf("%s%s { nodes { __typename } totalCount pageInfo { hasNextPage } freshness { stale observedAt } }",
			list.Field.Name, strings.Replace(optional(required(list)), "(, ", "(", 1))
	}
	for _, s := range singulars {
		query, _, _ := s.query(w, "", "")
		query = strings.TrimSuffix(strings.TrimPrefix(query, "{ "), " }")
		if strings.HasPrefix(s.field, "Instance.") {
			query = strings.TrimSuffix(strings.TrimPrefix(query, `instance(name: "alpha") { `), " }")
		}
		asked[s.field] = query
	}
	for typ, id := range map[string]string{
		"Workload": nodeid.New("Workload", "alpha", "DEPLOYMENT", "shop", "frontend"), "MemberCluster": nodeid.New("MemberCluster", "alpha", "m1"),
		"Namespace": nodeid.New("Namespace", "alpha", "shop"), "PropagationPolicy": nodeid.New("PropagationPolicy", "alpha", "shop", "frontend"),
		"Resource": nodeid.New("Resource", "alpha", "", "v1", "configmaps", "shop", "x"),
	} {
		asked["Query.node "+typ] = fmt.Sprintf("node(id: %q) { __typename }", id)
	}
	known := map[string]bool{"Query.instances": true, "Query.instance": true, "Query.clusters": true, "Query.cluster": true, "Instance.roleBindings": true}

	g.SendIndexTo(nowhere(t))
	for field, selection := range asked {
		t.Run(field, func(t *testing.T) {
			query := "{ cluster(name: \"m1\") { name } " + selection + " }"
			if strings.HasPrefix(field, "Instance.") {
				query = `{ cluster(name: "m1") { name } instance(name: "alpha") { name ` + selection + " } }"
			}
			if field == "Query.cluster" {
				query = "{ " + selection + " }"
			}
			r := on.kairship.Must(t, gql.Request{Query: query})
			if r.Took > promptly {
				t.Errorf("the answer took %s", r.Took)
			}
			if r.Status != http.StatusOK {
				t.Fatalf("HTTP %d: %s", r.Status, r.Body)
			}
			if known[field] {
				if len(r.Errors) > 0 {
					t.Errorf("the index is not needed for it: %v", r.Errors)
				}
				return
			}
			_, name, _ := strings.Cut(field, ".")
			name, _, _ = strings.Cut(name, " ")
			if len(r.Errors) != 1 || r.Errors[0].Extensions.Code != "INDEX_UNAVAILABLE" || r.Errors[0].Path[len(r.Errors[0].Path)-1] != name {
				t.Fatalf("want one error INDEX_UNAVAILABLE at %s, got %v", name, r.Errors)
			}
			emptyAndStale(t, r, name)
		})
	}
	g.SendIndexTo(on.fleet.IndexURL)
	poll.Until(t, propagationTimeout, "it recovers on its own", func(ctx context.Context) error {
		data, _, err := gql.Query[map[string]any](ctx, on.kairship, fmt.Sprintf("{ %s }", asked["Query.node Workload"]), nil)
		if err == nil && data["node"] == nil {
			err = errors.New("the application is missing")
		}
		return err
	})
}

// optional puts arguments into parentheses where there are any.
func optional(arguments string) string {
	if arguments == "" {
		return ""
	}
	return "(" + arguments + ")"
}

// emptyAndStale checks the part of an answer that could not be read, and that the
// rest of the answer is there.
func emptyAndStale(t *testing.T, r *gql.Result, field string) {
	t.Helper()
	var data struct {
		Cluster  *struct{ Name string }
		Instance map[string]json.RawMessage
	}
	var whole map[string]json.RawMessage
	for _, into := range []any{&data, &whole} {
		if err := json.Unmarshal(r.Data, into); err != nil {
			t.Fatalf("%v: %s", err, r.Data)
		}
	}
	if data.Cluster == nil || data.Cluster.Name != "m1" {
		t.Errorf("what needs no index is missing: %s", r.Data)
	}
	part, inQuery := whole[field]
	if !inQuery {
		part = data.Instance[field]
	}
	if string(part) == "null" {
		return // One object, which may or may not be there.
	}
	var list struct {
		Nodes      []any
		TotalCount *int
		PageInfo   struct{ HasNextPage bool }
		Freshness  struct {
			Stale      bool
			ObservedAt *string
		}
	}
	if err := json.Unmarshal(part, &list); err != nil {
		t.Fatalf("%s is %s: %v", field, part, err)
	}
	if len(list.Nodes) > 0 || list.TotalCount != nil || list.PageInfo.HasNextPage || !list.Freshness.Stale || list.Freshness.ObservedAt != nil {
		t.Errorf("a list that could not be read says %s", part)
	}
}

// TestASlowIndexIsWaitedForUntilTheDeadline has the index answer late: in time for
// an answer, too late for one request, and too late for the whole operation.
func TestASlowIndexIsWaitedForUntilTheDeadline(t *testing.T) {
	const perRequest, perOperation = time.Second, 2 * time.Second
	on, g := behind(t, "--index-timeout="+perRequest.String(), "--request-timeout="+perOperation.String())
	real := g.At(on.fleet.IndexURL)
	late := func(delay time.Duration, answered, givenUp *atomic.Int64) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(delay):
				answered.Add(1)
				real.ServeHTTP(w, r)
			case <-r.Context().Done():
				givenUp.Add(1)
			}
		}
	}
	// It takes several requests, one after the other.
	const deep = `{ instances(filter: {name: ["alpha", "beta"]}) { nodes { name workloads { nodes {
		name health overridePolicies { name } placements { object { pods { name } } } } } } } }`
	for _, tt := range []struct {
		name  string
		delay time.Duration
		// codes are those of the errors that there must be; none where all is there.
		codes             []string
		answered, givenUp bool
		why               string
	}{
		{"a little", 150 * time.Millisecond, nil, true, false, "everything is there before any deadline"},
		{"longer than a request may take", time.Minute, []string{"INDEX_UNAVAILABLE"}, false, true, "the first request is given up"},
		{"for most of a request's time, again and again", perRequest - 100*time.Millisecond, []string{"TIMEOUT"}, true, true, "each request is in time, all of them are not"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var answered, givenUp atomic.Int64
			g.Answer(fleet.IndexAPI, late(tt.delay, &answered, &givenUp))
			r := on.kairship.Must(t, gql.Request{Query: deep})
			if r.Status != http.StatusOK {
				t.Fatalf("HTTP %d: %s", r.Status, r.Body)
			}
			var codes []string
			for _, e := range r.Errors {
				if len(codes) == 0 || codes[len(codes)-1] != e.Extensions.Code {
					codes = append(codes, e.Extensions.Code)
				}
			}
			if diff := cmp.Diff(tt.codes, codes); diff != "" {
				t.Errorf("%s; codes (-want +got):\n%s%v", tt.why, diff, r.Errors)
			}
			var data fleetAnswer
			if err := json.Unmarshal(r.Data, &data); err != nil {
				t.Fatal(err)
			}
			if names := len(data.Instances.Nodes); names != 2 {
				t.Errorf("%d instances, want 2: they need no index", names)
			}
			poll.Until(t, time.Minute, tt.why, func(context.Context) error {
				if a, u := answered.Load(), givenUp.Load(); a > 0 != tt.answered || u > 0 != tt.givenUp {
					return fmt.Errorf("%d requests were answered and %d given up", a, u)
				}
				return nil
			})
		})
	}
}
