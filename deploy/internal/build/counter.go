package build

import (
	"strings"
	"sync"
)

// counter follows one `go build -v` over several main packages. The go tool prints the import path
// of each package as it begins to compile it, and nothing for a package it finds in its cache, so
// the packages to come are asked for beforehand (go list's Stale).
type counter struct {
	// stale is every package that has to be compiled or linked.
	stale map[string]bool
	// needs are the stale packages that a main package waits for, itself included.
	needs map[string][]string

	mu     sync.Mutex // the reader of the output and the display's clock both look
	seen   map[string]bool
	failed string // the package that did not compile
}

// listed is what go list reports about one package.
type listed struct {
	ImportPath string
	Stale      bool
	Deps       []string
}

// newCounter takes the listing of all packages and the main packages to follow.
func newCounter(packages []listed, mains []string) *counter {
	c := &counter{stale: map[string]bool{}, needs: map[string][]string{}, seen: map[string]bool{}}
	deps := map[string][]string{}
	for _, p := range packages {
		if p.Stale {
			c.stale[p.ImportPath] = true
		}
		deps[p.ImportPath] = p.Deps
	}
	for _, main := range mains {
		for _, dep := range append([]string{main}, deps[main]...) {
			if c.stale[dep] {
				c.needs[main] = append(c.needs[main], dep)
			}
		}
	}
	return c
}

// line takes in one line of the go tool's output and reports whether it was a message rather than
// the name of a package.
func (c *counter) line(text string) (message bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.stale[text]:
		c.seen[text] = true
		return false
	case strings.HasPrefix(text, "go: downloading "):
		return false
	case strings.HasPrefix(text, "# "):
		if c.failed == "" {
			c.failed = strings.TrimPrefix(text, "# ")
		}
		return true
	default:
		// Packages that go list thought fresh (its cache was trimmed meanwhile) are printed too.
		return strings.ContainsAny(text, " \t:")
	}
}

// progress says how many of a main package's packages were begun, of how many.
func (c *counter) progress(main string) (done, total int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, pkg := range c.needs[main] {
		if c.seen[pkg] {
			done++
		}
	}
	return done, len(c.needs[main])
}
