// Package truth compares what Kairship claims with what the clusters had, at each
// moment of a run in which a real fleet is changed and broken at random.
//
// Three things happen at the same time:
//
//   - Changes, in namespaces of the test's own: workloads are scaled, get other images,
//     are deployed, applied, deleted and made again; propagation policies are edited,
//     deleted and made again; override policies come, change and go (change_test.go).
//     Processes of the fleet are killed and started again (fault_test.go).
//   - Observers ask Kairship: lists with and without a filter by health, single
//     workloads with consistency tokens, a subscription, and the progress of every
//     operation (observe_test.go). They record each claim with the interval in which it
//     was made: that the request was sent, and that the answer was received.
//   - A recorder follows etcd and keeps every version of all objects concerned, of every
//     instance and every member (recorder_test.go). Etcd is the one process that no fault
//     is about, so none is lost when an API server is killed.
//
// All API servers of the fleet share that etcd. So the resource versions of objects in
// different clusters are revisions of one history, and a revision is one state of all
// clusters together. A clock samples the revision of
// etcd (clock_test.go): what a claim says about an interval of time is a claim about an
// interval of revisions.
//
// Afterwards pure functions judge each claim:
//
//   - HEALTHY with its counts (judge_test.go) is true when at some revision between the
//     answer's own `freshness.observedAt` and its arrival the template at that
//     generation was what every scheduled member ran: its object there, and the pods that
//     belong to that object. For an answer to a consistency
//     token the interval begins with the write, for an event of a subscription with the
//     generation of the template that the event shows.
//   - SUCCEEDED of an operation is true when at some revision between its writes and the
//     event, what it wrote or something newer was what every scheduled member ran.
//   - UNMANAGED is true when at some revision of the same interval no policy claimed the
//     workload: there was none, or Karmada had not labelled the template with it.
//   - `observedAt` (freshness_test.go) is never later than the end of the source or of the
//     collector while that is away, never goes back, is never later than the answer, and
//     agrees with `lag`; no object had changed by then without the answer showing it (the
//     objects of placements have an observedAt of their own); and
//     an answer that is older than the documented bound is stale.
//
// Nothing is tolerated beyond these intervals. The clock widens an interval by at most
// the time between two samples, 25 ms on an idle machine.
//
// A run is as long as KAIRSHIP_TRUTH says, and KAIRSHIP_TRUTH_SEED repeats its changes
// and faults. It fails when too few changes were made or too few claims were judged.
package truth
