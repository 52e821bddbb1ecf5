// Package loaders batches the reads of one operation.
//
// GraphQL resolves fields one by one: fifty workloads ask for fifty bindings,
// each on its own. A dataloader collects what is asked for within a moment and
// reads it in one request. That alone has two weaknesses: the moment is a wait,
// and on a busy machine the fifty may not all make it into one moment. So where
// it is known beforehand what the fields of a page will ask for, it is
// prefetched: the page's resolver looks at the selection, names all keys at
// once, and the loaders' caches then hold the pending results. The wait remains
// for unforeseen cases.
//
// A set of loaders belongs to one operation. Nothing in it outlives the
// operation or is seen by another, so a row that one user may see can't reach
// another user.
package loaders
