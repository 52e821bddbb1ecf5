// Package cost says what an operation costs before anything is read for it.
//
// The unit is a value of the answer: a field costs 1 for each object that it is
// selected on. How many objects a list has is its argument `first`, or what it has
// unless told, or, for lists that cannot be paged, what is usual in a large fleet.
// What costs the server more than a value of the answer has a Price: a request
// upstream costs RequestCost, once for each place in the operation and not for each
// object, because the loaders read all objects' share together.
//
// A Bill is made in time linear in the document: what a fragment costs is found out
// once, however often it is spread.
package cost
