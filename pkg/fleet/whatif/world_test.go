package whatif

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	"github.com/karmada-io/karmada/pkg/util"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// cluster is a cluster that serves Deployments and ConfigMaps and has room for pods.
func cluster(name string, pods int64) *clusterv1alpha1.Cluster {
	return &clusterv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}},
		Status: clusterv1alpha1.ClusterStatus{
			APIEnablements: []clusterv1alpha1.APIEnablement{
				{GroupVersion: "apps/v1", Resources: []clusterv1alpha1.APIResource{{Name: "deployments", Kind: "Deployment"}}},
				{GroupVersion: "v1", Resources: []clusterv1alpha1.APIResource{{Name: "configmaps", Kind: "ConfigMap"}}},
			},
			ResourceSummary: &clusterv1alpha1.ResourceSummary{Allocatable: corev1.ResourceList{
				corev1.ResourcePods: *resource.NewQuantity(pods, resource.DecimalSI),
				corev1.ResourceCPU:  *resource.NewQuantity(pods, resource.DecimalSI),
			}},
		},
	}
}

// deployment is a template that a policy has claimed; nil for none.
func deployment(name string, replicas int64, by *Policy) *unstructured.Unstructured {
	t := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"namespace": "shop", "name": name, "uid": "uid-" + name, "resourceVersion": "1", "labels": map[string]any{"app": name}},
		"spec": map[string]any{"replicas": replicas, "template": map[string]any{"spec": map[string]any{"containers": []any{
			map[string]any{"name": "main", "resources": map[string]any{"requests": map[string]any{"cpu": "1"}}},
		}}}},
	}}
	if by != nil {
		claimFor(t, by)
	}
	return t
}

// policy is a policy with a permanent ID and a spec in YAML; one without namespace is a ClusterPropagationPolicy.
func policy(t testing.TB, namespace, name, spec string) *Policy {
	t.Helper()
	p := &Policy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{idLabel(namespace): "id-" + namespace + name}}}
	if err := yaml.UnmarshalStrict([]byte(spec), &p.Spec); err != nil {
		t.Fatal(err)
	}
	for i := range p.Spec.ResourceSelectors {
		s := &p.Spec.ResourceSelectors[i]
		if s.Kind == "" {
			s.APIVersion, s.Kind = "apps/v1", "Deployment"
		}
		if namespace != "" {
			s.Namespace = namespace
		}
	}
	return p
}

// binding is the binding of a template, as it is after it was scheduled to some clusters.
func binding(t testing.TB, of *unstructured.Unstructured, p *Policy, clusters map[string]int32) *workv1alpha2.ResourceBinding {
	t.Helper()
	b, err := bound(of, nil, p)
	if err != nil {
		t.Fatal(err)
	}
	for name, replicas := range clusters {
		b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: name, Replicas: replicas})
	}
	raw, err := json.Marshal(b.Spec.Placement)
	if err != nil {
		t.Fatal(err)
	}
	b.Annotations[util.PolicyPlacementAnnotation] = string(raw)
	if terms := b.Spec.Placement.ClusterAffinities; len(terms) > 0 {
		b.Status.SchedulerObservedAffinityName = terms[0].AffinityName
	}
	return b
}

// randomPlacement is any placement that Karmada's webhooks accept.
func randomPlacement(r *rand.Rand, clusters int) policyv1alpha1.Placement {
	p := policyv1alpha1.Placement{}
	affinity := func() policyv1alpha1.ClusterAffinity {
		a := policyv1alpha1.ClusterAffinity{}
		switch r.IntN(4) {
		case 0:
			for i := range clusters {
				if r.IntN(2) == 0 {
					a.ClusterNames = append(a.ClusterNames, fmt.Sprintf("m%d", i))
				}
			}
		case 1:
			a.ExcludeClusters = []string{fmt.Sprintf("m%d", r.IntN(clusters))}
		case 2:
			a.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"zone": string(rune('a' + r.IntN(3)))}}
		}
		return a
	}
	switch r.IntN(4) {
	case 0:
	case 1:
		for i := range 1 + r.IntN(3) {
			p.ClusterAffinities = append(p.ClusterAffinities, policyv1alpha1.ClusterAffinityTerm{AffinityName: fmt.Sprintf("term%d", i), ClusterAffinity: affinity()})
		}
	default:
		p.ClusterAffinity = new(affinity())
	}
	if r.IntN(4) == 0 {
		p.ClusterTolerations = []corev1.Toleration{{Key: "maintenance", Operator: corev1.TolerationOpExists}}
	}
	if r.IntN(3) == 0 {
		c := policyv1alpha1.SpreadConstraint{SpreadByField: policyv1alpha1.SpreadByFieldCluster, MinGroups: 1 + r.IntN(2)}
		if r.IntN(2) == 0 {
			c.MaxGroups = c.MinGroups + r.IntN(2)
		}
		p.SpreadConstraints = append(p.SpreadConstraints, c)
		if r.IntN(3) == 0 {
			p.SpreadConstraints = append(p.SpreadConstraints, policyv1alpha1.SpreadConstraint{SpreadByField: policyv1alpha1.SpreadByFieldRegion, MinGroups: 1, MaxGroups: 2})
		}
	}
	s := &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided}
	p.ReplicaScheduling = s
	switch r.IntN(5) {
	case 0:
		p.ReplicaScheduling = nil
	case 1:
		*s = policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDuplicated}
	case 2:
		s.ReplicaDivisionPreference = policyv1alpha1.ReplicaDivisionPreferenceAggregated
	case 3:
		s.ReplicaDivisionPreference = policyv1alpha1.ReplicaDivisionPreferenceWeighted
		s.WeightPreference = &policyv1alpha1.ClusterPreferences{DynamicWeight: policyv1alpha1.DynamicWeightByAvailableReplicas}
	case 4:
		s.ReplicaDivisionPreference = policyv1alpha1.ReplicaDivisionPreferenceWeighted
		if r.IntN(2) == 0 {
			s.WeightPreference = &policyv1alpha1.ClusterPreferences{}
			for i := range clusters {
				if r.IntN(3) > 0 {
					s.WeightPreference.StaticWeightList = append(s.WeightPreference.StaticWeightList, policyv1alpha1.StaticClusterWeight{
						TargetCluster: policyv1alpha1.ClusterAffinity{ClusterNames: []string{fmt.Sprintf("m%d", i)}}, Weight: int64(1 + r.IntN(3)),
					})
				}
			}
		}
	}
	return p
}

// randomBinding is a binding that may be scheduled already.
func randomBinding(t testing.TB, r *rand.Rand, n, clusters int) *workv1alpha2.ResourceBinding {
	t.Helper()
	p := &Policy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p", Labels: map[string]string{idLabel("shop"): "id"}}}
	p.Spec.Placement = randomPlacement(r, clusters)
	of := deployment(fmt.Sprintf("d%d", n), int64(r.IntN(9)), nil)
	of.SetUID(types.UID(fmt.Sprintf("%08x", r.Uint32())))
	placed := map[string]int32{}
	if r.IntN(2) == 0 {
		for range 1 + r.IntN(3) {
			placed[fmt.Sprintf("m%d", r.IntN(clusters))] = int32(1 + r.IntN(4))
		}
	}
	b := binding(t, of, p, placed)
	if r.IntN(8) == 0 {
		b.Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: fmt.Sprintf("m%d", r.IntN(clusters))}}
	}
	return b
}

// randomClusters are clusters of several sizes, zones and regions, some tainted, some leaving.
func randomClusters(r *rand.Rand, n int) []*clusterv1alpha1.Cluster {
	out := make([]*clusterv1alpha1.Cluster, n)
	for i := range out {
		c := cluster(fmt.Sprintf("m%d", i), int64(r.IntN(20)))
		c.Labels["zone"] = string(rune('a' + i%3))
		c.Spec.Region, c.Spec.Provider = fmt.Sprintf("r%d", i%2), "p"
		switch r.IntN(10) {
		case 0:
			c.Spec.Taints = []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoSchedule}}
		case 1:
			c.DeletionTimestamp = &metav1.Time{}
			*c.DeletionTimestamp = metav1.Unix(1, 0)
		}
		out[i] = c
	}
	return out
}
