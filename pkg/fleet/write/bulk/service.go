package bulk

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/consistency"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/fleet/write/workloads"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// atOnce is how many workloads of one call are changed at the same time.
const atOnce = 8

// Service changes many workloads at once.
type Service struct {
	Workloads *workload.Service
	Writes    *workloads.Service
}

// Change does one thing with all workloads that a filter hits and the caller may see. Each is changed
// as if by the mutation for one, which decides whether the caller may do that.
func (s *Service) Change(ctx context.Context, in Input) (*Payload, error) {
	filter, err := in.check()
	if err != nil {
		return nil, err
	}
	labels, err := write.Map(in.Labels, "input.labels")
	if err != nil {
		return nil, err
	}
	p := &Payload{Action: in.Action}
	targets, err := s.hit(ctx, &filter, p)
	if err != nil {
		return nil, err
	}
	p.Fingerprint, p.Total = in.fingerprint(targets), len(targets)
	if err := in.expected(p.Fingerprint, p.Total); err != nil {
		return nil, err
	}
	r := &run{in: in, p: p, refused: s.refused(in.Action), change: func(ctx context.Context, t workloads.Target) (*workloads.Payload, error) {
		return s.one(ctx, &in, labels, t)
	}}
	if err := r.all(ctx, targets); err != nil {
		return nil, err
	}
	p.ConsistencyToken = s.Writes.Writer.Token(ctx, r.outcomes...)
	return p, nil
}

// hit lists the workloads that a filter hits, in a fixed order.
func (s *Service) hit(ctx context.Context, f *workload.Filter, p *Payload) ([]target, error) {
	first := page.MaxSize
	found, err := s.Workloads.List(ctx, workload.ListArgs{Args: page.Args{First: &first}, Filter: f}, workload.Needs{Template: index.Metadata})
	if err != nil {
		return nil, inInput(err)
	}
	if found.PageInfo.HasNextPage {
		return nil, apierror.Invalid("input.filter", "it hits more than %d workloads: narrow it, for example by namespaces", Most)
	}
	p.Freshness = found.Freshness
	targets := make([]target, 0, len(found.Nodes))
	for _, n := range found.Nodes {
		w := n.Base()
		targets = append(targets, target{w.Instance, w.Kind(), w.Namespace(), w.Name(), string(w.Indexed.Meta.UID)})
	}
	slices.SortFunc(targets, func(a, b target) int {
		return cmp.Or(cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return targets, nil
}

// inInput puts the argument of a list's error into the input.
func inInput(err error) error {
	e, ok := errors.AsType[*apierror.Error](err)
	if !ok || e.Argument == "" {
		return err
	}
	moved := *e
	moved.Argument = "input." + e.Argument
	return &moved
}

// run is one call.
type run struct {
	in     Input
	change func(context.Context, workloads.Target) (*workloads.Payload, error)
	// refused records what the caller may not change; nil for nothing.
	refused func(context.Context, target, error)

	mu       sync.Mutex
	p        *Payload
	outcomes []*write.Outcome
}

// all changes the workloads, a few at the same time.
func (r *run) all(ctx context.Context, targets []target) error {
	r.p.Results, r.outcomes = make([]Result, len(targets)), make([]*write.Outcome, len(targets))
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i, t := range targets {
		g.Go(func() error { return r.one(ctx, i, t) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	r.p.Skipped = r.p.Total - r.p.Changed - r.p.Failed
	return nil
}

// one changes a workload, unless too many failed before.
func (r *run) one(ctx context.Context, i int, t target) error {
	result := Result{InstanceName: t.Instance, Kind: t.Kind, Namespace: t.Namespace, Name: t.Name, Outcome: OutcomeSkipped}
	r.mu.Lock()
	// A dry run tries all: it is there to say what would fail.
	stop := ctx.Err() != nil || (!r.in.DryRun && tooMany(r.p.Failed, r.p.Total, r.in.MaxFailedPercent))
	if stop {
		r.p.Results[i] = result
	}
	r.mu.Unlock()
	if stop {
		return nil
	}
	part, m := write.BeginPart(ctx)
	done, err := r.change(part, workloads.Target{Instance: t.Instance, Kind: t.Kind, Namespace: t.Namespace, Name: t.Name, UID: t.UID, DryRun: r.in.DryRun})
	if err != nil && !r.in.DryRun && r.refused != nil && !m.Refused() {
		r.refused(part, t, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch problem, known := write.ProblemOf(err); {
	case err == nil:
		result.Outcome, result.Workload, r.outcomes[i] = OutcomeChanged, done.Workload, done.Outcome
		r.p.Changed++
	case known:
		result.Outcome, result.Error = OutcomeFailed, problem
		r.p.Failed++
	case ctx.Err() != nil:
		result.Outcome = OutcomeFailed
		result.Error = &write.Problem{Code: string(apierror.CodeTimeout), Message: "the answer did not come in time, so it may have been changed; look at it"}
		r.p.Failed++
	default:
		return err
	}
	r.p.Results[i] = result
	return nil
}

// refused records a workload that the caller may not change.
func (s *Service) refused(action Action) func(context.Context, target, error) {
	verb := projection.ActivityUpdate
	if action == ActionDelete {
		verb = projection.ActivityDelete
	}
	return func(ctx context.Context, t target, err error) {
		kind := t.Kind.GVK()
		s.Writes.Writer.Refused(ctx, verb, &consistency.Version{Instance: t.Instance, Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Namespace: t.Namespace, Name: t.Name}, err)
	}
}

// one does with one workload what is to be done with all.
func (s *Service) one(ctx context.Context, in *Input, labels map[string]string, t workloads.Target) (*workloads.Payload, error) {
	switch in.Action {
	case ActionScale:
		return s.Writes.Scale(ctx, workloads.ScaleInput{Target: t, Replicas: *in.Replicas})
	case ActionRestart:
		return s.Writes.Restart(ctx, t)
	case ActionPause:
		return s.Writes.Pause(ctx, t)
	case ActionResume:
		return s.Writes.Resume(ctx, t)
	case ActionDelete:
		return s.Writes.Delete(ctx, t)
	case ActionLabel:
		return s.Writes.Label(ctx, t, labels, in.RemoveLabels)
	case ActionSetImage:
	}
	p, err := s.Writes.SetImage(ctx, workloads.SetImageInput{Target: t, Images: in.Images})
	if err != nil {
		return nil, err
	}
	return &p.Payload, nil
}
