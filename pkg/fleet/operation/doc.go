// Package operation reports how far a long operation has come.
//
// Nothing is kept about operations: the ID that a mutation answers with says what
// was asked for, sealed for its user, and how far that has come is told from what
// is observed, by whichever replica is asked. So an operation can be followed at
// any time, also after every process was restarted.
//
// The files join.go, rollout.go and creation.go are pure: objects in, progress out.
package operation
