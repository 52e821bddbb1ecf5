package authz

import (
	"context"
	"time"

	"golang.org/x/sync/singleflight"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// How long a decision is believed, and how many are remembered. A refusal is
// forgotten sooner, because a person who was just given access tries again at once.
const (
	positiveTTL   = 10 * time.Second
	negativeTTL   = 5 * time.Second
	cacheSize     = 4096
	reviewTimeout = 3 * time.Second
)

// decisions asks a yes-or-no question of the global cluster once per key, and
// remembers the answer. Answers "no" have a cache of their own: a flood of bad
// tokens must not push out the good ones.
type decisions[V any] struct {
	positive *ttlCache[[32]byte, V]
	negative *ttlCache[[32]byte, error]
	flight   singleflight.Group
	// subject names what is being asked about, for the error: "your token".
	subject string
}

func newDecisions[V any](subject string, now func() time.Time) *decisions[V] {
	return &decisions[V]{
		positive: newTTLCache[[32]byte, V](positiveTTL, cacheSize, now),
		negative: newTTLCache[[32]byte, error](negativeTTL, cacheSize, now),
		subject:  subject,
	}
}

// answer is what one review said: a value, or the refusal to remember.
type answer[V any] struct {
	value   V
	refusal error
}

// decide returns the remembered answer for key, or asks. Callers with the same
// key share one question. The question outlives the caller that began it,
// because the others wait for it too; it ends after reviewTimeout.
// An error of ask means that nothing was decided; it is never remembered.
func (d *decisions[V]) decide(ctx context.Context, key [32]byte, ask func(context.Context) (answer[V], error)) (V, error) {
	var zero V
	if v, ok := d.positive.get(key); ok {
		return v, nil
	}
	if refusal, ok := d.negative.get(key); ok {
		return zero, refusal
	}
	result := d.flight.DoChan(string(key[:]), func() (any, error) {
		// The answer may have come between the look above and now.
		if v, ok := d.positive.get(key); ok {
			return answer[V]{value: v}, nil
		}
		reviewCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTimeout)
		defer cancel()
		a, err := ask(reviewCtx)
		if err != nil {
			return nil, err
		}
		if a.refusal != nil {
			d.negative.put(key, a.refusal)
		} else {
			d.positive.put(key, a.value)
		}
		return a, nil
	})
	select {
	case <-ctx.Done():
		return zero, d.undecided(ctx.Err())
	case r := <-result:
		if r.Err != nil {
			return zero, d.undecided(r.Err)
		}
		a := r.Val.(answer[V])
		return a.value, a.refusal
	}
}

// undecided turns the failure of a review into an error for the caller. That
// Kairship itself may not ask is not a matter of trying again, so it is told apart.
func (d *decisions[V]) undecided(err error) error {
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return apierror.Wrap(err, apierror.CodeInternal, "internal error")
	}
	return apierror.Wrap(err, apierror.CodeTimeout,
		"the global cluster did not answer the check of %s; try again", d.subject)
}
