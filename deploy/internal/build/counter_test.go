package build

import "testing"

func TestCounter(t *testing.T) {
	listing := []listed{
		{ImportPath: "shared", Stale: true},
		{ImportPath: "only-a", Stale: true},
		{ImportPath: "fresh"},
		{ImportPath: "cmd/a", Stale: true, Deps: []string{"shared", "only-a", "fresh"}},
		{ImportPath: "cmd/b", Stale: true, Deps: []string{"shared", "fresh"}},
		{ImportPath: "cmd/c", Deps: []string{"fresh"}},
	}
	c := newCounter(listing, []string{"cmd/a", "cmd/b", "cmd/c"})

	check := func(when string, want map[string][2]int) {
		t.Helper()
		for main, numbers := range want {
			if done, total := c.progress(main); done != numbers[0] || total != numbers[1] {
				t.Errorf("%s: %s is at %d/%d, want %d/%d", when, main, done, total, numbers[0], numbers[1])
			}
		}
	}
	check("before a line", map[string][2]int{"cmd/a": {0, 3}, "cmd/b": {0, 2}, "cmd/c": {0, 0}})
	if c.line("shared") {
		t.Error("a package's name was taken for a message")
	}
	check("a shared package counts for both", map[string][2]int{"cmd/a": {1, 3}, "cmd/b": {1, 2}})
	c.line("shared")
	check("a repeated line counts once", map[string][2]int{"cmd/a": {1, 3}})
	c.line("fresh")
	check("a package that was fresh does not count", map[string][2]int{"cmd/a": {1, 3}})
	c.line("cmd/b")
	check("the main package is the last", map[string][2]int{"cmd/b": {2, 2}})
}

func TestCounterMessages(t *testing.T) {
	for _, tc := range []struct {
		line    string
		message bool
		reason  string
	}{
		{"go: downloading k8s.io/api v0.35.4", false, "downloads are counted elsewhere and would drown the error"},
		{"# example.com/broken", true, "it heads the compiler's output"},
		{"broken.go:1:2: undefined: x", true, "it is the compiler's output"},
		{"go: example.com/x@v1.0.0: checksum mismatch", true, "the go tool's own errors are the ones to read"},
		{"example.com/some/package", false, "a package that was thought fresh is printed as well"},
	} {
		c := newCounter(nil, nil)
		if got := c.line(tc.line); got != tc.message {
			t.Errorf("line(%q) = %t, want %t: %s", tc.line, got, tc.message, tc.reason)
		}
	}
	c := newCounter(nil, nil)
	c.line("# example.com/first")
	c.line("# example.com/second")
	if c.failed != "example.com/first" {
		t.Errorf("the failed package is %q, want the first one: the others may follow from it", c.failed)
	}
}
