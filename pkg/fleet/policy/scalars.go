package policy

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
)

// enum maps the values of a string type of Karmada or Kubernetes to those of a
// GraphQL enum.
//
// The generator could bind the values on its own, but would then write an empty
// value, which is how these types say "not given", as the empty string, which
// no enum has. Here it is null. So is a value that only a later Karmada knows:
// the object's manifest shows it.
type enum[T ~string] struct {
	name   string
	values []enumValue[T]
}

type enumValue[T ~string] struct {
	object  T
	graphql string
}

func (e enum[T]) marshal(v T) graphql.Marshaler {
	for _, value := range e.values {
		if value.object == v {
			return graphql.WriterFunc(func(w io.Writer) { _, _ = io.WriteString(w, strconv.Quote(value.graphql)) })
		}
	}
	return graphql.Null
}

func (e enum[T]) unmarshal(v any) (T, error) {
	if v == nil {
		return "", nil // As marshal writes it. Where a value is needed the schema says so.
	}
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("a %s is an enum value, not a %T", e.name, v)
	}
	for _, value := range e.values {
		if value.graphql == s {
			return value.object, nil
		}
	}
	return "", fmt.Errorf("%q is not a %s", s, e.name)
}

var (
	activationPreference = enum[policyv1alpha1.ActivationPreference]{"ActivationPreference", []enumValue[policyv1alpha1.ActivationPreference]{
		{policyv1alpha1.LazyActivation, "LAZY"},
	}}
	conflictResolution = enum[policyv1alpha1.ConflictResolution]{"ConflictResolution", []enumValue[policyv1alpha1.ConflictResolution]{
		{policyv1alpha1.ConflictOverwrite, "OVERWRITE"},
		{policyv1alpha1.ConflictAbort, "ABORT"},
	}}
	dynamicWeightFactor = enum[policyv1alpha1.DynamicWeightFactor]{"DynamicWeightFactor", []enumValue[policyv1alpha1.DynamicWeightFactor]{
		{policyv1alpha1.DynamicWeightByAvailableReplicas, "AVAILABLE_REPLICAS"},
	}}
	fieldSelectorOperator = enum[corev1.NodeSelectorOperator]{"FieldSelectorOperator", []enumValue[corev1.NodeSelectorOperator]{
		{corev1.NodeSelectorOpIn, "IN"},
		{corev1.NodeSelectorOpNotIn, "NOT_IN"},
		{corev1.NodeSelectorOpExists, "EXISTS"},
		{corev1.NodeSelectorOpDoesNotExist, "DOES_NOT_EXIST"},
		{corev1.NodeSelectorOpGt, "GT"},
		{corev1.NodeSelectorOpLt, "LT"},
	}}
	imageComponent = enum[policyv1alpha1.ImageComponent]{"ImageComponent", []enumValue[policyv1alpha1.ImageComponent]{
		{policyv1alpha1.Registry, "REGISTRY"},
		{policyv1alpha1.Repository, "REPOSITORY"},
		{policyv1alpha1.Tag, "TAG"},
	}}
	labelSelectorOperator = enum[metav1.LabelSelectorOperator]{"LabelSelectorOperator", []enumValue[metav1.LabelSelectorOperator]{
		{metav1.LabelSelectorOpIn, "IN"},
		{metav1.LabelSelectorOpNotIn, "NOT_IN"},
		{metav1.LabelSelectorOpExists, "EXISTS"},
		{metav1.LabelSelectorOpDoesNotExist, "DOES_NOT_EXIST"},
	}}
	overriderOperator = enum[policyv1alpha1.OverriderOperator]{"OverriderOperator", []enumValue[policyv1alpha1.OverriderOperator]{
		{policyv1alpha1.OverriderOpAdd, "ADD"},
		{policyv1alpha1.OverriderOpRemove, "REMOVE"},
		{policyv1alpha1.OverriderOpReplace, "REPLACE"},
	}}
	preemptionBehavior = enum[policyv1alpha1.PreemptionBehavior]{"PreemptionBehavior", []enumValue[policyv1alpha1.PreemptionBehavior]{
		{policyv1alpha1.PreemptAlways, "ALWAYS"},
		{policyv1alpha1.PreemptNever, "NEVER"},
	}}
	priorityClassSource = enum[policyv1alpha1.PriorityClassSource]{"PriorityClassSource", []enumValue[policyv1alpha1.PriorityClassSource]{
		{policyv1alpha1.FederatedPriorityClass, "FEDERATED_PRIORITY_CLASS"},
		{policyv1alpha1.KubePriorityClass, "KUBE_PRIORITY_CLASS"},
		{policyv1alpha1.PodPriorityClass, "POD_PRIORITY_CLASS"},
	}}
	// Karmada deprecated two of the modes and goes on accepting them, so they are read too.
	purgeMode = enum[policyv1alpha1.PurgeMode]{"PurgeMode", []enumValue[policyv1alpha1.PurgeMode]{
		{policyv1alpha1.Immediately, "IMMEDIATELY"}, //nolint:staticcheck // deprecated, and still in use
		{policyv1alpha1.Graciously, "GRACIOUSLY"},   //nolint:staticcheck // deprecated, and still in use
		{policyv1alpha1.Never, "NEVER"},
		{policyv1alpha1.PurgeModeDirectly, "DIRECTLY"},
		{policyv1alpha1.PurgeModeGracefully, "GRACEFULLY"},
	}}
	replicaDivisionPreference = enum[policyv1alpha1.ReplicaDivisionPreference]{"ReplicaDivisionPreference", []enumValue[policyv1alpha1.ReplicaDivisionPreference]{
		{policyv1alpha1.ReplicaDivisionPreferenceAggregated, "AGGREGATED"},
		{policyv1alpha1.ReplicaDivisionPreferenceWeighted, "WEIGHTED"},
	}}
	replicaSchedulingType = enum[policyv1alpha1.ReplicaSchedulingType]{"ReplicaSchedulingType", []enumValue[policyv1alpha1.ReplicaSchedulingType]{
		{policyv1alpha1.ReplicaSchedulingTypeDuplicated, "DUPLICATED"},
		{policyv1alpha1.ReplicaSchedulingTypeDivided, "DIVIDED"},
	}}
	spreadField = enum[policyv1alpha1.SpreadFieldValue]{"SpreadField", []enumValue[policyv1alpha1.SpreadFieldValue]{
		{policyv1alpha1.SpreadByFieldCluster, "CLUSTER"},
		{policyv1alpha1.SpreadByFieldRegion, "REGION"},
		{policyv1alpha1.SpreadByFieldZone, "ZONE"},
		{policyv1alpha1.SpreadByFieldProvider, "PROVIDER"},
	}}
	taintEffect = enum[corev1.TaintEffect]{"TaintEffect", []enumValue[corev1.TaintEffect]{
		{corev1.TaintEffectNoSchedule, "NO_SCHEDULE"},
		{corev1.TaintEffectPreferNoSchedule, "PREFER_NO_SCHEDULE"},
		{corev1.TaintEffectNoExecute, "NO_EXECUTE"},
	}}
	tolerationOperator = enum[corev1.TolerationOperator]{"TolerationOperator", []enumValue[corev1.TolerationOperator]{
		{corev1.TolerationOpExists, "EXISTS"},
		{corev1.TolerationOpEqual, "EQUAL"},
		{corev1.TolerationOpLt, "LT"},
		{corev1.TolerationOpGt, "GT"},
	}}
)

// The generator finds these pairs by the names of the enums; each is one line of delegation.

// MarshalActivationPreference writes the enum ActivationPreference.
func MarshalActivationPreference(v policyv1alpha1.ActivationPreference) graphql.Marshaler {
	return activationPreference.marshal(v)
}

// UnmarshalActivationPreference reads the enum ActivationPreference.
func UnmarshalActivationPreference(v any) (policyv1alpha1.ActivationPreference, error) {
	return activationPreference.unmarshal(v)
}

// MarshalConflictResolution writes the enum ConflictResolution.
func MarshalConflictResolution(v policyv1alpha1.ConflictResolution) graphql.Marshaler {
	return conflictResolution.marshal(v)
}

// UnmarshalConflictResolution reads the enum ConflictResolution.
func UnmarshalConflictResolution(v any) (policyv1alpha1.ConflictResolution, error) {
	return conflictResolution.unmarshal(v)
}

// MarshalDynamicWeightFactor writes the enum DynamicWeightFactor.
func MarshalDynamicWeightFactor(v policyv1alpha1.DynamicWeightFactor) graphql.Marshaler {
	return dynamicWeightFactor.marshal(v)
}

// UnmarshalDynamicWeightFactor reads the enum DynamicWeightFactor.
func UnmarshalDynamicWeightFactor(v any) (policyv1alpha1.DynamicWeightFactor, error) {
	return dynamicWeightFactor.unmarshal(v)
}

// MarshalFieldSelectorOperator writes the enum FieldSelectorOperator.
func MarshalFieldSelectorOperator(v corev1.NodeSelectorOperator) graphql.Marshaler {
	return fieldSelectorOperator.marshal(v)
}

// UnmarshalFieldSelectorOperator reads the enum FieldSelectorOperator.
func UnmarshalFieldSelectorOperator(v any) (corev1.NodeSelectorOperator, error) {
	return fieldSelectorOperator.unmarshal(v)
}

// MarshalImageComponent writes the enum ImageComponent.
func MarshalImageComponent(v policyv1alpha1.ImageComponent) graphql.Marshaler {
	return imageComponent.marshal(v)
}

// UnmarshalImageComponent reads the enum ImageComponent.
func UnmarshalImageComponent(v any) (policyv1alpha1.ImageComponent, error) {
	return imageComponent.unmarshal(v)
}

// MarshalLabelSelectorOperator writes the enum LabelSelectorOperator.
func MarshalLabelSelectorOperator(v metav1.LabelSelectorOperator) graphql.Marshaler {
	return labelSelectorOperator.marshal(v)
}

// UnmarshalLabelSelectorOperator reads the enum LabelSelectorOperator.
func UnmarshalLabelSelectorOperator(v any) (metav1.LabelSelectorOperator, error) {
	return labelSelectorOperator.unmarshal(v)
}

// MarshalOverriderOperator writes the enum OverriderOperator.
func MarshalOverriderOperator(v policyv1alpha1.OverriderOperator) graphql.Marshaler {
	return overriderOperator.marshal(v)
}

// UnmarshalOverriderOperator reads the enum OverriderOperator.
func UnmarshalOverriderOperator(v any) (policyv1alpha1.OverriderOperator, error) {
	return overriderOperator.unmarshal(v)
}

// MarshalPreemptionBehavior writes the enum PreemptionBehavior.
func MarshalPreemptionBehavior(v policyv1alpha1.PreemptionBehavior) graphql.Marshaler {
	return preemptionBehavior.marshal(v)
}

// UnmarshalPreemptionBehavior reads the enum PreemptionBehavior.
func UnmarshalPreemptionBehavior(v any) (policyv1alpha1.PreemptionBehavior, error) {
	return preemptionBehavior.unmarshal(v)
}

// MarshalPriorityClassSource writes the enum PriorityClassSource.
func MarshalPriorityClassSource(v policyv1alpha1.PriorityClassSource) graphql.Marshaler {
	return priorityClassSource.marshal(v)
}

// UnmarshalPriorityClassSource reads the enum PriorityClassSource.
func UnmarshalPriorityClassSource(v any) (policyv1alpha1.PriorityClassSource, error) {
	return priorityClassSource.unmarshal(v)
}

// MarshalPurgeMode writes the enum PurgeMode.
func MarshalPurgeMode(v policyv1alpha1.PurgeMode) graphql.Marshaler {
	return purgeMode.marshal(v)
}

// UnmarshalPurgeMode reads the enum PurgeMode.
func UnmarshalPurgeMode(v any) (policyv1alpha1.PurgeMode, error) {
	return purgeMode.unmarshal(v)
}

// MarshalReplicaDivisionPreference writes the enum ReplicaDivisionPreference.
func MarshalReplicaDivisionPreference(v policyv1alpha1.ReplicaDivisionPreference) graphql.Marshaler {
	return replicaDivisionPreference.marshal(v)
}

// UnmarshalReplicaDivisionPreference reads the enum ReplicaDivisionPreference.
func UnmarshalReplicaDivisionPreference(v any) (policyv1alpha1.ReplicaDivisionPreference, error) {
	return replicaDivisionPreference.unmarshal(v)
}

// MarshalReplicaSchedulingType writes the enum ReplicaSchedulingType.
func MarshalReplicaSchedulingType(v policyv1alpha1.ReplicaSchedulingType) graphql.Marshaler {
	return replicaSchedulingType.marshal(v)
}

// UnmarshalReplicaSchedulingType reads the enum ReplicaSchedulingType.
func UnmarshalReplicaSchedulingType(v any) (policyv1alpha1.ReplicaSchedulingType, error) {
	return replicaSchedulingType.unmarshal(v)
}

// MarshalSpreadField writes the enum SpreadField.
func MarshalSpreadField(v policyv1alpha1.SpreadFieldValue) graphql.Marshaler {
	return spreadField.marshal(v)
}

// UnmarshalSpreadField reads the enum SpreadField.
func UnmarshalSpreadField(v any) (policyv1alpha1.SpreadFieldValue, error) {
	return spreadField.unmarshal(v)
}

// MarshalTaintEffect writes the enum TaintEffect.
func MarshalTaintEffect(v corev1.TaintEffect) graphql.Marshaler {
	return taintEffect.marshal(v)
}

// UnmarshalTaintEffect reads the enum TaintEffect.
func UnmarshalTaintEffect(v any) (corev1.TaintEffect, error) {
	return taintEffect.unmarshal(v)
}

// MarshalTolerationOperator writes the enum TolerationOperator.
func MarshalTolerationOperator(v corev1.TolerationOperator) graphql.Marshaler {
	return tolerationOperator.marshal(v)
}

// UnmarshalTolerationOperator reads the enum TolerationOperator.
func UnmarshalTolerationOperator(v any) (corev1.TolerationOperator, error) {
	return tolerationOperator.unmarshal(v)
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
