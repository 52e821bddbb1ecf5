// Command bench measures Kairship against a running fleet.
//
// Every figure is a ratio to the raw component in the same run: the same
// question is asked through GraphQL and by a good REST client that speaks to the
// index itself, in turns, so that a machine that slows down slows both. Absolute
// figures say something about the machine, ratios something about Kairship.
//
// Both sides get the same pages in the same order, use as many clients, and
// decode what they get into Go types. Before anything is measured, both must
// give the same answer.
package main
