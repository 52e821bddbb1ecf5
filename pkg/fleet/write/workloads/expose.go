package workloads

import (
	"context"
	"fmt"
	"strconv"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	karmadanames "github.com/karmada-io/karmada/pkg/util/names"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/resource"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// ServiceType is how a Service can be reached from outside of a cluster. The values are those of the
// schema's enum.
type ServiceType string

// The types.
const (
	ServiceClusterIP    ServiceType = "CLUSTER_IP"
	ServiceNodePort     ServiceType = "NODE_PORT"
	ServiceLoadBalancer ServiceType = "LOAD_BALANCER"
)

var serviceTypes = map[ServiceType]corev1.ServiceType{
	ServiceClusterIP: corev1.ServiceTypeClusterIP, ServiceNodePort: corev1.ServiceTypeNodePort, ServiceLoadBalancer: corev1.ServiceTypeLoadBalancer,
}

// Protocol is the protocol of a port, as Kubernetes and the schema name it.
type Protocol string

// The protocols.
const (
	ProtocolTCP  Protocol = "TCP"
	ProtocolUDP  Protocol = "UDP"
	ProtocolSCTP Protocol = "SCTP"
)

// ServicePort is a port of a Service.
type ServicePort struct {
	Port int
	// TargetPort is the number or the name of the port of the pods; nil for the same number.
	TargetPort *string
	Name       *string
	Protocol   Protocol
}

// ServiceInput is the input of createService. The target is the workload.
type ServiceInput struct {
	Instance        string
	Kind            workload.Kind
	Namespace, Name string
	// ServiceName is nil for the name of the workload.
	ServiceName *string
	Type        ServiceType
	Headless    bool
	Ports       []ServicePort
	Labels      []object.Pair
	DryRun      bool
}

// ServicePayload is the Service that was created.
type ServicePayload struct {
	Service          *resource.Resource
	PolicyName       string
	ConsistencyToken *string
}

var services = write.Kind{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "services"}, Kind: "Service", Namespaced: true}

// CreateService creates a Service for the pods of a workload, and a policy that sends it where the
// workload is sent. The policy goes when the Service goes.
func (s *Service) CreateService(ctx context.Context, in ServiceInput) (*ServicePayload, error) {
	t := Target{Instance: in.Instance, Kind: in.Kind, Namespace: in.Namespace, Name: in.Name, DryRun: in.DryRun}
	site, err := s.at(ctx, t, authz.VerbCreate, "given a Service", workload.KindsWithRevisions()...)
	if err != nil {
		return nil, err
	}
	labels, err := write.Map(in.Labels, "input.labels")
	if err != nil {
		return nil, err
	}
	of, err := site.Get(ctx, kindOf(in.Kind), in.Namespace, in.Name, t.paths(nil))
	if err != nil {
		return nil, err
	}
	spec, err := s.sentBy(ctx, site, of.GetKind(), of)
	if err != nil {
		return nil, err
	}
	service, err := serviceOf(&in, of, labels)
	if err != nil {
		return nil, err
	}
	name := "input.serviceName!"
	if in.ServiceName == nil {
		name = "input.name!"
	}
	o := write.Options{DryRun: in.DryRun, Paths: write.Paths{
		"": "input!", "metadata.name": name, "metadata.namespace": "input.namespace", "metadata.labels": "input.labels!",
		"spec.type": "input.type", "spec.clusterIP": "input.headless!", "spec.clusterIPs": "input.headless!", "spec.ports": "input.ports",
	}}
	made, err := create(ctx, site, services, service, o)
	if err != nil {
		return nil, err
	}
	policy := policyOf(services, service, karmadanames.GeneratePolicyName(in.Namespace, service.Name, services.GVK().String()), made.Version.UID, spec)
	madePolicy, err := create(ctx, site, propagationPolicies, policy, o)
	if err != nil {
		if in.DryRun {
			return nil, err
		}
		return nil, takeBack(ctx, site, services, made, err)
	}
	p := &ServicePayload{PolicyName: policy.Name, ConsistencyToken: s.Writer.Token(ctx, made, madePolicy)}
	if made.Object != nil {
		p.Service = resource.New(in.Instance, resource.Kind{Version: "v1", Resource: "services"}, made.Object, freshness.Freshness{})
	}
	return p, nil
}

// serviceOf is the Service of a workload.
func serviceOf(in *ServiceInput, of *unstructured.Unstructured, labels map[string]string) (*corev1.Service, error) {
	var selector metav1.LabelSelector
	found, _, err := unstructured.NestedMap(of.Object, "spec", "selector")
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(found, &selector)
	}
	switch {
	case err != nil:
		return nil, err
	case len(selector.MatchLabels) == 0 || len(selector.MatchExpressions) > 0:
		return nil, apierror.Invalid("input.name", "the selector of the workload has expressions, and that of a Service has labels alone: create it with applyManifests")
	case len(in.Ports) == 0:
		return nil, apierror.Invalid("input.ports", "give one port at least")
	case in.Headless && in.Type != ServiceClusterIP:
		return nil, apierror.Invalid("input.headless", "a headless Service has the type CLUSTER_IP, and no other")
	}
	service := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Name: in.Name, Namespace: in.Namespace, Labels: labels},
		Spec:       corev1.ServiceSpec{Type: serviceTypes[in.Type], Selector: selector.MatchLabels},
	}
	if in.ServiceName != nil {
		service.Name = *in.ServiceName
	}
	if in.Headless {
		service.Spec.ClusterIP = corev1.ClusterIPNone
	}
	for i, p := range in.Ports {
		if p.Port < 1 || p.Port > 65535 {
			return nil, apierror.Invalid(fmt.Sprintf("input.ports[%d].port", i), "%d is no port; give 1 to 65535", p.Port)
		}
		port := corev1.ServicePort{Port: int32(p.Port), Protocol: corev1.Protocol(p.Protocol), TargetPort: intstr.FromInt32(int32(p.Port))}
		if p.Name != nil {
			port.Name = *p.Name
		}
		if p.TargetPort != nil {
			port.TargetPort = targetPort(*p.TargetPort)
		}
		service.Spec.Ports = append(service.Spec.Ports, port)
	}
	return service, nil
}

// targetPort reads the number or the name of a port.
func targetPort(text string) intstr.IntOrString {
	if n, err := strconv.ParseInt(text, 10, 32); err == nil {
		return intstr.FromInt32(int32(n))
	}
	return intstr.FromString(text)
}

// policyOf sends an object, and nothing else, to where a policy sends something else.
func policyOf(k write.Kind, o metav1.Object, name, uid string, spec *policyv1alpha1.PropagationSpec) *policyv1alpha1.PropagationPolicy {
	apiVersion, kind := k.GVK().ToAPIVersionAndKind()
	p := &policyv1alpha1.PropagationPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: policyv1alpha1.GroupVersion.String(), Kind: "PropagationPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: o.GetNamespace(), Labels: map[string]string{"app.kubernetes.io/managed-by": write.FieldManager}},
		Spec:       *spec.DeepCopy(),
	}
	if uid != "" {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: o.GetName(), UID: types.UID(uid)}}
	}
	p.Spec.ResourceSelectors = []policyv1alpha1.ResourceSelector{{APIVersion: apiVersion, Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()}}
	p.Spec.DependentOverrides = nil
	return p
}
