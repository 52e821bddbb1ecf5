package workloads

import (
	"context"
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// RollbackInput is the input of rollbackWorkload.
type RollbackInput struct {
	Target
	// ToRevision is the number that the member gave it; nil is the one before the current.
	ToRevision *int
	// Cluster is the member whose revisions are meant; nil is the first, of those without overrides if there are any.
	Cluster *string
}

// RollbackPayload is a workload with an earlier template.
type RollbackPayload struct {
	Payload
	Cluster  string
	Revision int
	// Derived reports whether the template was derived from a revision that overrides changed.
	Derived bool
}

// Rollback gives a workload an earlier pod template. An instance keeps no
// revisions; its members do, of what was sent to them. Only a member to which it
// is sent without overrides has templates that were the instance's. Of another member's
// revision, the template is derived; see workload.Derive.
func (s *Service) Rollback(ctx context.Context, in RollbackInput) (*RollbackPayload, error) {
	site, err := s.at(ctx, in.Target, authz.VerbUpdate, "rolled back", workload.KindsWithRevisions()...)
	if err != nil {
		return nil, err
	}
	return again(in.Target, func() (*RollbackPayload, error) { return s.rollback(ctx, site, in) })
}

func (s *Service) rollback(ctx context.Context, site *write.Site, in RollbackInput) (*RollbackPayload, error) {
	now, err := site.Get(ctx, kindOf(in.Kind), in.Namespace, in.Name, in.paths(nil))
	if err != nil {
		return nil, err
	}
	spec, _ := now.Object["spec"].(map[string]any)
	if paused, _ := spec["paused"].(bool); paused {
		return nil, apierror.Invalid("input.name", "the Deployment is paused, and no revision would be rolled out: resume it first")
	}
	members, err := s.Workloads.Revisions(ctx, in.Instance, in.Kind, in.Namespace, in.Name)
	if err != nil {
		return nil, err
	}
	member, err := choose(members, in.Cluster)
	if err != nil {
		return nil, err
	}
	revision, template, err := s.template(in, now, member)
	if err != nil {
		return nil, err
	}
	version := now.GetResourceVersion()
	if in.ResourceVersion != nil {
		version = *in.ResourceVersion
	}
	p, err := s.patch(ctx, site, in.Target, types.JSONPatchType, []step{
		{"replace", "/spec/template", template},
		{"replace", "/metadata/resourceVersion", version},
	}, write.Paths{"spec.template": "input.toRevision!"})
	if err != nil {
		return nil, err
	}
	return &RollbackPayload{Payload: *p, Cluster: member.Cluster, Revision: revision.Number, Derived: len(member.Overrides) > 0}, nil
}

// template finds the revision of a member and the template that the workload gets from it.
func (s *Service) template(in RollbackInput, now *unstructured.Unstructured, member *workload.MemberRevisions) (*workload.Revision, any, error) {
	has, _, _ := unstructured.NestedMap(now.Object, "spec", "template")
	if len(member.Overrides) == 0 {
		revision, err := pick(member, has, in.ToRevision)
		if err != nil {
			return nil, nil, err
		}
		return revision, revision.Template, nil
	}
	if len(member.Revisions) == 0 {
		return nil, nil, none(member)
	}
	current := &member.Revisions[len(member.Revisions)-1]
	revision, err := pick(member, current.Template, in.ToRevision)
	if err != nil {
		return nil, nil, err
	}
	manifest, err := now.MarshalJSON()
	if err != nil {
		return nil, nil, err
	}
	template, err := workload.Derive(in.Kind, manifest, member.Overrides, current.Template, revision.Template)
	switch {
	case errors.Is(err, workload.ErrNotDerivable):
		return nil, nil, apierror.Invalid("input.toRevision", "revision %d of %q cannot be gone back to: %v; change the override policies first, or name another revision", revision.Number, member.Cluster, err)
	case err != nil:
		return nil, nil, err
	case equality.Semantic.DeepEqual(template, normal(has)):
		return nil, nil, apierror.Invalid("input.name", "revision %d of %q differs from the current one only in what override policies decide: there is nothing to go back to in the template", revision.Number, member.Cluster)
	}
	return revision, template, nil
}

// choose finds the member whose revisions count: one that was named, or else the first to which the
// workload is sent without overrides, or else the first.
func choose(members []workload.MemberRevisions, cluster *string) (*workload.MemberRevisions, error) {
	var names []string
	for i := range members {
		m := &members[i]
		names = append(names, m.Cluster)
		if cluster != nil && *cluster == m.Cluster || cluster == nil && len(m.Overrides) == 0 {
			return m, nil
		}
	}
	switch {
	case len(members) == 0:
		return nil, apierror.Invalid("input.name", "no member that Kairship knows runs this workload, so no member has revisions of it")
	case cluster != nil:
		return nil, apierror.Invalid("input.cluster", "the workload does not run in %q; it does in %s", *cluster, strings.Join(names, ", "))
	}
	return &members[0], nil
}

// pick finds a revision: the one of a number, or the newest that differs from
// what the template is now. What differs is found by the template and not by the
// number, because the member may not have the newest yet.
func pick(member *workload.MemberRevisions, template any, number *int) (*workload.Revision, error) {
	for _, r := range slices.Backward(member.Revisions) {
		switch {
		case number != nil && r.Number == *number:
			return &r, nil
		case number == nil && !equality.Semantic.DeepEqual(normal(r.Template), normal(template)):
			return &r, nil
		}
	}
	if number != nil {
		return nil, apierror.Invalid("input.toRevision", "%q keeps no revision %d", member.Cluster, *number)
	}
	return nil, none(member)
}

func none(member *workload.MemberRevisions) error {
	return apierror.Invalid("input.name", "there is no earlier revision in %q", member.Cluster)
}
