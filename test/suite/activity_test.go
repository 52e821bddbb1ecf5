package suite

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// activityEntry is an entry of the activity.
type activityEntry struct {
	At                                                     time.Time
	User, Way, Mutation, Verb, Outcome, Code, InstanceName string
	Group, Kind, Namespace, Name                           string
}

// text is what the entry says, in short.
func (e *activityEntry) text() string {
	return strings.Join(strings.Fields(strings.Join([]string{e.User, e.Way, e.Mutation, e.Verb, e.Outcome, e.Code, e.Kind, e.Name}, " ")), " ")
}

type activities struct {
	Activity struct {
		Nodes      []activityEntry
		TotalCount *int
		PageInfo   struct {
			HasNextPage bool
			EndCursor   *string
		}
		Freshness struct{ ObservedAt *time.Time }
	}
}

const (
	activityFields = `at user way mutation verb outcome code instanceName group kind namespace name`
	activityQuery  = `query($first: Int, $after: String, $filter: ActivityFilter) { activity(first: $first, after: $after, filter: $filter) {
		nodes { ` + activityFields + ` } totalCount pageInfo { hasNextPage endCursor } freshness { observedAt } } }`
	// activitySecret is in a Secret that the test writes.
	activitySecret = "aHVudGVyMi1pbi10aGUtYWN0aXZpdHk=" //nolint:gosec // It protects nothing.
)

// TestActivity changes things by both ways, is refused others, and reads who sees what of that.
func TestActivity(t *testing.T) {
	on := open(t)
	w := theWorld(t)
	ns, other := w.id+"-activity", w.id+"-activity-other"
	for _, name := range []string{ns, other} {
		w.create(t, created{"alpha", &corev1.Namespace{ObjectMeta: w.meta("", name)}})
	}
	began := time.Now().Add(-time.Minute)
	editor := newPerson(t, on, viewerIn("alpha", ns))
	outsider := newPerson(t, on, viewerIn("alpha", other))
	streams := map[string]*gql.Stream{}
	for who, as := range map[string]*gql.Client{"admin": on.kairship, "editor": editor.Client, "outsider": outsider.Client, "mallory": on.as(t, "mallory")} {
		streams[who] = as.MustSubscribe(t, gql.Request{
			Query:     `subscription($filter: ActivityFilter) { activityAdded(filter: $filter) { ` + activityFields + ` } }`,
			Variables: map[string]any{"filter": map[string]any{"users": []string{"alice"}, "namespaces": []string{ns}}},
		})
		defer streams[who].Close()
	}
	w.act(t, on, ns)

	ask := func(as *gql.Client, filter map[string]any) *activities {
		t.Helper()
		got, _ := gql.MustQuery[activities](t, as, activityQuery, map[string]any{"filter": with(filter, "from", began.UTC().Format(time.RFC3339Nano))})
		return &got
	}
	here := map[string]any{"namespaces": []string{ns}}
	want := []string{
		"alice GRAPHQL patchResource APPLY SUCCEEDED Secret hidden", "alice GRAPHQL deleteResource DELETE FAILED NOT_FOUND configmaps none-such",
		"alice NATIVE_API CREATE SUCCEEDED ConfigMap", "alice NATIVE_API PATCH SUCCEEDED ConfigMap native", "alice NATIVE_API DELETE FAILED NOT_FOUND ConfigMap none-such",
	}
	slices.Sort(want)
	texts := func(a *activities) []string {
		all := []string{}
		for i := range a.Activity.Nodes {
			all = append(all, a.Activity.Nodes[i].text())
		}
		slices.Sort(all)
		return all
	}
	poll.Until(t, soon, "the native writes are recorded", func(context.Context) error {
		if got := texts(ask(on.kairship, here)); !slices.Equal(got, want) {
			return fmt.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		return nil
	})
	for who, seen := range map[*gql.Client]bool{on.as(t, "alice"): true, editor.Client: true, outsider.Client: false, on.as(t, "bob"): false, on.as(t, "mallory"): false} {
		a := ask(who, here).Activity
		if n := len(want); !seen && (len(a.Nodes) > 0 || *a.TotalCount > 0) || seen && (len(a.Nodes) != n || *a.TotalCount != n) {
			t.Errorf("it is seen: %v; got %d of %d", seen, len(a.Nodes), *a.TotalCount)
		}
	}
	// What concerns the instance as a whole, and roles on it.
	refused := map[string]any{"instances": []string{"alpha", "beta"}, "outcomes": []string{"REFUSED"}, "users": []string{"alice", "bob"}, "kinds": []string{"Instance", "InstanceRoleBinding"}}
	if got := texts(ask(on.kairship, refused)); !slices.Contains(got, "alice GRAPHQL updateInstance UPDATE REFUSED FORBIDDEN Instance alpha") ||
		!slices.Contains(got, "bob GRAPHQL grantInstanceRole CREATE REFUSED FORBIDDEN InstanceRoleBinding mallory") {
		t.Errorf("refused were %q", got)
	}
	for who, as := range map[string]*gql.Client{"a user of one namespace": editor.Client, "mallory": on.as(t, "mallory")} {
		if got := texts(ask(as, refused)); len(got) > 0 {
			t.Errorf("%s sees %q", who, got)
		}
	}
	if got := texts(ask(on.as(t, "bob"), refused)); len(got) > 0 {
		t.Errorf("bob sees who is to get which role: %q", got)
	}
	for _, a := range [][]activityEntry{ask(on.as(t, "bob"), nil).Activity.Nodes, ask(on.as(t, "mallory"), nil).Activity.Nodes} {
		if i := slices.IndexFunc(a, func(e activityEntry) bool { return e.InstanceName != "beta" }); i >= 0 {
			t.Errorf("it is shown to a user who may not see it: %+v", a[i])
		}
	}
	for who, wanted := range map[string]int{"admin": 3, "editor": 3, "outsider": 0, "mallory": 0} {
		streamed(t, streams[who], who, wanted)
	}
	w.activityParts(t, on, ns, want)
}

// act changes things in a namespace of alpha as alice, and tries what she and bob may not do.
func (w *world) act(t *testing.T, on *target, ns string) {
	t.Helper()
	alice, bob := on.as(t, "alice"), on.as(t, "bob")
	mutate := func(as *gql.Client, mutation, input string) {
		t.Helper()
		as.Must(t, gql.Request{Query: `mutation { ` + mutation + `(input: {` + input + `}) { __typename } }`})
	}
	secret := `instance: "alpha", version: "v1", resource: "secrets", namespace: "` + ns + `", name: "hidden", type: APPLY, patch: {apiVersion: "v1", kind: "Secret", metadata: {name: "hidden", namespace: "` + ns + `"}, data: {password: "` + activitySecret + `"}}`
	mutate(alice, "patchResource", secret+`, dryRun: true`)
	mutate(alice, "patchResource", secret)
	mutate(alice, "deleteResource", `instance: "alpha", version: "v1", resource: "configmaps", namespace: "`+ns+`", name: "none-such"`)
	mutate(alice, "updateInstance", `instance: "alpha", resourceVersion: "1", alias: "mine"`)
	mutate(alice, "deleteResource", `instance: "beta", version: "v1", resource: "configmaps", namespace: "`+ns+`", name: "none-such"`)
	mutate(bob, "grantInstanceRole", `instance: "beta", subject: "mallory", role: ADMIN`)
	native := func(method, path, contentType string, body any) {
		t.Helper()
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(t.Context(), method, strings.TrimSuffix(on.url, "/graphql")+"/instances/alpha/proxy/api/v1/namespaces/"+ns+"/configmaps"+path, bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+alice.Token)
		r.Header.Set("Content-Type", contentType)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
	}
	m := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: w.meta(ns, "native")}
	native(http.MethodPost, "", "application/json", m)
	native(http.MethodPatch, "/native", "application/merge-patch+json", map[string]any{"data": map[string]string{"a": "b"}})
	native(http.MethodPatch, "/native?dryRun=All", "application/merge-patch+json", map[string]any{"data": map[string]string{"a": "c"}})
	native(http.MethodDelete, "/none-such", "application/json", nil)
	native(http.MethodGet, "/native", "application/json", nil)
}

// streamed expects some entries of a subscription at least, and none where none are wanted.
func streamed(t *testing.T, s *gql.Stream, who string, wanted int) {
	t.Helper()
	wait := soon
	if wanted == 0 {
		wait = 2 * time.Second
	}
	for n := range max(wanted, 1) {
		e := s.Next(wait)
		switch {
		case wanted == 0 && e == nil:
		case e == nil || e.Lost != nil || len(e.Errors) > 0 || wanted == 0:
			t.Errorf("%s: event %d is %+v", who, n, e)
		case strings.Contains(string(e.Data), "hunter2") || strings.Contains(string(e.Data), activitySecret):
			t.Errorf("%s gets a value of a Secret", who)
		}
	}
}

// activityParts reads the entries of a namespace in pages, and by filters.
func (w *world) activityParts(t *testing.T, on *target, ns string, all []string) {
	t.Helper()
	read := func(variables map[string]any) (*activities, *gql.Result) {
		t.Helper()
		got, r := gql.MustQuery[activities](t, on.kairship, activityQuery, variables)
		if strings.Contains(string(r.Body), activitySecret) {
			t.Error("a value of a Secret is shown")
		}
		return &got, r
	}
	filter := map[string]any{"namespaces": []string{ns}, "instances": []string{"alpha"}}
	var pages int
	var last time.Time
	variables := map[string]any{"first": 2, "filter": filter}
	for {
		got, _ := read(variables)
		a := &got.Activity
		if a.TotalCount == nil || *a.TotalCount != len(all) || a.Freshness.ObservedAt == nil {
			t.Errorf("counted %v of %d", a.TotalCount, len(all))
		}
		for i := range a.Nodes {
			if !last.IsZero() && a.Nodes[i].At.After(last) {
				t.Error("an earlier entry comes first")
			}
			last = a.Nodes[i].At
			pages++
		}
		if !a.PageInfo.HasNextPage {
			break
		}
		variables["after"] = *a.PageInfo.EndCursor
	}
	if pages != len(all) {
		t.Errorf("%d entries on all pages, want %d", pages, len(all))
	}
	for _, tt := range []struct {
		field string
		value any
		want  int
	}{
		{"instances", []string{"beta"}, 0},
		{"users", []string{"alice"}, 5},
		{"users", []string{"bob"}, 0},
		{"users", []string{}, 0},
		{"ways", []string{"NATIVE_API"}, 3},
		{"ways", []string{"GRAPHQL"}, 2},
		{"outcomes", []string{"FAILED", "REFUSED"}, 2},
		{"kinds", []string{"Secret"}, 1},
		{"namespaces", []string{"none-such"}, 0},
		{"names", []string{"native"}, 1},
		{"from", last.Add(time.Hour).Format(time.RFC3339Nano), 0},
		{"to", last.Add(-time.Hour).Format(time.RFC3339Nano), 0},
	} {
		got, _ := read(map[string]any{"filter": with(filter, tt.field, tt.value)})
		if *got.Activity.TotalCount != tt.want || len(got.Activity.Nodes) != tt.want {
			t.Errorf("%s %v: %d entries, want %d", tt.field, tt.value, *got.Activity.TotalCount, tt.want)
		}
	}
	for argument, arguments := range map[string]string{
		"first": `first: 0`, "after": `after: "none"`, "filter.to": `filter: {from: "2026-01-02T00:00:00Z", to: "2026-01-01T00:00:00Z"}`,
	} {
		r := on.kairship.Must(t, gql.Request{Query: `{ activity(` + arguments + `) { totalCount } }`})
		if len(r.Errors) != 1 || r.Errors[0].Extensions.Code != "INVALID" {
			t.Errorf("%s: got %s, %+v", argument, r.Data, r.Errors)
		}
	}
}
