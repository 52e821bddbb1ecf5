// Package clusterimport joins the clusters of the inventory to instances, and removes them again: a
// Physical Cluster is a member of the instance that its spec.instanceRef names, in Karmada's push
// mode, and of no other.
//
// A join creates these objects, with the Cluster's name and UID in their owner labels:
//
//   - in the cluster, unless its own credentials are used as they are: the
//     namespace karmada-cluster, two service accounts with long-lived tokens
//     (one for Karmada, one with which Karmada impersonates people), and the
//     ClusterRole of the first with its binding;
//   - in the instance: two Secrets with the tokens and the CA in the namespace
//     karmada-cluster, and Karmada's Cluster object under the Cluster's own name.
//
// The removal deletes exactly these, in the reverse order: Karmada removes its workloads from the
// cluster while it still can.
//
// # A step is finished by the next attempt
//
// status.membership is written before any object is created elsewhere, and removed after all of
// them are deleted. It, and not the spec, determines the instance that a cluster has to be removed
// from: a reconciliation compares the two and takes the missing steps. Every step reads first and
// may be repeated, so it does not matter which replica leads or where its predecessor stopped. If
// the status is lost, the owner labels in the instances show where a cluster is (memberCache).
//
// # Two leaders, stale caches and frozen processes
//
// A process may be frozen between any two requests, and go on while another one leads.
// The steps of a join are in two API servers, which have no transaction in common. Four
// rules keep a cluster from being a member twice:
//
//  1. The record changes from one membership to another only through none. Each change
//     is made on the condition that what is stored is what was read. A membership has a
//     UID, so an equal record of a later one is not taken for it.
//  2. Every write to an instance or a member has three parts: the object is read, then
//     the record from the API server (verify), and then the object is changed or
//     deleted on the condition that it is as it was read. An object that a later
//     membership uses has changed, because it carries that one's UID: the late write is
//     refused. At most one write can come late, since the next verify fails.
//  3. A creation cannot have a condition. So Karmada's object is created without its
//     Secrets, and Karmada leaves such a member alone (reserve). Its UID is recorded.
//     Only then the Secrets are named in it, by a change (admit). Once leaving is
//     recorded no other object can be, and it deletes the one that is: a late admit is
//     refused, and an object that was not recorded is never admitted.
//  4. A member is claimed for one Cluster first, and looked for among the others then:
//     of two Clusters for the same cluster at least one sees the other, and yields.
//
// A late creation remains possible: a reserved object, or a Secret with a token, which the removal
// has revoked if it was made for the member. The periodic look at an instance deletes both
// (stale.go). In the member it is one object of several that are useless alone; the next join takes
// it over.
//
// # Karmada's library
//
// Names, labels, roles and types are those of github.com/karmada-io/karmada, so
// that karmadactl, too, knows such a member. Its functions that do a whole join
// or unjoin are not used: they take no context, wait up to a minute inside one
// call, take over whatever has the right name, and cannot go on where another stopped.
package clusterimport
