package policies

import (
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/pkg/fleet/policy"
	"github.com/kairship-io/kairship/pkg/fleet/write/specs"
)

type (
	// CreatePropagationPolicyInput is a PropagationPolicy to create.
	CreatePropagationPolicyInput = specs.CreateInput[policyv1alpha1.PropagationSpec]
	// CreateClusterPropagationPolicyInput is a ClusterPropagationPolicy to create.
	CreateClusterPropagationPolicyInput = specs.CreateInput[policyv1alpha1.PropagationSpec]
	// CreateOverridePolicyInput is an OverridePolicy to create.
	CreateOverridePolicyInput = specs.CreateInput[policyv1alpha1.OverrideSpec]
	// CreateClusterOverridePolicyInput is a ClusterOverridePolicy to create.
	CreateClusterOverridePolicyInput = specs.CreateInput[policyv1alpha1.OverrideSpec]
	// UpdatePropagationPolicyInput is a change of a PropagationPolicy.
	UpdatePropagationPolicyInput = specs.UpdateInput[policyv1alpha1.PropagationSpec]
	// UpdateClusterPropagationPolicyInput is a change of a ClusterPropagationPolicy.
	UpdateClusterPropagationPolicyInput = specs.UpdateInput[policyv1alpha1.PropagationSpec]
	// UpdateOverridePolicyInput is a change of an OverridePolicy.
	UpdateOverridePolicyInput = specs.UpdateInput[policyv1alpha1.OverrideSpec]
	// UpdateClusterOverridePolicyInput is a change of a ClusterOverridePolicy.
	UpdateClusterOverridePolicyInput = specs.UpdateInput[policyv1alpha1.OverrideSpec]
	// DeletePropagationPolicyInput is a PropagationPolicy to delete.
	DeletePropagationPolicyInput = specs.DeleteInput
	// DeleteClusterPropagationPolicyInput is a ClusterPropagationPolicy to delete.
	DeleteClusterPropagationPolicyInput = specs.DeleteInput
	// DeleteOverridePolicyInput is an OverridePolicy to delete.
	DeleteOverridePolicyInput = specs.DeleteInput
	// DeleteClusterOverridePolicyInput is a ClusterOverridePolicy to delete.
	DeleteClusterOverridePolicyInput = specs.DeleteInput
)

type (
	// CreatedPropagationPolicy is a PropagationPolicy that was created.
	CreatedPropagationPolicy = specs.Written[policy.PropagationPolicy]
	// CreatedClusterPropagationPolicy is a ClusterPropagationPolicy that was created.
	CreatedClusterPropagationPolicy = specs.Written[policy.ClusterPropagationPolicy]
	// CreatedOverridePolicy is an OverridePolicy that was created.
	CreatedOverridePolicy = specs.Written[policy.OverridePolicy]
	// CreatedClusterOverridePolicy is a ClusterOverridePolicy that was created.
	CreatedClusterOverridePolicy = specs.Written[policy.ClusterOverridePolicy]
	// UpdatedPropagationPolicy is a PropagationPolicy that was changed.
	UpdatedPropagationPolicy = specs.Written[policy.PropagationPolicy]
	// UpdatedClusterPropagationPolicy is a ClusterPropagationPolicy that was changed.
	UpdatedClusterPropagationPolicy = specs.Written[policy.ClusterPropagationPolicy]
	// UpdatedOverridePolicy is an OverridePolicy that was changed.
	UpdatedOverridePolicy = specs.Written[policy.OverridePolicy]
	// UpdatedClusterOverridePolicy is a ClusterOverridePolicy that was changed.
	UpdatedClusterOverridePolicy = specs.Written[policy.ClusterOverridePolicy]
	// DeletedPropagationPolicy is a PropagationPolicy that was deleted.
	DeletedPropagationPolicy = specs.Deleted[policy.PropagationPolicy]
	// DeletedClusterPropagationPolicy is a ClusterPropagationPolicy that was deleted.
	DeletedClusterPropagationPolicy = specs.Deleted[policy.ClusterPropagationPolicy]
	// DeletedOverridePolicy is an OverridePolicy that was deleted.
	DeletedOverridePolicy = specs.Deleted[policy.OverridePolicy]
	// DeletedClusterOverridePolicy is a ClusterOverridePolicy that was deleted.
	DeletedClusterOverridePolicy = specs.Deleted[policy.ClusterOverridePolicy]
)
