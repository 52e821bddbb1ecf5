// Package overrides limits what an override policy may change when a user with a role writes it.
// Karmada applies overrides with its own permissions on the members: an override that may change
// any field could make a ConfigMap a ClusterRoleBinding, or put it into another namespace.
//
// The rule exists twice. The API server of an instance enforces the admission policy that Policy
// returns, which no client can bypass. Check finds the same violations in Go and names the field of
// each, for error messages. Both are made from the same regular expressions, and one table of cases
// runs against both.
package overrides
