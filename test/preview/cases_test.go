package preview

import (
	"fmt"
	"math/rand/v2"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// tierLabel is a label of the member clusters that placements choose by.
const tierLabel = "preview.test/tier"

// change is one case: what is there, and a change of one policy.
type change struct {
	name      string
	what      string
	templates []client.Object
	// policies are there before.
	policies []client.Object
	// verb is that of the API; before and after are the changed policy.
	verb          string
	before, after client.Object
}

// cases makes some cases in a namespace: the same ones for the same seed.
func cases(seed int64, n int, namespace string, clusters []string) []*change {
	r := placements{rand.New(rand.NewPCG(uint64(seed), 0)), clusters} //nolint:gosec // Repeatable on purpose.
	out := make([]*change, n)
	for i := range out {
		out[i] = r.change(fmt.Sprintf("c%d", i), namespace, i)
	}
	return out
}

func (r placements) change(name, namespace string, i int) *change {
	c := &change{name: name}
	for j := range 1 + r.IntN(2) {
		c.templates = append(c.templates, r.template(fmt.Sprintf("%s-%d", name, j), namespace, name))
	}
	own := func() *policyv1alpha1.PropagationPolicy { return r.policy(name, namespace, r.selectAll(c)) }
	switch i % 9 {
	case 0:
		c.what, c.verb, c.after = "a new policy", "CREATE", own()
	case 1, 2, 3:
		c.what, c.verb, c.before, c.after = "another placement", "UPDATE", own(), own()
	case 4:
		before := own()
		after := before.DeepCopy()
		after.Spec.ResourceSelectors = after.Spec.ResourceSelectors[:1]
		c.what, c.verb, c.before, c.after = "fewer selectors", "UPDATE", before, after
		if r.IntN(2) == 0 {
			c.policies = []client.Object{r.policy(name+"-other", namespace, r.byLabel(name))}
		}
	case 5:
		c.what, c.verb, c.before = "a deletion", "DELETE", own()
		if r.IntN(2) == 0 {
			c.policies = []client.Object{r.policy(name+"-other", namespace, r.byLabel(name))}
		}
	case 6:
		after := own()
		after.Spec.Priority, after.Spec.Preemption = new(int32(9)), policyv1alpha1.PreemptAlways
		c.what, c.verb, c.after = "a higher priority", "CREATE", after
		c.policies = []client.Object{r.policy(name+"-other", namespace, r.byLabel(name))}
	case 7:
		after := own()
		after.Spec.ActivationPreference = policyv1alpha1.LazyActivation
		c.what, c.verb, c.before, c.after = "lazily", "UPDATE", own(), after
	case 8:
		wide := &policyv1alpha1.ClusterPropagationPolicy{ObjectMeta: metav1.ObjectMeta{Name: namespace + "-" + name}}
		wide.Spec = r.policy("", "", r.byLabel(name)).Spec
		for i := range wide.Spec.ResourceSelectors {
			wide.Spec.ResourceSelectors[i].Namespace = namespace
		}
		c.what, c.verb, c.after = "a new policy for all namespaces", "CREATE", wide
	}
	if c.before != nil {
		c.policies = append(c.policies, c.before)
	}
	return c
}

func (r placements) policy(name, namespace string, selectors []policyv1alpha1.ResourceSelector) *policyv1alpha1.PropagationPolicy {
	p := &policyv1alpha1.PropagationPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	p.Spec.ResourceSelectors, p.Spec.Placement = selectors, r.placement()
	// Nothing is sent to the members: what runs there would change their capacity meanwhile.
	p.Spec.Suspension = &policyv1alpha1.Suspension{Dispatching: new(true)}
	// The policies of one case that are there at first compete by name alone; the changed one goes first.
	return p
}

func (placements) selectAll(c *change) (out []policyv1alpha1.ResourceSelector) {
	for _, t := range c.templates {
		s := policyv1alpha1.ResourceSelector{APIVersion: "v1", Kind: "ConfigMap", Name: t.GetName()}
		if _, is := t.(*appsv1.Deployment); is {
			s.APIVersion, s.Kind = "apps/v1", "Deployment"
		}
		out = append(out, s)
	}
	return out
}

func (placements) byLabel(name string) []policyv1alpha1.ResourceSelector {
	of := &metav1.LabelSelector{MatchLabels: map[string]string{"case": name}}
	return []policyv1alpha1.ResourceSelector{{APIVersion: "apps/v1", Kind: "Deployment", LabelSelector: of}, {APIVersion: "v1", Kind: "ConfigMap", LabelSelector: of}}
}

func (r placements) template(name, namespace, of string) client.Object {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"case": of}}
	if r.IntN(5) == 0 {
		return &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"a": "b"}}
	}
	selector := map[string]string{"app": name}
	return &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(r.IntN(9))), Selector: &metav1.LabelSelector{MatchLabels: selector},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: selector},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/preview"}}},
		},
	}}
}
