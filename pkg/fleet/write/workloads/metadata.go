package workloads

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// Delete deletes a workload, and in the background what it owns. Karmada then removes it from the
// member clusters.
func (s *Service) Delete(ctx context.Context, in Target) (*Payload, error) {
	site, err := s.at(ctx, in, authz.VerbDelete, "deleted", workload.Kinds()...)
	if err != nil {
		return nil, err
	}
	background := metav1.DeletePropagationBackground
	d := write.Deletion{Propagation: &background, UID: in.UID}
	if in.ResourceVersion != nil {
		d.ResourceVersion = *in.ResourceVersion
	}
	out, err := site.Delete(ctx, kindOf(in.Kind), in.Namespace, in.Name, d, write.Options{DryRun: in.DryRun, Paths: in.paths(nil)})
	if err != nil {
		return nil, err
	}
	return s.payload(ctx, in.Instance, out), nil
}

// Label sets labels of a workload, and removes others. The labels of its pods stay.
func (s *Service) Label(ctx context.Context, in Target, set map[string]string, remove []string) (*Payload, error) {
	site, err := s.at(ctx, in, authz.VerbUpdate, "labelled", workload.Kinds()...)
	if err != nil {
		return nil, err
	}
	labels := map[string]any{}
	for _, key := range remove {
		labels[key] = nil
	}
	for key, value := range set {
		if _, both := labels[key]; both {
			return nil, apierror.Invalid("input.removeLabels", "%q is to be set and to be removed", key)
		}
		labels[key] = value
	}
	return s.merge(ctx, site, in, map[string]any{"metadata": map[string]any{"labels": labels}}, write.Paths{"metadata.labels": "input.labels!"})
}
