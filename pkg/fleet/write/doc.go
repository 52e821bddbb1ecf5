// Package write changes objects in instances.
//
// Site takes the steps of every write: the caller must see the instance and have the permission
// there; then the request goes to the instance as that user, whose own RBAC and admission decide
// again. The result is the object as the instance stored it, or an error about the inputs of the
// mutation, and the version for the consistency token.
//
// The packages below it convert the input of a mutation into such writes.
package write
