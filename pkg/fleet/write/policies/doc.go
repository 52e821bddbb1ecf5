// Package policies creates, changes and deletes policies, as the caller and in the instance itself.
// Before a policy is deleted, what uses it is read there too.
package policies
