package truth

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The kinds that are recorded.
const (
	kindDeployment  = "Deployment"
	kindStatefulSet = "StatefulSet"
	kindDaemonSet   = "DaemonSet"
	kindPolicy      = "PropagationPolicy"
	kindOverride    = "OverridePolicy"
	kindBinding     = "ResourceBinding"
	kindPod         = "Pod"
	kindReplicaSet  = "ReplicaSet"
)

// appLabel on a pod names its workload; no two workloads of the test have the same name.
const appLabel = "app"

// The facts are what is kept of each version of an object.
type (
	// running is a workload: the template in an instance, or the object in a member.
	running struct {
		UID      types.UID
		Deleting bool
		// Claimed reports that Karmada labelled it with its policy.
		Claimed bool
		// Generation of its spec.
		Generation int64
		// Replicas of its spec; of a DaemonSet, the nodes that it counted.
		Replicas int32
		Images   []string
		// Ready is how many the status counts.
		Ready int32
		// TemplateUID and TemplateGeneration are what Karmada derived it from.
		TemplateUID        types.UID
		TemplateGeneration int64
	}
	// policy is a PropagationPolicy.
	policy struct {
		Deleting bool
		// Placement is where it sends what it claims, as text.
		Placement string
		// Divided reports that the replicas are divided over the clusters.
		Divided bool
	}
	// override is an OverridePolicy of the shapes that the test writes.
	override struct {
		Cluster string
		// Tag replaces the tag of every image; empty for none.
		Tag string
		// Replicas replaces the replicas; nil for none.
		Replicas *int32
	}
	// binding is a ResourceBinding.
	binding struct {
		Of       types.UID
		Deleting bool
		Replicas int32
		// Clusters are those that it is scheduled to, with their replicas.
		Clusters map[string]int32
		// Applied is the placement that the scheduler chose them by, as text.
		Applied string
		// Unscheduled reports that the scheduler failed to apply the latest change.
		Unscheduled bool
	}
	// pod is a pod of a member.
	pod struct {
		App, Image string
		// Controller is the UID of what made it.
		Controller      types.UID
		Ready, Deleting bool
	}
	// replicaSet is a ReplicaSet of a member, and the UID of the Deployment that made it.
	replicaSet struct{ UID, Controller types.UID }
)

// factOf is what is kept of an object.
func factOf(o client.Object) any {
	switch o := o.(type) {
	case *appsv1.Deployment:
		return workloadFact(o, deref(o.Spec.Replicas, 1), o.Status.ReadyReplicas, &o.Spec.Template)
	case *appsv1.StatefulSet:
		return workloadFact(o, deref(o.Spec.Replicas, 1), o.Status.ReadyReplicas, &o.Spec.Template)
	case *appsv1.DaemonSet:
		return workloadFact(o, o.Status.DesiredNumberScheduled, o.Status.NumberReady, &o.Spec.Template)
	case *policyv1alpha1.PropagationPolicy:
		return policy{
			Deleting: !o.DeletionTimestamp.IsZero(), Placement: placementText(&o.Spec.Placement),
			Divided: o.Spec.Placement.ReplicaSchedulingType() == policyv1alpha1.ReplicaSchedulingTypeDivided,
		}
	case *policyv1alpha1.OverridePolicy:
		return overrideFact(o)
	case *workv1alpha2.ResourceBinding:
		return bindingFact(o)
	case *corev1.Pod:
		return podFact(o)
	case *appsv1.ReplicaSet:
		return replicaSet{o.UID, controllerOf(o)}
	}
	panic("no fact is kept of this kind")
}

func deref(n *int32, otherwise int32) int32 {
	if n == nil {
		return otherwise
	}
	return *n
}

func workloadFact(o client.Object, replicas, ready int32, template *corev1.PodTemplateSpec) running {
	of := running{UID: o.GetUID(), Deleting: !o.GetDeletionTimestamp().IsZero(), Generation: o.GetGeneration(), Replicas: replicas, Ready: ready}
	for i := range template.Spec.Containers {
		of.Images = append(of.Images, template.Spec.Containers[i].Image)
	}
	_, of.Claimed = o.GetLabels()[policyv1alpha1.PropagationPolicyPermanentIDLabel]
	of.TemplateUID = types.UID(o.GetAnnotations()[workv1alpha2.ResourceTemplateUIDAnnotation])
	of.TemplateGeneration, _ = strconv.ParseInt(o.GetAnnotations()[workv1alpha2.ResourceTemplateGenerationAnnotationKey], 10, 64)
	return of
}

// placementText is a placement as text: its clusters, with their weights where replicas are divided.
func placementText(p *policyv1alpha1.Placement) string {
	text := strings.Join(p.ClusterAffinity.ClusterNames, " ")
	if p.ReplicaSchedulingType() != policyv1alpha1.ReplicaSchedulingTypeDivided {
		return text
	}
	for _, w := range p.ReplicaScheduling.WeightPreference.StaticWeightList {
		text += fmt.Sprintf(" %s:%d", strings.Join(w.TargetCluster.ClusterNames, ","), w.Weight)
	}
	return text
}

func overrideFact(o *policyv1alpha1.OverridePolicy) override {
	rule := o.Spec.OverrideRules[0]
	of := override{Cluster: rule.TargetCluster.ClusterNames[0]}
	for _, image := range rule.Overriders.ImageOverrider {
		of.Tag = image.Value
	}
	for _, field := range rule.Overriders.Plaintext {
		of.Replicas = new(int32)
		if err := json.Unmarshal(field.Value.Raw, of.Replicas); err != nil {
			panic(err)
		}
	}
	return of
}

func bindingFact(o *workv1alpha2.ResourceBinding) binding {
	of := binding{
		Of: o.Spec.Resource.UID, Deleting: !o.DeletionTimestamp.IsZero(), Replicas: o.Spec.Replicas, Clusters: map[string]int32{},
		Unscheduled: meta.IsStatusConditionFalse(o.Status.Conditions, workv1alpha2.Scheduled),
	}
	for _, target := range o.Spec.Clusters {
		of.Clusters[target.Name] = target.Replicas
	}
	if text := o.Annotations["policy.karmada.io/applied-placement"]; text != "" {
		applied := &policyv1alpha1.Placement{}
		if err := json.Unmarshal([]byte(text), applied); err != nil {
			panic(err)
		}
		of.Applied = placementText(applied)
	}
	return of
}

// controllerOf is the UID of what made an object; empty when nothing did.
func controllerOf(o client.Object) types.UID {
	if of := metav1.GetControllerOfNoCopy(o); of != nil {
		return of.UID
	}
	return ""
}

func podFact(o *corev1.Pod) pod {
	of := pod{App: o.Labels[appLabel], Controller: controllerOf(o), Deleting: !o.DeletionTimestamp.IsZero()}
	for i := range o.Spec.Containers {
		of.Image = o.Spec.Containers[i].Image
	}
	of.Ready = slices.ContainsFunc(o.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	return of
}

// revisionOf is the revision that wrote an object.
func revisionOf(o metav1.Object) int64 {
	revision, err := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	if err != nil {
		panic(err)
	}
	return revision
}
