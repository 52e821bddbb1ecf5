package workloads

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestServiceOf(t *testing.T) {
	of := func(selector map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"selector": selector}}}
	}
	app := map[string]any{"matchLabels": map[string]any{"app": "web"}}
	name, target, portName := "front", "http", "main"
	for _, tt := range []struct {
		reason string
		in     ServiceInput
		of     map[string]any
		want   corev1.ServiceSpec
		wrong  string
	}{
		{
			"the same port", ServiceInput{Type: ServiceClusterIP, Ports: []ServicePort{{Port: 80, Protocol: ProtocolTCP}}}, app,
			corev1.ServiceSpec{Type: "ClusterIP", Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80, Protocol: "TCP", TargetPort: intstr.FromInt32(80)}}}, "",
		},
		{
			"named ports, on each node", ServiceInput{Type: ServiceNodePort, ServiceName: &name, Ports: []ServicePort{{Port: 80, Name: &portName, TargetPort: &target, Protocol: ProtocolUDP}}}, app,
			corev1.ServiceSpec{Type: "NodePort", Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80, Name: "main", Protocol: "UDP", TargetPort: intstr.FromString("http")}}}, "",
		},
		{
			"headless", ServiceInput{Type: ServiceClusterIP, Headless: true, Ports: []ServicePort{{Port: 80, Protocol: ProtocolTCP}}}, app,
			corev1.ServiceSpec{Type: "ClusterIP", ClusterIP: "None", Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80, Protocol: "TCP", TargetPort: intstr.FromInt32(80)}}}, "",
		},
		{"headless by a load balancer", ServiceInput{Type: ServiceLoadBalancer, Headless: true, Ports: []ServicePort{{Port: 80}}}, app, corev1.ServiceSpec{}, "input.headless"},
		{"no port", ServiceInput{Type: ServiceClusterIP}, app, corev1.ServiceSpec{}, "input.ports"},
		{"a port that is none", ServiceInput{Type: ServiceClusterIP, Ports: []ServicePort{{Port: 80}, {Port: 70000}}}, app, corev1.ServiceSpec{}, "input.ports[1].port"},
		{"expressions", ServiceInput{Type: ServiceClusterIP, Ports: []ServicePort{{Port: 80}}}, map[string]any{"matchExpressions": []any{map[string]any{"key": "a", "operator": "Exists"}}}, corev1.ServiceSpec{}, "input.name"},
	} {
		tt.in.Name, tt.in.Namespace = "web", "shop"
		got, err := serviceOf(&tt.in, of(tt.of), nil)
		if tt.wrong != "" {
			if err == nil || !strings.HasPrefix(err.Error(), tt.wrong+": ") {
				t.Errorf("%s: got %v, want an error at %s", tt.reason, err, tt.wrong)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.reason, err)
			continue
		}
		if diff := cmp.Diff(tt.want, got.Spec); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
		if want := map[bool]string{true: "front", false: "web"}[tt.in.ServiceName != nil]; got.Name != want || got.Namespace != "shop" {
			t.Errorf("%s: it is %s/%s", tt.reason, got.Namespace, got.Name)
		}
	}
}

// The policy of a Service sends it alone, to where the workload is sent, and goes with it.
func TestPolicyOfAService(t *testing.T) {
	service := &corev1.Service{}
	service.Name, service.Namespace = "web", "shop"
	spec := &policyv1alpha1.PropagationSpec{
		ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "apps/v1", Kind: "Deployment"}},
		Placement:         policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1"}}},
	}
	p := policyOf(services, service, "web-service", "u", spec)
	want := []policyv1alpha1.ResourceSelector{{APIVersion: "v1", Kind: "Service", Namespace: "shop", Name: "web"}}
	if diff := cmp.Diff(want, p.Spec.ResourceSelectors); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(spec.Placement, p.Spec.Placement); diff != "" || p.Name != "web-service" || p.OwnerReferences[0].Kind != "Service" || p.OwnerReferences[0].Name != "web" {
		t.Errorf("%s%+v", diff, p)
	}
}
