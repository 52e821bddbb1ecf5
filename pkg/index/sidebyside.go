package index

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// maxParallel bounds the requests that one question sends side by side.
const maxParallel = 8

// sideBySide does n things at the same time, and ends with the first error. One
// thing is done right here: most questions are one request, which then waits for
// no other goroutine to be scheduled.
func sideBySide(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	if n == 1 {
		return do(ctx, 0)
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(maxParallel)
	for i := range n {
		g.Go(func() error { return do(gctx, i) })
	}
	return g.Wait()
}
