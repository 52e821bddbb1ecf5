package moves

import (
	"context"
	"slices"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/moving"
	"github.com/kairship-io/kairship/pkg/fleet/operation"
	"github.com/kairship-io/kairship/pkg/fleet/preview"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/fleet/write/workloads"
)

// WorkloadInput is the input of moveWorkload.
type WorkloadInput struct {
	Instance        string
	Kind            workload.Kind
	Namespace, Name string
	// From and To are member clusters.
	From, To []string
	// Cancel gives the policy back what it said before a move that is under way.
	Cancel bool
	DryRun bool
}

// WorkloadPayload is a move.
type WorkloadPayload struct {
	// PolicyNamespace is nil for a ClusterPropagationPolicy.
	PolicyNamespace *string
	PolicyName      string
	// Before, During and After are the member clusters that the policy names; During is Before for a move
	// that is not gradual.
	Before, During, After []string
	Gradual               bool
	// Finished reports whether the policy names no cluster any more that is left.
	Finished         bool
	Operation        *string
	ConsistencyToken *string

	instance string
	// policy is the spec that the policy will have; nil where nothing is to be previewed.
	policy *policyv1alpha1.PropagationSpec
}

// held is the policy of a workload that moves.
type held struct {
	kind   write.Kind
	policy *policyv1alpha1.PropagationPolicy
}

var movePaths = write.Paths{"": "input.name!"}

// Move has a workload leave some member clusters for others. Where the policy duplicates the workload, it
// names the old and the new clusters until the workload is ready in the new ones; then the controller workload-moves
// drops the old. Where it divides the replicas, it changes at once.
func (s *Service) Move(ctx context.Context, in WorkloadInput) (*WorkloadPayload, error) {
	site, err := s.Writer.To(ctx, in.Instance)
	if err != nil {
		return nil, err
	}
	if err := write.CheckNamespace(in.Namespace, "input.namespace"); err != nil {
		return nil, err
	}
	if err := write.CheckName(in.Name, "input.name"); err != nil {
		return nil, err
	}
	if err := site.Permit(ctx, authz.VerbUpdate, in.Namespace); err != nil {
		return nil, err
	}
	if !slices.Contains(workload.Kinds(), in.Kind) {
		return nil, apierror.Invalid("input.kind", "a custom workload cannot be moved here: change its policy")
	}
	h, err := s.hold(ctx, site, &in)
	if err != nil {
		return nil, err
	}
	p, err := planOf(h.policy, workload.Named{Instance: in.Instance, Kind: in.Kind, Namespace: in.Namespace, Name: in.Name}, in.From, in.To)
	if err != nil {
		return nil, apierror.In(err, in.Instance)
	}
	out := &WorkloadPayload{PolicyName: h.policy.Name, Before: p.before, During: p.during, After: p.after, Gradual: p.gradual, instance: in.Instance}
	if h.policy.Namespace != "" {
		out.PolicyNamespace = &h.policy.Namespace
	}
	if !p.gradual {
		out.During = p.before
	}
	if in.Cancel {
		return out, s.cancel(ctx, site, &in, h, p, out)
	}
	if in.DryRun {
		spec := h.policy.Spec.DeepCopy()
		spec.Placement.ClusterAffinity.ClusterNames = p.after
		out.policy = spec
	}
	return out, s.begin(ctx, site, &in, h, p, out)
}

// begin writes what a move begins with. Sent again while the move is under way, it records it anew, and changes nothing.
func (s *Service) begin(ctx context.Context, site *write.Site, in *WorkloadInput, h *held, p *plan, out *WorkloadPayload) error {
	op := operation.Operation{
		Kind: operation.KindMoveWorkload, Instance: in.Instance, Leaves: in.From, Enters: in.To,
		Objects: []operation.Object{objectOf(h.kind, h.policy.Namespace, h.policy.Name), objectOf(templateKind(in.Kind), in.Namespace, in.Name)},
	}
	clusters, record := p.after, (*moving.Move)(nil)
	if p.gradual {
		clusters, record = p.during, &moving.Move{From: in.From, To: in.To, Before: p.before}
	}
	if p.begun {
		clusters = h.policy.Spec.Placement.ClusterAffinity.ClusterNames
	}
	o, err := h.write(ctx, site, clusters, record, in.DryRun)
	if err != nil || in.DryRun {
		return err
	}
	out.Finished = !p.gradual
	op.Objects[0].ResourceVersion = o.Version.ResourceVersion
	out.Operation, out.ConsistencyToken = s.Operations.Begin(ctx, op), s.Writer.Token(ctx, o)
	return nil
}

// cancel gives the policy back what it named before a move.
func (s *Service) cancel(ctx context.Context, site *write.Site, in *WorkloadInput, h *held, p *plan, out *WorkloadPayload) error {
	if !p.begun {
		return apierror.In(apierror.At(apierror.New(apierror.CodeConflict, "no such move is under way: it is done, or was not begun; move it back instead"), "input.cancel"), in.Instance)
	}
	o, err := h.write(ctx, site, p.before, nil, in.DryRun)
	if err != nil {
		return err
	}
	out.During, out.After, out.Finished = p.before, p.before, !in.DryRun
	out.ConsistencyToken = s.Writer.Token(ctx, o)
	return nil
}

// Preview is what the change of the policy would do; nil where nothing is to be previewed.
func (s *Service) Preview(ctx context.Context, p *WorkloadPayload) (*preview.Preview, error) {
	if p.policy == nil {
		return nil, nil //nolint:nilnil // Null in the answer.
	}
	return s.Previews.Policy(ctx, p.instance, preview.PolicyInput{Verb: preview.Update, Namespace: p.PolicyNamespace, Name: p.PolicyName, Spec: p.policy})
}

// hold reads the policy that sends a workload.
func (s *Service) hold(ctx context.Context, site *write.Site, in *WorkloadInput) (*held, error) {
	template, err := site.Get(ctx, templateKind(in.Kind), in.Namespace, in.Name, write.Paths{"": "input!", "metadata.name": "input.name", "metadata.namespace": "input.namespace"})
	if err != nil {
		return nil, err
	}
	k, namespace, name := workloads.ClaimedBy(template.GetAnnotations())
	if name == "" {
		return nil, apierror.In(apierror.Invalid("input.name", "no policy sends this workload to any cluster"), in.Instance)
	}
	if err := site.Permit(ctx, authz.VerbUpdate, namespace); err != nil {
		return nil, err
	}
	return read(ctx, site, k, namespace, name)
}

func read(ctx context.Context, site *write.Site, k write.Kind, namespace, name string) (*held, error) {
	raw, err := site.Get(ctx, k, namespace, name, movePaths)
	if err != nil {
		return nil, err
	}
	h := &held{kind: k, policy: &policyv1alpha1.PropagationPolicy{}} // The cluster's own kind has the same fields.
	return h, runtime.DefaultUnstructuredConverter.FromUnstructured(raw.Object, h.policy)
}

// write changes the clusters that the policy names, and records a move; nil records none.
func (h *held) write(ctx context.Context, site *write.Site, clusters []string, record *moving.Move, dryRun bool) (*write.Outcome, error) {
	change, err := moving.Patch(h.policy, clusters, record)
	if err != nil {
		return nil, err
	}
	return site.Patch(ctx, h.kind, h.policy.Namespace, h.policy.Name, types.MergePatchType, change, write.Options{DryRun: dryRun, Paths: movePaths})
}

func templateKind(k workload.Kind) write.Kind {
	return write.Kind{GroupVersionResource: k.GVR(), Kind: k.GVK().Kind, Namespaced: true}
}

func objectOf(k write.Kind, namespace, name string) operation.Object {
	return operation.Object{Group: k.Group, Version: k.Version, Resource: k.Resource, Kind: k.Kind, Namespace: namespace, Name: name}
}
