package quota

import (
	"context"
	"io"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// step is how much memory an operation takes from its user's share at a time, and what
// each operation holds at least: its document, its variables, its buffers.
const step = 256 << 10

// Expansion is how many bytes of memory an operation holds for each byte of JSON that
// it reads: the text itself in a buffer that doubles, and the objects decoded from it.
// TestExpansion of package index measures it.
const Expansion = 7

// Hold counts memory that the operation is about to hold until it ends. An error means
// that it may not; every later call returns the same error.
func (o *Operation) Hold(bytes int64) error {
	if o == nil {
		return nil
	}
	if refusal := o.refusal.Load(); refusal != nil {
		return refusal
	}
	if o.used.Add(bytes) <= o.granted.Load() {
		return nil
	}
	o.users.mu.Lock()
	defer o.users.mu.Unlock()
	if o.ended {
		return context.Canceled // What was read ahead of time is for nothing now.
	}
	missing := o.used.Load() - o.granted.Load()
	if missing <= 0 {
		return nil
	}
	if refusal := o.grant((missing + step - 1) / step * step); refusal != nil {
		o.refusal.CompareAndSwap(nil, refusal)
		return o.refusal.Load()
	}
	return nil
}

// Refusal returns the error of Hold that the operation met; nil if there was none.
func (o *Operation) Refusal() *apierror.Error {
	if o == nil {
		return nil
	}
	return o.refusal.Load()
}

// grant takes memory from the shares. The caller holds the lock.
func (o *Operation) grant(bytes int64) *apierror.Error {
	u := o.users
	switch permits(u.limits, shares{operation: o.granted.Load(), user: o.account.held, all: u.held}, bytes) {
	case permitted:
	case tooMuchForOne:
		u.refused("operation_memory")
		return apierror.New(apierror.CodeQueryTooComplex,
			"the operation needs more than %d MiB of memory, which is the limit: ask for less at a time, with first, with fewer aliases or without whole objects", u.limits.OperationMemory>>20)
	case tooMuchNow:
		return u.refuse("memory", retry, "your operations under way hold as much memory as one user may: wait for some, or ask for less at a time")
	}
	o.granted.Add(bytes)
	o.account.held += bytes
	u.held += bytes
	return nil
}

// shares are what is held already.
type shares struct{ operation, user, all int64 }

type memoryDecision int

const (
	permitted memoryDecision = iota
	tooMuchForOne
	tooMuchNow
)

// permits decides whether an operation may hold more. A user may hold as much as is left
// for all others afterwards.
func permits(l Limits, held shares, more int64) memoryDecision {
	switch {
	case held.operation+more > l.OperationMemory:
		return tooMuchForOne
	case held.user+more > l.Memory-held.all-more:
		return tooMuchNow
	}
	return permitted
}

type contextKey struct{}

// With returns a context that carries an operation.
func With(ctx context.Context, o *Operation) context.Context {
	return context.WithValue(ctx, contextKey{}, o)
}

// From returns the operation of a context; nil where there is none.
func From(ctx context.Context) *Operation {
	o, _ := ctx.Value(contextKey{}).(*Operation)
	return o
}

// Body counts what is read of an upstream's answer among what the operation of the
// context holds. A refusal is the error of the read.
func Body(ctx context.Context, of io.ReadCloser) io.ReadCloser {
	o := From(ctx)
	if o == nil {
		return of
	}
	return &body{of, o}
}

type body struct {
	io.ReadCloser
	operation *Operation
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if refusal := b.operation.Hold(int64(n) * Expansion); refusal != nil {
		return 0, refusal
	}
	return n, err
}
