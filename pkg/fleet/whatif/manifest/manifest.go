package manifest

import (
	"fmt"
	"maps"
	"strconv"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/resourceinterpreter/default/native/prune"
	"github.com/karmada-io/karmada/pkg/util"
	"github.com/karmada-io/karmada/pkg/util/helper"
	"github.com/karmada-io/karmada/pkg/util/names"
	"github.com/karmada-io/karmada/pkg/util/overridemanager"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/fleet/whatif/interpreter"
)

// Source is what the manifests of one template are made from.
type Source struct {
	// Template is the whole object in the instance.
	Template *unstructured.Unstructured
	// Binding is Karmada's record of where it goes. One without a namespace stands for a
	// ClusterResourceBinding, which has the same fields.
	Binding *workv1alpha2.ResourceBinding
	// Policies has the override policies of the template's namespace and those without one, and the Cluster
	// objects of the member clusters.
	Policies client.Client
}

// Made is a manifest for a member cluster, or why Karmada cannot make it.
type Made struct {
	Cluster  string
	Manifest *unstructured.Unstructured
	// Err is the error for which Karmada sends nothing.
	Err error
}

// Make makes the manifests for all member clusters that the binding names, in its order. The Works that
// carry the present ones are by cluster; of these only the labels are read. One that is missing will be
// made, with a permanent ID that is not known yet.
func Make(s *Source, works map[string]*workv1alpha1.Work) []Made {
	targets := Targets(&s.Binding.Spec)
	completions, err := jobCompletions(s.Template, &s.Binding.Spec, targets)
	made := make([]Made, len(targets))
	for i, target := range targets {
		made[i] = Made{Cluster: target.Name, Err: err}
		if err == nil {
			made[i].Manifest, made[i].Err = s.make(target, completions, works[target.Name])
		}
	}
	return made
}

// Targets returns the member clusters of a binding with their replicas: those of the scheduling result, and
// those of bindings that need this one as a dependency.
func Targets(spec *workv1alpha2.ResourceBindingSpec) []workv1alpha2.TargetCluster {
	var targets []workv1alpha2.TargetCluster
	known := map[string]bool{}
	add := func(all []workv1alpha2.TargetCluster) {
		for _, target := range all {
			if !known[target.Name] {
				known[target.Name] = true
				targets = append(targets, target)
			}
		}
	}
	add(spec.Clusters)
	for i := range spec.RequiredBy {
		add(spec.RequiredBy[i].Clusters)
	}
	return targets
}

func (s *Source) make(target workv1alpha2.TargetCluster, completions map[string]int32, work *workv1alpha1.Work) (*unstructured.Unstructured, error) {
	u := s.Template.DeepCopy()
	var err error
	if s.Binding.Spec.IsWorkload() {
		if u, err = interpreter.ReviseReplica(u, target.Replicas); err != nil {
			return nil, err
		}
	}
	if n, ok := completions[target.Name]; ok {
		if err := helper.ApplyReplica(u, int64(n), util.CompletionsField); err != nil {
			return nil, err
		}
	}
	if _, _, err := overridemanager.New(s.Policies, &record.FakeRecorder{}).ApplyOverridePolicies(u, target.Name); err != nil {
		return nil, fmt.Errorf("applying override policies for cluster %s: %w", target.Name, err)
	}
	return u, s.finish(u, target.Name, work)
}

// jobCompletions divides the completions of a Job by the replicas of the clusters; nil where Karmada does not
// divide them.
func jobCompletions(template *unstructured.Unstructured, spec *workv1alpha2.ResourceBindingSpec, targets []workv1alpha2.TargetCluster) (map[string]int32, error) {
	if template.GetKind() != util.JobKind || spec.Replicas <= 0 || spec.Placement == nil ||
		spec.Placement.ReplicaSchedulingType() != policyv1alpha1.ReplicaSchedulingTypeDivided {
		return nil, nil //nolint:nilnil // Each cluster gets all of them.
	}
	n, found, err := unstructured.NestedInt64(template.Object, util.SpecField, util.CompletionsField)
	if err != nil || !found {
		return nil, err
	}
	completions := map[string]int32{}
	for _, target := range helper.SpreadReplicasByTargetClusters(int32(n), targets, nil, template.GetUID()) { //nolint:gosec // As Karmada does.
		completions[target.Name] = target.Replicas
	}
	return completions, nil
}

// finish adds to a manifest what Karmada adds to all, and removes what is not sent.
func (s *Source) finish(u *unstructured.Unstructured, cluster string, work *workv1alpha1.Work) error {
	b := s.Binding
	if b.Namespace != "" {
		util.MergeLabel(u, workv1alpha2.ResourceBindingPermanentIDLabel, b.Labels[workv1alpha2.ResourceBindingPermanentIDLabel])
		util.MergeAnnotation(u, workv1alpha2.ResourceBindingNamespaceAnnotationKey, b.Namespace)
		util.MergeAnnotation(u, workv1alpha2.ResourceBindingNameAnnotationKey, b.Name)
	} else {
		util.MergeLabel(u, workv1alpha2.ClusterResourceBindingPermanentIDLabel, b.Labels[workv1alpha2.ClusterResourceBindingPermanentIDLabel])
		util.MergeAnnotation(u, workv1alpha2.ClusterResourceBindingAnnotationKey, b.Name)
	}
	if generation := u.GetGeneration(); generation > 0 {
		util.MergeAnnotation(u, workv1alpha2.ResourceTemplateGenerationAnnotationKey, strconv.FormatInt(generation, 10))
	}
	util.MergeAnnotation(u, workv1alpha2.ResourceConflictResolutionAnnotation, s.conflictResolution(u))
	util.MergeLabel(u, util.ManagedByKarmadaLabel, util.ManagedByKarmadaLabelValue)
	util.MergeAnnotation(u, workv1alpha2.ResourceTemplateUIDAnnotation, string(u.GetUID()))
	util.MergeAnnotation(u, workv1alpha2.WorkNameAnnotation, names.GenerateWorkName(u.GetKind(), u.GetName(), u.GetNamespace()))
	util.MergeAnnotation(u, workv1alpha2.WorkNamespaceAnnotation, names.GenerateExecutionSpaceName(cluster))
	if err := prune.RemoveIrrelevantFields(u, prune.RemoveJobTTLSeconds); err != nil {
		return err
	}
	carrier := &workv1alpha1.Work{}
	if work != nil {
		carrier.Labels = maps.Clone(work.Labels)
	}
	util.SetLabelsAndAnnotationsForWorkload(u, carrier)
	return nil
}

// conflictResolution is whether an object that is in the way is overwritten: as the object says after the
// overrides, else as the binding says.
func (s *Source) conflictResolution(u *unstructured.Unstructured) string {
	switch said := u.GetAnnotations()[workv1alpha2.ResourceConflictResolutionAnnotation]; {
	case said == workv1alpha2.ResourceConflictResolutionOverwrite, said == workv1alpha2.ResourceConflictResolutionAbort:
		return said
	case s.Binding.Spec.ConflictResolution == policyv1alpha1.ConflictOverwrite:
		return workv1alpha2.ResourceConflictResolutionOverwrite
	}
	return workv1alpha2.ResourceConflictResolutionAbort
}

// Sent returns the manifest of a template in a Work; nil when it carries none of it.
func Sent(work *workv1alpha1.Work, template *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	for i := range work.Spec.Workload.Manifests {
		sent := &unstructured.Unstructured{}
		if err := sent.UnmarshalJSON(work.Spec.Workload.Manifests[i].Raw); err != nil {
			return nil, fmt.Errorf("reading a manifest of Work %s/%s: %w", work.Namespace, work.Name, err)
		}
		if sent.GroupVersionKind().GroupKind() == template.GroupVersionKind().GroupKind() && sent.GetNamespace() == template.GetNamespace() && sent.GetName() == template.GetName() {
			return sent, nil
		}
	}
	return nil, nil //nolint:nilnil // The Work carries something else.
}
