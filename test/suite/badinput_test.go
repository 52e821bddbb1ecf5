package suite

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
	"github.com/kairship-io/kairship/test/internal/gql"
	"github.com/kairship-io/kairship/test/internal/schema"
)

// badInput is a request that is wrong in one place.
type badInput struct {
	name      string
	query     string
	variables map[string]any
	// code and argument are what the error must say.
	code, argument string
	// refused reports whether the request is refused before it is executed: it has no
	// data then, and clients of the new media type get HTTP 400.
	refused bool
	why     string
}

// TestBadInputIsATypedErrorThatNamesTheArgument sends what is wrong and checks
// the code, the argument, the HTTP status under both media types, and that the
// log has one line about it and nothing else.
func TestBadInputIsATypedErrorThatNamesTheArgument(t *testing.T) {
	on := open(t)
	cases := append(badInputs(t, on), badPaging(t, on)...)
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			for _, accept := range []string{gql.JSON, gql.Response} {
				tt.try(t, on, accept)
			}
		})
	}
}

func (b badInput) try(t *testing.T, on *target, accept string) {
	t.Helper()
	r := on.kairship.Must(t, gql.Request{Query: b.query, Variables: b.variables, Accept: accept})
	status := http.StatusOK
	if b.refused && accept == gql.Response {
		status = http.StatusBadRequest
	}
	if r.Status != status {
		t.Errorf("%s: HTTP %d, want %d: %s", accept, r.Status, status, b.why)
	}
	if media, _, _ := strings.Cut(r.ContentType, ";"); media != accept {
		t.Errorf("the answer is %s, asked for was %s", media, accept)
	}
	if r.HasData == b.refused {
		t.Errorf("%s: the answer has an entry data: %v; want one only when execution began: %s", accept, r.HasData, b.why)
	}
	if len(r.Errors) != 1 {
		t.Fatalf("%s: got %d errors, want 1: %v\n%s", accept, len(r.Errors), r.Errors, b.query)
	}
	e := r.Errors[0]
	if e.Extensions.Code != b.code {
		t.Errorf("%s: got code %s, want %s: %s: %s", accept, e.Extensions.Code, b.code, b.why, e)
	}
	if e.Extensions.Argument != b.argument {
		t.Errorf("%s: got argument %q, want %q: %s", accept, e.Extensions.Argument, b.argument, e)
	}
	if e.Message == "" || strings.Contains(e.Message, "internal error") {
		t.Errorf("%s: the message says nothing: %q", accept, e.Message)
	}
	lines := on.linesOf(t, r.TraceID)
	if len(lines) != 1 || lines[0]["level"] != "INFO" || lines[0]["status"] != float64(status) {
		t.Errorf("%s: want one line of the log, about HTTP %d; got %v", accept, status, lines)
	}
}

// linesOf are the lines of the log about a request. They may be written after
// the answer, so the first is waited for; what follows a line of a later
// request can't come any more.
func (on *target) linesOf(t *testing.T, traceID string) []map[string]any {
	t.Helper()
	later := on.kairship.Must(t, gql.Request{Query: "{ viewer { username } }"}).TraceID
	var found []map[string]any
	poll.Until(t, soon, "the log has the request", func(context.Context) error {
		raw, err := os.ReadFile(on.log)
		if err != nil {
			return err
		}
		const enough = 256 << 10
		raw = raw[max(0, len(raw)-enough):]
		found = nil
		for scanner := bufio.NewScanner(bytes.NewReader(raw)); scanner.Scan(); {
			if !bytes.Contains(scanner.Bytes(), []byte(traceID)) {
				continue
			}
			var line map[string]any
			if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
				return poll.Stop(fmt.Errorf("a line of the log is no JSON: %w: %s", err, scanner.Text()))
			}
			found = append(found, line)
		}
		if len(found) == 0 || !bytes.Contains(raw, []byte(later)) {
			return errors.New("it is not there yet")
		}
		return nil
	})
	return found
}

func badInputs(t *testing.T, on *target) []badInput {
	t.Helper()
	in := func(selection string) string { return fmt.Sprintf(`{ instance(name: "alpha") { %s } }`, selection) }
	workloads := func(arguments string) string { return fmt.Sprintf("{ workloads(%s) { totalCount } }", arguments) }
	id := idOf(t, on)
	changed := func(id string) string {
		return id[:len(id)-2] + map[bool]string{true: "A", false: "B"}[id[len(id)-2] != 'A'] + id[len(id)-1:]
	}
	all := []badInput{
		{name: "unknown enum", query: workloads("filter: {kinds: [POD]}"), code: "INVALID", argument: "filter.kinds[0]", refused: true, why: "the document is not valid"},
		{
			name: "unknown enum in a variable", query: `query($k: [WorkloadKind!]) { workloads(filter: {kinds: $k}) { totalCount } }`,
			variables: map[string]any{"k": []string{"POD"}}, code: "INVALID", argument: "filter.kinds[0]", refused: true, why: "the variable does not fit its type",
		},
		{
			name: "unknown enum in a filter that is a variable", query: `query($filter: WorkloadFilter) { workloads(filter: $filter) { totalCount } }`,
			variables: map[string]any{"filter": map[string]any{"kinds": []string{"POD"}}}, code: "INVALID", argument: "filter.kinds[0]", refused: true, why: "the variable does not fit its type",
		},
		{name: "unknown field of a filter", query: workloads("filter: {color: 1}"), code: "INVALID", argument: "filter.color", refused: true, why: "the document is not valid"},
		{name: "unknown order", query: workloads("orderBy: {field: SIZE}"), code: "INVALID", argument: "orderBy.field", refused: true, why: "the document is not valid"},
		{name: "order without field", query: workloads("orderBy: {direction: ASC}"), code: "INVALID", argument: "orderBy", refused: true, why: "the document is not valid"},
		{name: "text for a number", query: workloads(`first: "10"`), code: "INVALID", argument: "first", refused: true, why: "the document is not valid"},
		{name: "number beyond 32 bits", query: workloads("first: 4294967296"), code: "INVALID", argument: "first", refused: true, why: "no Int of GraphQL is so large"},
		{
			name: "text for a number in a variable", query: "query($n: Int) { workloads(first: $n) { totalCount } }",
			variables: map[string]any{"n": "10"}, code: "INVALID", argument: "first", refused: true, why: "text is no Int",
		},
		{
			name: "number for text in a filter that is a variable", query: "query($filter: WorkloadFilter) { workloads(filter: $filter) { totalCount } }",
			variables: map[string]any{"filter": map[string]any{"name": []any{"a", 5}}}, code: "INVALID", argument: "filter.name[1]", refused: true, why: "a number is no String",
		},
		{
			name: "enum in small letters", query: "query($filter: WorkloadFilter) { workloads(filter: $filter) { totalCount } }",
			variables: map[string]any{"filter": map[string]any{"kinds": []any{"deployment"}}}, code: "INVALID", argument: "filter.kinds[0]", refused: true, why: "names are case-sensitive",
		},
		{name: "fraction", query: workloads("first: 1.5"), code: "INVALID", argument: "first", refused: true, why: "the document is not valid"},
		{name: "missing argument", query: in(`workload(kind: JOB, name: "x") { name }`), code: "INVALID", argument: "namespace", refused: true, why: "the document is not valid"},
		{name: "unknown argument", query: "{ workloads(last: 10) { totalCount } }", code: "INVALID", argument: "last", refused: true, why: "the document is not valid"},

		{name: "unknown phase of pods", query: "{ pods(filter: {phase: [Running]}) { totalCount } }", code: "INVALID", argument: "filter.phase[0]", refused: true, why: "the document is not valid"},
		{name: "no words of pods", query: `{ pods(filter: {text: " "}) { totalCount } }`, code: "INVALID", argument: "filter.text", why: "all lists are alike"},
		{name: "label selector of pods with >", query: in(`pods(filter: {labelSelector: "size>1"}) { totalCount }`), code: "INVALID", argument: "filter.labelSelector", why: "labels are text in the index"},
		{name: "pods of another instance inside an instance", query: in(`pods(filter: {instances: ["beta"]}) { totalCount }`), code: "INVALID", argument: "filter.instances", why: "it can only be empty"},
		{name: "bad label selector", query: workloads(`filter: {labelSelector: "a b"}`), code: "INVALID", argument: "filter.labelSelector", why: "it is read when the list is"},
		{name: "bad label selector with one value too few", query: workloads(`filter: {labelSelector: "a in"}`), code: "INVALID", argument: "filter.labelSelector", why: "it is read when the list is"},
		{name: "label selector with >", query: workloads(`filter: {labelSelector: "size>1"}`), code: "INVALID", argument: "filter.labelSelector", why: "labels are text in the index"},
		{name: "label selector with <", query: in(`namespaces(filter: {labelSelector: "size<1"}) { totalCount }`), code: "INVALID", argument: "filter.labelSelector", why: "labels are text in the index"},
		{name: "bad label selector of instances", query: `{ instances(filter: {labelSelector: "!"}) { totalCount } }`, code: "INVALID", argument: "filter.labelSelector", why: "all lists are alike"},
		{name: "bad label selector of clusters", query: `{ clusters(filter: {labelSelector: "="}) { totalCount } }`, code: "INVALID", argument: "filter.labelSelector", why: "all lists are alike"},
		{name: "empty part of a name", query: workloads(`filter: {nameContains: ""}`), code: "INVALID", argument: "filter.nameContains", why: "it is in every name, so it is a mistake"},
		{name: "empty part of an instance's name", query: `{ instances(filter: {nameContains: ""}) { totalCount } }`, code: "INVALID", argument: "filter.nameContains", why: "all lists are alike"},
		{name: "empty part of a cluster's name", query: `{ clusters(filter: {nameContains: ""}) { totalCount } }`, code: "INVALID", argument: "filter.nameContains", why: "all lists are alike"},
		{name: "no words", query: workloads(`filter: {text: " "}`), code: "INVALID", argument: "filter.text", why: "it is in everything, and rather a mistake"},
		{name: "more words than are searched for", query: workloads(`filter: {text: "a b c d e f g h i j k"}`), code: "INVALID", argument: "filter.text", why: "each costs"},
		{name: "part of a name longer than names", query: workloads(`filter: {nameContains: "` + strings.Repeat("a", 300) + `"}`), code: "INVALID", argument: "filter.nameContains", why: "no name is so long"},
		{name: "policy without name", query: workloads(`filter: {policy: {name: ""}}`), code: "INVALID", argument: "filter.policy.name", why: "a policy has a name"},
		{name: "another instance inside an instance", query: in(`workloads(filter: {instances: ["beta"]}) { totalCount }`), code: "INVALID", argument: "filter.instances", why: "it can only be empty"},
		{name: "no instance inside an instance", query: in(`workloads(filter: {instances: []}) { totalCount }`), code: "INVALID", argument: "filter.instances", why: "it can only be empty"},
		{
			name: "another instance below a policy", code: "INVALID", argument: "filter.instances", why: "it can only be empty",
			query: in(`clusterPropagationPolicy(name: "node-agents") { workloads(filter: {instances: ["beta"]}) { totalCount } }`),
		},

		{name: "bad group", query: in(`resources(group: "Not A Group", version: "v1", resource: "configmaps") { totalCount }`), code: "INVALID", argument: "group", why: "no API group is called so"},
		{name: "bad version", query: in(`resources(version: "1", resource: "configmaps") { totalCount }`), code: "INVALID", argument: "version", why: "no API version is called so"},
		{name: "bad resource", query: in(`resources(version: "v1", resource: "ConfigMap") { totalCount }`), code: "INVALID", argument: "resource", why: "this is a kind and not its plural name"},
		{name: "bad resource of one object", query: in(`resource(version: "v1", resource: "../secrets", name: "x") { name }`), code: "INVALID", argument: "resource", why: "no kind is called so"},
		{
			name: "namespace given twice", query: in(`resources(version: "v1", resource: "configmaps", namespace: "a", filter: {namespaces: ["b"]}) { totalCount }`),
			code: "INVALID", argument: "filter.namespaces", why: "which one counts can't be known",
		},
		{name: "no pods", query: in(podsOfMigrate("first: 0")), code: "INVALID", argument: "first", why: "pods are a list too"},
		{name: "too many pods", query: in(podsOfMigrate("first: 501")), code: "INVALID", argument: "first", why: "pods are a list too"},
	}
	for name, id := range map[string]string{
		"no ID": "frontend", "empty ID": "", "ID with a letter changed": changed(id), "half an ID": id[:len(id)/2],
		"ID of a type that has none": nodeid.New("Pod", "alpha", "shop", "frontend"),
		"ID with too few parts":      nodeid.New("Workload", "alpha", "DEPLOYMENT", "shop"),
		"ID of an unknown kind":      nodeid.New("Workload", "alpha", "REPLICA_SET", "shop", "frontend"),
		"ID of a wrong type":         nodeid.New("Instance", "alpha", "DEPLOYMENT", "shop", "frontend"),
		"ID of a bad resource":       nodeid.New("Resource", "alpha", "", "v1", "ConfigMap", "shop", "one"),
	} {
		all = append(all, badInput{
			name: name, query: fmt.Sprintf("{ node(id: %q) { id } }", id), code: "INVALID", argument: "id", why: "nothing can have it",
		})
	}
	return all
}

func podsOfMigrate(arguments string) string {
	return fmt.Sprintf(`workload(kind: JOB, namespace: "ops", name: "migrate") { placements { object { pods(%s) { name } } } }`, arguments)
}

// idOf is the ID of a sample application.
func idOf(t *testing.T, on *target) string {
	t.Helper()
	type answer struct {
		Instance struct{ Workload struct{ ID string } }
	}
	data, _ := gql.MustQuery[answer](t, on.kairship, `{ instance(name: "alpha") { workload(kind: DEPLOYMENT, namespace: "shop", name: "frontend") { id } } }`, nil)
	return data.Instance.Workload.ID
}

// badPaging tries the paging arguments of every list of the schema.
func badPaging(t *testing.T, on *target) []badInput {
	t.Helper()
	w := theWorld(t)
	foreign := foreignCursor(t, on)
	var all []badInput
	for _, list := range schema.Lists(theSchema) {
		r := sampleRoute(t, w, list)
		query := r.query(list, "{ pageInfo { endCursor } }")
		base := kindIn(list)
		for _, first := range []int{-1, 0, 501, 100000} {
			all = append(all, badInput{
				name: fmt.Sprintf("%s first %d", list.Key(), first), query: query, variables: with(base, "first", first),
				code: "INVALID", argument: "first", why: "a page has 1 to 500 items",
			})
		}
		for name, after := range map[string]string{
			"garbage": "garbage!", "nothing": "", "JSON that is no cursor": base64.RawURLEncoding.EncodeToString([]byte(`{"a":1}`)), "null": "bnVsbA",
		} {
			all = append(all, badInput{
				name: list.Key() + " after " + name, query: query, variables: with(base, "after", after),
				code: "INVALID", argument: "after", why: "this was never a cursor",
			})
		}
		all = append(all, badInput{
			name: list.Key() + " after a cursor of another list", query: query, variables: with(base, "after", foreign),
			code: "STALE_CURSOR", argument: "after", why: "a place in one list is none in another",
		})
	}
	return append(all, badInput{
		name: "expired cursor", query: "query($after: String) { workloads(after: $after) { pageInfo { endCursor } } }",
		variables: map[string]any{"after": aged(t, cursorOf(t, on, "{ workloads(first: 1) { pageInfo { endCursor } } }", "workloads"), 25*time.Hour)},
		code:      "STALE_CURSOR", argument: "after", why: "a cursor lives for a day",
	}, badInput{
		name: "cursor from the future", query: "query($after: String) { workloads(after: $after) { pageInfo { endCursor } } }",
		variables: map[string]any{"after": aged(t, cursorOf(t, on, "{ workloads(first: 1) { pageInfo { endCursor } } }", "workloads"), -25*time.Hour)},
		code:      "STALE_CURSOR", argument: "after", why: "no instance can have given it",
	}, badInput{
		name: "cursor of another order", query: "query($after: String) { workloads(after: $after, orderBy: {field: CREATED_AT}) { pageInfo { endCursor } } }",
		variables: map[string]any{"after": cursorOf(t, on, "{ workloads(first: 1) { pageInfo { endCursor } } }", "workloads")},
		code:      "STALE_CURSOR", argument: "after", why: "a place in one order is none in another",
	}, badInput{
		name: "cursor of another filter", query: `query($after: String) { workloads(after: $after, filter: {kinds: JOB}) { pageInfo { endCursor } } }`,
		variables: map[string]any{"after": cursorOf(t, on, "{ workloads(first: 1) { pageInfo { endCursor } } }", "workloads")},
		code:      "STALE_CURSOR", argument: "after", why: "the lists are not the same",
	})
}

// sampleRoute leads to a list of the sample applications.
func sampleRoute(t *testing.T, w *world, list schema.List) route {
	t.Helper()
	switch list.Parent {
	case "PropagationPolicy":
		return inInstance("alpha", `propagationPolicy(namespace: "shop", name: "frontend")`, "")
	case "ClusterPropagationPolicy":
		return inInstance("alpha", `clusterPropagationPolicy(name: "node-agents")`, "")
	}
	samples := map[string][2]string{
		"Deployment": {"shop", "frontend"}, "StatefulSet": {"shop", "cart"}, "DaemonSet": {"ops", "agent"},
		"Job": {"ops", "migrate"}, "CronJob": {"ops", "report"},
	}
	if s, ok := samples[list.Parent]; ok {
		k := workloadKinds[list.Parent]
		return inInstance("alpha", fmt.Sprintf("workload(kind: %s, namespace: %q, name: %q)", k.enum, s[0], s[1]), list.Parent)
	}
	return w.routeTo(t, list)
}

// foreignCursor is a cursor of a list that no case asks for.
func foreignCursor(t *testing.T, on *target) string {
	t.Helper()
	return cursorOf(t, on, `{ workloads(first: 1, filter: {kinds: DAEMON_SET}) { pageInfo { endCursor } } }`, "workloads")
}

func cursorOf(t *testing.T, on *target, query string, path ...string) string {
	t.Helper()
	c, err := pageOf(t.Context(), on.kairship, query, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.PageInfo.EndCursor == nil {
		t.Fatalf("%s has no cursor", query)
	}
	return *c.PageInfo.EndCursor
}

// aged makes a cursor older. Cursors are opaque to clients; this is the one test
// that opens one, because nothing else can wait for a day.
func aged(t *testing.T, cursor string, by time.Duration) string {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		t.Fatal(err)
	}
	var issued int64
	if err := json.Unmarshal(fields["t"], &issued); err != nil {
		t.Fatal(err)
	}
	fields["t"] = json.RawMessage(fmt.Sprint(issued - int64(by.Seconds())))
	raw, err = json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// TestIDOfADeletedObjectIsNull asks for what was deleted, and for what never was.
func TestIDOfADeletedObjectIsNull(t *testing.T) {
	on := open(t)
	for name, id := range map[string]string{
		"workload":              nodeid.New("Workload", "alpha", "DEPLOYMENT", "shop", "gone"),
		"instance":              nodeid.New("Instance", "gone"),
		"cluster":               nodeid.New("Cluster", "gone"),
		"object of an instance": nodeid.New("Workload", "gone", "DEPLOYMENT", "shop", "frontend"),
		"member cluster":        nodeid.New("MemberCluster", "alpha", "m3"),
		"namespace":             nodeid.New("Namespace", "beta", "shop"),
		"policy":                nodeid.New("PropagationPolicy", "alpha", "shop", "gone"),
		"cluster policy":        nodeid.New("ClusterPropagationPolicy", "alpha", "", "gone"),
		"override":              nodeid.New("OverridePolicy", "alpha", "shop", "gone"),
		"cluster override":      nodeid.New("ClusterOverridePolicy", "alpha", "", "gone"),
		"binding":               nodeid.New("ResourceBinding", "alpha", "shop", "gone"),
		"resource":              nodeid.New("Resource", "alpha", "", "v1", "configmaps", "shop", "gone"),
	} {
		r := on.kairship.Must(t, gql.Request{Query: fmt.Sprintf("{ node(id: %q) { id } }", id)})
		if r.Status != http.StatusOK || len(r.Errors) > 0 || strings.TrimSpace(string(r.Data)) != `{"node":null}` {
			t.Errorf("%s: HTTP %d %s", name, r.Status, r.Body)
		}
	}
}
