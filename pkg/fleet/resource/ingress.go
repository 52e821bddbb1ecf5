package resource

import (
	"strconv"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/index"
)

// IngressView is where an Ingress sends requests.
type IngressView struct {
	spec   networkingv1.IngressSpec
	status networkingv1.IngressStatus
}

// IngressRule is what an Ingress sends to one backend.
type IngressRule struct {
	// Host, Path and PathType say what; nil for everything.
	Host, Path, PathType *string
	// ServiceName and ServicePort say where; nil for another object than a Service.
	ServiceName, ServicePort *string
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
	return &IngressView{i.Spec, i.Status}, nil
}

// ClassName is that of its IngressClass; nil for the default.
func (i *IngressView) ClassName() *string { return i.spec.IngressClassName }

// Addresses are those that its controller reports.
func (i *IngressView) Addresses() []string {
	all := []string{}
	for _, at := range i.status.LoadBalancer.Ingress {
		all = appendAddress(all, at.IP, at.Hostname)
	}
	return all
}

// TLSHosts are those with a certificate.
func (i *IngressView) TLSHosts() []string {
	all := []string{}
	for _, t := range i.spec.TLS {
		all = append(all, t.Hosts...)
	}
	return all
}

// Rules are one for each host and path, and that of what nothing else takes.
func (i *IngressView) Rules() []IngressRule {
	all := []IngressRule{}
	for _, rule := range i.spec.Rules {
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
	if i.spec.DefaultBackend != nil {
		all = append(all, ruleTo(i.spec.DefaultBackend))
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
