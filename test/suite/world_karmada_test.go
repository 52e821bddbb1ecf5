package suite

import (
	"context"
	"fmt"
	"testing"

	appsv1alpha1 "github.com/karmada-io/karmada/pkg/apis/apps/v1alpha1"
	autoscalingv1alpha1 "github.com/karmada-io/karmada/pkg/apis/autoscaling/v1alpha1"
	networkingv1alpha1 "github.com/karmada-io/karmada/pkg/apis/networking/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// karmadaResources are objects of Karmada's own API that change nothing in the members: a FederatedHPA
// of a workload that is nowhere, suspended rules, a Service of load balancers that no controller provides, large
// limits, and rebalancers of what is not propagated.
func (w *world) karmadaResources() []created {
	var all []created
	each := func(m metav1.ObjectMeta, target string) {
		all = append(all, created{"alpha", suspendedCron(m, target)}, created{"alpha", balanced(m)}, created{"alpha", generousQuota(m)})
	}
	for _, m := range []metav1.ObjectMeta{w.meta(w.a, "web", "team", "left"), w.meta(w.a, "other", "team", "right"), w.meta(w.b, "web", "team", "right")} {
		each(m, "lost")
		all = append(all, created{"alpha", hpa(m, "lost")})
	}
	all = append(all, created{"alpha", rebalancer(w.global("web", "team", "left"))}, created{"alpha", rebalancer(w.global("other", "team", "right"))})
	for i := range fifty {
		name := fmt.Sprintf("p-%02d", i)
		each(w.meta(w.many, name), fmt.Sprintf("d-%02d", i))
		// Where its workload is in no cluster, Karmada scales nothing.
		all = append(all, created{"alpha", hpa(w.meta(w.a, name), "lost")}, created{"alpha", rebalancer(w.global(name))})
	}
	return all
}

// TestWhatHangsOnKarmadaResources reads the workloads and Services of a page together, and shows which users
// may change a quota: an editor could lift the own limits otherwise.
func TestWhatHangsOnKarmadaResources(t *testing.T) {
	on, w := open(t), theWorld(t)
	type answer struct {
		Instance struct {
			CronFederatedHPAs struct {
				Nodes []struct{ Workload *struct{ Name string } }
			}
			MultiClusterServices struct {
				Nodes []struct{ Service *struct{ Name string } }
			}
		}
	}
	const query = `query($ns: [String!], $first: Int!) { instance(name: "alpha") {
		cronFederatedHPAs(first: $first, filter: {namespaces: $ns}) { nodes { workload { name health policy { name } } } }
		multiClusterServices(first: $first, filter: {namespaces: $ns}) { nodes { service { name labels { key } } } }
	} }`
	all := map[string]any{"ns": w.many, "first": fifty}
	poll.Until(t, propagationTimeout, "the index has all of them", func(ctx context.Context) error {
		data, _, err := gql.Query[answer](ctx, on.kairship, query, all)
		if err != nil {
			return err
		}
		scaled := 0
		for _, n := range data.Instance.CronFederatedHPAs.Nodes {
			if n.Workload != nil {
				scaled++
			}
		}
		if n := len(data.Instance.MultiClusterServices.Nodes); scaled != fifty || n != fifty {
			return fmt.Errorf("there are %d workloads and %d services", scaled, n)
		}
		return nil
	})
	few, many := warmCost(t, on.kairship, query, map[string]any{"ns": w.many, "first": 1}), warmCost(t, on.kairship, query, all)
	if many > few {
		t.Errorf("one of each costs %d requests, and fifty cost %d", few, many)
	}
	const may = `{ instance(name: "alpha") { federatedResourceQuota(namespace: "shop", name: "shop") { viewerCan { view update } } federatedHPA(namespace: "shop", name: "stuck") { viewerCan { update } } } }`
	for person, want := range map[string]string{
		"admin":   `{"instance":{"federatedResourceQuota":{"viewerCan":{"view":true,"update":true}},"federatedHPA":{"viewerCan":{"update":true}}}}`,
		"alice":   `{"instance":{"federatedResourceQuota":{"viewerCan":{"view":true,"update":false}},"federatedHPA":{"viewerCan":{"update":true}}}}`,
		"bob":     `{"instance":null}`,
		"mallory": `{"instance":null}`,
	} {
		if r := on.as(t, person).Must(t, gql.Request{Query: may}); string(r.Data) != want || len(r.Errors) > 0 {
			t.Errorf("%s: %s, want %s", person, r.Body, want)
		}
	}
}

func scaling(name string) autoscalingv2.CrossVersionObjectReference {
	return autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name}
}

func hpa(m metav1.ObjectMeta, target string) *autoscalingv1alpha1.FederatedHPA {
	return &autoscalingv1alpha1.FederatedHPA{ObjectMeta: m, Spec: autoscalingv1alpha1.FederatedHPASpec{
		ScaleTargetRef: scaling(target), MinReplicas: new(int32(1)), MaxReplicas: 3,
		Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
			Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: new(int32(80))},
		}}},
	}}
}

func suspendedCron(m metav1.ObjectMeta, target string) *autoscalingv1alpha1.CronFederatedHPA {
	return &autoscalingv1alpha1.CronFederatedHPA{ObjectMeta: m, Spec: autoscalingv1alpha1.CronFederatedHPASpec{
		ScaleTargetRef: scaling(target),
		Rules:          []autoscalingv1alpha1.CronFederatedHPARule{{Name: "never", Schedule: "0 0 30 2 *", TargetReplicas: new(int32(1)), Suspend: new(true)}},
	}}
}

func balanced(m metav1.ObjectMeta) *networkingv1alpha1.MultiClusterService {
	return &networkingv1alpha1.MultiClusterService{ObjectMeta: m, Spec: networkingv1alpha1.MultiClusterServiceSpec{
		Types: []networkingv1alpha1.ExposureType{networkingv1alpha1.ExposureTypeLoadBalancer},
	}}
}

func generousQuota(m metav1.ObjectMeta) *policyv1alpha1.FederatedResourceQuota {
	return &policyv1alpha1.FederatedResourceQuota{ObjectMeta: m, Spec: policyv1alpha1.FederatedResourceQuotaSpec{
		Overall: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100k")},
	}}
}

func rebalancer(m metav1.ObjectMeta) *appsv1alpha1.WorkloadRebalancer {
	return &appsv1alpha1.WorkloadRebalancer{ObjectMeta: m, Spec: appsv1alpha1.WorkloadRebalancerSpec{
		Workloads: []appsv1alpha1.ObjectReference{{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "none-such"}},
	}}
}
