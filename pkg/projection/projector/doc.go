// Package projector computes the rows of package projection: from the objects that the
// index has, with the functions of package workload, which every other answer about a
// workload comes from too.
//
// Evaluate is the computation. Step deals with what changed, Check compares all rows with
// what Evaluate computes and repairs those that differ. A row that differs although no
// change of it is waiting was missed by a trigger, or is a fault of this package; such
// rows are counted, and there should be none.
package projector
