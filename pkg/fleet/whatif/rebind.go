package whatif

import (
	"maps"
	"slices"
	"strings"
	"sync"

	configv1alpha1 "github.com/karmada-io/karmada/pkg/apis/config/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/detector"
	"github.com/karmada-io/karmada/pkg/resourceinterpreter/default/native"
	"github.com/karmada-io/karmada/pkg/resourceinterpreter/default/thirdparty"
	"github.com/karmada-io/karmada/pkg/util"
	"github.com/karmada-io/karmada/pkg/util/names"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The interpreters that are compiled into Karmada.
var (
	nativeInterpreter     = native.NewDefaultInterpreter()
	thirdPartyInterpreter = sync.OnceValue(thirdparty.NewConfigurableInterpreter)
)

// bound returns the binding that Karmada's detector makes of a template and the policy that claims it: the
// existing one with what the policy says, or a new one. It follows ApplyPolicy and ApplyClusterPolicy.
func bound(t *unstructured.Unstructured, was *workv1alpha2.ResourceBinding, p *Policy) (*workv1alpha2.ResourceBinding, error) {
	b := &workv1alpha2.ResourceBinding{}
	if was != nil {
		b = was.DeepCopy()
	} else {
		b.Namespace, b.Name = t.GetNamespace(), names.GenerateBindingName(t.GetKind(), t.GetName())
		b.Spec.Resource = workv1alpha2.ObjectReference{
			APIVersion: t.GetAPIVersion(), Kind: t.GetKind(), Namespace: t.GetNamespace(), Name: t.GetName(), UID: t.GetUID(),
		}
		if err := interpret(t, &b.Spec); err != nil {
			return nil, err
		}
	}
	b.Spec.Resource.ResourceVersion = t.GetResourceVersion()
	b.Labels, b.Annotations = maps.Clone(b.Labels), maps.Clone(b.Annotations)
	claimFor(b, p)
	spec := p.Spec.DeepCopy()
	b.Spec.PropagateDeps = spec.PropagateDeps
	b.Spec.SchedulerName = spec.SchedulerName
	b.Spec.Placement = &spec.Placement
	b.Spec.Failover = spec.Failover
	b.Spec.ConflictResolution = spec.ConflictResolution
	b.Spec.PreserveResourcesOnDeletion = spec.PreserveResourcesOnDeletion
	b.Spec.Suspension = util.MergePolicySuspension(b.Spec.Suspension, spec.Suspension)
	return b, nil
}

// claimFor replaces the claim on an object.
func claimFor(o metav1.Object, p *Policy) {
	if p.Namespace == "" {
		detector.AddCPPClaimMetadata(o, idOr(p), p.ObjectMeta)
		return
	}
	detector.CleanupCPPClaimMetadata(o)
	detector.AddPPClaimMetadata(o, idOr(p), p.ObjectMeta)
}

// idOr is the permanent ID of a policy, or a text in its place where it has none yet.
func idOr(p *Policy) string {
	if id := p.id(); id != "" {
		return id
	}
	return p.Name
}

// interpret sets the replicas of a template and what each needs, as applyReplicaInterpretation does with the
// interpreters that are compiled into Karmada. What it returns for a kind that others interpret is an
// assumption.
func interpret(t *unstructured.Unstructured, spec *workv1alpha2.ResourceBindingSpec) error {
	gvk, err := t.GroupVersionKind(), error(nil)
	switch {
	case thirdPartyInterpreter().HookEnabled(gvk, configv1alpha1.InterpreterOperationInterpretReplica):
		spec.Replicas, spec.ReplicaRequirements, _, err = thirdPartyInterpreter().GetReplicas(t)
	case nativeInterpreter.HookEnabled(gvk, configv1alpha1.InterpreterOperationInterpretReplica):
		spec.Replicas, spec.ReplicaRequirements, err = nativeInterpreter.GetReplicas(t)
	}
	return err
}

// placements returns where a binding sends its object, by cluster.
func placements(clusters []workv1alpha2.TargetCluster) []Placement {
	out := make([]Placement, len(clusters))
	for i, c := range clusters {
		out[i] = Placement{Cluster: c.Name, Replicas: c.Replicas}
	}
	slices.SortFunc(out, func(a, b Placement) int { return strings.Compare(a.Cluster, b.Cluster) })
	return out
}
