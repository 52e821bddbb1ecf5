package apierror

import "errors"

// Moved returns an error that names one argument as if it named another; any other error is returned as it is.
func Moved(err error, from, to string) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Argument != from {
		return err
	}
	moved := *e
	moved.Argument = to
	return &moved
}
