// Package diff compares manifests field by field. Items of lists are compared by
// the key that distinguishes them, such as the name of a container.
package diff
