// Package authz decides who a caller is and what they may do.
//
// Both answers are the global cluster's: a bearer token is checked by a
// TokenReview, a permission by a SubjectAccessReview. They are cached for
// seconds, so that a burst of requests of one person costs one review, and so
// that a revoked token or role stops working within seconds.
//
// A review that did not happen decides nothing. When the global cluster does
// not answer, callers get CodeTimeout and may try again; they never get
// CodeUnauthenticated or CodeForbidden for a question that nobody answered.
package authz
