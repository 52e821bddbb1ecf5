// Package authz authenticates callers and decides what they may do.
//
// Both answers are the global cluster's: a bearer token is checked by a
// TokenReview, permissions are its RBAC. They are cached for seconds, so that a
// burst of requests of one person costs one review, and so that a revoked token
// or role stops working within seconds.
//
// A review that did not happen decides nothing. When the global cluster does
// not answer, callers get CodeTimeout and may try again; they never get
// CodeUnauthenticated or CodeForbidden for a review that failed.
//
// # What rules say about instances
//
// Permissions are rules about virtual resources of group kairship.io, under
// which nothing is stored. Rules may name what they are about (resourceNames);
// those that name nothing are about all instances. Wildcards mean what they mean
// to RBAC, no more.
//
//	resource              verbs                           named       permits
//	instances             get                             alpha       to know of the instance: its name, state and versions
//	instances/management  create, update, delete          alpha       to have Kairship make, change and delete the Instance
//	instances/resources   get, list, watch                alpha       to read everything in it
//	instances/resources   create, update, patch, delete   alpha       to write everything in it
//	instances/namespaces  as instances/resources          alpha:shop  to read or write what is in one namespace
//	instances/secrets     get                             either      to read the values of Secrets, where the Secrets may be read
//	instances/proxy       get, create, update, patch,     alpha       to send such requests through the native passthrough
//	                      delete
//	instances/access      the same                        alpha       to manage who has which role
//
// Nothing is permitted in an instance without get on the instance itself.
//
// # From rules to decisions
//
// One SelfSubjectRulesReview, sent as the user, returns all rules at once. A Resolver converts it
// into a Visibility, which has a Grant for each instance, and every further decision is looked up
// there: a list of a thousand instances costs one review. Where the global cluster has an
// authorizer that can't list its rules, the review reports it (status.incomplete) and the Resolver
// sends a review for each instance instead.
package authz
