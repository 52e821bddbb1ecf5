package quota

import "context"

// Line is a concurrency limit for one kind of requests of a user. The lines do not block each
// other.
type Line int

// The lines.
const (
	// ToIndex is for requests to the index's API server.
	ToIndex Line = iota
	// ToDatabase is for statements to the index's database.
	ToDatabase
	// ToInstance is for reads of kinds that the index does not collect.
	ToInstance
	lines
)

// Acquire waits, as long as the context lasts, until the user of its operation may send one more
// request of a line. It keeps the requests of one user from taking all workers there. The caller
// calls done once the request is answered.
func Acquire(ctx context.Context, line Line) (done func(), err error) {
	o := From(ctx)
	if o == nil {
		return func() {}, nil
	}
	requests := o.account.requests[line]
	release := func() { <-requests }
	select {
	case requests <- struct{}{}:
		return release, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
