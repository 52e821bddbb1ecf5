package promotion

import (
	"context"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/fleet/write/resources"
)

const exposingArgument = "input.exposing"

var (
	serviceKind = schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	ingressKind = networkingv1.SchemeGroupVersion.WithKind("Ingress")
)

// exposing finds the Services of a member that select the pods of an object, and the Ingresses that lead to
// these, or to the object where it is a Service itself. It adds them to what is promoted, with the
// Secrets that the Ingresses name where dependencies are promoted.
func (s *Service) exposing(ctx context.Context, site *write.Site, in *Input, live *unstructured.Unstructured, to *dependencies) error {
	names := map[string]bool{}
	switch pods := podLabels(live); {
	case live.GroupVersionKind() == serviceKind:
		names[live.GetName()] = true
	case len(pods) == 0:
		return nil
	default:
		err := s.add(ctx, site, in, serviceKind, live.GetNamespace(), to, func(service *unstructured.Unstructured) bool {
			selected := selects(service, pods)
			names[service.GetName()] = names[service.GetName()] || selected
			return selected
		})
		if err != nil {
			return err
		}
	}
	return s.add(ctx, site, in, ingressKind, live.GetNamespace(), to, func(ingress *unstructured.Unstructured) bool { return leadsTo(ingress, names) })
}

// add adds the objects of a kind that match.
func (s *Service) add(ctx context.Context, site *write.Site, in *Input, gvk schema.GroupVersionKind, namespace string, to *dependencies, match func(*unstructured.Unstructured) bool) error {
	k, err := site.Kind(ctx, gvk)
	if err != nil {
		return err
	}
	all, err := site.ListFromMember(ctx, in.Cluster, exposingArgument, k, namespace, write.Paths{"": exposingArgument + "!", "metadata.namespace": "input.namespace"})
	if err != nil {
		return err
	}
	for i := range all {
		one := &all[i]
		if !match(one) {
			continue
		}
		if err := promotable(one, in.Cluster); err != nil {
			to.notWritten = append(to.notWritten, *leftAlone(one, exposingArgument, resources.ActionSkipped, "a controller of member cluster %q makes it, or it is being deleted", in.Cluster))
			continue
		}
		if in.Dependencies {
			more, err := s.dependencies(ctx, site, in.Cluster, one)
			if err != nil {
				return err
			}
			to.merge(more)
		}
		given, left, err := compared(ctx, site, in.Cluster, k, one, exposingArgument)
		switch {
		case err != nil:
			return err
		case left != nil:
			to.notWritten = append(to.notWritten, *left)
		default:
			to.given = append(to.given, *given)
			to.sent = append(to.sent, given.Object)
		}
	}
	return nil
}

// podLabels are the labels of the pods that a workload makes; nil for what makes none.
func podLabels(live *unstructured.Unstructured) labels.Set {
	switch live.GroupVersionKind().GroupKind().String() {
	case "Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "Job.batch":
		found, _, _ := unstructured.NestedStringMap(live.Object, "spec", "template", "metadata", "labels")
		return found
	}
	return nil
}

// selects reports whether a Service selects pods with some labels.
func selects(service *unstructured.Unstructured, pods labels.Set) bool {
	selector, _, err := unstructured.NestedStringMap(service.Object, "spec", "selector")
	return err == nil && len(selector) > 0 && labels.SelectorFromSet(selector).Matches(pods)
}

// leadsTo reports whether an Ingress has one of some Services as a backend.
func leadsTo(ingress *unstructured.Unstructured, services map[string]bool) bool {
	var typed networkingv1.Ingress
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(ingress.Object, &typed); err != nil {
		return false
	}
	is := func(b *networkingv1.IngressBackend) bool {
		return b != nil && b.Service != nil && services[b.Service.Name]
	}
	if is(typed.Spec.DefaultBackend) {
		return true
	}
	for _, rule := range typed.Spec.Rules {
		if rule.HTTP == nil {
			continue
		}
		for i := range rule.HTTP.Paths {
			if is(&rule.HTTP.Paths[i].Backend) {
				return true
			}
		}
	}
	return false
}
