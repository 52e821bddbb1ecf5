package workloads

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
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
	// Cluster is the member whose revisions are meant; nil is the first that has true ones.
	Cluster *string
}

// RollbackPayload is a workload with an earlier template.
type RollbackPayload struct {
	Payload
	Cluster  string
	Revision int
}

// Rollback gives a workload an earlier pod template. An instance keeps no
// revisions; its members do, of what was sent to them. Only a member to which it
// is sent without overrides has templates that were the instance's.
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
	revision, err := pick(member, spec["template"], in.ToRevision)
	if err != nil {
		return nil, err
	}
	version := now.GetResourceVersion()
	if in.ResourceVersion != nil {
		version = *in.ResourceVersion
	}
	p, err := s.patch(ctx, site, in.Target, types.JSONPatchType, []step{
		{"replace", "/spec/template", revision.Template},
		{"replace", "/metadata/resourceVersion", version},
	}, write.Paths{"spec.template": "input.toRevision!"})
	if err != nil {
		return nil, err
	}
	return &RollbackPayload{Payload: *p, Cluster: member.Cluster, Revision: int(revision.Number)}, nil
}

// choose finds the member whose revisions count.
func choose(members []workload.MemberRevisions, cluster *string) (*workload.MemberRevisions, error) {
	var names []string
	for i := range members {
		m := &members[i]
		names = append(names, m.Cluster)
		switch {
		case cluster != nil && *cluster != m.Cluster:
		case !m.Overridden:
			return m, nil
		case cluster != nil:
			return nil, apierror.Invalid("input.cluster", "override policies change what is sent to %q: its revisions hold the changes, and would bring them to every cluster", m.Cluster)
		}
	}
	switch {
	case len(members) == 0:
		return nil, apierror.Invalid("input.name", "no member that Kairship knows runs this workload, so no member has revisions of it")
	case cluster != nil:
		return nil, apierror.Invalid("input.cluster", "the workload does not run in %q; it does in %s", *cluster, strings.Join(names, ", "))
	}
	return nil, apierror.Invalid("input.name",
		"override policies change what is sent to every cluster that runs this workload (%s): their revisions hold the changes, and are none of the template", strings.Join(names, ", "))
}

// pick finds a revision: the one of a number, or the newest that differs from
// what the template is now. What differs is found by the template and not by the
// number, because the member may not have the newest yet.
func pick(member *workload.MemberRevisions, template any, number *int) (*workload.Revision, error) {
	for _, r := range slices.Backward(member.Revisions) {
		switch {
		case number != nil && r.Number == int64(*number):
			return &r, nil
		case number == nil && !equality.Semantic.DeepEqual(normal(r.Template), normal(template)):
			return &r, nil
		}
	}
	if number != nil {
		return nil, apierror.Invalid("input.toRevision", "%q keeps no revision %d", member.Cluster, *number)
	}
	return nil, apierror.Invalid("input.name", "there is no earlier revision in %q", member.Cluster)
}
