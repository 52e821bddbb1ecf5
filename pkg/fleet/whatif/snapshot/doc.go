// Package snapshot gives the objects of an instance, read at one time, to code of
// Karmada that asks for a client. It sends nothing. It is no library for other
// modules.
package snapshot
