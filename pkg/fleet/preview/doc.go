// Package preview answers what a change would do before it is made: it reads what package whatif computes with,
// as the caller, and checks that the caller may make the change.
package preview
