// Package conformance holds pkg/authz against a real kube-apiserver: every
// decision that is read from a user's rules must be the one that the API server
// gives when it is asked about that decision alone.
package conformance
