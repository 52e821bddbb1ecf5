package resource

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/index"
)

// ServiceView is what a Service offers in its cluster.
type ServiceView struct {
	// Type is that of the API server's default where it has none.
	Type string `json:"type"`
	// ClusterIPs are its addresses inside the cluster, Addresses those outside.
	ClusterIPs []string `json:"clusterIPs"`
	Addresses  []string `json:"addresses"`
	// ExternalName is what it stands for; nil for nothing.
	ExternalName *string       `json:"externalName"`
	Ports        []ServicePort `json:"ports"`
	// Selector are the labels of its pods.
	Selector []object.Pair `json:"selector"`
}

// ServicePort is a port of a Service.
type ServicePort struct {
	Name       *string `json:"name"`
	Protocol   string  `json:"protocol"`
	Port       int     `json:"port"`
	TargetPort string  `json:"targetPort"`
	NodePort   *int    `json:"nodePort"`
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
	v := &ServiceView{
		Type:         string(cmp.Or(s.Spec.Type, corev1.ServiceTypeClusterIP)),
		ClusterIPs:   []string{},
		Addresses:    append([]string{}, s.Spec.ExternalIPs...),
		ExternalName: object.Optional(s.Spec.ExternalName),
		Ports:        make([]ServicePort, len(s.Spec.Ports)),
		Selector:     object.Pairs(s.Spec.Selector),
	}
	for _, ip := range s.Spec.ClusterIPs {
		if ip != corev1.ClusterIPNone {
			v.ClusterIPs = append(v.ClusterIPs, ip)
		}
	}
	for _, at := range s.Status.LoadBalancer.Ingress {
		v.Addresses = appendAddress(v.Addresses, at.IP, at.Hostname)
	}
	for i, p := range s.Spec.Ports {
		v.Ports[i] = ServicePort{
			Name: object.Optional(p.Name), Protocol: string(cmp.Or(p.Protocol, corev1.ProtocolTCP)), Port: int(p.Port),
			TargetPort: p.TargetPort.String(), NodePort: object.Optional(int(p.NodePort)),
		}
	}
	return v, nil
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
