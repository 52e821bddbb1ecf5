package policies

import (
	"encoding/json"
	"fmt"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/policy"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// Inputs hold Karmada's own specs, as the types that are read do: there is no
// conversion that could forget a field. What GraphQL says otherwise than Karmada
// (labels are a list, enums have other names, what is left out is null) is turned
// into Karmada's words while the input is read.

// CreateInput is a policy to create. Kinds without namespace leave it empty.
type CreateInput[S any] struct {
	Instance, Namespace, Name string
	Labels, Annotations       []object.Pair
	Spec                      S
	// Expect is the fingerprint of the preview that the change was decided by; nil for none.
	Expect *string
	DryRun bool
}

// UpdateInput is a change of a policy. Labels, annotations and spec are replaced as
// a whole where they are given, and left where they are nil.
type UpdateInput[S any] struct {
	Instance, Namespace, Name string
	// ResourceVersion is the version that the change is based on.
	ResourceVersion     string
	Labels, Annotations []object.Pair
	Spec                *S
	// Sent is the input spec as it was sent, which distinguishes a field that is null from one that
	// is omitted.
	Sent any
	// Expect is the fingerprint of the preview that the change was decided by; nil for none.
	Expect *string
	DryRun bool
}

// DeleteInput is a policy to delete.
type DeleteInput struct {
	Instance, Namespace, Name string
	// ResourceVersion of the policy to delete; nil for any.
	ResourceVersion *string
	// AllowInUse deletes it even when something uses it.
	AllowInUse bool
	// Expect is the fingerprint of the preview that the deletion was decided by; nil for none.
	Expect *string
	DryRun bool
}

type (
	// CreatePropagationPolicyInput is a PropagationPolicy to create.
	CreatePropagationPolicyInput = CreateInput[policyv1alpha1.PropagationSpec]
	// CreateClusterPropagationPolicyInput is a ClusterPropagationPolicy to create.
	CreateClusterPropagationPolicyInput = CreateInput[policyv1alpha1.PropagationSpec]
	// CreateOverridePolicyInput is an OverridePolicy to create.
	CreateOverridePolicyInput = CreateInput[policyv1alpha1.OverrideSpec]
	// CreateClusterOverridePolicyInput is a ClusterOverridePolicy to create.
	CreateClusterOverridePolicyInput = CreateInput[policyv1alpha1.OverrideSpec]
	// UpdatePropagationPolicyInput is a change of a PropagationPolicy.
	UpdatePropagationPolicyInput = UpdateInput[policyv1alpha1.PropagationSpec]
	// UpdateClusterPropagationPolicyInput is a change of a ClusterPropagationPolicy.
	UpdateClusterPropagationPolicyInput = UpdateInput[policyv1alpha1.PropagationSpec]
	// UpdateOverridePolicyInput is a change of an OverridePolicy.
	UpdateOverridePolicyInput = UpdateInput[policyv1alpha1.OverrideSpec]
	// UpdateClusterOverridePolicyInput is a change of a ClusterOverridePolicy.
	UpdateClusterOverridePolicyInput = UpdateInput[policyv1alpha1.OverrideSpec]
	// DeletePropagationPolicyInput is a PropagationPolicy to delete.
	DeletePropagationPolicyInput = DeleteInput
	// DeleteClusterPropagationPolicyInput is a ClusterPropagationPolicy to delete.
	DeleteClusterPropagationPolicyInput = DeleteInput
	// DeleteOverridePolicyInput is an OverridePolicy to delete.
	DeleteOverridePolicyInput = DeleteInput
	// DeleteClusterOverridePolicyInput is a ClusterOverridePolicy to delete.
	DeleteClusterOverridePolicyInput = DeleteInput
)

// Written is a policy that was created or changed.
type Written[T any] struct {
	// Policy is what the instance stored, or would have stored in a dry run.
	Policy *T
	// Warnings are what the change does and its author may not mean.
	Warnings []write.Warning
	// ConsistencyToken names the version that was written; nil for a dry run.
	ConsistencyToken *string
}

// Deleted is a policy that was deleted.
type Deleted[T any] struct {
	// Policy is what is left of it while Karmada cleans up; nil when it no longer exists.
	Policy *T
	// UsedBy are the objects that used it.
	UsedBy *Use
	// ConsistencyToken names the deletion; nil for a dry run.
	ConsistencyToken *string
}

type (
	// CreatedPropagationPolicy is a PropagationPolicy that was created.
	CreatedPropagationPolicy = Written[policy.PropagationPolicy]
	// CreatedClusterPropagationPolicy is a ClusterPropagationPolicy that was created.
	CreatedClusterPropagationPolicy = Written[policy.ClusterPropagationPolicy]
	// CreatedOverridePolicy is an OverridePolicy that was created.
	CreatedOverridePolicy = Written[policy.OverridePolicy]
	// CreatedClusterOverridePolicy is a ClusterOverridePolicy that was created.
	CreatedClusterOverridePolicy = Written[policy.ClusterOverridePolicy]
	// UpdatedPropagationPolicy is a PropagationPolicy that was changed.
	UpdatedPropagationPolicy = Written[policy.PropagationPolicy]
	// UpdatedClusterPropagationPolicy is a ClusterPropagationPolicy that was changed.
	UpdatedClusterPropagationPolicy = Written[policy.ClusterPropagationPolicy]
	// UpdatedOverridePolicy is an OverridePolicy that was changed.
	UpdatedOverridePolicy = Written[policy.OverridePolicy]
	// UpdatedClusterOverridePolicy is a ClusterOverridePolicy that was changed.
	UpdatedClusterOverridePolicy = Written[policy.ClusterOverridePolicy]
	// DeletedPropagationPolicy is a PropagationPolicy that was deleted.
	DeletedPropagationPolicy = Deleted[policy.PropagationPolicy]
	// DeletedClusterPropagationPolicy is a ClusterPropagationPolicy that was deleted.
	DeletedClusterPropagationPolicy = Deleted[policy.ClusterPropagationPolicy]
	// DeletedOverridePolicy is an OverridePolicy that was deleted.
	DeletedOverridePolicy = Deleted[policy.OverridePolicy]
	// DeletedClusterOverridePolicy is a ClusterOverridePolicy that was deleted.
	DeletedClusterOverridePolicy = Deleted[policy.ClusterOverridePolicy]
)

// Canonical returns a spec as Kubernetes stores it: fields that Karmada's types omit when empty are
// omitted, so that an empty list and none are the same. Null and empty stay distinct where Karmada
// distinguishes them, in objects.
func Canonical[S any](spec S) (S, error) {
	var out S
	raw, err := json.Marshal(spec)
	if err != nil {
		return out, fmt.Errorf("encoding a spec: %w", err)
	}
	return out, json.Unmarshal(raw, &out)
}
