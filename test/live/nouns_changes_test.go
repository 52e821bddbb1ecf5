package live

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	autoscalingv1alpha1 "github.com/karmada-io/karmada/pkg/apis/autoscaling/v1alpha1"
	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

// Each noun: what there is, SYNCED, something that begins to match, a change of what
// is selected, one of what is not, and the end of it.

func TestInstanceChanges(t *testing.T) {
	admin := person(t, "admin")
	label := unique("live")
	alpha := &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: "alpha"}}
	t.Cleanup(func() {
		patch(fleetOf(t), "global", alpha, `{"metadata":{"labels":{"live-test":null,"live-other":null}}}`)
	})
	s := follow(t, admin, "instanceChanged", "filter: InstanceFilter", "name state labels { key value } freshness { source }",
		map[string]any{"filter": map[string]any{"labelSelector": "live-test=" + label}})
	if there := s.snapshot(); len(there) != 0 {
		t.Fatalf("there is %v", there)
	}
	patch(t, "global", alpha, `{"metadata":{"labels":{"live-test":"`+label+`"}}}`)
	if c := s.expect("ADDED", "alpha"); c.get("freshness.source") != "LIVE" || c.get("state") != "RUNNING" {
		t.Errorf("got %v", c)
	}
	patch(t, "global", alpha, `{"metadata":{"labels":{"live-other":"1"}}}`)
	s.expect("MODIFIED", "alpha", "labels")
	patch(t, "global", alpha, `{"metadata":{"annotations":{"live-test":"`+label+`"}}}`)
	s.quiet("no field shows annotations")
	patch(t, "global", alpha, `{"metadata":{"labels":{"live-test":null},"annotations":{"live-test":null}}}`)
	s.expect("DELETED", "alpha")
}

// fleetOf is a test whose context outlives its own, for cleaning up.
func fleetOf(t *testing.T) testing.TB {
	t.Helper()
	fleet.Open(t)
	return cleaning{t}
}

func TestClusterChanges(t *testing.T) {
	m3 := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m3"}}
	t.Cleanup(func() { patch(fleetOf(t), "global", m3, `{"metadata":{"labels":{"live-test":null}}}`) })
	s := follow(t, person(t, "bob"), "clusterChanged", "filter: ClusterFilter", "name labels { key } instance { name state }",
		map[string]any{"filter": map[string]any{"includeHidden": true}})
	if got := names(s.snapshot(), "name"); !slices.Equal(got, []string{"k-beta", "m3"}) {
		t.Fatalf("there are %v", got)
	}
	patch(t, "global", m3, `{"metadata":{"labels":{"live-test":"1"}}}`)
	if c := s.await("the label", func(c *change) bool { return slices.Contains(c.ChangedFields, "labels") }); c.get("instance.name") != "beta" {
		t.Errorf("got %v", c)
	}
}

func TestMemberClusterChanges(t *testing.T) {
	m2 := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m2"}}
	t.Cleanup(func() { patch(fleetOf(t), "alpha", m2, `{"metadata":{"labels":{"live-test":null}}}`) })
	s := follow(t, person(t, "alice"), "memberClusterChanged", "filter: MemberClusterChangeFilter", "name ready instance { name } labels { key value } cluster { name }",
		map[string]any{"filter": map[string]any{"instances": []string{"alpha", "beta"}}})
	if got := names(s.snapshot(), "name"); !slices.Equal(got, []string{"m1", "m2"}) {
		t.Fatalf("there are %v", got)
	}
	patch(t, "alpha", m2, `{"metadata":{"labels":{"live-test":"1"}}}`)
	c := s.await("the label", func(c *change) bool { return slices.Contains(c.ChangedFields, "labels") })
	if c.get("name") != "m2" || *c.InstanceName != "alpha" || c.get("cluster.name") != "m2" {
		t.Errorf("got %v", c)
	}
}

func deployment(namespace, name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/app:1"}}},
			},
		},
	}
}

// sends is a policy that sends Deployments of a name to clusters.
func sends(namespace, name string, clusters ...string) *policyv1alpha1.PropagationPolicy {
	return &policyv1alpha1.PropagationPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: policyv1alpha1.PropagationSpec{
			ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "apps/v1", Kind: "Deployment", Name: name}},
			Placement:         policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: clusters}},
		},
	}
}

func TestWorkloadChanges(t *testing.T) {
	ns := namespaceIn(t, "alpha")
	filter := map[string]any{"filter": map[string]any{"namespaces": []string{ns}}}
	s := follow(t, person(t, "alice"), "workloadChanged", "filter: WorkloadFilter",
		"__typename name health replicas { desired ready } policy { name } placements { clusterName ready memberCluster { ready } } binding { clusters { name } } freshness { source }", filter)
	scheduled := follow(t, person(t, "admin"), "workloadChanged", "filter: WorkloadFilter", "name images template { replicas containers { name image } }",
		map[string]any{"filter": map[string]any{"namespaces": []string{ns}, "cluster": []string{"m1"}}})
	deep := follow(t, person(t, "alice"), "workloadChanged", "filter: WorkloadFilter", "name placements { object { name pods { name phase } } }", filter)
	for _, one := range []*feed{s, scheduled, deep} {
		if there := one.snapshot(); len(there) != 0 {
			t.Fatalf("there is %v", there)
		}
	}
	web := deployment(ns, "web", 2)
	create(t, "alpha", web)
	if c := s.expect("ADDED", "web"); c.get("health") != "UNPROPAGATED" || c.get("__typename") != "Deployment" || *c.Kind != "Deployment" || c.get("freshness.source") != "LIVE" {
		t.Errorf("got %v", c)
	}
	create(t, "alpha", sends(ns, "web", "m1"))
	c := s.await("health", func(c *change) bool { return c.get("health") == "HEALTHY" })
	if c.Type != "MODIFIED" || c.get("policy.name") != "web" || c.get("replicas") != "map[desired:2 ready:2]" {
		t.Errorf("got %v", c)
	}
	if got := fmt.Sprint(c.Object["placements"]); !strings.Contains(got, "clusterName:m1") || !strings.Contains(got, "memberCluster:map[ready:true]") {
		t.Errorf("placements %v", got)
	}
	if c = s.settle(c); c.get("health") != "HEALTHY" {
		t.Errorf("it was healthy, and in the end there came %v", c)
	}
	scheduled.expect("ADDED", "web")
	scheduled.quiet("images have not changed")
	deep.await("running pods", func(c *change) bool {
		return strings.Count(fmt.Sprint(c.Object["placements"]), "phase:RUNNING") == 2
	})
	patch(t, "alpha", web, `{"metadata":{"annotations":{"live-test":"1"}}}`)
	scheduled.quiet("annotations are not selected")
	patch(t, "alpha", web, `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"example.com/app:2"}]}}}}`)
	if c := scheduled.expect("MODIFIED", "web", "images", "manifest", "resourceVersion", "template.containers.image"); fmt.Sprint(c.Object["images"]) != "[example.com/app:2]" ||
		fmt.Sprint(c.Object["template"]) != "map[containers:[map[image:example.com/app:2 name:main]] replicas:2]" {
		t.Errorf("got %v", c)
	}
	remove(t, "alpha", web)
	s.await("the end", func(c *change) bool { return c.Type == "DELETED" && c.get("name") == "web" })
	scheduled.await("the end", func(c *change) bool { return c.Type == "DELETED" && c.get("name") == "web" })
}

// A workload that begins to have the health of the filter is there from then on.
func TestWorkloadsByHealth(t *testing.T) {
	ns := namespaceIn(t, "alpha")
	s := follow(t, person(t, "alice"), "workloadChanged", "filter: WorkloadFilter", "name health",
		map[string]any{"filter": map[string]any{"namespaces": []string{ns}, "health": []string{"UNSCHEDULED", "UNPROPAGATED"}}})
	s.snapshot()
	create(t, "alpha", deployment(ns, "lost", 1))
	s.expect("ADDED", "lost")
	p := sends(ns, "lost", "none-such")
	create(t, "alpha", p)
	// Between the two it may be neither, and then it is missing for a moment.
	s.await("no cluster", func(c *change) bool { return c.Type != "DELETED" && c.get("health") == "UNSCHEDULED" })
	patch(t, "alpha", p, `{"spec":{"placement":{"clusterAffinity":{"clusterNames":["m2"]}}}}`)
	if c := s.await("the end", func(c *change) bool { return c.Type == "DELETED" }); c.get("health") == "HEALTHY" {
		t.Errorf("it is not shown as it was last: %v", c)
	}
	s.quiet("it does not match any more")
}

func TestPolicyChanges(t *testing.T) {
	ns := namespaceIn(t, "alpha")
	s := follow(t, person(t, "alice"), "policyChanged", "filter: PolicyChangeFilter",
		"__typename name namespace ... on PropagationPolicy { spec { placement { clusterAffinity { clusterNames } } } }",
		map[string]any{"filter": map[string]any{"namespaces": []string{ns}}})
	s.snapshot()
	p := sends(ns, "web", "m1")
	create(t, "alpha", p)
	if c := s.expect("ADDED", "web"); c.get("__typename") != "PropagationPolicy" || *c.Kind != "PropagationPolicy" {
		t.Errorf("got %v", c)
	}
	patch(t, "alpha", p, `{"spec":{"placement":{"clusterAffinity":{"clusterNames":["m1","m2"]}}}}`)
	s.expect("MODIFIED", "web", "spec.placement.clusterAffinity.clusterNames")
	patch(t, "alpha", p, `{"spec":{"priority":7}}`)
	s.quiet("the priority is not selected")
	create(t, "alpha", &policyv1alpha1.OverridePolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "image"},
		Spec: policyv1alpha1.OverrideSpec{OverrideRules: []policyv1alpha1.RuleWithCluster{{
			Overriders: policyv1alpha1.Overriders{ImageOverrider: []policyv1alpha1.ImageOverrider{{Component: "Tag", Operator: "replace", Value: "2"}}},
		}}},
	})
	if c := s.expect("ADDED", "image"); c.get("__typename") != "OverridePolicy" {
		t.Errorf("got %v", c)
	}
	remove(t, "alpha", p)
	s.expect("DELETED", "web")
}

func TestKarmadaResourceChanges(t *testing.T) {
	ns := namespaceIn(t, "alpha")
	s := follow(t, person(t, "alice"), "karmadaResourceChanged", "filter: KarmadaResourceChangeFilter",
		"__typename name ... on CronFederatedHPA { spec { rules { schedule } } } ... on FederatedResourceQuota { spec { overall { name quantity } } }",
		map[string]any{"filter": map[string]any{"namespaces": []string{ns}}})
	s.snapshot()
	h := &autoscalingv1alpha1.CronFederatedHPA{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "nights"}, Spec: autoscalingv1alpha1.CronFederatedHPASpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
		Rules:          []autoscalingv1alpha1.CronFederatedHPARule{{Name: "never", Schedule: "0 0 30 2 *", TargetReplicas: new(int32(1)), Suspend: new(true)}},
	}}
	create(t, "alpha", h)
	if c := s.expect("ADDED", "nights"); c.get("__typename") != "CronFederatedHPA" || *c.Kind != "CronFederatedHPA" {
		t.Errorf("got %v", c)
	}
	patch(t, "alpha", h, `{"spec":{"rules":[{"name":"never","schedule":"0 1 30 2 *","targetReplicas":1,"suspend":true}]}}`)
	s.expect("MODIFIED", "nights", "spec.rules.schedule")
	patch(t, "alpha", h, `{"spec":{"rules":[{"name":"never","schedule":"0 1 30 2 *","targetReplicas":2,"suspend":true}]}}`)
	s.quiet("the replicas are not selected")
	remove(t, "alpha", h)
	s.expect("DELETED", "nights")
}

func TestResourceChanges(t *testing.T) {
	ns := namespaceIn(t, "beta")
	of := `version="v1", resource="configmaps", filter: ResourceChangeFilter`
	filter := map[string]any{"filter": map[string]any{"namespaces": []string{ns}, "nameContains": "sett"}}
	s := follow(t, person(t, "bob"), "resourceChanged", of, "name apiVersion kind uid manifest", filter)
	labels := follow(t, person(t, "bob"), "resourceChanged", of, "name labels { key }", filter)
	s.snapshot()
	labels.snapshot()
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "settings"}, Data: map[string]string{"a": "1"}}
	create(t, "beta", settings)
	if c := s.expect("ADDED", "settings"); c.get("manifest.data.a") != "1" || c.get("manifest.kind") != "ConfigMap" || c.get("manifest.apiVersion") != "v1" || c.get("manifest.metadata.managedFields") != "<nil>" {
		t.Errorf("got %v", c)
	}
	labels.expect("ADDED", "settings")
	patch(t, "beta", settings, `{"data":{"a":"2"}}`)
	if c := s.expect("MODIFIED", "settings", "manifest", "yaml"); c.get("manifest.data.a") != "2" {
		t.Errorf("got %v", c)
	}
	labels.quiet("labels have not changed")
	create(t, "beta", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "other"}})
	s.quiet("the name does not match")
	remove(t, "beta", settings)
	if c := s.expect("DELETED", "settings"); c.get("manifest.data.a") != "2" {
		t.Errorf("it is not shown as it was last: %v", c)
	}
}

// The values of Secrets are for fewer people than the rest of them, live as otherwise.
func TestSecretsAreMasked(t *testing.T) {
	ns := namespaceIn(t, "beta")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "password"}, StringData: map[string]string{"value": "do not tell"}}
	for name, shown := range map[string]bool{"bob": false, "admin": true} {
		s := follow(t, person(t, name), "resourceChanged", `version="v1", resource="secrets", filter: ResourceChangeFilter`, "name manifest yaml",
			map[string]any{"filter": map[string]any{"namespaces": []string{ns}}})
		s.snapshot()
		one := secret.DeepCopy()
		one.Name += "-" + name
		create(t, "beta", one)
		c := s.expect("ADDED", one.Name)
		raw, _ := json.Marshal(c.Object)
		const encoded = "ZG8gbm90IHRlbGw="
		if strings.Contains(string(raw), encoded) != shown || !strings.Contains(string(raw), "value") {
			t.Errorf("%s sees %s", name, raw)
		}
	}
}

// A stream goes on where another one stopped, with what happened meanwhile and
// nothing else. What happens here comes from no mutation, so that no token says what has to
// be told: a witness hears of it first, by the same watch.
func TestResume(t *testing.T) {
	ns := namespaceIn(t, "alpha")
	of := `version="v1", resource="configmaps", filter: ResourceChangeFilter, after: String`
	variables := map[string]any{"filter": map[string]any{"namespaces": []string{ns}, "name": []string{"a", "b", "c"}}}
	made := func(name string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	}
	alice := person(t, "alice")
	witness := follow(t, alice, "resourceChanged", of, "name manifest", variables)
	if there := witness.snapshot(); len(there) != 0 {
		t.Fatalf("there is %v", there)
	}
	a, b := made("a"), made("b")
	create(t, "alpha", a)
	witness.expect("ADDED", "a")
	create(t, "alpha", b)
	witness.expect("ADDED", "b")
	s := follow(t, alice, "resourceChanged", of, "name manifest", variables)
	if got := names(s.snapshot(), "name"); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("there are %v", got)
	}
	patch(t, "alpha", a, `{"data":{"x":"1"}}`)
	variables["after"] = s.expect("MODIFIED", "a").Cursor
	witness.expect("MODIFIED", "a")
	s.Close()
	remove(t, "alpha", b)
	witness.expect("DELETED", "b")
	create(t, "alpha", made("c"))
	witness.expect("ADDED", "c")
	again := follow(t, alice, "resourceChanged", of, "name manifest", variables)
	got := map[string]string{}
	for {
		c := again.next(within)
		if c == nil {
			t.Fatalf("no SYNCED after %v", got)
		}
		if c.Type == "SYNCED" {
			break
		}
		got[c.get("name")] += c.Type
	}
	if fmt.Sprint(got) != "map[b:DELETED c:ADDED]" {
		t.Errorf("after the cursor came %v", got)
	}
	again.quiet("nothing else happened")
}
