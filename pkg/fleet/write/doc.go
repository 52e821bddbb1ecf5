// Package write changes what is in instances.
//
// Every write takes the same steps, and Site is where they are taken: the caller
// must see the instance, be permitted to do this there, and then the request goes
// to the instance as that person, whose own RBAC and admission judge it again.
// What comes back is the object as the instance stored it, or an error about the
// inputs of the mutation, and the version for the consistency token.
//
// The packages below it turn the input of a mutation into such writes.
package write
