package explanation

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"

	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/pod"
	"github.com/kairship-io/kairship/pkg/fleet/policy"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
)

// at is when everything happened.
var at = metav1.NewTime(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))

// web is a Deployment of one replica that nothing has looked at, in an instance with the member
// clusters m1 and m2.
func web() *workload.Explainable {
	template := &workload.Object{}
	template.Namespace, template.Name, template.Labels, template.CreationTimestamp = "shop", "web", map[string]string{"app": "web"}, at
	template.Spec.Replicas = new(int32(1))
	return &workload.Explainable{
		Facts: &workload.Facts{
			Kind: workload.KindDeployment, Template: template, Members: map[string]workload.Member{"m1": member("m1"), "m2": member("m2")},
			Objects: map[string]*workload.Object{}, Overrides: map[string][]workload.AppliedOverride{}, OverridePolicies: []*policyv1alpha1.OverridePolicy{},
		},
		Works: map[string]*workv1alpha1.Work{}, Pods: map[string][]pod.Pod{}, SeesMembers: true,
	}
}

// member is a member cluster that is ready and serves Deployments.
func member(name string) workload.Member {
	c := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.Status.APIEnablements = []clusterv1alpha1.APIEnablement{{GroupVersion: "apps/v1", Resources: []clusterv1alpha1.APIResource{{Name: "deployments", Kind: "Deployment"}}}}
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: clusterv1alpha1.ClusterConditionCompleteAPIEnablements, Status: metav1.ConditionTrue, LastTransitionTime: at})
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: clusterv1alpha1.ClusterConditionReady, Status: metav1.ConditionTrue, LastTransitionTime: at})
	return workload.MemberOf(c)
}

// like makes a PropagationPolicy, or without a namespace a ClusterPropagationPolicy.
func like(namespace, name string, spec policyv1alpha1.PropagationSpec) policy.PropagationPolicyLike {
	common := policy.Policy{Object: object.Object{Instance: "alpha", Indexed: &index.Object{Kind: "PropagationPolicy", Meta: metav1.ObjectMeta{Namespace: namespace, Name: name}}}}
	if namespace == "" {
		common.Indexed.Kind = "ClusterPropagationPolicy"
		return &policy.ClusterPropagationPolicy{Policy: common, Spec: &spec}
	}
	return &policy.PropagationPolicy{Policy: common, Spec: &spec}
}

func selecting(s ...policyv1alpha1.ResourceSelector) policyv1alpha1.PropagationSpec {
	return policyv1alpha1.PropagationSpec{ResourceSelectors: s}
}

// byName and byLabel select web.
func byName() policyv1alpha1.ResourceSelector {
	return policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
}

func byLabel() policyv1alpha1.ResourceSelector {
	s := byName()
	s.Name, s.LabelSelector = "", &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	return s
}

// claimed lets the policy shop/web claim it, and adds this policy.
func claimed(x *workload.Explainable) {
	x.Facts.Template.Annotations = map[string]string{policyv1alpha1.PropagationPolicyNamespaceAnnotation: "shop", policyv1alpha1.PropagationPolicyNameAnnotation: "web"}
	x.Policies = append(x.Policies, like("shop", "web", selecting(byName())))
}

// bound gives it a binding that is not scheduled.
func bound(x *workload.Explainable) *workv1alpha2.ResourceBinding {
	claimed(x)
	x.Facts.Binding = &workv1alpha2.ResourceBinding{Spec: workv1alpha2.ResourceBindingSpec{
		Resource: workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}, Replicas: 1, Placement: &policyv1alpha1.Placement{},
	}}
	return x.Facts.Binding
}

// scheduled gives it a binding to m1, which has taken and runs it.
func scheduled(x *workload.Explainable) *workv1alpha2.ResourceBinding {
	b := bound(x)
	b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "m1", Replicas: 1}}
	condition(b, "", metav1.ConditionTrue)
	b.Status.AggregatedStatus = []workv1alpha2.AggregatedStatusItem{{ClusterName: "m1", Applied: true}}
	o := &workload.Object{}
	o.Spec.Replicas = new(int32(1))
	o.Status = workload.ObjectStatus{Replicas: 1, ReadyReplicas: 1, AvailableReplicas: 1, UpdatedReplicas: 1}
	x.Facts.Objects["m1"] = o
	x.Facts.Overrides["m1"] = nil
	x.Works["m1"] = &workv1alpha1.Work{}
	return b
}

func condition(b *workv1alpha2.ResourceBinding, reason string, status metav1.ConditionStatus) {
	b.Status.Conditions = []metav1.Condition{{Type: workv1alpha2.Scheduled, Status: status, Reason: reason, Message: "as Karmada says", LastTransitionTime: at}}
}

// unapplied is scheduled, and m1 refused the manifest.
func unapplied(message string) func(*workload.Explainable) {
	return func(x *workload.Explainable) {
		item := &scheduled(x).Status.AggregatedStatus[0]
		item.Applied, item.AppliedMessage = false, message
		x.Works["m1"].Status.Conditions = []metav1.Condition{{Type: workv1alpha1.WorkApplied, Status: metav1.ConditionFalse, LastTransitionTime: at}}
	}
}

// unready is scheduled, and its pod in m1 is as given.
func unready(status corev1.PodStatus) func(*workload.Explainable) {
	return func(x *workload.Explainable) {
		scheduled(x)
		x.Facts.Objects["m1"].Status.AvailableReplicas = 0
		p := corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1"}, Status: status}
		p.Spec.Containers = []corev1.Container{{Name: "main"}}
		raw, err := json.Marshal(p)
		if err != nil {
			panic(err)
		}
		stored, err := index.NewStored(index.Key{Cluster: "m1", Type: index.Pods, Namespace: "shop", Name: "web-1"}, raw, index.Whole)
		if err != nil {
			panic(err)
		}
		made, err := pod.New("alpha", stored, freshness.Freshness{})
		if err != nil {
			panic(err)
		}
		x.Pods["m1"] = []pod.Pod{*made}
	}
}

func waits(reason string) corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}}}
}

func podIs(phase corev1.PodPhase, condition corev1.PodConditionType) corev1.PodStatus {
	return corev1.PodStatus{Phase: phase, Conditions: []corev1.PodCondition{{Type: condition, Status: corev1.ConditionFalse, Reason: "Said", Message: "so"}}}
}

// objectSays is scheduled, and the object in m1 has a condition.
func objectSays(of string, status metav1.ConditionStatus, more ...workload.ObjectCondition) func(*workload.Explainable) {
	return func(x *workload.Explainable) {
		scheduled(x)
		o := x.Facts.Objects["m1"]
		o.Status.AvailableReplicas = 0
		o.Status.Conditions = append(o.Status.Conditions, workload.ObjectCondition{Type: of, Status: status, LastTransitionTime: at})
		o.Status.Conditions = append(o.Status.Conditions, more...)
	}
}

// placedBy is bound, with a placement that no cluster meets.
func placedBy(p policyv1alpha1.Placement, change func(*clusterv1alpha1.Cluster)) func(*workload.Explainable) {
	return func(x *workload.Explainable) {
		b := bound(x)
		b.Spec.Placement = &p
		condition(b, workv1alpha2.BindingReasonNoClusterFit, metav1.ConditionFalse)
		change(x.Facts.Members["m2"].Cluster)
	}
}

func nothing(*clusterv1alpha1.Cluster) {}

// nearly adds a policy whose selector was changed.
func nearly(change func(*policyv1alpha1.ResourceSelector)) func(*workload.Explainable) {
	return func(x *workload.Explainable) {
		s := byLabel()
		change(&s)
		x.Policies = append(x.Policies, like("", "other", selecting(s)))
	}
}

// TestCodes brings about each code once.
func TestCodes(t *testing.T) {
	for _, tt := range codeCases {
		code, cluster, _ := strings.Cut(tt.code, " ")
		t.Run(code+", "+tt.reason, func(t *testing.T) {
			x := web()
			tt.make(x)
			status := workload.Evaluate(*x.Facts)
			x.Status = &status
			e := Explain(x)
			agrees(t, x, e)
			if at := natural(x); !slices.Contains(states[status.Health], at) {
				t.Errorf("its stages alone are %s, and it is %s", at, status.Health)
			}
			if e.Stage != tt.stage || e.State != tt.state {
				t.Errorf("it stands at %s %s, want %s %s: %s", e.Stage, e.State, tt.stage, tt.state, e.Summary)
			}
			var found []string
			for _, s := range e.Steps {
				for i := range s.Reasons {
					r := &s.Reasons[i]
					found = append(found, string(r.Code)+" "+value(r.ClusterName)+": "+r.Message)
					if r.Code == Code(code) && value(r.ClusterName) == cluster {
						return
					}
				}
			}
			t.Errorf("no reason is %s: %s", tt.code, strings.Join(found, "\n"))
		})
	}
}

// TestEveryCodeIsTested checks that no code is without a case, and that those about something to do
// say what.
func TestEveryCodeIsTested(t *testing.T) {
	tested := map[Code]bool{}
	for _, tt := range codeCases {
		code, _, _ := strings.Cut(tt.code, " ")
		tested[Code(code)] = true
	}
	for code := range documentedCodes(t) {
		if !tested[code] {
			t.Errorf("%s has no case", code)
		}
	}
	for code := range remedies {
		if !tested[code] {
			t.Errorf("the remedy of %s is for no code", code)
		}
	}
}
