package quota

import (
	"context"
	"time"
)

// maxQueued is how long a request to the index waits for its turn.
const maxQueued = 2 * time.Second

// Turn waits until the user of the operation of the context may send one more request
// to the index, so that the requests of one user never are all that it works on. done
// is called once the request is answered.
func Turn(ctx context.Context) (done func(), err error) {
	o := From(ctx)
	if o == nil {
		return func() {}, nil
	}
	turns := o.account.turns
	leave := func() { <-turns }
	select {
	case turns <- struct{}{}:
		return leave, nil
	default:
	}
	timer := time.NewTimer(maxQueued)
	defer timer.Stop()
	select {
	case turns <- struct{}{}:
		return leave, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
	}
	o.users.mu.Lock()
	defer o.users.mu.Unlock()
	refusal := o.users.refuse("index", retry, "your operations have %d requests to the index under way, which is the limit: wait for some, or ask for less at a time", cap(turns))
	o.refusal.CompareAndSwap(nil, refusal)
	return nil, o.refusal.Load()
}
