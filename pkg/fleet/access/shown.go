package access

import (
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/index"
)

// Shown is what the user of a grant may read of an object that did not come
// through a Reader, for example because they have just written it; nil when that
// is nothing.
func Shown(g authz.Grant, t index.Type, o *index.Object) (*index.Object, error) {
	return admit(g, []index.Type{t}, o)
}

// Concealed returns a Secret without its values, and without the copies that tools keep of them,
// for all users who read it.
func Concealed(secret *index.Object) (*index.Object, error) { return conceal(secret) }

// IsSecret reports whether a kind is that of Secrets, of which values are for fewer people
// than the rest.
func IsSecret(t index.Type) bool { return isSecret(t) }
