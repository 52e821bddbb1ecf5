// Package activity answers queries about who changed what through Kairship, and what became of it, from the table that the
// API servers write beside the history. It is no library for other modules.
package activity
