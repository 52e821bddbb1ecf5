// Package projection keeps tables of Kairship's own in the database of the index: one
// row for each workload with its state, and for each pod of a member cluster, so that a
// list can be filtered, ordered and counted with plain SQL. It is the only code that knows
// these tables.
//
// # How a row is kept true
//
// Clusterpedia writes each object that it collects into its table resources. Triggers on
// that table append the name of each object that changed to the table outbox, in the
// same transaction. A projector (package projector) takes names from the outbox, reads
// the objects that the states of the workloads concerned are computed from, computes the
// states with the functions of package workload, and stores the rows.
//
// Taking and storing is one Round: it reads a snapshot, and stores the results of that together
// with the removal of the names that were taken. On PostgreSQL it is one transaction, on SQLite a
// transaction that reads and a short one that writes, so that the collector never waits for a
// computation. Two projectors cannot do a Round from the same snapshot, and one that dies leaves
// nothing behind. A change that is committed during a Round has a name in the outbox that the Round
// did not see.
//
// # Pods
//
// The row of a pod follows from one object, and from the instance that its cluster is joined to.
// Pods have triggers, an outbox and a state of their own (meta.pods): workloads are taken first and
// are read while pods are built, and a release that does not know pods leaves their outbox alone, so
// that none is lost when a later release comes back. The comparison looks at the versions of pods,
// because equal versions have equal rows.
//
// # What triggers may do
//
// An error of a trigger would make Clusterpedia drop the object until its next change.
// So the triggers only append, to a table that has no constraint, and on PostgreSQL an
// append that fails is a warning in the database's log. The comparison in package
// projector finds and repairs what was missed.
package projection
