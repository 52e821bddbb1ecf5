package applications

import (
	"context"
	"fmt"
	"slices"
	"strings"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	"golang.org/x/sync/errgroup"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/operation"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/fleet/write/resources"
	"github.com/kairship-io/kairship/pkg/fleet/write/specs"
)

const (
	// mostInstances is how many instances one call writes to.
	mostInstances = 20
	// triedAtOnce is how many instances are tried at the same time.
	triedAtOnce = 4
)

// SeveralInput is the input of deployApplicationToInstances.
type SeveralInput struct {
	Instances           []string
	Manifests           string
	Namespace           *string
	PropagationPolicies []specs.CreateInput[policyv1alpha1.PropagationSpec]
	OverridePolicies    []specs.CreateInput[policyv1alpha1.OverrideSpec]
	Force               bool
	Rollback            bool
	DryRun              bool
}

// SeveralPayload is the answer of deployApplicationToInstances.
type SeveralPayload struct {
	// Deployed reports whether everything was written in every instance, or in a dry run could be.
	Deployed         bool
	Results          []InstanceResult
	ConsistencyToken *string
}

// Phase is how far an application has come in an instance. The values are those of the schema's enum.
type Phase string

// The phases.
const (
	PhaseTried      Phase = "TRIED"
	PhaseDeployed   Phase = "DEPLOYED"
	PhaseFailed     Phase = "FAILED"
	PhaseSkipped    Phase = "SKIPPED"
	PhaseRolledBack Phase = "ROLLED_BACK"
)

// InstanceResult is what became of an application in one instance.
type InstanceResult struct {
	InstanceName string
	Outcome      Phase
	Results      []resources.Result
	Error        *write.Problem
	Operation    *string

	written []*write.Outcome
	undo    func(context.Context) []resources.Result
}

// DeploySeveral writes an application to several instances. It is tried in all of them first, and written only when
// none refuses anything; then one instance after the other. The first that fails ends it, and what was written in the
// others is undone if the input requests that.
func (s *Service) DeploySeveral(ctx context.Context, in SeveralInput) (*SeveralPayload, error) {
	sites, err := s.sites(ctx, in.Instances)
	if err != nil {
		return nil, err
	}
	if in.Manifests == "" && len(in.PropagationPolicies)+len(in.OverridePolicies) == 0 {
		return nil, apierror.Invalid("input.manifests", "there is nothing to deploy: give manifests or policies")
	}
	p := &SeveralPayload{Results: make([]InstanceResult, len(sites))}
	var g errgroup.Group
	g.SetLimit(triedAtOnce)
	for i, site := range sites {
		g.Go(func() (err error) {
			p.Results[i], err = s.deployTo(ctx, site, &in, true)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	refused := slices.ContainsFunc(p.Results, func(r InstanceResult) bool { return r.Outcome != PhaseTried })
	p.Deployed = !refused
	if refused || in.DryRun {
		return p, nil
	}
	var written []*write.Outcome
	defer func() { p.ConsistencyToken = s.Writer.Token(ctx, written...) }()
	for i, site := range sites {
		done, err := s.deployTo(ctx, site, &in, false)
		if err != nil {
			problem := write.Problem{Code: string(apierror.CodeTimeout), Message: "the answer did not come in time, so it may have been written in part; look at it"}
			done = InstanceResult{InstanceName: site.Instance, Outcome: PhaseFailed, Results: []resources.Result{}, Error: &problem}
		}
		p.Results[i], written = done, append(written, done.written...)
		if done.Outcome == PhaseDeployed {
			continue
		}
		p.Deployed = false
		for j := i + 1; j < len(sites); j++ {
			p.Results[j] = InstanceResult{InstanceName: sites[j].Instance, Outcome: PhaseSkipped, Results: []resources.Result{}}
		}
		undo(ctx, p.Results[:i])
		return p, nil
	}
	return p, nil
}

// undo undoes what was written in some instances, the last first.
func undo(ctx context.Context, results []InstanceResult) {
	for i := range slices.Backward(results) {
		r := &results[i]
		if r.undo == nil {
			continue
		}
		r.Results, r.Outcome, r.Operation = r.undo(ctx), PhaseRolledBack, nil
	}
}

// sites finds the instances of an input. One that the caller may not see is missing.
func (s *Service) sites(ctx context.Context, names []string) ([]*write.Site, error) {
	if len(names) == 0 || len(names) > mostInstances {
		return nil, apierror.Invalid("input.instances", "name 1 to %d instances", mostInstances)
	}
	sites := make([]*write.Site, len(names))
	for i, name := range names {
		argument := fmt.Sprintf("input.instances[%d]", i)
		if slices.Contains(names[:i], name) {
			return nil, apierror.Invalid(argument, "%q is given twice", name)
		}
		var err error
		if sites[i], err = s.Writer.To(ctx, name); err != nil {
			return nil, apierror.Moved(err, write.InstanceArgument, argument)
		}
	}
	return sites, nil
}

// deployTo writes the application to one instance, or tries it there. What is wrong with the instance is in the
// result; an error is one of Kairship's own.
func (s *Service) deployTo(ctx context.Context, site *write.Site, in *SeveralInput, try bool) (InstanceResult, error) {
	r := InstanceResult{InstanceName: site.Instance, Outcome: PhaseFailed, Results: []resources.Result{}}
	given, err := drafts(s.Policies.Override, "input.overridePolicies", in.OverridePolicies, nil)
	if err == nil {
		given, err = drafts(s.Policies.Propagation, "input.propagationPolicies", in.PropagationPolicies, given)
	}
	var t *resources.WriteResult
	if err == nil {
		t, err = s.Resources.Write(ctx, site, in.Manifests, given, resources.WriteOptions{
			Namespace: in.Namespace, Force: in.Force, Rollback: in.Rollback, DryRun: try, Operation: operation.KindDeployApplication,
		})
	}
	if err != nil {
		problem, known := write.ProblemOf(err)
		// What is wrong with the input is so for every instance, and with the document as a whole.
		if !known || (problem.Code == string(apierror.CodeInvalid) && problem.Argument != nil && strings.HasPrefix(*problem.Argument, "input")) {
			return r, err
		}
		r.Error = problem
		return r, nil
	}
	r.Results, r.Operation, r.written, r.undo = t.Results, t.Operation, t.Outcomes, t.Undo
	switch {
	case t.Done && try:
		r.Outcome = PhaseTried
	case t.Done:
		r.Outcome = PhaseDeployed
	}
	return r, nil
}
