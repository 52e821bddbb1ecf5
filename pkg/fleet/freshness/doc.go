// Package freshness computes the age of answers: the time up to which they are complete.
//
// Freshness.ObservedAt is a promise: whatever happened up to that moment is in the
// answer. It is never later than what was proven, and it never goes back.
//
// # What proves it
//
// The index answers with what it collected last, whatever happened since. Its
// collector asks every cluster every 5 to 7.5 seconds whether it is well, and writes
// into the PediaCluster only when that changed. So there is no message for a look that
// went well. It follows from two facts: the collector lived, which the renewals of its
// Lease prove, and it had written nothing bad by then. The look before may have been up
// to lookGap earlier, and that is up to where an answer of the index is proven.
//
// Both facts are watched in the global cluster. What is watched there is proven up to
// the last time that the global cluster answered while all watches were open, less
// delivery.
//
// A collection that was interrupted proves nothing until every kind of object is
// followed again.
//
// # The bounds
//
// While all is well, lag is delivery + proofInterval (5 s) for what is watched in the
// global cluster, and lookGap more (20 s) for what is read from the index. An answer is
// stale as soon as it is known that something fails, and at the latest when its lag
// exceeds StaleAfter.
package freshness
