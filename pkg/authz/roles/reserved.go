package roles

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

var (
	reservedNames    = []string{"karmada-cluster", "karmada-system"}
	reservedPrefixes = []string{"karmada-es-", "kube-"}
)

// Reserved reports whether a namespace of an instance is reserved for Kubernetes and
// Karmada, so that only admins of the instance may do more there than a viewer. In
// karmada-cluster are the credentials of the members, in karmada-system those of
// Karmada; karmada-es-<member> holds what is applied in a member.
func Reserved(namespace string) bool {
	return slices.Contains(reservedNames, namespace) || slices.ContainsFunc(reservedPrefixes, func(prefix string) bool {
		return strings.HasPrefix(namespace, prefix)
	})
}

// ReservedPatterns returns the names of the reserved namespaces for people; * stands for
// any text.
func ReservedPatterns() []string {
	patterns := slices.Clone(reservedNames)
	for _, prefix := range reservedPrefixes {
		patterns = append(patterns, prefix+"*")
	}
	return patterns
}

// EditorsName is the RoleBinding of all editors of a whole instance in a namespace of it.
// Another Kairship, and another Instance for the same control plane, have their own.
func EditorsName(globalCluster, instance string) string {
	const enough = 4
	sum := sha256.Sum256([]byte(globalCluster + "/" + instance))
	return prefix + "editors:" + hex.EncodeToString(sum[:enough])
}
