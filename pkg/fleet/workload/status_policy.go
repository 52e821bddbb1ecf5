package workload

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
)

// The annotations under which Karmada records, on a Work, the override
// policies that changed its manifests. Karmada declares them in a package that
// pulls in its whole client tree.
const (
	appliedOverridesAnnotation        = "policy.karmada.io/applied-overrides"
	appliedClusterOverridesAnnotation = "policy.karmada.io/applied-cluster-overrides"
)

// PolicyRef names the propagation policy that claimed a template.
type PolicyRef struct {
	// Namespace of the PropagationPolicy; empty for a ClusterPropagationPolicy.
	Namespace string
	// Name of the policy.
	Name string
	// PermanentID is Karmada's identifier of the policy, which outlives a
	// backup and restore; it is what the claimed objects are labelled with.
	PermanentID string
}

// ClusterScoped reports whether the policy is a ClusterPropagationPolicy.
func (r PolicyRef) ClusterScoped() bool { return r.Namespace == "" }

// PolicyRefOf returns the policy that claimed the object, from the annotations that Karmada writes
// on the template (and copies to its ResourceBinding). It is nil when none did. The policy may have
// been deleted: Karmada removes the claim when it sees the deletion. A PropagationPolicy wins over
// a ClusterPropagationPolicy when both are written, as it does in Karmada while one takes over from
// the other.
func PolicyRefOf(meta metav1.Object) *PolicyRef {
	annotations, labels := meta.GetAnnotations(), meta.GetLabels()
	if name := annotations[policyv1alpha1.PropagationPolicyNameAnnotation]; name != "" {
		if namespace := annotations[policyv1alpha1.PropagationPolicyNamespaceAnnotation]; namespace != "" {
			return &PolicyRef{
				Namespace:   namespace,
				Name:        name,
				PermanentID: labels[policyv1alpha1.PropagationPolicyPermanentIDLabel],
			}
		}
	}
	if name := annotations[policyv1alpha1.ClusterPropagationPolicyAnnotation]; name != "" {
		return &PolicyRef{Name: name, PermanentID: labels[policyv1alpha1.ClusterPropagationPolicyPermanentIDLabel]}
	}
	return nil
}

// AppliedOverride is one override policy's effect on the manifest of one member cluster, as it was
// when Karmada last wrote the Work. The policy may have been changed or deleted since.
type AppliedOverride struct {
	// ClusterScoped is true for a ClusterOverridePolicy. A namespaced
	// OverridePolicy is in the workload's own namespace.
	ClusterScoped bool
	// PolicyName is the policy's name.
	PolicyName string
	// Overriders are the changes that it made.
	Overriders policyv1alpha1.Overriders
}

// appliedOverrides reads which override policies changed a Work's manifests,
// from the Work's annotations, cluster-scoped before namespaced, each by policy
// name, which need not be the order in which they were applied. An annotation that
// cannot be read is an error that names it; the overrides of the other one are
// still returned.
func appliedOverrides(workAnnotations map[string]string) ([]AppliedOverride, error) {
	cluster, errCluster := appliedIn(workAnnotations, appliedClusterOverridesAnnotation, true)
	namespaced, errNamespaced := appliedIn(workAnnotations, appliedOverridesAnnotation, false)
	out := append(cluster, namespaced...) //nolint:gocritic // The first list is of this call alone.
	if errCluster != nil {
		return out, errCluster
	}
	return out, errNamespaced
}

func appliedIn(annotations map[string]string, key string, clusterScoped bool) ([]AppliedOverride, error) {
	raw := annotations[key]
	if raw == "" {
		return nil, nil
	}
	var items []struct {
		PolicyName string                    `json:"policyName"`
		Overriders policyv1alpha1.Overriders `json:"overriders"`
	}
	if err := json.Unmarshal([]byte(raw), &items); err != nil {
		return nil, fmt.Errorf("annotation %s of the Work is not the list that Karmada writes: %w", key, err)
	}
	out := make([]AppliedOverride, 0, len(items))
	for _, item := range items {
		out = append(out, AppliedOverride{
			ClusterScoped: clusterScoped,
			PolicyName:    item.PolicyName,
			Overriders:    item.Overriders,
		})
	}
	return out, nil
}
