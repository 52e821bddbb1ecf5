package fleet

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/kairship-io/kairship/deploy/local/internal/topology"
)

func TestCheckGraph(t *testing.T) {
	for _, tc := range []struct {
		name  string
		tasks []task
		err   string
	}{
		{"a chain", []task{{name: "c", needs: []string{"b"}}, {name: "b", needs: []string{"a"}}, {name: "a"}}, ""},
		{"a diamond", []task{{name: "d", needs: []string{"b", "c"}}, {name: "b", needs: []string{"a"}}, {name: "c", needs: []string{"a"}}, {name: "a"}}, ""},
		{"a need that does not exist", []task{{name: "b", needs: []string{"a"}}}, "b needs a, which does not exist"},
		{"a name given twice", []task{{name: "a"}, {name: "a"}}, "two tasks are named a"},
		{"a circle", []task{{name: "a", needs: []string{"b"}}, {name: "b", needs: []string{"a"}}}, "a -> b -> a"},
		{"a task that needs itself", []task{{name: "a", needs: []string{"a"}}}, "a -> a"},
	} {
		err := checkGraph(tc.tasks)
		if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.err)
		}
	}
}

func TestRunGraphKeepsTheOrder(t *testing.T) {
	var mu sync.Mutex
	var order []string
	record := func(name string) func(context.Context) error {
		return func(context.Context) error {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, name)
			return nil
		}
	}
	err := runGraph(t.Context(), []task{
		{name: "c", needs: []string{"b"}, run: record("c")},
		{name: "b", needs: []string{"a"}, run: record("b")},
		{name: "a", run: record("a")},
	})
	if err != nil || strings.Join(order, "") != "abc" {
		t.Errorf("order %v, error %v; want a, b, c", order, err)
	}
}

func TestRunGraphStopsAtTheFirstFailure(t *testing.T) {
	first := errors.New("etcd: it exited")
	ran := false
	err := runGraph(t.Context(), []task{
		{name: "etcd", run: func(context.Context) error { return first }},
		// Cancelled because of etcd: not an error of its own.
		{name: "slow", run: func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }},
		{name: "after", needs: []string{"etcd"}, run: func(context.Context) error { ran = true; return nil }},
	})
	if !errors.Is(err, first) {
		t.Errorf("error %v, want the first failure", err)
	}
	if ran {
		t.Error("a task ran although what it needs had failed")
	}
}

func TestRunGraphEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := runGraph(ctx, []task{{name: "a", run: func(ctx context.Context) error { cancel(); <-ctx.Done(); return ctx.Err() }}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after Ctrl-C, want context.Canceled, which the command line puts into words", err)
	}
}

// fleets are fleets with every combination of settings that changes what runs.
func fleets(t *testing.T) map[string]*Fleet {
	t.Helper()
	all := map[string]*Fleet{}
	for name, flags := range map[string]Flags{
		"default":          {},
		"postgres":         {DB: new(Postgres)},
		"without Kairship": {WithoutKairship: new(true)},
		"own registration": {WithoutKairship: new(true), PediaClusters: new(true), DB: new(Postgres)},
	} {
		f, err := Open(t.TempDir(), flags, &strings.Builder{})
		if err != nil {
			t.Fatal(err)
		}
		all[name] = f
	}
	return all
}

func TestTheFleetsGraph(t *testing.T) {
	for name, f := range fleets(t) {
		var plan []planned
		for _, p := range f.processes() {
			plan = append(plan, planned{process: p})
		}
		if err := checkGraph(f.tasks(plan)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNoTwoProcessesShareAPort(t *testing.T) {
	for name, f := range fleets(t) {
		holders := map[string]string{}
		for _, p := range f.processes() {
			if len(p.ports) == 0 {
				t.Errorf("%s: %s names no port, so that a taken one is found only by its crash", name, p.name)
			}
			for _, purpose := range p.ports {
				if other, ok := holders[purpose]; ok {
					t.Errorf("%s: %s and %s both listen on %s", name, p.name, other, purpose)
				}
				holders[purpose] = p.name
			}
		}
	}
}

func TestEverythingListensOnLoopback(t *testing.T) {
	for name, f := range fleets(t) {
		for _, p := range f.processes() {
			args := strings.Join(p.args, " ")
			if strings.Contains(args, "0.0.0.0") || !strings.Contains(args, "127.0.0.1") {
				t.Errorf("%s: %s does not say that it listens on loopback: %s", name, p.name, args)
			}
		}
	}
}

func TestStopGroups(t *testing.T) {
	f := fleets(t)["default"]
	groups := f.stopGroups([]string{"alpha-aggregated-apiserver", "alpha-apiserver", "clusterpedia-apiserver", "etcd", "global-apiserver", "gone-process", "kairship-apiserver", "m1-kcm", "postgres"})
	want := []string{
		"alpha-aggregated-apiserver clusterpedia-apiserver gone-process kairship-apiserver m1-kcm", // they are clients
		"alpha-apiserver global-apiserver",
		"etcd postgres",
	}
	for i, group := range groups {
		if got := strings.Join(group, " "); got != want[i] {
			t.Errorf("wave %d is %q, want %q", i+1, got, want[i])
		}
	}
}

func TestClusterOf(t *testing.T) {
	for process, want := range map[string]string{
		"alpha-apiserver":        "alpha",
		"m1-kwok":                "m1",
		"global-kcm":             "global",
		"etcd":                   "global",
		"clusterpedia-apiserver": "global",
		"kairship-apiserver":     "global",
		"alphabet":               "global", // only a whole name counts
	} {
		if got := clusterOf(process); got != want {
			t.Errorf("clusterOf(%s) = %s, want %s", process, got, want)
		}
	}
	for _, c := range topology.Clusters() {
		if clusterOf(c.Name+"-apiserver") != c.Name {
			t.Errorf("the apiserver of %s does not belong to it", c.Name)
		}
	}
}
