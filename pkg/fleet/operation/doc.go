// Package operation reports the progress of long operations.
//
// No state is kept for operations: the ID that a mutation returns holds the request, encrypted for
// its user, and any replica computes the progress from what it observes. So an operation can be
// followed at any time, also after every process was restarted.
//
// The files join.go, rollout.go and creation.go are pure: objects in, progress out.
package operation
