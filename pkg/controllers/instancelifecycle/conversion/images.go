package conversion

import (
	operatorv1alpha1 "github.com/karmada-io/karmada/operator/pkg/apis/operator/v1alpha1"
)

// image is where the image of a component is set.
type image struct {
	of   *operatorv1alpha1.Image
	name string
}

// setImages sets where images come from and which version Karmada's own have.
// What is empty is left to the operator, which knows one version: its own. The
// images of Kubernetes keep the versions that the operator was made with.
//
// spec.privateRegistry would be shorter, but the operator does not heed it.
func setImages(all *operatorv1alpha1.KarmadaComponents, registry, version string) {
	if registry == "" && version == "" {
		return
	}
	kubernetes := []image{
		{&all.Etcd.Local.Image, "etcd"},
		{&all.KarmadaAPIServer.Image, "kube-apiserver"},
		{&all.KubeControllerManager.Image, "kube-controller-manager"},
	}
	karmada := []image{
		{&all.KarmadaAggregatedAPIServer.Image, "karmada-aggregated-apiserver"},
		{&all.KarmadaControllerManager.Image, "karmada-controller-manager"},
		{&all.KarmadaScheduler.Image, "karmada-scheduler"},
		{&all.KarmadaWebhook.Image, "karmada-webhook"},
	}
	if all.KarmadaDescheduler != nil {
		karmada = append(karmada, image{&all.KarmadaDescheduler.Image, "karmada-descheduler"})
	}
	if all.KarmadaMetricsAdapter == nil {
		// The operator installs it in any case, and would from its own registry.
		all.KarmadaMetricsAdapter = &operatorv1alpha1.KarmadaMetricsAdapter{}
	}
	karmada = append(karmada, image{&all.KarmadaMetricsAdapter.Image, "karmada-metrics-adapter"})

	for _, i := range karmada {
		i.of.ImageTag = version
	}
	if registry != "" {
		for _, i := range append(kubernetes, karmada...) {
			i.of.ImageRepository = registry + "/" + i.name
		}
	}
}
