package authz

import (
	"context"
	"encoding/binary"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// reviewTimeout bounds one question to the global cluster.
const reviewTimeout = 3 * time.Second

// memory says how long decisions are believed, and how many are remembered.
type memory struct {
	positive, negative time.Duration
	size               int
}

// usualMemory is that of the checks of a caller. A refusal is forgotten sooner,
// because a person who was just given access tries again at once.
var usualMemory = memory{positive: 10 * time.Second, negative: 5 * time.Second, size: 4096}

// decisions asks a question of the global cluster once per key, and remembers
// the answer. Answers "no" have a cache of their own: a flood of bad tokens must
// not push out the good ones.
type decisions[V any] struct {
	positive *ttlCache[decisionKey, V]
	negative *ttlCache[decisionKey, error]
	flight   singleflight.Group
	// renewals are separate from flight, because a caller that renews must not get a cached answer.
	renewals singleflight.Group
	// flushes counts the calls of flush.
	flushes atomic.Uint64
	// subject names what is being asked about, for the error: "your token".
	subject string
}

// decisionKey is a key with the number of flushes when it was asked about: what
// was asked before a flush is never looked up, shared or overwritten after it,
// even when its answer comes later.
type decisionKey struct {
	flushes uint64
	key     [32]byte
}

func newDecisions[V any](subject string, m memory, now func() time.Time) *decisions[V] {
	return &decisions[V]{
		positive: newTTLCache[decisionKey, V](m.positive, m.size, now),
		negative: newTTLCache[decisionKey, error](m.negative, m.size, now),
		subject:  subject,
	}
}

// flush forgets every answer, also those that are on their way.
func (d *decisions[V]) flush() {
	d.flushes.Add(1)
	d.positive.clear()
	d.negative.clear()
}

// String is the key for singleflight, which wants text.
func (k decisionKey) String() string {
	return string(binary.BigEndian.AppendUint64(k.key[:], k.flushes))
}

// answer is what one review said: a value, or the refusal to remember.
type answer[V any] struct {
	value   V
	refusal error
}

// decide returns the remembered answer for a key, or asks. Callers with the same
// key share one question. The question outlives the caller that began it,
// because the others wait for it too; it ends after reviewTimeout.
// An error of ask means that nothing was decided; it is never remembered.
func (d *decisions[V]) decide(ctx context.Context, of [32]byte, ask func(context.Context) (answer[V], error)) (V, error) {
	var zero V
	key := decisionKey{flushes: d.flushes.Load(), key: of}
	if v, ok := d.positive.get(key); ok {
		d.count("memory", answeredYes)
		return v, nil
	}
	if refusal, ok := d.negative.get(key); ok {
		d.count("memory", answeredNo)
		return zero, refusal
	}
	return d.wait(ctx, d.flight.DoChan(key.String(), func() (any, error) {
		// The answer may have come between the look above and now.
		if v, ok := d.positive.get(key); ok {
			return answer[V]{value: v}, nil
		}
		return d.ask(ctx, key, ask)
	}))
}

// renew asks whatever is remembered, and remembers the new answer in its place.
// Callers with the same key share one question.
func (d *decisions[V]) renew(ctx context.Context, of [32]byte, ask func(context.Context) (answer[V], error)) (V, error) {
	key := decisionKey{flushes: d.flushes.Load(), key: of}
	return d.wait(ctx, d.renewals.DoChan(key.String(), func() (any, error) { return d.ask(ctx, key, ask) }))
}

func (d *decisions[V]) ask(ctx context.Context, key decisionKey, ask func(context.Context) (answer[V], error)) (any, error) {
	reviewCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTimeout)
	defer cancel()
	begun := time.Now()
	a, err := ask(reviewCtx)
	d.reviewed(begun, a.refusal != nil, err)
	if err != nil {
		return nil, err
	}
	if a.refusal != nil {
		d.positive.drop(key)
		d.negative.put(key, a.refusal)
	} else {
		d.negative.drop(key)
		d.positive.put(key, a.value)
	}
	return a, nil
}

func (d *decisions[V]) wait(ctx context.Context, result <-chan singleflight.Result) (V, error) {
	var zero V
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

// undecided converts the failure of a review into an error for the caller. The message differs when
// Kairship itself may not ask, because an administrator may have to grant the permission. The code
// is the same, because a global cluster that is starting refuses all callers for a moment, so another
// attempt is worthwhile. A review that was never sent keeps its own error.
func (d *decisions[V]) undecided(err error) error {
	if e, ok := errors.AsType[*apierror.Error](err); ok {
		return e
	}
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return apierror.Wrap(err, apierror.CodeTimeout,
			"the global cluster does not let Kairship check %s now; try again", d.subject)
	}
	return apierror.Wrap(err, apierror.CodeTimeout,
		"the global cluster did not answer the check of %s; try again", d.subject)
}
