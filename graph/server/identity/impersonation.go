package identity

import (
	"net/http"
	"strings"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// impersonatePrefix begins the headers by which Kubernetes serves a caller as another user.
const impersonatePrefix = "Impersonate-"

// Impersonates reports whether a name, of a header or of a field of connection_init,
// is one that asks for impersonation.
func Impersonates(name string) bool {
	return len(name) >= len(impersonatePrefix) && strings.EqualFold(name[:len(impersonatePrefix)], impersonatePrefix)
}

// RefuseImpersonation returns the error of a request with Impersonate headers; nil for
// one without. GraphQL serves callers as themselves: a caller whose headers were ignored
// would read and change with rights that they meant to put aside.
func RefuseImpersonation(header http.Header) *apierror.Error {
	for name := range header {
		if Impersonates(name) {
			return apierror.Invalid("", "GraphQL serves you as yourself and takes no Impersonate headers: send the request without them, or use kubectl --as with the instance's native API")
		}
	}
	return nil
}
