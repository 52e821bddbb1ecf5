// Package cost computes the cost of an operation before anything is read for it.
//
// The unit is a value of the answer: a field costs 1 for each object that it is selected on. The
// number of objects of a list is its argument `first` or the default of that, or, for lists without
// pages, the usual number in a large fleet. A field that costs the server more than a value of the
// answer has a Price: an upstream request costs RequestCost, once for each place in the operation
// and not for each object, because the loaders batch the reads of all objects.
//
// A Bill is made in time linear in the document: the cost of a fragment is computed once, however
// often it is spread.
package cost
