// Package subscription implements the subscriptions of each noun: it selects the sources in
// pkg/live that a filter matches, restricts them to what the user may see, and converts their
// events into events of the noun (pkg/fleet/changes).
//
// The user's permissions are read when the subscription begins, with its context, and again
// for instances that are added later. The caller cancels the context when the permissions
// change.
package subscription
