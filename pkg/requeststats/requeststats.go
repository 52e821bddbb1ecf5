// Package requeststats counts the upstream requests of one operation: to the index, to
// instances and to the global cluster, with their durations, and the cache lookups that
// saved requests.
//
// The operation's context carries a Recorder. Code that sends a request or reads a cache
// reports it to the Recorder; a context without one records nothing.
package requeststats

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Kind is what is asked.
type Kind string

// What can be asked.
const (
	// Index is Clusterpedia.
	Index Kind = "INDEX"
	// Instance is the API server of an instance.
	Instance Kind = "INSTANCE"
	// Global is the global cluster's API server.
	Global Kind = "GLOBAL_CLUSTER"
)

// Target is one that is asked. Name is the instance's; empty for the others.
type Target struct {
	Kind Kind
	Name string
}

// Cache is a memory that may spare a request.
type Cache string

// The caches.
const (
	// Rows are the objects, pages and pods that other fields of the operation read
	// already, or have on their way.
	Rows Cache = "ROWS"
	// Members are those of an instance, which are remembered for two seconds.
	Members Cache = "MEMBER_CLUSTERS"
	// Permissions are a user's rules, which are remembered for some seconds.
	Permissions Cache = "PERMISSIONS"
	// Answers are those that equal queries share, of the last second or on their way.
	Answers Cache = "ANSWERS"
)

// Use is what was asked of one target. Durations of requests that were under way at
// the same time add up.
type Use struct {
	Target

	Requests, Failed int
	Total, Longest   time.Duration
}

// Lookups is how often a cache was asked, and what it had.
type Lookups struct {
	Cache        Cache
	Hits, Misses int
}

// Recorder writes down what one operation uses. It is safe for concurrent use; a nil
// one writes nothing down.
type Recorder struct {
	began time.Time

	mu      sync.Mutex
	uses    map[Target]*Use
	lookups map[Cache]*Lookups
}

type recorderKey struct{}

// With makes a context with a recorder.
func With(ctx context.Context) (context.Context, *Recorder) {
	r := &Recorder{began: time.Now(), uses: map[Target]*Use{}, lookups: map[Cache]*Lookups{}}
	return context.WithValue(ctx, recorderKey{}, r), r
}

// From finds the recorder of a context; nil when it has none.
func From(ctx context.Context) *Recorder {
	r, _ := ctx.Value(recorderKey{}).(*Recorder)
	return r
}

// Began is when the operation began; zero where there is none.
func (r *Recorder) Began() time.Time {
	if r == nil {
		return time.Time{}
	}
	return r.began
}

// Send notes a request that is about to be sent. The result is called once, when it
// was answered or has failed.
func (r *Recorder) Send(to Target) (done func(error)) {
	if r == nil {
		return func(error) {}
	}
	begun := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	use := r.uses[to]
	if use == nil {
		use = &Use{Target: to}
		r.uses[to] = use
	}
	use.Requests++
	return func(err error) {
		took := time.Since(begun)
		r.mu.Lock()
		defer r.mu.Unlock()
		if err != nil {
			use.Failed++
		}
		use.Total += took
		use.Longest = max(use.Longest, took)
	}
}

// Look notes what a cache had: so many of those that were looked for.
func (r *Recorder) Look(in Cache, hits, misses int) {
	count(in, hits, misses)
	if r == nil || hits+misses == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.lookups[in]
	if l == nil {
		l = &Lookups{Cache: in}
		r.lookups[in] = l
	}
	l.Hits += hits
	l.Misses += misses
}

// Requests is the number of requests so far to all targets of a kind.
func (r *Recorder) Requests(kind Kind) int {
	n := 0
	for _, use := range r.Uses() {
		if use.Kind == kind {
			n += use.Requests
		}
	}
	return n
}

// Uses is what was asked so far, by kind and name.
func (r *Recorder) Uses() []Use {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	uses := make([]Use, 0, len(r.uses))
	for _, use := range r.uses {
		uses = append(uses, *use)
	}
	slices.SortFunc(uses, func(a, b Use) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return uses
}

// Caches is what caches were asked for so far, by name.
func (r *Recorder) Caches() []Lookups {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Lookups, 0, len(r.lookups))
	for _, l := range r.lookups {
		all = append(all, *l)
	}
	slices.SortFunc(all, func(a, b Lookups) int { return cmp.Compare(a.Cache, b.Cache) })
	return all
}
