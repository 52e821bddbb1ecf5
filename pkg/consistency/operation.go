package consistency

import (
	"context"
	"errors"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// operationLifetime is how long after a mutation the progress of what it began
// can be asked for.
const operationLifetime = 24 * time.Hour

// operationFormat begins the ID of every operation.
const operationFormat = 2

// sealedOperation is what the ID of an operation holds.
type sealedOperation[T any] struct {
	Expires   int64 `json:"e"`
	Operation T     `json:"o"`
}

// SealOperation makes the ID of an operation that the user of the context began. The ID holds all
// that is needed to follow the operation, so that any replica can. It is encrypted: its user can't
// read the content.
func SealOperation[T any](ctx context.Context, t *Tokens, operation T) (string, error) {
	return t.seal(ctx, operationFormat, sealedOperation[T]{t.Now().Add(operationLifetime).Unix(), operation})
}

// OpenOperation reads the ID of an operation. The ID of another user's operation is like an unknown
// one: NOT_FOUND.
func OpenOperation[T any](ctx context.Context, t *Tokens, id string) (T, error) {
	var s sealedOperation[T]
	err := t.open(ctx, operationFormat, id, &s)
	switch {
	case errors.Is(err, errNoKey):
		err = apierror.Wrap(err, apierror.CodeTimeout, "the operation cannot be looked up now; try again")
	case errors.Is(err, errNotOurs), err == nil && t.Now().After(time.Unix(s.Expires, 0)):
		err = apierror.At(apierror.New(apierror.CodeNotFound,
			"this is no operation of yours: give what the payload of a mutation of yours had in operation, within %s", operationLifetime), "operation")
	}
	return s.Operation, err
}
