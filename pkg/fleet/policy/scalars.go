package policy

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/99designs/gqlgen/graphql"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/pkg/fleet/enum"
)

var (
	activationPreference = enum.New("ActivationPreference", map[policyv1alpha1.ActivationPreference]string{
		policyv1alpha1.LazyActivation: "LAZY",
	})
	conflictResolution = enum.New("ConflictResolution", map[policyv1alpha1.ConflictResolution]string{
		policyv1alpha1.ConflictOverwrite: "OVERWRITE",
		policyv1alpha1.ConflictAbort:     "ABORT",
	})
	dynamicWeightFactor = enum.New("DynamicWeightFactor", map[policyv1alpha1.DynamicWeightFactor]string{
		policyv1alpha1.DynamicWeightByAvailableReplicas: "AVAILABLE_REPLICAS",
	})
	fieldSelectorOperator = enum.New("FieldSelectorOperator", map[corev1.NodeSelectorOperator]string{
		corev1.NodeSelectorOpIn:           "IN",
		corev1.NodeSelectorOpNotIn:        "NOT_IN",
		corev1.NodeSelectorOpExists:       "EXISTS",
		corev1.NodeSelectorOpDoesNotExist: "DOES_NOT_EXIST",
		corev1.NodeSelectorOpGt:           "GT",
		corev1.NodeSelectorOpLt:           "LT",
	})
	imageComponent = enum.New("ImageComponent", map[policyv1alpha1.ImageComponent]string{
		policyv1alpha1.Registry:   "REGISTRY",
		policyv1alpha1.Repository: "REPOSITORY",
		policyv1alpha1.Tag:        "TAG",
	})
	labelSelectorOperator = enum.New("LabelSelectorOperator", map[metav1.LabelSelectorOperator]string{
		metav1.LabelSelectorOpIn:           "IN",
		metav1.LabelSelectorOpNotIn:        "NOT_IN",
		metav1.LabelSelectorOpExists:       "EXISTS",
		metav1.LabelSelectorOpDoesNotExist: "DOES_NOT_EXIST",
	})
	overriderOperator = enum.New("OverriderOperator", map[policyv1alpha1.OverriderOperator]string{
		policyv1alpha1.OverriderOpAdd:     "ADD",
		policyv1alpha1.OverriderOpRemove:  "REMOVE",
		policyv1alpha1.OverriderOpReplace: "REPLACE",
	})
	preemptionBehavior = enum.New("PreemptionBehavior", map[policyv1alpha1.PreemptionBehavior]string{
		policyv1alpha1.PreemptAlways: "ALWAYS",
		policyv1alpha1.PreemptNever:  "NEVER",
	})
	priorityClassSource = enum.New("PriorityClassSource", map[policyv1alpha1.PriorityClassSource]string{
		policyv1alpha1.FederatedPriorityClass: "FEDERATED_PRIORITY_CLASS",
		policyv1alpha1.KubePriorityClass:      "KUBE_PRIORITY_CLASS",
		policyv1alpha1.PodPriorityClass:       "POD_PRIORITY_CLASS",
	})
	// Karmada deprecated two of the modes and goes on accepting them, so they are read too.
	purgeMode = enum.New("PurgeMode", map[policyv1alpha1.PurgeMode]string{
		policyv1alpha1.Immediately:         "IMMEDIATELY", //nolint:staticcheck // deprecated, and still in use
		policyv1alpha1.Graciously:          "GRACIOUSLY",  //nolint:staticcheck // deprecated, and still in use
		policyv1alpha1.Never:               "NEVER",
		policyv1alpha1.PurgeModeDirectly:   "DIRECTLY",
		policyv1alpha1.PurgeModeGracefully: "GRACEFULLY",
	})
	replicaDivisionPreference = enum.New("ReplicaDivisionPreference", map[policyv1alpha1.ReplicaDivisionPreference]string{
		policyv1alpha1.ReplicaDivisionPreferenceAggregated: "AGGREGATED",
		policyv1alpha1.ReplicaDivisionPreferenceWeighted:   "WEIGHTED",
	})
	replicaSchedulingType = enum.New("ReplicaSchedulingType", map[policyv1alpha1.ReplicaSchedulingType]string{
		policyv1alpha1.ReplicaSchedulingTypeDuplicated: "DUPLICATED",
		policyv1alpha1.ReplicaSchedulingTypeDivided:    "DIVIDED",
	})
	spreadField = enum.New("SpreadField", map[policyv1alpha1.SpreadFieldValue]string{
		policyv1alpha1.SpreadByFieldCluster:  "CLUSTER",
		policyv1alpha1.SpreadByFieldRegion:   "REGION",
		policyv1alpha1.SpreadByFieldZone:     "ZONE",
		policyv1alpha1.SpreadByFieldProvider: "PROVIDER",
	})
	taintEffect = enum.New("TaintEffect", map[corev1.TaintEffect]string{
		corev1.TaintEffectNoSchedule:       "NO_SCHEDULE",
		corev1.TaintEffectPreferNoSchedule: "PREFER_NO_SCHEDULE",
		corev1.TaintEffectNoExecute:        "NO_EXECUTE",
	})
	tolerationOperator = enum.New("TolerationOperator", map[corev1.TolerationOperator]string{
		corev1.TolerationOpExists: "EXISTS",
		corev1.TolerationOpEqual:  "EQUAL",
		corev1.TolerationOpLt:     "LT",
		corev1.TolerationOpGt:     "GT",
	})
)

// The generator finds these pairs by the names of the enums; each is one line of delegation.

// MarshalActivationPreference writes the enum ActivationPreference.
func MarshalActivationPreference(v policyv1alpha1.ActivationPreference) graphql.Marshaler {
	return activationPreference.Marshal(v)
}

// UnmarshalActivationPreference reads the enum ActivationPreference.
func UnmarshalActivationPreference(v any) (policyv1alpha1.ActivationPreference, error) {
	return activationPreference.Unmarshal(v)
}

// MarshalConflictResolution writes the enum ConflictResolution.
func MarshalConflictResolution(v policyv1alpha1.ConflictResolution) graphql.Marshaler {
	return conflictResolution.Marshal(v)
}

// UnmarshalConflictResolution reads the enum ConflictResolution.
func UnmarshalConflictResolution(v any) (policyv1alpha1.ConflictResolution, error) {
	return conflictResolution.Unmarshal(v)
}

// MarshalDynamicWeightFactor writes the enum DynamicWeightFactor.
func MarshalDynamicWeightFactor(v policyv1alpha1.DynamicWeightFactor) graphql.Marshaler {
	return dynamicWeightFactor.Marshal(v)
}

// UnmarshalDynamicWeightFactor reads the enum DynamicWeightFactor.
func UnmarshalDynamicWeightFactor(v any) (policyv1alpha1.DynamicWeightFactor, error) {
	return dynamicWeightFactor.Unmarshal(v)
}

// MarshalFieldSelectorOperator writes the enum FieldSelectorOperator.
func MarshalFieldSelectorOperator(v corev1.NodeSelectorOperator) graphql.Marshaler {
	return fieldSelectorOperator.Marshal(v)
}

// UnmarshalFieldSelectorOperator reads the enum FieldSelectorOperator.
func UnmarshalFieldSelectorOperator(v any) (corev1.NodeSelectorOperator, error) {
	return fieldSelectorOperator.Unmarshal(v)
}

// MarshalImageComponent writes the enum ImageComponent.
func MarshalImageComponent(v policyv1alpha1.ImageComponent) graphql.Marshaler {
	return imageComponent.Marshal(v)
}

// UnmarshalImageComponent reads the enum ImageComponent.
func UnmarshalImageComponent(v any) (policyv1alpha1.ImageComponent, error) {
	return imageComponent.Unmarshal(v)
}

// MarshalLabelSelectorOperator writes the enum LabelSelectorOperator.
func MarshalLabelSelectorOperator(v metav1.LabelSelectorOperator) graphql.Marshaler {
	return labelSelectorOperator.Marshal(v)
}

// UnmarshalLabelSelectorOperator reads the enum LabelSelectorOperator.
func UnmarshalLabelSelectorOperator(v any) (metav1.LabelSelectorOperator, error) {
	return labelSelectorOperator.Unmarshal(v)
}

// MarshalOverriderOperator writes the enum OverriderOperator.
func MarshalOverriderOperator(v policyv1alpha1.OverriderOperator) graphql.Marshaler {
	return overriderOperator.Marshal(v)
}

// UnmarshalOverriderOperator reads the enum OverriderOperator.
func UnmarshalOverriderOperator(v any) (policyv1alpha1.OverriderOperator, error) {
	return overriderOperator.Unmarshal(v)
}

// MarshalPreemptionBehavior writes the enum PreemptionBehavior.
func MarshalPreemptionBehavior(v policyv1alpha1.PreemptionBehavior) graphql.Marshaler {
	return preemptionBehavior.Marshal(v)
}

// UnmarshalPreemptionBehavior reads the enum PreemptionBehavior.
func UnmarshalPreemptionBehavior(v any) (policyv1alpha1.PreemptionBehavior, error) {
	return preemptionBehavior.Unmarshal(v)
}

// MarshalPriorityClassSource writes the enum PriorityClassSource.
func MarshalPriorityClassSource(v policyv1alpha1.PriorityClassSource) graphql.Marshaler {
	return priorityClassSource.Marshal(v)
}

// UnmarshalPriorityClassSource reads the enum PriorityClassSource.
func UnmarshalPriorityClassSource(v any) (policyv1alpha1.PriorityClassSource, error) {
	return priorityClassSource.Unmarshal(v)
}

// MarshalPurgeMode writes the enum PurgeMode.
func MarshalPurgeMode(v policyv1alpha1.PurgeMode) graphql.Marshaler {
	return purgeMode.Marshal(v)
}

// UnmarshalPurgeMode reads the enum PurgeMode.
func UnmarshalPurgeMode(v any) (policyv1alpha1.PurgeMode, error) {
	return purgeMode.Unmarshal(v)
}

// MarshalReplicaDivisionPreference writes the enum ReplicaDivisionPreference.
func MarshalReplicaDivisionPreference(v policyv1alpha1.ReplicaDivisionPreference) graphql.Marshaler {
	return replicaDivisionPreference.Marshal(v)
}

// UnmarshalReplicaDivisionPreference reads the enum ReplicaDivisionPreference.
func UnmarshalReplicaDivisionPreference(v any) (policyv1alpha1.ReplicaDivisionPreference, error) {
	return replicaDivisionPreference.Unmarshal(v)
}

// MarshalReplicaSchedulingType writes the enum ReplicaSchedulingType.
func MarshalReplicaSchedulingType(v policyv1alpha1.ReplicaSchedulingType) graphql.Marshaler {
	return replicaSchedulingType.Marshal(v)
}

// UnmarshalReplicaSchedulingType reads the enum ReplicaSchedulingType.
func UnmarshalReplicaSchedulingType(v any) (policyv1alpha1.ReplicaSchedulingType, error) {
	return replicaSchedulingType.Unmarshal(v)
}

// MarshalSpreadField writes the enum SpreadField.
func MarshalSpreadField(v policyv1alpha1.SpreadFieldValue) graphql.Marshaler {
	return spreadField.Marshal(v)
}

// UnmarshalSpreadField reads the enum SpreadField.
func UnmarshalSpreadField(v any) (policyv1alpha1.SpreadFieldValue, error) {
	return spreadField.Unmarshal(v)
}

// MarshalTaintEffect writes the enum TaintEffect.
func MarshalTaintEffect(v corev1.TaintEffect) graphql.Marshaler {
	return taintEffect.Marshal(v)
}

// UnmarshalTaintEffect reads the enum TaintEffect.
func UnmarshalTaintEffect(v any) (corev1.TaintEffect, error) {
	return taintEffect.Unmarshal(v)
}

// MarshalTolerationOperator writes the enum TolerationOperator.
func MarshalTolerationOperator(v corev1.TolerationOperator) graphql.Marshaler {
	return tolerationOperator.Marshal(v)
}

// UnmarshalTolerationOperator reads the enum TolerationOperator.
func UnmarshalTolerationOperator(v any) (corev1.TolerationOperator, error) {
	return tolerationOperator.Unmarshal(v)
}

// MarshalRawJSON writes a value that Karmada itself keeps as JSON; null when there is none.
func MarshalRawJSON(v apiextensionsv1.JSON) graphql.Marshaler {
	if len(v.Raw) == 0 {
		return graphql.Null
	}
	return graphql.WriterFunc(func(w io.Writer) { _, _ = w.Write(v.Raw) })
}

// UnmarshalRawJSON reads any JSON value.
func UnmarshalRawJSON(v any) (apiextensionsv1.JSON, error) {
	if v == nil {
		return apiextensionsv1.JSON{}, nil // As Kubernetes reads a null.
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return apiextensionsv1.JSON{}, fmt.Errorf("not a JSON value: %w", err)
	}
	return apiextensionsv1.JSON{Raw: raw}, nil
}
