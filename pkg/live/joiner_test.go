package live

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

var alphaBindings = Source{Instance: "alpha", Resource: bindings}

func replicas(o *Object) int {
	var d struct {
		Spec struct {
			Replicas int `json:"replicas"`
		} `json:"spec"`
	}
	if json.Unmarshal(o.Raw, &d) != nil {
		return -1
	}
	return d.Spec.Replicas
}

// sumJoin gives an object the sum of the replicas of all bindings of its name; the
// binding "every" concerns all, "every-in" those of its namespace.
func sumJoin() *Join {
	return &Join{
		ID: "sum",
		With: []Secondary{{Source: alphaBindings, Keys: func(o *Object) []Key {
			switch o.Meta.Name {
			case "every":
				return []Key{Every}
			case "every-in":
				return []Key{EveryIn(o.Meta.Namespace)}
			}
			return []Key{{o.Meta.Namespace, o.Meta.Name}}
		}}},
		Combine: func(_ *Object, with [][]*Object) any {
			sum := 0
			for _, b := range with[0] {
				sum += replicas(b)
			}
			return sum
		},
	}
}

func TestJoin(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		c, b := w.cluster(alpha), w.cluster(alphaBindings)
		c.put("n", "a", nil, 0)
		c.put("n", "b", nil, 0)
		b.put("n", "a", nil, 3)
		interests := []Interest{{Source: alpha, Join: sumJoin()}}
		h := w.hub(Options{})
		r := w.subscribe(h, Subscription{Interests: interests})
		r.until(Synced)
		big := w.subscribe(h, Subscription{Interests: []Interest{{Source: alpha, Join: sumJoin(), Filter: Filter{Match: func(o *Object) bool { return o.Joined.(int) > 3 }}}}})
		big.until(Synced)
		sums := func() map[string]int {
			out := map[string]int{}
			for k, o := range r.known[alpha] {
				out[k.Name] = o.Joined.(int)
			}
			return out
		}
		for _, step := range []struct {
			reason string
			do     func()
			said   []string
			sums   map[string]int
			big    []string
		}{
			{"what is there", func() {}, []string{"ADDED a", "ADDED b", "SYNCED"}, map[string]int{"a": 3, "b": 0}, []string{"SYNCED"}},
			{"the value changes", func() { b.put("n", "a", nil, 4) }, []string{"MODIFIED a"}, map[string]int{"a": 4, "b": 0}, []string{"ADDED a"}},
			{"the same value is no change", func() { b.put("n", "a", nil, 4) }, nil, map[string]int{"a": 4, "b": 0}, nil},
			{"a new version of the object is", func() { c.put("n", "a", nil, 7) }, []string{"MODIFIED a"}, map[string]int{"a": 4, "b": 0}, []string{"MODIFIED a"}},
			{"one concerns all", func() { b.put("n", "every", nil, 1) }, []string{"MODIFIED a", "MODIFIED b"}, map[string]int{"a": 5, "b": 1}, []string{"MODIFIED a"}},
			{"one concerns all of its namespace", func() { b.put("n", "every-in", nil, 2) }, []string{"MODIFIED a", "MODIFIED b"}, map[string]int{"a": 7, "b": 3}, []string{"MODIFIED a"}},
			{"it changes", func() { b.put("n", "every-in", nil, 1) }, []string{"MODIFIED a", "MODIFIED b"}, map[string]int{"a": 6, "b": 2}, []string{"MODIFIED a"}},
			{"and goes", func() { b.remove("n", "every-in") }, []string{"MODIFIED a", "MODIFIED b"}, map[string]int{"a": 5, "b": 1}, []string{"MODIFIED a"}},
			{"one of another namespace", func() { b.put("other", "every-in", nil, 2) }, nil, map[string]int{"a": 5, "b": 1}, nil},
			{"a binding without object says nothing", func() { b.put("n", "c", nil, 5) }, nil, map[string]int{"a": 5, "b": 1}, nil},
			{"until it comes", func() { c.put("n", "c", nil, 0) }, []string{"ADDED c"}, map[string]int{"a": 5, "b": 1, "c": 6}, []string{"ADDED c"}},
			{"bindings go", func() { b.remove("n", "c"); b.remove("n", "every") }, []string{"MODIFIED a", "MODIFIED b", "MODIFIED c"}, map[string]int{"a": 4, "b": 0, "c": 0}, []string{"MODIFIED a", "DELETED c"}},
			{"the object goes", func() { c.remove("n", "a") }, []string{"DELETED a"}, map[string]int{"b": 0, "c": 0}, []string{"DELETED a"}},
		} {
			step.do()
			synctest.Wait() // What is done at once is told at once.
			r.drain(time.Second)
			big.drain(time.Second)
			if diff := cmp.Diff(step.said, r.said()); diff != "" {
				t.Errorf("%s: said (-want +got):\n%s", step.reason, diff)
			}
			if diff := cmp.Diff(step.sums, sums()); diff != "" {
				t.Errorf("%s: sums (-want +got):\n%s", step.reason, diff)
			}
			if diff := cmp.Diff(step.big, big.said()); diff != "" {
				t.Errorf("%s: with a filter (-want +got):\n%s", step.reason, diff)
			}
		}
		// Resumes in another hub, where both inputs have to be read as they were.
		r.stream.Close()
		b.put("n", "b", nil, 2)
		c.remove("n", "c")
		c.put("n", "d", nil, 0)
		b.put("n", "d", nil, 9)
		b.put("n", "every-in", nil, 1)
		r.resume(w.hub(Options{}), Subscription{Interests: interests})
		r.until(Synced)
		if diff := cmp.Diff([]string{"MODIFIED b", "DELETED c", "ADDED d", "SYNCED"}, r.said()); diff != "" {
			t.Errorf("resumed (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]int{"b": 3, "d": 10}, sums()); diff != "" {
			t.Errorf("resumed: sums (-want +got):\n%s", diff)
		}
	})
}
