// Package clusterimport joins the clusters of the inventory to instances, and
// takes them out again: a Physical Cluster is a member of the instance that its
// spec.instanceRef names, in Karmada's push mode, and of no other.
//
// What joining makes, each of it marked with the Cluster's name and UID:
//
//   - in the cluster, unless its own credentials are used as they are: the
//     namespace karmada-cluster, two service accounts with long-lived tokens
//     (one for Karmada, one with which Karmada impersonates people), and the
//     ClusterRole of the first with its binding;
//   - in the instance: two Secrets with the tokens and the CA in the namespace
//     karmada-cluster, and Karmada's Cluster object under the Cluster's own name.
//
// Leaving removes exactly that, in the reverse order: Karmada takes its
// workloads out of the cluster while it still can.
//
// # A step is finished by whoever comes next
//
// status.membership is written before anything is made elsewhere, and removed
// after everything is gone. It, and not the spec, says where a cluster has to
// leave from: a reconciliation compares the two and does what is missing. Every
// step looks first and may be repeated, so it does not matter which replica
// leads or where the one before it stopped. Should the status be lost, the marks
// in the instances tell where a cluster is; see roster.
//
// # Karmada's library
//
// Names, labels, roles and types are those of github.com/karmada-io/karmada, so
// that karmadactl, too, knows such a member. Its functions that do a whole join
// or unjoin are not used: they take no context, wait up to a minute inside one
// call, take over whatever has the right name, and cannot go on where somebody
// else stopped.
package clusterimport
