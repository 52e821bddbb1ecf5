// Package explanation says where the propagation of a workload stands, and why.
//
// It is a pure function over observed objects: it reads nothing and has no clock. What Karmada
// decided is taken from what Karmada recorded; why it decided so is found out with Karmada's own
// functions (the scheduler's filter plugins, the matching of selectors and affinities), and with a few
// rules of its detector that it does not export. The words are those of the workload's healthMessage
// wherever that has some, so that both always say the same.
package explanation
