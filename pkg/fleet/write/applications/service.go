// Package applications implements the mutation that writes an application: its resources and the
// policies that send them to member clusters.
package applications

import (
	"context"
	"fmt"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/operation"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/fleet/write/policies"
	"github.com/kairship-io/kairship/pkg/fleet/write/resources"
	"github.com/kairship-io/kairship/pkg/fleet/write/specs"
)

// Service writes applications.
type Service struct {
	Writer    *write.Writer
	Resources *resources.Service
	Policies  *policies.Writes
}

// DeployInput is the input of deployApplication.
type DeployInput struct {
	Instance  string
	Manifests string
	// Namespace is for manifests and policies that say none.
	Namespace           *string
	PropagationPolicies []specs.CreateInput[policyv1alpha1.PropagationSpec]
	OverridePolicies    []specs.CreateInput[policyv1alpha1.OverrideSpec]
	Force               bool
	Rollback            bool
	DryRun              bool
}

// DeployPayload is the answer of deployApplication.
type DeployPayload struct {
	// Deployed reports whether everything was written, or in a dry run could be.
	Deployed         bool
	Results          []resources.Result
	Operation        *string
	ConsistencyToken *string
}

// Deploy writes an application. It first sends dry runs of all objects to the instance, and writes
// only when none is refused. A later failure ends it; the result lists what was written until then,
// and undoes it if the input requests that.
func (s *Service) Deploy(ctx context.Context, in DeployInput) (*DeployPayload, error) {
	site, err := s.Writer.To(ctx, in.Instance)
	if err != nil {
		return nil, err
	}
	if in.Manifests == "" && len(in.PropagationPolicies)+len(in.OverridePolicies) == 0 {
		return nil, apierror.Invalid("input.manifests", "there is nothing to deploy: give manifests or policies")
	}
	given, err := drafts(s.Policies.Override, "input.overridePolicies", in.OverridePolicies, nil)
	if err == nil {
		given, err = drafts(s.Policies.Propagation, "input.propagationPolicies", in.PropagationPolicies, given)
	}
	if err != nil {
		return nil, err
	}
	t, err := s.Resources.Write(ctx, site, in.Manifests, given, resources.WriteOptions{
		Namespace: in.Namespace, Force: in.Force, Rollback: in.Rollback, DryRun: in.DryRun, Operation: operation.KindDeployApplication,
	})
	if err != nil {
		return nil, err
	}
	return &DeployPayload{Deployed: t.Done, Results: t.Results, Operation: t.Operation, ConsistencyToken: t.ConsistencyToken}, nil
}

// drafts appends the policies that inputs say.
func drafts[T, S any](of *specs.Changes[T, S], argument string, inputs []specs.CreateInput[S], to []resources.Given) ([]resources.Given, error) {
	for i, in := range inputs {
		at := fmt.Sprintf("%s[%d]", argument, i)
		u, err := of.Manifest(at, in)
		if err != nil {
			return nil, err
		}
		to = append(to, resources.Given{Argument: at, Paths: specs.Paths(at), Object: u})
	}
	return to, nil
}
