// Package overrides limits what an override policy may change when a person with a
// role writes it. Karmada applies overrides with its own rights on the members: an
// override that may change any field turns a ConfigMap into a ClusterRoleBinding, or
// puts it into another namespace.
//
// The rule exists twice. The API server of an instance enforces the admission policy
// that Policy returns, and nothing goes around that. Check finds the same faults in Go
// and names the field of each, for error messages. Both are made from the same
// regular expressions, and one table of cases runs against both.
package overrides
