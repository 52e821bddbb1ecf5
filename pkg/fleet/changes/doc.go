// Package changes turns what pkg/live reports about the objects of instances into the
// events of the API: what may be seen of them, in the words of the API's types, and
// only where it makes a difference to what a subscriber selected.
package changes
