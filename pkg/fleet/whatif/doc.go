// Package whatif computes what Karmada would do after a change that has not been made: of a propagation
// policy, or of the member clusters.
//
// It is a pure function over observed objects: it reads nothing, has no clock and starts no goroutine.
// Karmada's own functions match, filter, score, select and assign; the few rules that it does not
// export are written here, each with the name of the function that it follows. What Karmada's
// functions write to is copied first.
//
// It computes the state in which Karmada comes to rest when nothing else changes. What the observed
// objects do not tell, such as the flags of Karmada's components, is an assumption, and is listed in
// the report.
package whatif
