// Package manifest makes the manifests that Karmada sends to member clusters: from a template, its binding and
// the override policies. It is pure but for the metrics of Karmada's functions, and sends nothing.
//
// It follows ensureWork of Karmada's binding controller and CreateOrUpdateWork: the replicas of the cluster, the
// completions of a Job that is divided, the override policies, and last what Karmada adds and
// removes itself. Where Karmada exports a function for a step, that is called.
package manifest
