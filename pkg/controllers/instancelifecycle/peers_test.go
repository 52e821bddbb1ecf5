package instancelifecycle

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestPublishPeers(t *testing.T) {
	for _, c := range []struct {
		reason   string
		replicas int32
		want     bool
	}{
		{"one member needs no other", 1, false},
		{"several have to find each other before they are ready", 3, true},
	} {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "k-alpha", Name: "alpha-karmada-etcd"}}
		kube := fake.NewClientset(service)
		publishPeers(t.Context(), kube, "k-alpha", []appsv1.StatefulSet{{Spec: appsv1.StatefulSetSpec{Replicas: &c.replicas, ServiceName: service.Name}}})
		got, err := kube.CoreV1().Services("k-alpha").Get(t.Context(), service.Name, metav1.GetOptions{})
		if err != nil || got.Spec.PublishNotReadyAddresses != c.want {
			t.Errorf("%s: the Service has publishNotReadyAddresses %t (error %v)", c.reason, got.Spec.PublishNotReadyAddresses, err)
		}
		publishPeers(t.Context(), kube, "k-alpha", []appsv1.StatefulSet{{Spec: appsv1.StatefulSetSpec{Replicas: &c.replicas, ServiceName: service.Name}}})
		patches := 0
		for _, a := range kube.Actions() {
			if a.GetVerb() == "patch" {
				patches++
			}
		}
		if patches > 1 {
			t.Errorf("%s: the Service is changed %d times", c.reason, patches)
		}
	}
}
