package truth

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// m is an input of a mutation.
type m = map[string]any

const image = "registry.example.com/truth/app"

// slot is a workload of the test, which comes, changes and goes.
type slot struct {
	workloadKey
	members []string
}

// slots are all workloads of the test. Those of one list are changed one after the other.
func slots() [][]slot {
	alpha, beta := []string{"m1", "m2"}, []string{"m3"}
	return [][]slot{
		{
			{workloadKey{"alpha", kindDeployment, "web-0"}, alpha},
			{workloadKey{"alpha", kindDeployment, "web-1"}, alpha},
			{workloadKey{"alpha", kindStatefulSet, "db-0"}, alpha},
		},
		{
			{workloadKey{"alpha", kindDeployment, "web-2"}, alpha},
			{workloadKey{"alpha", kindDaemonSet, "agent-0"}, alpha},
			{workloadKey{"beta", kindDeployment, "api-0"}, beta},
			{workloadKey{"beta", kindStatefulSet, "db-1"}, beta},
		},
	}
}

// target is where a policy sends a workload.
type target struct {
	clusters []string
	// weights of the clusters; nil for all replicas in each.
	weights []int64
}

func randomTarget(random *rand.Rand, of slot) target {
	to := target{clusters: of.members}
	if random.IntN(4) == 0 {
		n := random.IntN(len(of.members))
		to.clusters = of.members[n : n+1]
	}
	if of.Kind != kindDaemonSet && random.IntN(3) > 0 {
		for range to.clusters {
			to.weights = append(to.weights, 1+random.Int64N(3))
		}
	}
	return to
}

// wish is a workload with its policies, as it is to be deployed.
type wish struct {
	replicas int32
	tag      string
	target   target
	// override is nil for none.
	override *override
}

func randomWish(random *rand.Rand, of slot) wish {
	w := wish{replicas: 1 + random.Int32N(8), tag: randomTag(random), target: randomTarget(random, of)}
	if random.IntN(3) == 0 {
		w.override = randomOverride(random, of)
	}
	return w
}

func randomTag(random *rand.Rand) string { return fmt.Sprintf("v%d", random.IntN(1000)) }

func randomOverride(random *rand.Rand, of slot) *override {
	o := &override{Cluster: of.members[random.IntN(len(of.members))]}
	if of.Kind != kindDaemonSet && random.IntN(2) == 0 {
		replicas := 1 + random.Int32N(5)
		o.Replicas = &replicas
		return o
	}
	o.Tag = "canary-" + randomTag(random)
	return o
}

// empty is an object of the kind of a workload.
func empty(kind string) client.Object {
	switch kind {
	case kindDeployment:
		return &appsv1.Deployment{}
	case kindStatefulSet:
		return &appsv1.StatefulSet{}
	}
	return &appsv1.DaemonSet{}
}

// template is a workload as it is written.
func template(namespace string, of slot, w wish) client.Object {
	named := metav1.ObjectMeta{Namespace: namespace, Name: of.Name}
	labels := map[string]string{appLabel: of.Name}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	pods := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: image + ":" + w.tag}}},
	}
	typed := metav1.TypeMeta{APIVersion: "apps/v1", Kind: of.Kind}
	switch of.Kind {
	case kindDeployment:
		return &appsv1.Deployment{TypeMeta: typed, ObjectMeta: named, Spec: appsv1.DeploymentSpec{
			Replicas: &w.replicas, Selector: selector, Template: pods,
			// What is ready becomes available a second later, so that there is a difference.
			MinReadySeconds: 1,
		}}
	case kindStatefulSet:
		return &appsv1.StatefulSet{TypeMeta: typed, ObjectMeta: named, Spec: appsv1.StatefulSetSpec{
			Replicas: &w.replicas, Selector: selector, Template: pods, ServiceName: of.Name,
		}}
	}
	return &appsv1.DaemonSet{TypeMeta: typed, ObjectMeta: named, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: pods}}
}

// manifest is a workload as JSON, for a mutation.
func manifest(namespace string, of slot, w wish) string {
	text, err := json.Marshal(template(namespace, of, w))
	if err != nil {
		panic(err)
	}
	return string(text)
}

func selectorOf(of slot) policyv1alpha1.ResourceSelector {
	return policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: of.Kind, Name: of.Name}
}

func propagationPolicy(namespace string, of slot, to target) *policyv1alpha1.PropagationPolicy {
	placement := policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: to.clusters}}
	if to.weights != nil {
		placement.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{
			ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided, ReplicaDivisionPreference: policyv1alpha1.ReplicaDivisionPreferenceWeighted,
			WeightPreference: &policyv1alpha1.ClusterPreferences{},
		}
		for i, cluster := range to.clusters {
			placement.ReplicaScheduling.WeightPreference.StaticWeightList = append(placement.ReplicaScheduling.WeightPreference.StaticWeightList,
				policyv1alpha1.StaticClusterWeight{TargetCluster: policyv1alpha1.ClusterAffinity{ClusterNames: []string{cluster}}, Weight: to.weights[i]})
		}
	}
	return &policyv1alpha1.PropagationPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: of.Name},
		Spec:       policyv1alpha1.PropagationSpec{ResourceSelectors: []policyv1alpha1.ResourceSelector{selectorOf(of)}, Placement: placement},
	}
}

// propagationInput is the spec of the same policy, for a mutation.
func propagationInput(of slot, to target) m {
	placement := m{"clusterAffinity": m{"clusterNames": to.clusters}}
	if to.weights != nil {
		var weights []m
		for i, cluster := range to.clusters {
			weights = append(weights, m{"targetCluster": m{"clusterNames": []string{cluster}}, "weight": to.weights[i]})
		}
		placement["replicaScheduling"] = m{
			"replicaSchedulingType": "DIVIDED", "replicaDivisionPreference": "WEIGHTED", "weightPreference": m{"staticWeightList": weights},
		}
	}
	return m{"resourceSelectors": []m{{"apiVersion": "apps/v1", "kind": of.Kind, "name": of.Name}}, "placement": placement}
}

func overridePolicy(namespace string, of slot, o *override) *policyv1alpha1.OverridePolicy {
	rule := policyv1alpha1.RuleWithCluster{TargetCluster: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{o.Cluster}}}
	if o.Tag != "" {
		rule.Overriders.ImageOverrider = []policyv1alpha1.ImageOverrider{{
			Component: policyv1alpha1.Tag, Operator: policyv1alpha1.OverriderOpReplace, Value: o.Tag,
		}}
	}
	if o.Replicas != nil {
		rule.Overriders.Plaintext = []policyv1alpha1.PlaintextOverrider{{
			Path: "/spec/replicas", Operator: policyv1alpha1.OverriderOpReplace, Value: apiextensionsv1.JSON{Raw: []byte(fmt.Sprint(*o.Replicas))},
		}}
	}
	return &policyv1alpha1.OverridePolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: of.Name},
		Spec: policyv1alpha1.OverrideSpec{
			ResourceSelectors: []policyv1alpha1.ResourceSelector{selectorOf(of)}, OverrideRules: []policyv1alpha1.RuleWithCluster{rule},
		},
	}
}

// overrideInput is the spec of the same policy, for a mutation.
func overrideInput(of slot, o *override) m {
	overriders := m{}
	if o.Tag != "" {
		overriders["imageOverrider"] = []m{{"component": "TAG", "operator": "REPLACE", "value": o.Tag}}
	}
	if o.Replicas != nil {
		overriders["plaintext"] = []m{{"path": "/spec/replicas", "operator": "REPLACE", "value": *o.Replicas}}
	}
	return m{
		"resourceSelectors": []m{{"apiVersion": "apps/v1", "kind": of.Kind, "name": of.Name}},
		"overrideRules":     []m{{"targetCluster": m{"clusterNames": []string{o.Cluster}}, "overriders": overriders}},
	}
}
