package roles

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Reserved reports whether a namespace of an instance is reserved for Kubernetes and
// Karmada, so that only admins of the instance may do more there than a viewer. In
// karmada-cluster are the credentials of the members, in karmada-system those of
// Karmada; karmada-es-<member> holds what is applied in a member.
func Reserved(namespace string) bool {
	return namespace == "karmada-system" || namespace == "karmada-cluster" ||
		strings.HasPrefix(namespace, "karmada-es-") || strings.HasPrefix(namespace, "kube-")
}

// EditorsName is the RoleBinding of all editors of a whole instance in a namespace of it.
// Another Kairship, and another Instance for the same control plane, have their own.
func EditorsName(globalCluster, instance string) string {
	const enough = 4
	sum := sha256.Sum256([]byte(globalCluster + "/" + instance))
	return prefix + "editors:" + hex.EncodeToString(sum[:enough])
}
