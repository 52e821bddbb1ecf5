package subscription

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kairship-io/kairship/pkg/fleet/changes"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/live"
)

// watchedAs is an object as a watch on the instance alpha shows it.
func watchedAs(t *testing.T, of index.Type, meta metav1.ObjectMeta, object any) *live.Object {
	t.Helper()
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	meta.UID = types.UID(of.Kind + meta.Name)
	source := live.Source{Instance: "alpha", Resource: of.GroupVersionResource()}
	return live.NewObject(source, of.GroupVersionResource().GroupVersion().String(), of.Kind, meta, raw)
}

// claim are the annotations of a template that a policy claimed.
func claim(more map[string]string) map[string]string {
	all := map[string]string{"propagationpolicy.karmada.io/namespace": "shop", "propagationpolicy.karmada.io/name": "web"}
	maps.Copy(all, more)
	return all
}

func template(t *testing.T, version string, annotations map[string]string) *live.Object {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: "shop", Name: "web", ResourceVersion: version, Annotations: annotations}
	return watchedAs(t, index.Deployments, meta, appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: new(int32(2))}})
}

func bindingOf(t *testing.T, version, kind, name string, ready int) *live.Object {
	t.Helper()
	b := workv1alpha2.ResourceBinding{}
	b.Namespace, b.Name, b.ResourceVersion = "shop", workload.BindingName(kind, name), version
	b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: kind, Namespace: "shop", Name: name}
	b.Spec.Replicas = 2
	b.Spec.Placement = &policyv1alpha1.Placement{}
	b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "m1", Replicas: 2}}
	b.Status.Conditions = []metav1.Condition{{Type: workv1alpha2.Scheduled, Status: metav1.ConditionTrue}}
	status, err := json.Marshal(map[string]int{"replicas": 2, "readyReplicas": ready, "availableReplicas": ready, "updatedReplicas": 2})
	if err != nil {
		t.Fatal(err)
	}
	item := workv1alpha2.AggregatedStatusItem{ClusterName: "m1", Applied: true, Health: workv1alpha2.ResourceUnhealthy}
	if ready == 2 {
		item.Health = workv1alpha2.ResourceHealthy
	}
	item.Status = &runtime.RawExtension{Raw: status}
	b.Status.AggregatedStatus = []workv1alpha2.AggregatedStatusItem{item}
	return watchedAs(t, index.ResourceBindings, b.ObjectMeta, b)
}

func memberOf(t *testing.T, ready metav1.ConditionStatus) *live.Object {
	t.Helper()
	c := clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}}
	c.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterConditionReady, Status: ready}}
	return watchedAs(t, index.MemberClusters, c.ObjectMeta, c)
}

// The state of a workload is that of its template, its binding and the members, and
// is another value when, and only when, one of these says something else of it.
func TestWorkloadJoin(t *testing.T) {
	join := WorkloadJoin("alpha", index.Deployments)
	of := func(template *live.Object, bindings []*live.Object, members ...*live.Object) *workload.Observed {
		return join.Combine(template, [][]*live.Object{bindings, members, nil, nil, nil, nil, nil}).(*workload.Observed)
	}
	alone := of(template(t, "1", nil), nil, memberOf(t, metav1.ConditionTrue))
	if alone.Err != nil || alone.Status.Health != workload.HealthUnpropagated || alone.Binding != nil {
		t.Errorf("without a binding it is %+v", alone)
	}
	rolling := of(template(t, "1", claim(nil)), []*live.Object{bindingOf(t, "5", "Deployment", "web", 1)}, memberOf(t, metav1.ConditionTrue))
	ready := of(template(t, "1", claim(nil)), []*live.Object{bindingOf(t, "6", "Deployment", "web", 2)}, memberOf(t, metav1.ConditionTrue))
	away := of(template(t, "1", claim(nil)), []*live.Object{bindingOf(t, "6", "Deployment", "web", 2)}, memberOf(t, metav1.ConditionFalse))
	again := of(template(t, "1", claim(nil)), []*live.Object{bindingOf(t, "6", "Deployment", "web", 2)}, memberOf(t, metav1.ConditionTrue))
	changed := of(template(t, "2", claim(map[string]string{"a": "b"})), []*live.Object{bindingOf(t, "6", "Deployment", "web", 2)}, memberOf(t, metav1.ConditionTrue))
	if rolling.Status.Health != workload.HealthProgressing || ready.Status.Health != workload.HealthHealthy || ready.Status.Replicas.Ready != 2 {
		t.Errorf("rolling %+v, ready %+v", rolling.Status, ready.Status)
	}
	for _, tt := range []struct {
		name string
		a, b *workload.Observed
		same bool
	}{
		{"a binding comes", alone, rolling, false},
		{"the binding changes", rolling, ready, false},
		{"a member is away", ready, away, false},
		{"nothing changes", ready, again, true},
		{"the template changes", ready, changed, false},
	} {
		if join.Equal(tt.a, tt.b) != tt.same {
			t.Errorf("%s: the same is %v", tt.name, !tt.same)
		}
	}
	shown := func(o *workload.Observed) workload.Any {
		return workload.NewObserved("alpha", o, freshness.Freshness{})
	}
	for _, tt := range []struct {
		name string
		a, b *workload.Observed
		want []string
	}{
		{"replicas become ready", rolling, ready, []string{
			"binding.aggregatedStatus.health", "binding.aggregatedStatus.status", "binding.manifest", "binding.resourceVersion", "binding.yaml",
			"health", "healthMessage", "placements.available", "placements.health", "placements.message", "placements.ready", "replicas.available", "replicas.ready",
		}},
		{"an annotation", ready, changed, []string{"annotations", "manifest", "resourceVersion", "yaml"}},
	} {
		got := changes.Of(workload.Fields(), shown(tt.a), shown(tt.b))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// A binding concerns the workload that it was made for, of its own kind.
func TestWorkloadJoinKeys(t *testing.T) {
	join := WorkloadJoin("alpha", index.Deployments)
	web := []live.Key{{Namespace: "shop", Name: "web"}}
	var elsewhere workv1alpha2.ResourceBinding
	elsewhere.Namespace, elsewhere.Name = "other", workload.BindingName("Deployment", "web")
	elsewhere.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
	for _, tt := range []struct {
		name   string
		object *live.Object
		want   []live.Key
	}{
		{"its own", bindingOf(t, "1", "Deployment", "web", 2), web},
		{"of another kind", bindingOf(t, "1", "StatefulSet", "web", 2), nil},
		{"in another namespace", watchedAs(t, index.ResourceBindings, elsewhere.ObjectMeta, elsewhere), nil},
	} {
		if diff := cmp.Diff(tt.want, join.With[0].Keys(tt.object)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	if diff := cmp.Diff([]live.Key{live.Every}, join.With[1].Keys(memberOf(t, metav1.ConditionTrue))); diff != "" {
		t.Errorf("a member concerns all (-want +got):\n%s", diff)
	}
}

// A policy concerns the workloads that it selects by name; its change is known before the
// binding has it.
func TestWorkloadJoinPolicies(t *testing.T) {
	join := WorkloadJoin("alpha", index.Deployments)
	policy := func(of index.Type, namespace string, selectors ...policyv1alpha1.ResourceSelector) *live.Object {
		meta := metav1.ObjectMeta{Namespace: namespace, Name: "web"}
		p := policyv1alpha1.PropagationPolicy{ObjectMeta: meta}
		p.Spec.ResourceSelectors = selectors
		p.Spec.Placement.ClusterAffinity = &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m2"}}
		return watchedAs(t, of, meta, p)
	}
	web := policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	elsewhere := policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", Namespace: "other"}
	for _, tt := range []struct {
		name   string
		input  int
		policy *live.Object
		want   []live.Key
	}{
		{"by name", 2, policy(index.PropagationPolicies, "shop", web), []live.Key{{Namespace: "shop", Name: "web"}}},
		{"of another kind", 2, policy(index.PropagationPolicies, "shop", policyv1alpha1.ResourceSelector{Kind: "StatefulSet", Name: "web"}), nil},
		{"all of a kind", 2, policy(index.PropagationPolicies, "shop", policyv1alpha1.ResourceSelector{Kind: "Deployment"}), nil},
		{"of the whole instance", 3, policy(index.ClusterPropagationPolicies, "", elsewhere), []live.Key{{Namespace: "other", Name: "web"}}},
		{"of the whole instance, in all namespaces", 3, policy(index.ClusterPropagationPolicies, "", web), nil},
	} {
		if diff := cmp.Diff(tt.want, join.With[tt.input].Keys(tt.policy)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	for name, tt := range map[string]struct {
		policy *live.Object
		want   workload.Health
	}{
		"its policy has another placement":       {policy(index.PropagationPolicies, "shop", web), workload.HealthProgressing},
		"a policy that did not claim it has one": {policy(index.PropagationPolicies, "other", elsewhere), workload.HealthHealthy},
	} {
		o := join.Combine(template(t, "1", claim(nil)), [][]*live.Object{
			{bindingOf(t, "5", "Deployment", "web", 2)}, {memberOf(t, metav1.ConditionTrue)}, {tt.policy}, nil, nil, nil, nil,
		}).(*workload.Observed)
		if o.Status.Health != tt.want {
			t.Errorf("%s: %+v", name, o.Status)
		}
	}
}

// Override policies say how many replicas a cluster is asked for.
func TestWorkloadJoinOverrides(t *testing.T) {
	join := WorkloadJoin("alpha", index.Deployments)
	work := func(namespace, binding string) *live.Object {
		return watchedAs(t, index.Works, metav1.ObjectMeta{Namespace: namespace, Name: "web-1", Annotations: map[string]string{
			workv1alpha2.ResourceBindingNamespaceAnnotationKey: "shop", workv1alpha2.ResourceBindingNameAnnotationKey: binding,
			"policy.karmada.io/applied-overrides": `[{"policyName":"o","overriders":{"plaintext":[{"path":"/spec/replicas","operator":"replace","value":5}]}}]`,
		}}, nil)
	}
	for _, tt := range []struct {
		name string
		work *live.Object
		want []live.Key
	}{
		{"its own", work("karmada-es-m1", "web-deployment"), []live.Key{{Namespace: "shop", Name: "web"}}},
		{"of another kind", work("karmada-es-m1", "web-statefulset"), nil},
		{"outside the namespaces of Karmada", work("shop", "web-deployment"), nil},
	} {
		if diff := cmp.Diff(tt.want, join.With[4].Keys(tt.work)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	five := policyv1alpha1.OverridePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "o"}}
	five.Spec.OverrideRules = []policyv1alpha1.RuleWithCluster{{Overriders: policyv1alpha1.Overriders{
		Plaintext: []policyv1alpha1.PlaintextOverrider{{Path: "/spec/replicas", Operator: "replace", Value: apiextensionsv1.JSON{Raw: []byte("5")}}},
	}}}
	if s := join.With[4].Source; !s.MetadataOnly {
		t.Errorf("%s are watched whole", s)
	}
	o := join.Combine(template(t, "1", claim(nil)), [][]*live.Object{
		{bindingOf(t, "5", "Deployment", "web", 2)}, {memberOf(t, metav1.ConditionTrue)}, nil, nil, {work("karmada-es-m1", "web-deployment")}, {watchedAs(t, index.OverridePolicies, five.ObjectMeta, five)}, nil,
	}).(*workload.Observed)
	if o.Status.Replicas.Desired != 5 || o.Status.Health != workload.HealthProgressing || o.Status.Message != "m1: 2 of 5 replicas updated" {
		t.Errorf("two of five replicas are %+v", o.Status)
	}
}

// An override policy concerns the workloads that it may select, before its change and after.
func TestWorkloadJoinOverridePolicies(t *testing.T) {
	join := WorkloadJoin("alpha", index.Deployments)
	of := func(namespace string, selectors ...policyv1alpha1.ResourceSelector) *live.Object {
		is := index.OverridePolicies
		if namespace == "" {
			is = index.ClusterOverridePolicies
		}
		p := policyv1alpha1.OverridePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "secret"}}
		p.Spec.ResourceSelectors = selectors
		p.Spec.OverrideRules = []policyv1alpha1.RuleWithCluster{{Overriders: policyv1alpha1.Overriders{
			ImageOverrider: []policyv1alpha1.ImageOverrider{{Component: "Tag", Operator: "replace", Value: "v2"}},
		}}}
		return watchedAs(t, is, p.ObjectMeta, p)
	}
	selector := func(kind, namespace, name string) policyv1alpha1.ResourceSelector {
		return policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: kind, Namespace: namespace, Name: name}
	}
	work := watchedAs(t, index.Works, metav1.ObjectMeta{Namespace: "karmada-es-m1", Name: "web-1"}, nil)
	const pending = " has not been applied yet; if it cannot be, the workload's events say so"
	for _, tt := range []struct {
		name   string
		policy *live.Object
		input  int
		want   []live.Key
		// message is that of shop/web, when the policy concerns it.
		message string
	}{
		{"by name", of("shop", selector("Deployment", "", "web")), 5, []live.Key{{Namespace: "shop", Name: "web"}}, `m1: override policy "secret"` + pending},
		{"all of a kind", of("shop", selector("Deployment", "", "")), 5, []live.Key{live.EveryIn("shop")}, `m1: override policy "secret"` + pending},
		{"everything", of("shop"), 5, []live.Key{live.EveryIn("shop")}, `m1: override policy "secret"` + pending},
		{"another kind", of("shop", selector("Job", "", "web")), 5, nil, ""},
		{"everything of the instance", of(""), 6, []live.Key{live.Every}, "m1: a cluster override policy" + pending},
		{"a name in any namespace", of("", selector("Deployment", "", "web")), 6, []live.Key{live.Every}, "m1: a cluster override policy" + pending},
		{"a namespace", of("", selector("Deployment", "shop", "")), 6, []live.Key{live.EveryIn("shop")}, "m1: a cluster override policy" + pending},
		{"a name in a namespace", of("", selector("Deployment", "shop", "web")), 6, []live.Key{{Namespace: "shop", Name: "web"}}, "m1: a cluster override policy" + pending},
	} {
		if diff := cmp.Diff(tt.want, join.With[tt.input].Keys(tt.policy)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		with := [][]*live.Object{{bindingOf(t, "5", "Deployment", "web", 2)}, {memberOf(t, metav1.ConditionTrue)}, nil, nil, {work}, nil, nil}
		want := workload.HealthHealthy
		if tt.want != nil {
			with[tt.input], want = []*live.Object{tt.policy}, workload.HealthProgressing
		}
		o := join.Combine(template(t, "1", claim(nil)), with).(*workload.Observed)
		if o.Status.Health != want || o.Status.Message != tt.message {
			t.Errorf("%s: it is %s %q, want %s %q", tt.name, o.Status.Health, o.Status.Message, want, tt.message)
		}
	}
}

// A workload whose state can't be read is delivered with the error, and matches no filter by state.
func TestWorkloadThatCannotBeRead(t *testing.T) {
	broken := live.NewObject(live.Source{Instance: "alpha", Resource: index.Deployments.GroupVersionResource()}, "apps/v1", "Deployment",
		metav1.ObjectMeta{Namespace: "shop", Name: "web"}, json.RawMessage(`{"spec":"none"}`))
	o := WorkloadJoin("alpha", index.Deployments).Combine(broken, make([][]*live.Object, 7)).(*workload.Observed)
	matches, err := (*workload.Filter)(nil).Matcher()
	if err != nil {
		t.Fatal(err)
	}
	if o.Err == nil || matches(o) {
		t.Errorf("got %+v", o)
	}
}

func TestWorkloadFilter(t *testing.T) {
	join := WorkloadJoin("alpha", index.Deployments)
	claimed := template(t, "1", claim(nil))
	o := join.Combine(claimed, [][]*live.Object{{bindingOf(t, "6", "Deployment", "web", 2)}, {memberOf(t, metav1.ConditionTrue)}, nil, nil, nil, nil, nil}).(*workload.Observed)
	for _, tt := range []struct {
		name   string
		filter *workload.Filter
		want   bool
	}{
		{"everything", nil, true},
		{"a cluster it is in", &workload.Filter{Cluster: []string{"m1", "m2"}}, true},
		{"another cluster", &workload.Filter{Cluster: []string{"m2"}}, false},
		{"no cluster", &workload.Filter{Cluster: []string{}}, false},
		{"its health", &workload.Filter{Health: []workload.Health{workload.HealthHealthy}}, true},
		{"another health", &workload.Filter{Health: []workload.Health{workload.HealthDegraded}}, false},
		{"no health", &workload.Filter{Health: []workload.Health{}}, false},
		{"its policy", &workload.Filter{Policy: &workload.PolicyReference{Namespace: new("shop"), Name: "web"}}, true},
		{"another policy", &workload.Filter{Policy: &workload.PolicyReference{Namespace: new("shop"), Name: "api"}}, false},
		{"a policy without namespace", &workload.Filter{Policy: &workload.PolicyReference{Name: "web"}}, false},
		{"its namespace and another name", &workload.Filter{Namespaces: []string{"shop"}, Name: []string{"api"}}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			matches, err := tt.filter.Matcher()
			if err != nil {
				t.Fatal(err)
			}
			if got := matches(o); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
	if _, err := (&workload.Filter{Policy: &workload.PolicyReference{}}).Matcher(); err == nil {
		t.Error("a policy without name is a filter")
	}
}
