package authz

import "net/http"

// ImpersonationHeader are the headers that have a Kubernetes apiserver take a
// request for one of this user: name, UID, groups and extra. The error is
// *apierror.Error with CodeForbidden for a user who can't be named in headers.
func (u User) ImpersonationHeader() (http.Header, error) { return impersonationHeader(u) }
