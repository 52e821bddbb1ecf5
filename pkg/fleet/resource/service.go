package resource

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/index"
)

// ServiceView is what a Service offers in its cluster.
type ServiceView struct {
	spec   corev1.ServiceSpec
	status corev1.ServiceStatus
}

// ServicePort is a port of a Service.
type ServicePort struct {
	of corev1.ServicePort
}

// Service returns what a Service offers; nil for another kind.
func (r *Resource) Service() (*ServiceView, error) {
	if (r.of != Kind{Version: "v1", Resource: "services"}) {
		return nil, nil //nolint:nilnil // It is another kind.
	}
	s, err := index.Decode[corev1.Service](r.Indexed)
	if err != nil {
		return nil, err
	}
	return &ServiceView{s.Spec, s.Status}, nil
}

// Type is its type; that of the API server's default where it has none.
func (s *ServiceView) Type() string {
	if s.spec.Type == "" {
		return string(corev1.ServiceTypeClusterIP)
	}
	return string(s.spec.Type)
}

// ClusterIPs are its addresses inside the cluster.
func (s *ServiceView) ClusterIPs() []string {
	all := []string{}
	for _, ip := range s.spec.ClusterIPs {
		if ip != corev1.ClusterIPNone {
			all = append(all, ip)
		}
	}
	return all
}

// Addresses are those outside the cluster.
func (s *ServiceView) Addresses() []string {
	all := append([]string{}, s.spec.ExternalIPs...)
	for _, at := range s.status.LoadBalancer.Ingress {
		all = appendAddress(all, at.IP, at.Hostname)
	}
	return all
}

// ExternalName is what it stands for; nil for nothing.
func (s *ServiceView) ExternalName() *string { return object.Optional(s.spec.ExternalName) }

// Ports are its ports.
func (s *ServiceView) Ports() []ServicePort {
	all := make([]ServicePort, len(s.spec.Ports))
	for i, p := range s.spec.Ports {
		all[i] = ServicePort{p}
	}
	return all
}

// Selector are the labels of its pods.
func (s *ServiceView) Selector() []object.Pair { return object.Pairs(s.spec.Selector) }

// Name is its name; nil when it has none.
func (p ServicePort) Name() *string { return object.Optional(p.of.Name) }

// Protocol is TCP unless told.
func (p ServicePort) Protocol() string {
	if p.of.Protocol == "" {
		return string(corev1.ProtocolTCP)
	}
	return string(p.of.Protocol)
}

// Port is that of the Service.
func (p ServicePort) Port() int { return int(p.of.Port) }

// TargetPort is that of the pods.
func (p ServicePort) TargetPort() string { return p.of.TargetPort.String() }

// NodePort is that of every node; nil for none.
func (p ServicePort) NodePort() *int {
	if p.of.NodePort == 0 {
		return nil
	}
	return new(int(p.of.NodePort))
}

// appendAddress appends the address of a load balancer, which has one of both.
func appendAddress(all []string, ip, host string) []string {
	for _, address := range []string{ip, host} {
		if address != "" {
			all = append(all, address)
		}
	}
	return all
}
