// Package follow has a subscription for each noun: it says which sources of pkg/live
// a filter is about, confines them to what the user may see, and makes the noun's
// events of theirs (pkg/fleet/changes).
//
// What the user may see is found out when the subscription begins, with its context,
// and for instances that come later when they do. The caller that gave the context ends it
// when the answer becomes another one.
package follow
