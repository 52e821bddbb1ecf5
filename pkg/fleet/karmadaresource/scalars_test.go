package karmadaresource

import (
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	appsv1alpha1 "github.com/karmada-io/karmada/pkg/apis/apps/v1alpha1"
	networkingv1alpha1 "github.com/karmada-io/karmada/pkg/apis/networking/v1alpha1"
	"github.com/vektah/gqlparser/v2/ast"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
)

func written(m graphql.Marshaler) string {
	var b strings.Builder
	m.MarshalGQL(&b)
	return b.String()
}

// comesBack checks that every value of an enum of the schema is read, and written as it was.
func comesBack[T ~string](t *testing.T, def *ast.Definition, known int, write func(T) graphql.Marshaler, read func(any) (T, error)) {
	t.Helper()
	if len(def.EnumValues) != known {
		t.Errorf("%s has %d values, and Kubernetes or Karmada %d", def.Name, len(def.EnumValues), known)
	}
	seen := map[T]bool{}
	for _, value := range def.EnumValues {
		v, err := read(value.Name)
		if err != nil || v == "" || seen[v] || written(write(v)) != `"`+value.Name+`"` {
			t.Errorf("%s of %s is %q, written as %s: %v", value.Name, def.Name, v, written(write(v)), err)
		}
		seen[v] = true
	}
	if text := written(write("Later")); text != "null" {
		t.Errorf("%s: a value of a later version is %s", def.Name, text)
	}
}

func TestEnums(t *testing.T) {
	d := definitions(t)
	comesBack(t, d["MetricSourceType"], len([]autoscalingv2.MetricSourceType{
		autoscalingv2.ObjectMetricSourceType, autoscalingv2.PodsMetricSourceType, autoscalingv2.ResourceMetricSourceType,
		autoscalingv2.ContainerResourceMetricSourceType, autoscalingv2.ExternalMetricSourceType,
	}), MarshalMetricSourceType, UnmarshalMetricSourceType)
	comesBack(t, d["MetricTargetType"], 3, MarshalMetricTargetType, UnmarshalMetricTargetType)
	comesBack(t, d["ScalingPolicySelect"], 3, MarshalScalingPolicySelect, UnmarshalScalingPolicySelect)
	comesBack(t, d["ScalingPolicyType"], 2, MarshalScalingPolicyType, UnmarshalScalingPolicyType)
	comesBack(t, d["ExposureType"], len([]networkingv1alpha1.ExposureType{
		networkingv1alpha1.ExposureTypeCrossCluster, networkingv1alpha1.ExposureTypeLoadBalancer,
	}), MarshalExposureType, UnmarshalExposureType)
	comesBack(t, d["RebalanceResult"], len([]appsv1alpha1.RebalanceResult{
		appsv1alpha1.RebalanceSuccessful, appsv1alpha1.RebalanceFailed,
	}), MarshalRebalanceResult, UnmarshalRebalanceResult)
}

func TestQuantity(t *testing.T) {
	for _, text := range []string{"500m", "2Gi", "100k", "0"} {
		q, err := UnmarshalQuantity(text)
		if err != nil || written(MarshalQuantity(q)) != `"`+text+`"` {
			t.Errorf("%s is %s: %v", text, written(MarshalQuantity(q)), err)
		}
	}
	for _, wrong := range []any{"", "much", 5, nil} {
		if _, err := UnmarshalQuantity(wrong); err == nil {
			t.Errorf("%v is a quantity", wrong)
		}
	}
}
