package authz

import "net/http"

// ImpersonationHeader returns the headers with which a Kubernetes API server takes a request for
// one of this user: name, UID, groups and extra. The error is *apierror.Error with CodeForbidden
// for a user that headers can't name.
func (u User) ImpersonationHeader() (http.Header, error) { return impersonationHeader(u) }
