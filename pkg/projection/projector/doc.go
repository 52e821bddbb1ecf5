// Package projector computes the rows of package projection: from the objects that the index has,
// with the functions of package workload, which also compute every other answer about a workload.
//
// Evaluate is the computation. Step processes pending changes, Check compares all rows with the
// results of Evaluate and repairs those that differ. A row that differs without a pending change
// was missed by a trigger, or shows a bug of this package; such rows are counted, and there should
// be none.
package projector
