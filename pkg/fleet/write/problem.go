package write

import (
	"errors"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// Problem is an error about one of several things that a mutation is to do, in
// the place of the thing's result.
type Problem struct {
	Code    string
	Message string
	// Argument is the input that caused it; nil where none did.
	Argument *string
	Fields   []apierror.Field
}

// ProblemOf shows an error as a Problem; false when it is no error for callers.
func ProblemOf(err error) (*Problem, bool) {
	e, ok := errors.AsType[*apierror.Error](err)
	if !ok {
		return nil, false
	}
	p := &Problem{Code: string(e.Code), Message: e.Message, Fields: e.Fields}
	if e.Argument != "" {
		p.Argument = &e.Argument
	}
	return p, true
}
