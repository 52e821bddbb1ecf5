package live

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

const (
	// within is how long an event may take, on a machine that is busy with other things.
	within = 30 * time.Second
	// silence is how long nothing has to come to be believed not to come.
	silence = 1500 * time.Millisecond
)

// person asks as one of the fleet's people: alice edits alpha, bob views beta, mallory
// may nothing.
func person(t testing.TB, name string) *gql.Client {
	t.Helper()
	f := fleet.Open(t)
	return gql.New(f.KairshipURL, f.Token(t, name))
}

var numbers atomic.Int64

// unique is a name that no other test uses.
func unique(prefix string) string {
	return fmt.Sprintf("%s-%d-%d", prefix, time.Now().UnixMilli()%1e9, numbers.Add(1))
}

// namespaceIn makes a namespace of the test's own in an instance.
func namespaceIn(t testing.TB, instance string) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: unique("live")}}
	create(t, instance, ns)
	return ns.Name
}

// create makes an object in a cluster, and removes it after the test.
func create(t testing.TB, cluster string, o client.Object) {
	t.Helper()
	c := fleet.Open(t).Client(t, cluster)
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(c.Delete(context.Background(), o)); err != nil {
			t.Errorf("removing %s: %v", o.GetName(), err)
		}
	})
}

// patch changes an object in a cluster by a merge patch.
func patch(t testing.TB, cluster string, o client.Object, merge string) {
	t.Helper()
	if err := fleet.Open(t).Client(t, cluster).Patch(t.Context(), o, client.RawPatch("application/merge-patch+json", []byte(merge))); err != nil {
		t.Fatal(err)
	}
}

// remove deletes an object of a cluster.
func remove(t testing.TB, cluster string, o client.Object) {
	t.Helper()
	if err := fleet.Open(t).Client(t, cluster).Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// change is an event of a subscription to a noun.
type change struct {
	Type          string
	ChangedFields []string
	InstanceName  *string
	Kind          *string
	Message       *string
	Cursor        string
	// Object is the noun.
	Object map[string]any
}

// String is for messages.
func (c *change) String() string {
	if c == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s %v, changed %v, instance %s, kind %s, message %s", c.Type, c.Object, c.ChangedFields, text(c.InstanceName), text(c.Kind), text(c.Message))
}

func text(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

// get is the value at a path of the object, as text.
func (c *change) get(path string) string {
	var at any = c.Object
	for step := range strings.SplitSeq(path, ".") {
		m, ok := at.(map[string]any)
		if !ok {
			return ""
		}
		at = m[step]
	}
	return fmt.Sprint(at)
}

// feed is a subscription to a noun.
type feed struct {
	*gql.Stream
	t testing.TB
}

// follow begins a subscription to a noun with an argument list and a selection on it.
func follow(t testing.TB, as *gql.Client, field, arguments, selection string, variables map[string]any) *feed {
	t.Helper()
	noun := strings.TrimSuffix(field, "Changed")
	query := fmt.Sprintf("subscription%s { %s%s { type changedFields instanceName kind message cursor %s { %s } } }",
		declared(arguments), field, used(arguments), noun, selection)
	return &feed{as.MustSubscribe(t, gql.Request{Query: query, Variables: variables}), t}
}

// declared and used write "filter: WorkloadFilter, after: String" as the declaration
// and the use of variables of these names; what begins with "=" is used as it is.
func declared(arguments string) string {
	var all []string
	for a := range each(arguments) {
		if name, typ, ok := strings.Cut(a, ":"); ok && !strings.Contains(a, "=") {
			all = append(all, "$"+name+":"+typ)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return "(" + strings.Join(all, ", ") + ")"
}

func used(arguments string) string {
	var all []string
	for a := range each(arguments) {
		name, _, _ := strings.Cut(a, ":")
		if n, literal, ok := strings.Cut(a, "="); ok {
			all = append(all, n+": "+literal)
			continue
		}
		all = append(all, name+": $"+name)
	}
	if len(all) == 0 {
		return ""
	}
	return "(" + strings.Join(all, ", ") + ")"
}

func each(arguments string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for a := range strings.SplitSeq(arguments, ",") {
			if a = strings.TrimSpace(a); a != "" && !yield(a) {
				return
			}
		}
	}
}

// next waits for the next event; nil when there is none in time.
func (f *feed) next(limit time.Duration) *change {
	f.t.Helper()
	e := f.Next(limit)
	if e == nil {
		return nil
	}
	if e.Lost != nil || e.Complete || len(e.Errors) > 0 {
		f.t.Fatalf("the stream ended, or failed: lost %v, complete %v, errors %v", e.Lost, e.Complete, e.Errors)
	}
	var data map[string]map[string]json.RawMessage
	if err := json.Unmarshal(e.Data, &data); err != nil {
		f.t.Fatal(err)
	}
	c := &change{}
	for _, fields := range data {
		for name, raw := range fields {
			into := map[string]any{
				"type": &c.Type, "changedFields": &c.ChangedFields, "instanceName": &c.InstanceName,
				"kind": &c.Kind, "message": &c.Message, "cursor": &c.Cursor,
			}[name]
			if into == nil {
				into = &c.Object
			}
			if err := json.Unmarshal(raw, into); err != nil {
				f.t.Fatal(err)
			}
		}
	}
	return c
}

// snapshot reads what there is, until SYNCED of everything.
func (f *feed) snapshot() []*change {
	f.t.Helper()
	var all []*change
	for {
		switch c := f.next(within); {
		case c == nil:
			f.t.Fatalf("no SYNCED came after %d events", len(all))
		case c.Type == "SYNCED" && c.InstanceName == nil:
			return all
		case c.Type != "ADDED":
			f.t.Fatalf("before SYNCED came %v", c)
		default:
			all = append(all, c)
		}
	}
}

// await waits for an event that matches, over others of the same object.
func (f *feed) await(what string, matches func(*change) bool) *change {
	f.t.Helper()
	var seen []string
	for deadline := time.Now().Add(within); ; {
		c := f.next(time.Until(deadline))
		if c == nil {
			f.t.Fatalf("%s did not come; there came\n%s", what, strings.Join(seen, "\n"))
		}
		if matches(c) {
			return c
		}
		seen = append(seen, c.String())
	}
}

// expect waits for the very next event, which has to be of a type and a name.
func (f *feed) expect(typ, name string, changed ...string) *change {
	f.t.Helper()
	c := f.next(within)
	if c == nil || c.Type != typ || c.get("name") != name {
		f.t.Fatalf("want %s of %s, got %v", typ, name, c)
	}
	for _, field := range changed {
		if !slices.Contains(c.ChangedFields, field) {
			f.t.Fatalf("%s of %s: changed %v, want %s among them", typ, name, c.ChangedFields, field)
		}
	}
	return c
}

// quiet fails when anything comes.
func (f *feed) quiet(why string) {
	f.t.Helper()
	if c := f.next(silence); c != nil {
		f.t.Fatalf("%s, and there came %v", why, c)
	}
}

// settle reads until nothing changes any more, and returns the last change. Karmada may write a binding again just after
// all replicas are ready, so a few changes may follow one that has all that is waited for.
func (f *feed) settle(last *change) *change {
	f.t.Helper()
	const few = 4
	for range few {
		next := f.next(silence)
		if next == nil {
			return last
		}
		if !slices.Contains(next.ChangedFields, "binding.resourceVersion") {
			f.t.Fatalf("no binding was written, and there came %v", next)
		}
		last = next
	}
	f.t.Fatalf("it does not come to rest; %d changes more, the last is %v", few, last)
	return nil
}

// names are the objects of some events by a path of theirs, in order.
func names(all []*change, path string) []string {
	found := map[string]bool{}
	for _, c := range all {
		found[c.get(path)] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// cleaning is a test that is over and cleans up.
type cleaning struct{ testing.TB }

// Context is one that has not ended with the test.
func (cleaning) Context() context.Context { return context.Background() }
