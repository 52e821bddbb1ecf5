// Package audit writes the audit log: one line for each operation of a known user, with the
// instances and the permissions.
//
// The code that decides about permissions writes into the Record of the operation, at the moment of
// the decision; the code that serves the operation writes the line when it is done. So every entry
// point has the same line: the GraphQL API, and any other way to reach an instance.
//
// The line never has content that the caller sent: no token, no variable, no argument; only a command
// that the caller ran in a container is in it, as they sent it. It names
// existing instances only. A requested name without an instance may be anything, even a password in
// the wrong place, and is left out.
package audit

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// Decision is what became of an operation as far as permissions go.
type Decision string

const (
	// Allowed means that nothing was refused. Lists that were narrowed to what the
	// caller may see refuse nothing.
	Allowed Decision = "allowed"
	// Denied means that something which was asked for by its name was refused, or
	// would have been if it existed.
	Denied Decision = "denied"
	// Undecided means that the global cluster did not say what is permitted.
	Undecided Decision = "undecided"
)

// Record is what is noted of one operation. It is safe for concurrent use, and
// the methods of a nil Record note nothing.
type Record struct {
	mu        sync.Mutex
	permitted map[string]struct{}
	refused   map[string]struct{}
	denied    bool
	undecided bool
}

type recordKey struct{}

// With gives the context of an operation a new Record.
func With(ctx context.Context) (context.Context, *Record) {
	r := &Record{permitted: map[string]struct{}{}, refused: map[string]struct{}{}}
	return context.WithValue(ctx, recordKey{}, r), r
}

// From is the Record of an operation; nil outside of one.
func From(ctx context.Context) *Record {
	r, _ := ctx.Value(recordKey{}).(*Record)
	return r
}

// maxKept bounds the names that one operation may have noted.
const maxKept = 10_000

// Permit notes that the operation touched instances, and was let to.
func (r *Record) Permit(instances ...string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	keep(r.permitted, instances)
}

// Refuse notes that the operation named something of an instance, and was not
// let to it. The name may be empty, where it belongs to no instance.
func (r *Record) Refuse(instance string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.denied = true
	keep(r.refused, []string{instance})
}

// Fail notes that the global cluster did not say what is permitted.
func (r *Record) Fail() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.undecided = true
}

// Include notes what was noted of another operation, which is over.
func (r *Record) Include(of *Record) {
	if r == nil || of == nil {
		return
	}
	of.mu.Lock()
	permitted, refused := slices.Collect(maps.Keys(of.permitted)), slices.Collect(maps.Keys(of.refused))
	denied, undecided := of.denied, of.undecided
	of.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	keep(r.permitted, permitted)
	keep(r.refused, refused)
	r.denied, r.undecided = r.denied || denied, r.undecided || undecided
}

// Names returns how many names were noted.
func (r *Record) Names() int {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.permitted) + len(r.refused)
}

func keep(in map[string]struct{}, names []string) {
	for _, name := range names {
		if name != "" && len(in) < maxKept {
			in[name] = struct{}{}
		}
	}
}

// Decision sums up the operation.
func (r *Record) Decision() Decision {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.undecided:
		return Undecided
	case r.denied:
		return Denied
	}
	return Allowed
}

// names are the instances that were touched and those that were refused, in
// order, as far as they exist.
func (r *Record) names(exists func(string) bool) (permitted, refused []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := func(in map[string]struct{}) []string {
		var names []string
		for name := range in {
			if exists(name) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names
	}
	return known(r.permitted), known(r.refused)
}
