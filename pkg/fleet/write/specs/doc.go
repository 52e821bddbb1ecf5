// Package specs creates, changes and deletes objects whose spec has a type, as the caller and in the instance itself.
// The packages of the kinds say which kinds those are.
package specs
