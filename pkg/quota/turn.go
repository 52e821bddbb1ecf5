package quota

import "context"

// Turn waits, as long as the context lasts, until the user of its operation may send one
// more request to the index, so that the requests of one user never are all that it works
// on. done is called once the request is answered.
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
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
