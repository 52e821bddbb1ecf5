package karmadaresource

import (
	"fmt"
	"maps"
	"slices"

	"github.com/99designs/gqlgen/graphql"
	appsv1alpha1 "github.com/karmada-io/karmada/pkg/apis/apps/v1alpha1"
	networkingv1alpha1 "github.com/karmada-io/karmada/pkg/apis/networking/v1alpha1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	kubernetes "k8s.io/apimachinery/pkg/api/resource"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/enum"
)

var (
	metricSourceType = enum.New("MetricSourceType", map[autoscalingv2.MetricSourceType]string{
		autoscalingv2.ObjectMetricSourceType:            "OBJECT",
		autoscalingv2.PodsMetricSourceType:              "PODS",
		autoscalingv2.ResourceMetricSourceType:          "RESOURCE",
		autoscalingv2.ContainerResourceMetricSourceType: "CONTAINER_RESOURCE",
		autoscalingv2.ExternalMetricSourceType:          "EXTERNAL",
	})
	metricTargetType = enum.New("MetricTargetType", map[autoscalingv2.MetricTargetType]string{
		autoscalingv2.UtilizationMetricType:  "UTILIZATION",
		autoscalingv2.ValueMetricType:        "VALUE",
		autoscalingv2.AverageValueMetricType: "AVERAGE_VALUE",
	})
	scalingPolicySelect = enum.New("ScalingPolicySelect", map[autoscalingv2.ScalingPolicySelect]string{
		autoscalingv2.MaxChangePolicySelect: "MAX",
		autoscalingv2.MinChangePolicySelect: "MIN",
		autoscalingv2.DisabledPolicySelect:  "DISABLED",
	})
	scalingPolicyType = enum.New("ScalingPolicyType", map[autoscalingv2.HPAScalingPolicyType]string{
		autoscalingv2.PodsScalingPolicy:    "PODS",
		autoscalingv2.PercentScalingPolicy: "PERCENT",
	})
	exposureType = enum.New("ExposureType", map[networkingv1alpha1.ExposureType]string{
		networkingv1alpha1.ExposureTypeCrossCluster: "CROSS_CLUSTER",
		networkingv1alpha1.ExposureTypeLoadBalancer: "LOAD_BALANCER",
	})
	rebalanceResult = enum.New("RebalanceResult", map[appsv1alpha1.RebalanceResult]string{
		appsv1alpha1.RebalanceSuccessful: "SUCCESSFUL",
		appsv1alpha1.RebalanceFailed:     "FAILED",
	})
)

// The generator finds these pairs by the names of the enums; each is one line of delegation.

// MarshalMetricSourceType writes the enum MetricSourceType.
func MarshalMetricSourceType(v autoscalingv2.MetricSourceType) graphql.Marshaler {
	return metricSourceType.Marshal(v)
}

// UnmarshalMetricSourceType reads the enum MetricSourceType.
func UnmarshalMetricSourceType(v any) (autoscalingv2.MetricSourceType, error) {
	return metricSourceType.Unmarshal(v)
}

// MarshalMetricTargetType writes the enum MetricTargetType.
func MarshalMetricTargetType(v autoscalingv2.MetricTargetType) graphql.Marshaler {
	return metricTargetType.Marshal(v)
}

// UnmarshalMetricTargetType reads the enum MetricTargetType.
func UnmarshalMetricTargetType(v any) (autoscalingv2.MetricTargetType, error) {
	return metricTargetType.Unmarshal(v)
}

// MarshalScalingPolicySelect writes the enum ScalingPolicySelect.
func MarshalScalingPolicySelect(v autoscalingv2.ScalingPolicySelect) graphql.Marshaler {
	return scalingPolicySelect.Marshal(v)
}

// UnmarshalScalingPolicySelect reads the enum ScalingPolicySelect.
func UnmarshalScalingPolicySelect(v any) (autoscalingv2.ScalingPolicySelect, error) {
	return scalingPolicySelect.Unmarshal(v)
}

// MarshalScalingPolicyType writes the enum ScalingPolicyType.
func MarshalScalingPolicyType(v autoscalingv2.HPAScalingPolicyType) graphql.Marshaler {
	return scalingPolicyType.Marshal(v)
}

// UnmarshalScalingPolicyType reads the enum ScalingPolicyType.
func UnmarshalScalingPolicyType(v any) (autoscalingv2.HPAScalingPolicyType, error) {
	return scalingPolicyType.Unmarshal(v)
}

// MarshalExposureType writes the enum ExposureType.
func MarshalExposureType(v networkingv1alpha1.ExposureType) graphql.Marshaler {
	return exposureType.Marshal(v)
}

// UnmarshalExposureType reads the enum ExposureType.
func UnmarshalExposureType(v any) (networkingv1alpha1.ExposureType, error) {
	return exposureType.Unmarshal(v)
}

// MarshalRebalanceResult writes the enum RebalanceResult.
func MarshalRebalanceResult(v appsv1alpha1.RebalanceResult) graphql.Marshaler {
	return rebalanceResult.Marshal(v)
}

// UnmarshalRebalanceResult reads the enum RebalanceResult.
func UnmarshalRebalanceResult(v any) (appsv1alpha1.RebalanceResult, error) {
	return rebalanceResult.Unmarshal(v)
}

// MarshalQuantity writes a quantity of Kubernetes as it is written in manifests.
func MarshalQuantity(v kubernetes.Quantity) graphql.Marshaler {
	return graphql.MarshalString(v.String())
}

// UnmarshalQuantity reads a quantity of Kubernetes.
func UnmarshalQuantity(v any) (kubernetes.Quantity, error) {
	s, ok := v.(string)
	if !ok {
		return kubernetes.Quantity{}, fmt.Errorf("a quantity is a String such as \"500m\", not a %T", v)
	}
	q, err := kubernetes.ParseQuantity(s)
	if err != nil {
		return q, fmt.Errorf("%q is not a quantity of Kubernetes; give for example \"500m\" or \"2Gi\"", s)
	}
	return q, nil
}

// ResourceQuantity is how much of a resource.
type ResourceQuantity struct {
	Name     string
	Quantity kubernetes.Quantity
}

// Quantities lists resources by name.
func Quantities(list corev1.ResourceList) []ResourceQuantity {
	out := make([]ResourceQuantity, 0, len(list))
	for _, name := range slices.Sorted(maps.Keys(list)) {
		out = append(out, ResourceQuantity{string(name), list[name]})
	}
	return out
}

// List makes Kubernetes' list of resources of an input at a path, and refuses a resource that is named twice.
func List(of []ResourceQuantity, at string) (corev1.ResourceList, error) {
	list := make(corev1.ResourceList, len(of))
	for i, r := range of {
		name := corev1.ResourceName(r.Name)
		if _, twice := list[name]; twice {
			return nil, apierror.Invalid(fmt.Sprintf("%s[%d].name", at, i), "%q is named twice", r.Name)
		}
		list[name] = r.Quantity
	}
	return list, nil
}
