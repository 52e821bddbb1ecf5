package resource

import (
	"strconv"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/index"
)

// IngressView is where an Ingress sends requests.
type IngressView struct {
	// ClassName is that of its IngressClass; nil for the default.
	ClassName *string `json:"className"`
	// Addresses are those that its controller reports.
	Addresses []string `json:"addresses"`
	// TLSHosts are those with a certificate.
	TLSHosts []string `json:"tlsHosts"`
	// Rules are one for each host and path, and that of what nothing else takes.
	Rules []IngressRule `json:"rules"`
}

// IngressRule is what an Ingress sends to one backend.
type IngressRule struct {
	// Host, Path and PathType say what; nil for everything.
	Host     *string `json:"host"`
	Path     *string `json:"path"`
	PathType *string `json:"pathType"`
	// ServiceName and ServicePort say where; nil for another object than a Service.
	ServiceName *string `json:"serviceName"`
	ServicePort *string `json:"servicePort"`
}

// Ingress returns where an Ingress sends requests; nil for another kind.
func (r *Resource) Ingress() (*IngressView, error) {
	if (r.of != Kind{Group: networkingv1.GroupName, Version: "v1", Resource: "ingresses"}) {
		return nil, nil //nolint:nilnil // It is another kind.
	}
	i, err := index.Decode[networkingv1.Ingress](r.Indexed)
	if err != nil {
		return nil, err
	}
	v := &IngressView{ClassName: i.Spec.IngressClassName, Addresses: []string{}, TLSHosts: []string{}, Rules: rulesOf(&i.Spec)}
	for _, at := range i.Status.LoadBalancer.Ingress {
		v.Addresses = appendAddress(v.Addresses, at.IP, at.Hostname)
	}
	for _, t := range i.Spec.TLS {
		v.TLSHosts = append(v.TLSHosts, t.Hosts...)
	}
	return v, nil
}

func rulesOf(spec *networkingv1.IngressSpec) []IngressRule {
	all := []IngressRule{}
	for _, rule := range spec.Rules {
		if rule.HTTP == nil {
			continue // What is sent to the default backend.
		}
		for _, p := range rule.HTTP.Paths {
			one := ruleTo(&p.Backend)
			one.Host, one.Path = object.Optional(rule.Host), object.Optional(p.Path)
			if p.Path != "" && p.PathType != nil {
				one.PathType = new(string(*p.PathType))
			}
			all = append(all, one)
		}
	}
	if spec.DefaultBackend != nil {
		all = append(all, ruleTo(spec.DefaultBackend))
	}
	return all
}

func ruleTo(backend *networkingv1.IngressBackend) IngressRule {
	if backend.Service == nil {
		return IngressRule{}
	}
	port := backend.Service.Port.Name
	if port == "" {
		port = strconv.Itoa(int(backend.Service.Port.Number))
	}
	return IngressRule{ServiceName: &backend.Service.Name, ServicePort: &port}
}
