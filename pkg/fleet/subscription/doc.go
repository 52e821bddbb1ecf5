// Package subscription has the subscriptions of each noun: it chooses the sources in pkg/live
// that a filter selects, restricts them to what the user may see, and turns their events into
// events of the noun (pkg/fleet/changes).
//
// The user's permissions are read when the subscription begins, with its context, and again
// for instances that are added later. The caller cancels the context when the permissions
// change.
package subscription
