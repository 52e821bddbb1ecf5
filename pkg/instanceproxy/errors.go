package instanceproxy

import (
	"errors"
	"net/http"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/connection"
)

// errNotItsOwn means that the credentials of an instance lead to a control plane that
// another Instance holds, or to another one than it was registered with.
var errNotItsOwn = errors.New("the control plane is not the instance's own")

// gone returns the error for an instance that was deleted while it was used.
func gone(instance string) error { return apierror.NotFound("instance", instance) }

// unavailable reports that an instance can't be reached. The cause goes to the log:
// it names endpoints, which callers need not know.
func unavailable(instance string, cause error, format string, args ...any) error {
	return apierror.In(apierror.Wrap(cause, apierror.CodeInstanceUnavailable, format, args...), instance)
}

func silent(instance string, cause error) error {
	return unavailable(instance, cause, "instance %q does not answer", instance)
}

// refused reports that an instance does not accept Kairship's own credentials, or
// does not let it speak for users.
func refused(instance string, cause error) error {
	if answered, ok := errors.AsType[*statusError](cause); ok && answered.code == http.StatusForbidden {
		return unimpersonated(instance, cause)
	}
	return unavailable(instance, cause, "instance %q does not accept Kairship's credentials; its administrator has to renew them", instance)
}

// unimpersonated returns the error for an instance that ignores Kairship's impersonation headers.
func unimpersonated(instance string, cause error) error {
	return unavailable(instance, cause, "instance %q does not let Kairship act for users; its administrator has to permit impersonation", instance)
}

// uncredentialed reports that there is nothing to reach an instance with.
func uncredentialed(instance string, cause error) error {
	switch {
	case errors.Is(cause, connection.ErrMissing):
		return unavailable(instance, cause, "instance %q has no credentials for Kairship yet", instance)
	case errors.Is(cause, errNotItsOwn):
		return unavailable(instance, cause, "instance %q is not used, because its credentials lead to a control plane that is not its own; see its condition Identified", instance)
	case errors.Is(cause, connection.ErrInvalid):
		return unavailable(instance, cause, "the credentials of instance %q cannot be used; see the Instance's conditions", instance)
	}
	return unavailable(instance, cause, "the credentials of instance %q cannot be read now", instance)
}
