package workloads

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
)

// normal is a pod template in a form in which equal ones are alike: numbers of
// different Go types are not.
func normal(template any) *corev1.PodTemplateSpec {
	raw, err := json.Marshal(template)
	if err != nil {
		return nil
	}
	t := &corev1.PodTemplateSpec{}
	if json.Unmarshal(raw, t) != nil {
		return nil
	}
	return t
}
