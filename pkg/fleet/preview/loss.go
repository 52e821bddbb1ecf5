package preview

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/whatif"
	"github.com/kairship-io/kairship/pkg/fleet/write/members"
)

// mostLost is how many clusters a preview loses at the same time.
const mostLost = 100

// LossInput is a loss of member clusters.
type LossInput struct {
	Clusters []string
	Mode     whatif.LossMode
	// Taints of NoExecuteTaint; nil for one that no policy tolerates by its key.
	Taints []members.TaintInput
	Assume *Assumptions
}

// Loss returns what a loss of member clusters would do, for callers who may change these.
func (s *Service) Loss(ctx context.Context, instance string, in LossInput) (*Preview, error) {
	site, err := s.Writer.To(ctx, instance)
	if err != nil {
		return nil, err
	}
	if err := site.Permit(ctx, authz.VerbUpdate, ""); err != nil {
		return nil, err
	}
	if !site.Reads("") {
		return nil, apierror.In(apierror.New(apierror.CodeForbidden,
			"your roles do not let you read the member clusters of instance %q, which a preview needs", instance), instance)
	}
	loss, err := in.loss()
	if err != nil {
		return nil, err
	}
	r := &reading{Service: s, ctx: ctx, instance: instance}
	if r.world.Settings, err = s.settings(ctx, instance, in.Assume); err != nil {
		return nil, err
	}
	reads := []func() error{r.clusters, r.allBindings}
	if in.Mode == whatif.Unready {
		reads = append(reads, r.taintPolicies)
	}
	for _, read := range reads {
		if err := read(); err != nil {
			return nil, apierror.In(err, instance)
		}
	}
	for i, name := range in.Clusters {
		if !slices.ContainsFunc(r.world.Clusters, func(c *clusterv1alpha1.Cluster) bool { return c.Name == name }) {
			return nil, apierror.In(apierror.Invalid(fmt.Sprintf("clusters[%d]", i), "instance %q has no member cluster %q", instance, name), instance)
		}
	}
	report, err := whatif.ClusterLoss(&r.world, *loss) //nolint:contextcheck // It is a pure function: the plugins of Karmada that it runs take a context and make nothing of it.
	if err != nil {
		return nil, err
	}
	return newPreview(instance, report, r.fresh), nil
}

// loss checks the input.
func (in LossInput) loss() (*whatif.Loss, error) {
	switch {
	case len(in.Clusters) == 0 || len(in.Clusters) > mostLost:
		return nil, apierror.Invalid("clusters", "name 1 to %d member clusters", mostLost)
	case in.Taints != nil && in.Mode != whatif.NoExecuteTaint:
		return nil, apierror.Invalid("taints", "only the mode %s takes taints", whatif.NoExecuteTaint)
	}
	l := &whatif.Loss{Clusters: in.Clusters, Mode: in.Mode}
	for i, t := range in.Taints {
		if t.Key == "" {
			return nil, apierror.Invalid(fmt.Sprintf("taints[%d].key", i), "a taint needs a key")
		}
		l.Taints = append(l.Taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
	}
	return l, nil
}

// ExpectCordon refuses to cordon a member cluster if that would not do what the preview with a fingerprint says.
func (s *Service) ExpectCordon(ctx context.Context, instance, cluster, fingerprint string) error {
	return s.expectLoss(ctx, instance, LossInput{Clusters: []string{cluster}, Mode: whatif.Cordon}, fingerprint)
}

// ExpectTaints is ExpectCordon for taints.
func (s *Service) ExpectTaints(ctx context.Context, instance, cluster string, taints []members.TaintInput, fingerprint string) error {
	return s.expectLoss(ctx, instance, LossInput{Clusters: []string{cluster}, Mode: whatif.NoExecuteTaint, Taints: taints}, fingerprint)
}

func (s *Service) expectLoss(ctx context.Context, instance string, in LossInput, fingerprint string) error {
	var err error
	if in.Assume, err = assumed(fingerprint); err != nil {
		return err
	}
	p, err := s.Loss(ctx, instance, in)
	if err == nil && p.Fingerprint != fingerprint {
		err = apierror.In(moved("clusterLossPreview"), instance)
	}
	return err
}
