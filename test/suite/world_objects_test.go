package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fifty is how many of everything the lists are counted with.
const fifty = 50

// image is what all workloads of the suite run.
const image = "registry.example.com/suite/main:1.0.0"

func pods(labels map[string]string) corev1.PodTemplateSpec {
	c := corev1.Container{Name: "main", Image: image}
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{c}}}
}

func selecting(name string) (map[string]string, *metav1.LabelSelector) {
	labels := map[string]string{"app": name}
	return labels, &metav1.LabelSelector{MatchLabels: labels}
}

func one() *int32 { n := int32(1); return &n }

func deployment(m metav1.ObjectMeta) *appsv1.Deployment {
	labels, selector := selecting(m.Name)
	return &appsv1.Deployment{ObjectMeta: m, Spec: appsv1.DeploymentSpec{Replicas: one(), Selector: selector, Template: pods(labels)}}
}

func replicas(n int32, d *appsv1.Deployment) *appsv1.Deployment {
	d.Spec.Replicas = &n
	return d
}

// demanding has every pod ask for so much CPU. Its roll-out is not given up on while
// the suite lasts, however long that is.
func demanding(cpu string, d *appsv1.Deployment) *appsv1.Deployment {
	const day = int32(24 * time.Hour / time.Second)
	d.Spec.ProgressDeadlineSeconds = new(day)
	d.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	return d
}

func statefulSet(m metav1.ObjectMeta) *appsv1.StatefulSet {
	labels, selector := selecting(m.Name)
	return &appsv1.StatefulSet{ObjectMeta: m, Spec: appsv1.StatefulSetSpec{Replicas: one(), ServiceName: m.Name, Selector: selector, Template: pods(labels)}}
}

func daemonSet(m metav1.ObjectMeta) *appsv1.DaemonSet {
	labels, selector := selecting(m.Name)
	return &appsv1.DaemonSet{ObjectMeta: m, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: pods(labels)}}
}

func job(m metav1.ObjectMeta) *batchv1.Job {
	template := pods(nil)
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return &batchv1.Job{ObjectMeta: m, Spec: batchv1.JobSpec{Template: template}}
}

// cronJob never runs: there is no 30 February.
func cronJob(m metav1.ObjectMeta) *batchv1.CronJob {
	template := pods(nil)
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return &batchv1.CronJob{ObjectMeta: m, Spec: batchv1.CronJobSpec{
		Schedule: "0 0 30 2 *", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template}},
	}}
}

// suiteHealth is the health that the workloads of the namespaces a and b are
// made to have, by kind and name. All others are UNPROPAGATED.
var suiteHealth = map[string]string{
	"alpha/DEPLOYMENT/a/web":    "HEALTHY",
	"alpha/DEPLOYMENT/a/slow":   "PROGRESSING", // No node has so much CPU.
	"alpha/DEPLOYMENT/a/failed": "DEGRADED",    // Nor here, and its deadline is over.
	"alpha/DEPLOYMENT/a/lost":   "UNSCHEDULED", // No cluster has the label.
	"alpha/DEPLOYMENT/b/web":    "HEALTHY",

	"alpha/DEPLOYMENT/a/mix-1":     "HEALTHY",
	"alpha/DEPLOYMENT/a/mix-2":     "HEALTHY",
	"alpha/DEPLOYMENT/a/mix-slow":  "PROGRESSING",
	"alpha/STATEFUL_SET/a/mix-set": "HEALTHY",

	"alpha/DEPLOYMENT/a/cmix-1":     "HEALTHY",
	"alpha/DEPLOYMENT/b/cmix-2":     "HEALTHY",
	"alpha/DEPLOYMENT/b/cmix-slow":  "PROGRESSING",
	"alpha/STATEFUL_SET/a/cmix-set": "HEALTHY",
}

func (w *world) workloads() []created {
	const tooMuch = "1000"
	failed := demanding(tooMuch, deployment(w.meta(w.a, "failed", "tier", "web")))
	failed.Spec.ProgressDeadlineSeconds = one()
	return []created{
		{"alpha", deployment(w.meta(w.a, "web", "tier", "web", "track", "stable"))},
		{"alpha", deployment(w.meta(w.a, "web-canary", "tier", "web", "track", "canary"))},
		{"alpha", demanding(tooMuch, deployment(w.meta(w.a, "slow", "tier", "web")))},
		{"alpha", failed},
		{"alpha", deployment(w.meta(w.a, "lost"))},
		// One name, several kinds: the order of a list must still be total.
		{"alpha", statefulSet(w.meta(w.a, "web", "tier", "db"))},
		{"alpha", daemonSet(w.meta(w.a, "web", "tier", "node"))},
		{"alpha", job(w.meta(w.a, "web", "tier", "batch"))},
		{"alpha", cronJob(w.meta(w.a, "web", "tier", "batch"))},
		{"alpha", deployment(w.meta(w.b, "web", "tier", "web", "track", "stable"))},
		{"alpha", statefulSet(w.meta(w.b, "db", "tier", "db"))},
		// Names in which a database that compares as people do would see another order.
		{"alpha", deployment(w.meta(w.b, "a-b"))},
		{"alpha", deployment(w.meta(w.b, "aa"))},
		{"alpha", deployment(w.meta(w.b, "a.c"))},
		{"alpha", deployment(w.meta(w.b, "a1"))},
		// What two policies claim, each several of several kinds.
		{"alpha", deployment(w.meta(w.a, "mix-1", "mix", "yes", "tier", "web"))},
		{"alpha", replicas(2, deployment(w.meta(w.a, "mix-2", "mix", "yes", "tier", "web", "track", "canary")))},
		{"alpha", demanding(tooMuch, deployment(w.meta(w.a, "mix-slow", "mix", "yes")))},
		{"alpha", statefulSet(w.meta(w.a, "mix-set", "mix", "yes", "tier", "db"))},
		{"alpha", deployment(w.meta(w.a, "cmix-1", "mix", "cluster", "tier", "web"))},
		{"alpha", replicas(2, deployment(w.meta(w.b, "cmix-2", "mix", "cluster", "tier", "web", "track", "canary")))},
		{"alpha", demanding(tooMuch, deployment(w.meta(w.b, "cmix-slow", "mix", "cluster")))},
		{"alpha", statefulSet(w.meta(w.a, "cmix-set", "mix", "cluster", "tier", "db"))},
		{"beta", deployment(w.meta(w.a, "web", "tier", "web", "track", "stable"))},
		{"beta", statefulSet(w.meta(w.a, "db", "tier", "db"))},
	}
}

func to(clusters ...string) policyv1alpha1.Placement {
	return policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: clusters}}
}

func selects(kind, namespace, name string) []policyv1alpha1.ResourceSelector {
	group := map[string]string{"CronJob": "batch/v1", "Job": "batch/v1"}[kind]
	if group == "" {
		group = "apps/v1"
	}
	return []policyv1alpha1.ResourceSelector{{APIVersion: group, Kind: kind, Namespace: namespace, Name: name}}
}

// labelled selects Deployments and StatefulSets by their label mix.
func labelled(namespace, mix string) []policyv1alpha1.ResourceSelector {
	var all []policyv1alpha1.ResourceSelector
	for _, kind := range []string{"Deployment", "StatefulSet"} {
		all = append(all, policyv1alpha1.ResourceSelector{
			APIVersion: "apps/v1", Kind: kind, Namespace: namespace,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"mix": mix}},
		})
	}
	return all
}

// divided sends a single replica to one of two members, and two to both.
func divided() policyv1alpha1.Placement {
	p := to("m1", "m2")
	p.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{
		ReplicaSchedulingType:     policyv1alpha1.ReplicaSchedulingTypeDivided,
		ReplicaDivisionPreference: policyv1alpha1.ReplicaDivisionPreferenceWeighted,
		WeightPreference: &policyv1alpha1.ClusterPreferences{StaticWeightList: []policyv1alpha1.StaticClusterWeight{
			{TargetCluster: policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1"}}, Weight: 1},
			{TargetCluster: policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m2"}}, Weight: 1},
		}},
	}
	return p
}

func propagation(m metav1.ObjectMeta, what []policyv1alpha1.ResourceSelector, where policyv1alpha1.Placement) *policyv1alpha1.PropagationPolicy {
	return &policyv1alpha1.PropagationPolicy{ObjectMeta: m, Spec: policyv1alpha1.PropagationSpec{ResourceSelectors: what, Placement: where}}
}

func tagging(what []policyv1alpha1.ResourceSelector, clusters ...string) policyv1alpha1.OverrideSpec {
	return policyv1alpha1.OverrideSpec{
		ResourceSelectors: what,
		OverrideRules: []policyv1alpha1.RuleWithCluster{{
			TargetCluster: &policyv1alpha1.ClusterAffinity{ClusterNames: clusters},
			Overriders: policyv1alpha1.Overriders{ImageOverrider: []policyv1alpha1.ImageOverrider{{
				Component: policyv1alpha1.Tag, Operator: policyv1alpha1.OverriderOpReplace, Value: "2.0.0",
			}}},
		}},
	}
}

func (w *world) policies() []created {
	nowhere := policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"suite": "nowhere"}},
	}}
	all := []created{
		{"alpha", propagation(w.meta(w.a, "web", "team", "left"), selects("Deployment", w.a, "web"), to("m1"))},
		{"alpha", propagation(w.meta(w.a, "slow", "team", "left"), selects("Deployment", w.a, "slow"), to("m1"))},
		{"alpha", propagation(w.meta(w.a, "failed", "team", "right"), selects("Deployment", w.a, "failed"), to("m1"))},
		{"alpha", propagation(w.meta(w.a, "lost"), selects("Deployment", w.a, "lost"), nowhere)},
		// The same name as one in the other namespace.
		{"alpha", propagation(w.meta(w.b, "web", "team", "right"), selects("Deployment", w.b, "none"), to("m1"))},
		{"alpha", &policyv1alpha1.ClusterPropagationPolicy{
			ObjectMeta: w.global("web", "team", "left"),
			Spec:       policyv1alpha1.PropagationSpec{ResourceSelectors: selects("Deployment", w.b, "web"), Placement: to("m1", "m2")},
		}},
		{"alpha", propagation(w.meta(w.a, "mix"), labelled("", "yes"), divided())},
		{"alpha", &policyv1alpha1.ClusterPropagationPolicy{
			ObjectMeta: w.global("mix"),
			Spec: policyv1alpha1.PropagationSpec{
				ResourceSelectors: append(labelled(w.a, "cluster"), labelled(w.b, "cluster")...), Placement: divided(),
			},
		}},
		{"alpha", &policyv1alpha1.OverridePolicy{ObjectMeta: w.meta(w.a, "web", "team", "left"), Spec: tagging(selects("Deployment", w.a, "web"), "m1")}},
		{"alpha", &policyv1alpha1.OverridePolicy{ObjectMeta: w.meta(w.a, "other", "team", "right"), Spec: tagging(selects("Deployment", w.a, "none"), "m1")}},
		{"alpha", &policyv1alpha1.OverridePolicy{ObjectMeta: w.meta(w.b, "web", "team", "right"), Spec: tagging(selects("Deployment", w.b, "none"), "m1")}},
		{"alpha", &policyv1alpha1.ClusterOverridePolicy{ObjectMeta: w.global("web", "team", "left"), Spec: tagging(selects("Deployment", w.b, "web"), "m2")}},
		// What these two claim is counted with fifty.
		{"alpha", propagation(w.meta(w.many, "all"), selects("Deployment", w.many, ""), to("m1"))},
		{"alpha", &policyv1alpha1.OverridePolicy{ObjectMeta: w.meta(w.many, "all"), Spec: tagging(selects("Deployment", w.many, ""), "m1")}},
		{"alpha", &policyv1alpha1.ClusterPropagationPolicy{
			ObjectMeta: w.global("all"),
			Spec:       policyv1alpha1.PropagationSpec{ResourceSelectors: selects("CronJob", w.many, ""), Placement: to("m1")},
		}},
	}
	for i := range fifty {
		name := fmt.Sprintf("p-%02d", i)
		none := selects("Deployment", w.many, "none-"+name)
		all = append(all,
			created{"alpha", propagation(w.meta(w.many, name), none, to("m1"))},
			created{"alpha", &policyv1alpha1.ClusterPropagationPolicy{
				ObjectMeta: w.global(name), Spec: policyv1alpha1.PropagationSpec{ResourceSelectors: none, Placement: to("m1")},
			}},
			created{"alpha", &policyv1alpha1.OverridePolicy{ObjectMeta: w.meta(w.many, name), Spec: tagging(none, "m1")}},
			created{"alpha", &policyv1alpha1.ClusterOverridePolicy{ObjectMeta: w.global(name), Spec: tagging(none, "m1")}},
		)
	}
	return all
}

// others are objects of kinds without a type of their own in the schema.
func (w *world) others() []created {
	configMap := func(namespace, name string, labels ...string) created {
		return created{"alpha", &corev1.ConfigMap{ObjectMeta: w.meta(namespace, name, labels...)}}
	}
	all := []created{
		configMap(w.a, "one", "team", "left"), configMap(w.a, "two", "team", "right"), configMap(w.b, "one", "team", "right"),
	}
	for i := range fifty {
		all = append(all, configMap(w.many, fmt.Sprintf("cm-%02d", i)))
	}
	return all
}

// fifty makes fifty workloads that a policy claims, and fifty that a cluster
// policy claims; the latter cost the members nothing. The other kinds have one each.
func (w *world) fifty() []created {
	var all []created
	for i := range fifty {
		all = append(all,
			created{"alpha", deployment(w.meta(w.many, fmt.Sprintf("d-%02d", i)))},
			created{"alpha", cronJob(w.meta(w.many, fmt.Sprintf("c-%02d", i)))})
	}
	for i := range fifty {
		all = append(all, created{"m1", w.node(i)})
	}
	return append(all,
		created{"alpha", statefulSet(w.meta(w.many, "one"))},
		created{"alpha", daemonSet(w.meta(w.many, "one"))},
		created{"alpha", job(w.meta(w.many, "one"))})
}

// node is one that no pod is scheduled to.
func (w *world) node(i int) *corev1.Node {
	value := "left"
	if i%2 == 1 {
		value = "right"
	}
	return &corev1.Node{
		ObjectMeta: w.meta("", fmt.Sprintf("suite-%s-n-%02d", w.id, i)),
		Spec:       corev1.NodeSpec{Unschedulable: true, Taints: []corev1.Taint{{Key: "suite", Value: value, Effect: corev1.TaintEffectNoSchedule}}},
	}
}

// workloadKinds are the kinds of workload, by their type in the schema.
var workloadKinds = map[string]struct{ enum, group, kind string }{
	"Deployment":  {"DEPLOYMENT", "apps/v1", "Deployment"},
	"StatefulSet": {"STATEFUL_SET", "apps/v1", "StatefulSet"},
	"DaemonSet":   {"DAEMON_SET", "apps/v1", "DaemonSet"},
	"Job":         {"JOB", "batch/v1", "Job"},
	"CronJob":     {"CRON_JOB", "batch/v1", "CronJob"},
}

// counted is the workload of each kind that has fifty events.
func counted(typ string) string {
	return map[string]string{"Deployment": "d-00", "CronJob": "c-00"}[typ] + map[string]string{"StatefulSet": "one", "DaemonSet": "one", "Job": "one"}[typ]
}

// createEvents makes events: a few different ones in a, and fifty about one
// workload of each kind.
func (w *world) createEvents(t testing.TB) {
	t.Helper()
	var all []created
	event := func(namespace, name, typ, reason string, about corev1.ObjectReference) {
		now := metav1.Now()
		all = append(all, created{"alpha", &corev1.Event{
			ObjectMeta: w.meta(namespace, name), Type: typ, Reason: reason, Message: "The suite said so.", InvolvedObject: about,
			FirstTimestamp: now, LastTimestamp: now, Count: 1, Source: corev1.EventSource{Component: "suite"},
		}})
	}
	refer := func(namespace, typ, name string) corev1.ObjectReference {
		k := workloadKinds[typ]
		o := newWorkload(k.enum)
		if err := w.fleet.Client(t, "alpha").Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
			t.Fatal(err)
		}
		return corev1.ObjectReference{APIVersion: k.group, Kind: k.kind, Namespace: namespace, Name: name, UID: o.GetUID()}
	}
	web, set, canary := refer(w.a, "Deployment", "web"), refer(w.a, "StatefulSet", "web"), refer(w.a, "Deployment", "web-canary")
	event(w.a, "e1", "Normal", "Suited", web)
	event(w.a, "e2", "Warning", "Unsuited", web)
	event(w.a, "e3", "Normal", "Suited", set)
	event(w.a, "e4", "Warning", "Suited", canary)
	event(w.b, "e1", "Normal", "Suited", refer(w.b, "Deployment", "web"))
	for typ := range workloadKinds {
		about := refer(w.many, typ, counted(typ))
		for i := range fifty {
			event(w.many, fmt.Sprintf("%s-%02d", strings.ToLower(typ), i), "Normal", "Counted", about)
		}
	}
	w.create(t, all...)
}
