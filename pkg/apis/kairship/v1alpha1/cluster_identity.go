package v1alpha1

import "k8s.io/apimachinery/pkg/api/meta"

// ProvenBy reports whether an endpoint and credentials with this fingerprint have been
// seen to lead to the cluster that was registered, and to no other one since.
func (c *Cluster) ProvenBy(fingerprint string) bool {
	return c.Status.KubeSystemID != "" && c.Status.CredentialsFingerprint == fingerprint
}

// LeadsElsewhere reports whether the endpoint and the credentials were seen to lead to
// another cluster than the one that was registered.
func (c *Cluster) LeadsElsewhere() bool {
	return meta.IsStatusConditionFalse(c.Status.Conditions, ConditionIdentified)
}
