// Package promotion implements the mutation that puts resources of a member cluster under
// the management of its instance.
package promotion

import (
	"context"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	karmadanames "github.com/karmada-io/karmada/pkg/util/names"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/operation"
	"github.com/kairship-io/kairship/pkg/fleet/resource"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/fleet/write/policies"
	"github.com/kairship-io/kairship/pkg/fleet/write/resources"
	"github.com/kairship-io/kairship/pkg/fleet/write/specs"
)

// Service promotes objects.
type Service struct {
	Writer    *write.Writer
	Resources *resources.Service
	Policies  *policies.Writes
}

// Input is the input of promoteResource.
type Input struct {
	Instance, Cluster        string
	Group, Version, Resource string
	Namespace                *string
	Name                     string
	// Dependencies promotes what the object names, too.
	Dependencies bool
	// Exposing promotes the Services that select the pods of a workload and the Ingresses that lead to these, too.
	Exposing bool
	// PolicyName is derived from the object's name if it is nil.
	PolicyName *string
	// PreserveOnDeletion keeps the objects in the member when their templates are deleted.
	PreserveOnDeletion bool
	Rollback           bool
	DryRun             bool
}

// Payload is the answer of promoteResource.
type Payload struct {
	// Promoted reports whether everything was written, or in a dry run could be.
	Promoted   bool
	PolicyName string
	// Resource is the object in the instance; nil where it was not written.
	Resource         *resource.Resource
	Results          []resources.Result
	Operation        *string
	ConsistencyToken *string
}

const (
	clusterArgument      = "input.cluster"
	dependenciesArgument = "input.dependencies"
	policyArgument       = "input.policyName"
)

// paths are the inputs that the fields of the promoted object come from: there is
// only its name to say.
var paths = write.Paths{"": "input.name!", "metadata.namespace": "input.namespace"}

// Promote takes an object of a member into the instance.
//
// The policy is written first: when the templates come, Karmada finds it, and none
// that is less specific sends them anywhere else. The object comes last: until
// then nothing is propagated, so that undoing touches nothing in the member.
func (s *Service) Promote(ctx context.Context, in Input) (*Payload, error) {
	site, err := s.Writer.To(ctx, in.Instance)
	if err != nil {
		return nil, err
	}
	namespace := ""
	if in.Namespace != nil {
		namespace = *in.Namespace
	}
	if err := site.Permit(ctx, authz.VerbCreate, namespace); err != nil {
		return nil, err
	}
	k, namespace, err := site.Find(ctx, write.Target{Group: in.Group, Version: in.Version, Resource: in.Resource, Namespace: in.Namespace, Name: in.Name})
	if err != nil {
		return nil, err
	}
	if isSecret(k) {
		if err := site.PermitSecrets(ctx, namespace); err != nil {
			return nil, err
		}
	}
	live, err := site.FromMember(ctx, in.Cluster, clusterArgument, k, namespace, in.Name, paths)
	if err != nil {
		return nil, err
	}
	if err := promotable(live, in.Cluster); err != nil {
		return nil, err
	}
	var found dependencies
	if in.Dependencies {
		if found, err = s.dependencies(ctx, site, in.Cluster, live); err != nil {
			return nil, err
		}
	}
	if in.Exposing && namespace != "" {
		if err := s.exposing(ctx, site, &in, live, &found); err != nil {
			return nil, err
		}
	}
	template := Clean(live)
	claim, err := s.policy(in, template, found.sent)
	if err != nil {
		return nil, err
	}
	given := append([]resources.Given{claim}, found.given...)
	given = append(given, resources.Given{Argument: "input.name", Paths: paths, Object: template})
	t, err := s.Resources.Write(ctx, site, "", given, resources.WriteOptions{Create: true, Rollback: in.Rollback, DryRun: in.DryRun, Operation: operation.KindPromoteResource})
	if err != nil {
		return nil, err
	}
	if !t.Done && !t.Written {
		return nil, t.Err
	}
	return &Payload{
		Promoted: t.Done, PolicyName: claim.Object.GetName(), Resource: t.Results[len(t.Results)-1].Resource,
		Results: append(t.Results, found.notWritten...), Operation: t.Operation, ConsistencyToken: t.ConsistencyToken,
	}, nil
}

// promotable refuses what another controller in the member makes.
func promotable(live *unstructured.Unstructured, cluster string) error {
	if live.GetDeletionTimestamp() != nil {
		return apierror.Invalid("input.name", "%s %q is being deleted in member cluster %q", live.GetKind(), live.GetName(), cluster)
	}
	for _, owner := range live.GetOwnerReferences() {
		if owner.Controller != nil && *owner.Controller {
			return apierror.Invalid("input.name", "%s %q is made by %s %q in member cluster %q: promote that instead",
				live.GetKind(), live.GetName(), owner.Kind, owner.Name, cluster)
		}
	}
	return nil
}

// policy keeps the object running where it is, with others that are promoted with it.
func (s *Service) policy(in Input, template *unstructured.Unstructured, others []*unstructured.Unstructured) (resources.Given, error) {
	name := karmadanames.GeneratePolicyName(template.GetNamespace(), template.GetName(), template.GroupVersionKind().String())
	if in.PolicyName != nil {
		name = *in.PolicyName
	}
	create := specs.CreateInput[policyv1alpha1.PropagationSpec]{
		Namespace: template.GetNamespace(), Name: name,
		Spec: policyv1alpha1.PropagationSpec{
			ResourceSelectors: []policyv1alpha1.ResourceSelector{{
				APIVersion: template.GetAPIVersion(), Kind: template.GetKind(), Name: template.GetName(),
			}},
			PropagateDeps:               in.Dependencies,
			Placement:                   policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{in.Cluster}}},
			ConflictResolution:          policyv1alpha1.ConflictOverwrite,
			PreserveResourcesOnDeletion: &in.PreserveOnDeletion,
		},
	}
	for _, o := range others {
		create.Spec.ResourceSelectors = append(create.Spec.ResourceSelectors, policyv1alpha1.ResourceSelector{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Name: o.GetName()})
	}
	var (
		u   *unstructured.Unstructured
		err error
	)
	if template.GetNamespace() == "" {
		u, err = s.Policies.ClusterPropagation.Manifest("input", create)
	} else {
		u, err = s.Policies.Propagation.Manifest("input", create)
	}
	return resources.Given{
		Argument: policyArgument, Object: u,
		Paths: write.Paths{"": policyArgument + "!", "metadata.namespace": "input.namespace"},
	}, err
}

func isSecret(k write.Kind) bool { return k.Group == "" && k.Resource == "secrets" }
