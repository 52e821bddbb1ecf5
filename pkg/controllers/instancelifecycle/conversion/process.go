package conversion

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// arguments are the further flags of a component, which override those that the operator sets.
func arguments(settings *v1alpha1.ComponentSettings) map[string]string {
	if settings == nil {
		return nil
	}
	return argumentsOf(settings.ExtraArgs)
}

func argumentsOf(of map[string]v1alpha1.ArgumentValue) map[string]string {
	out := make(map[string]string, len(of))
	for name, value := range of {
		out[name] = string(value)
	}
	return out
}

// join joins arguments with those of Kairship's own settings, which count where both have one.
func join(further, own map[string]string) map[string]string {
	out := maps.Clone(own)
	for name, value := range further {
		if out == nil {
			out = map[string]string{}
		}
		if _, set := out[name]; !set {
			out[name] = value
		}
	}
	return out
}

// resources are those of each pod; empty for the operator's default.
func resources(of *v1alpha1.ComponentResources) corev1.ResourceRequirements {
	if of == nil {
		return corev1.ResourceRequirements{}
	}
	return corev1.ResourceRequirements{Requests: amounts(of.Requests), Limits: amounts(of.Limits)}
}

func amounts(of *v1alpha1.ResourceAmounts) corev1.ResourceList {
	if of == nil {
		return nil
	}
	list := corev1.ResourceList{}
	for name, amount := range map[corev1.ResourceName]*string{corev1.ResourceCPU: of.CPU, corev1.ResourceMemory: of.Memory} {
		if amount == nil {
			continue
		}
		// Validation lets nothing pass that is no quantity.
		if quantity, err := resource.ParseQuantity(*amount); err == nil {
			list[name] = quantity
		}
	}
	return list
}
