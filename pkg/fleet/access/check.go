package access

import (
	"context"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
)

// Check is the check of the user before a field of an operation is resolved. The schema names the
// check of each field; the reads below the field are restricted in any case.
type Check string

const (
	// CheckCaller requires an authenticated user.
	CheckCaller Check = "CALLER"
	// CheckVisible requires that the user's permissions are known. It is for fields that return
	// only what is visible.
	CheckVisible Check = "VISIBLE"
	// CheckInstance requires that the user may see one instance.
	CheckInstance Check = "INSTANCE"
)

// Visible reports whether the user may see anything that the check is about. The
// instance matters to CheckInstance only. It fails where nothing can be decided
// now, so that no caller reads that something does not exist because the global
// cluster does not answer.
func (a *Access) Visible(ctx context.Context, check Check, instance string) (bool, error) {
	switch check {
	case CheckCaller:
		if _, known := authz.UserFrom(ctx); !known {
			return false, apierror.New(apierror.CodeUnauthenticated, "no credentials: send a bearer token of the global cluster in the Authorization header")
		}
		return true, nil
	case CheckVisible:
		_, err := a.permissions.For(ctx)
		note(ctx, err, instance, err == nil)
		return err == nil, err
	case CheckInstance:
		_, visible, err := a.Instance(ctx, instance)
		note(ctx, err, instance, visible)
		return visible, err
	}
	return false, nil
}

// note writes down what was decided about an instance.
func note(ctx context.Context, err error, instance string, visible bool) {
	record := audit.From(ctx)
	switch {
	case err != nil:
		record.Fail()
	case visible:
		record.Permit(instance)
	default:
		record.Refuse(instance)
	}
}

// All reports whether the user may see every instance, those included that are yet
// to be registered.
func (a *Access) All(ctx context.Context) (bool, error) {
	v, err := a.permissions.For(ctx)
	if err != nil {
		return false, err
	}
	return v.All(), nil
}
