package writes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

// What runs in a member is taken over while it runs on.
func TestPromoteResource(t *testing.T) {
	f := fleet.Open(t)
	alice := person(t, "alice")
	namespace := namespaceIn(t)
	m1 := f.Client(t, "m1")
	poll.True(t, within, "the namespace is in m1", func() bool {
		_, there := storedIn(t, "m1", "", namespace, &corev1.Namespace{})
		return there
	})
	labels := map[string]string{"app": "legacy"}
	replicas := int32(2)
	deployment := &appsv1.Deployment{ObjectMeta: meta(namespace, "legacy"), Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "app", Image: "example.com/app:1",
			EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}},
		}}}},
	}}
	settings := &corev1.ConfigMap{ObjectMeta: meta(namespace, "settings"), Data: map[string]string{"by": "hand"}}
	if err := m1.Create(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	if err := m1.Create(t.Context(), deployment); err != nil {
		t.Fatal(err)
	}
	pods := func() map[string]bool {
		list, err := f.Kubernetes(t, "m1").CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=legacy"})
		if err != nil {
			t.Fatal(err)
		}
		uids := map[string]bool{}
		for _, p := range list.Items {
			uids[string(p.UID)] = true
		}
		return uids
	}
	poll.True(t, within, "the pods run", func() bool { return len(pods()) == 2 })
	before := pods()

	input := map[string]any{"instance": "alpha", "cluster": "m1", "group": "apps", "version": "v1", "resource": "deployments", "namespace": namespace, "name": "legacy"}
	for _, who := range []string{"bob", "mallory"} {
		refused(t, person(t, who), "promoteResource", input, "NOT_FOUND", "input.instance")
	}
	refused(t, alice, "promoteResource", input, "FORBIDDEN", "") // She edits alpha, and may not reach its members.
	reachMember(t, "alice", "view")
	poll.True(t, within, "m1 is reached through alpha", func() bool {
		_, errs := mutate[written](t, alice, "promoteResource", but(input, "dryRun", true), "promoted")
		return len(errs) == 0
	})
	dry := must[written](t, alice, "promoteResource", but(input, "dryRun", true), "promoted policyName "+writtenFields)
	if !dry.Promoted || dry.String() != "PropagationPolicy CREATED, ConfigMap CREATED, Deployment CREATED" || dry.ConsistencyToken != nil {
		t.Errorf("%+v", dry)
	}
	if _, there := stored(t, namespace, "legacy", &appsv1.Deployment{}); there {
		t.Error("a dry run wrote it")
	}
	refused(t, alice, "promoteResource", but(input, "name", "none"), "NOT_FOUND", "input.name")
	refused(t, alice, "promoteResource", but(input, "policyName", "No"), "INVALID", "input.policyName")

	p := must[written](t, alice, "promoteResource", input, "promoted policyName "+writtenFields)
	if !p.Promoted || p.ConsistencyToken == nil {
		t.Fatalf("%+v", p)
	}
	if _, there := stored(t, namespace, p.PolicyName, &policyv1alpha1.PropagationPolicy{}); !there {
		t.Error("there is no policy")
	}
	for _, o := range []string{"legacy", "settings"} {
		poll.True(t, within, o+" is Karmada's in m1", func() bool {
			if o == "legacy" {
				d, _ := storedIn(t, "m1", namespace, o, &appsv1.Deployment{})
				return d.Labels["karmada.io/managed"] == "true"
			}
			c, _ := storedIn(t, "m1", namespace, o, &corev1.ConfigMap{})
			return c.Labels["karmada.io/managed"] == "true"
		})
	}
	poll.True(t, within, "the controller of Deployments has seen Karmada's version, and no roll-out is under way", func() bool {
		d, _ := storedIn(t, "m1", namespace, "legacy", &appsv1.Deployment{})
		return d.Status.ObservedGeneration == d.Generation && d.Status.Replicas == 2 && d.Status.UpdatedReplicas == 2
	})
	after := pods()
	for uid := range before {
		if !after[uid] || len(after) != len(before) {
			t.Fatalf("the pods were %v and are %v", before, after)
		}
	}
	tried("promoteResource", tookEffect)
	refused(t, alice, "promoteResource", input, "ALREADY_EXISTS", "input.name")
}

// A StatefulSet with all that pods can name, a Service with the address that it
// has, and an Ingress with its certificate: everything is Karmada's then, has the
// UIDs that it had, and the pods run on.
func TestPromoteEveryKind(t *testing.T) {
	s := newLegacy(t, "edit", `
apiVersion: v1
kind: Secret
metadata: {name: password}
stringData: {password: hunter2}
---
apiVersion: v1
kind: Secret
metadata: {name: certificate}
stringData: {tls.crt: "x", tls.key: "hunter2"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, annotations: {note: mine, kubectl.kubernetes.io/last-applied-configuration: "{}"}, labels: {team: shop}}
data: {by: hand}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: runner}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", resources: {requests: {storage: 1Gi}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      serviceAccountName: runner
      containers: [{name: db, image: "example.com/db:1", envFrom: [{secretRef: {name: password}}, {configMapRef: {name: settings}}, {configMapRef: {name: absent, optional: true}}]}]
      volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
---
apiVersion: v1
kind: Service
metadata: {name: db}
spec: {selector: {app: db}, ports: [{port: 5432}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: db}
spec:
  tls: [{hosts: [db.example.com], secretName: certificate}]
  rules: [{host: db.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: db, port: {number: 5432}}}}]}}]
`)
	poll.True(t, within, "the pods are there", func() bool { return len(s.podUIDs(t)) == 2 })
	pods := s.podUIDs(t)
	address, _, _ := unstructured.NestedString(s.in(t, "m1", "v1", "Service", "db").Object, "spec", "clusterIP")
	all := []struct{ apiVersion, kind, name string }{
		{"apps/v1", "StatefulSet", "db"}, {"v1", "Service", "db"}, {"networking.k8s.io/v1", "Ingress", "db"}, {"v1", "Secret", "password"}, {"v1", "Secret", "certificate"},
		{"v1", "ConfigMap", "settings"}, {"v1", "ServiceAccount", "runner"}, {"v1", "PersistentVolumeClaim", "data"},
	}
	before := map[string]types.UID{}
	for _, o := range all {
		before[o.kind+" "+o.name] = s.in(t, "m1", o.apiVersion, o.kind, o.name).GetUID()
	}
	for _, tt := range []struct{ group, resource, want string }{
		{"apps", "statefulsets", "PropagationPolicy CREATED, ConfigMap CREATED, PersistentVolumeClaim CREATED, Secret CREATED, ServiceAccount CREATED, StatefulSet CREATED, ConfigMap SKIPPED"},
		{"", "services", "PropagationPolicy CREATED, Service CREATED"},
		{"networking.k8s.io", "ingresses", "PropagationPolicy CREATED, Secret CREATED, Ingress CREATED"},
	} {
		input := but(s.input(tt.group, tt.resource, "db"), "exposing", false) // Each is promoted on its own.
		for _, dryRun := range []bool{true, false} {
			p := must[written](t, s.alice, "promoteResource", but(input, "dryRun", dryRun), "promoted policyName "+writtenFields)
			if !p.Promoted || p.String() != tt.want {
				t.Errorf("%s (dry run: %t): %s, want %s", tt.resource, dryRun, p, tt.want)
			}
		}
		refused(t, s.alice, "promoteResource", input, "ALREADY_EXISTS", "input.name")
	}
	for _, o := range all {
		poll.True(t, within, o.kind+" "+o.name+" is Karmada's in m1", func() bool {
			u := s.in(t, "m1", o.apiVersion, o.kind, o.name)
			return u != nil && u.GetLabels()["karmada.io/managed"] == "true"
		})
	}
	poll.True(t, within, "what the StatefulSet says now has been acted on", func() bool {
		db := s.in(t, "m1", "apps/v1", "StatefulSet", "db")
		seen, _, _ := unstructured.NestedInt64(db.Object, "status", "observedGeneration")
		return seen == db.GetGeneration()
	})
	for _, o := range all {
		if u := s.in(t, "m1", o.apiVersion, o.kind, o.name); u == nil || u.GetUID() != before[o.kind+" "+o.name] {
			t.Errorf("%s %s was made anew: %v", o.kind, o.name, u)
		}
		if u := s.in(t, "m2", o.apiVersion, o.kind, o.name); u != nil && o.kind != "ServiceAccount" {
			t.Errorf("%s %s is in m2 too", o.kind, o.name)
		}
	}
	if after := s.podUIDs(t); !slices.Equal(after, pods) {
		t.Errorf("the pods were %v and are %v", pods, after)
	}
	if now, _, _ := unstructured.NestedString(s.in(t, "m1", "v1", "Service", "db").Object, "spec", "clusterIP"); now != address {
		t.Errorf("the Service had the address %s and has %s", address, now)
	}
	settings := s.in(t, "alpha", "v1", "ConfigMap", "settings")
	if settings.GetLabels()["team"] != "shop" || settings.GetAnnotations()["note"] != "mine" || settings.GetAnnotations()["kubectl.kubernetes.io/last-applied-configuration"] != "" {
		t.Errorf("the template of settings says %v, %v", settings.GetLabels(), settings.GetAnnotations())
	}
}

const oneDeployment = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {by: hand}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "example.com/web:1", envFrom: [{configMapRef: {name: settings}}]}]}`

// What stands in the way of a promotion is said, and nothing is written.
func TestPromotionMeetsWhatIsThere(t *testing.T) {
	s := newLegacy(t, "view", oneDeployment+`
---
apiVersion: v1
kind: Secret
metadata: {name: password}
stringData: {password: hunter2}`)
	alpha := fleet.Open(t).Client(t, "alpha")
	poll.True(t, within, "the pods are there", func() bool { return len(s.podUIDs(t)) == 2 })
	web := s.input("apps", "deployments", "web")
	for _, tt := range []struct {
		reason, code, argument string
		input                  map[string]any
	}{
		{"no such member: who may not reach it is not told", "FORBIDDEN", "", but(web, "cluster", "m9")},
		{"a member of another instance: neither", "FORBIDDEN", "", but(web, "cluster", "m3")},
		{"what is no name of a member", "INVALID", "input.cluster", but(web, "cluster", "m1/../m2")},
		{"a member that she may not reach", "FORBIDDEN", "", but(web, "cluster", "m2")},
		{"what she may not read there", "FORBIDDEN", "", s.input("", "secrets", "password")},
		{"a kind that is not served", "INVALID", "input.resource", but(web, "resource", "deploys")},
		{"no namespace", "INVALID", "input.namespace", but(web, "namespace", nil)},
		{"a name that is none", "INVALID", "input.policyName", but(web, "policyName", "Not_A_Name")},
		{"a namespace that the instance does not have", "NOT_FOUND", "input.name", but(web, "namespace", "not-there")},
		{"what a controller makes", "INVALID", "input.name", s.input("apps", "replicasets", replicaSetOf(t, s.namespace))},
	} {
		for _, dryRun := range []bool{true, false} {
			e := refused(t, s.alice, "promoteResource", but(tt.input, "dryRun", dryRun), tt.code, tt.argument)
			if strings.Contains(e.Message, "hunter2") {
				t.Errorf("%s: %s", tt.reason, e.Message)
			}
		}
	}
	// Who may reach all members is told which there are not.
	everyMember := administrator(t, "alice")
	poll.True(t, within, "alice may reach every member", func() bool {
		_, errs := mutate[written](t, everyMember, "promoteResource", but(web, "cluster", "m9", "dryRun", true), "promoted")
		return len(errs) == 1 && errs[0].Extensions.Code == "NOT_FOUND" && errs[0].Extensions.Argument == "input.cluster"
	})
	refused(t, everyMember, "promoteResource", but(web, "cluster", "m3"), "NOT_FOUND", "input.cluster")
	// A policy of another owner has the name.
	taken := &policyv1alpha1.PropagationPolicy{ObjectMeta: meta(s.namespace, "taken"), Spec: policyv1alpha1.PropagationSpec{
		ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "v1", Kind: "Secret", Name: "none"}},
	}}
	// The instance has a ConfigMap of the name that says something else.
	other := &corev1.ConfigMap{ObjectMeta: meta(s.namespace, "settings"), Data: map[string]string{"by": "somebody"}}
	for _, o := range []client.Object{taken, other} {
		if err := alpha.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, s.alice, "promoteResource", web, "CONFLICT", "input.dependencies")
	refused(t, s.alice, "promoteResource", but(web, "dependencies", false, "policyName", "taken"), "ALREADY_EXISTS", "input.policyName")
	if u := s.in(t, "alpha", "apps/v1", "Deployment", "web"); u != nil {
		t.Error("something was written")
	}
	// Without dependencies theirs is left alone; what says the same is left alone as well.
	p := must[written](t, s.alice, "promoteResource", but(web, "dependencies", false, "exposing", false, "dryRun", true), "promoted "+writtenFields)
	if p.String() != "PropagationPolicy CREATED, Deployment CREATED" {
		t.Errorf("got %s", p)
	}
	other.Data["by"] = "hand"
	if err := alpha.Update(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	p = must[written](t, s.alice, "promoteResource", but(web, "policyName", "mine"), "promoted policyName "+writtenFields)
	if !p.Promoted || p.PolicyName != "mine" || p.String() != "PropagationPolicy CREATED, Deployment CREATED, ConfigMap UNCHANGED" {
		t.Errorf("got %q, %s", p.PolicyName, p)
	}
	if now, _ := stored(t, s.namespace, "settings", &corev1.ConfigMap{}); now.UID != other.UID {
		t.Error("the ConfigMap was made anew")
	}
}

// replicaSetOf is the name of the one ReplicaSet of a namespace of m1.
func replicaSetOf(t *testing.T, namespace string) string {
	t.Helper()
	list, err := fleet.Open(t).Kubernetes(t, "m1").AppsV1().ReplicaSets(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	return list.Items[0].Name
}

// A promotion that fails late is undone, down to nothing, and the member does not
// notice; without rollback it says what it left.
func TestPromotionFailsLate(t *testing.T) {
	s := newLegacy(t, "view", oneDeployment)
	poll.True(t, within, "the pods are there", func() bool { return len(s.podUIDs(t)) == 2 })
	pods, generation := s.podUIDs(t), s.in(t, "m1", "apps/v1", "Deployment", "web").GetGeneration()
	refuseLate(t, s.namespace, `!(request.kind.kind == "Deployment" && request.operation == "CREATE")`)
	web := s.input("apps", "deployments", "web")
	promote := func(want string, more ...any) written {
		t.Helper()
		p := must[written](t, s.alice, "promoteResource", but(web, more...), "promoted policyName "+writtenFields)
		if p.Promoted || p.String() != want {
			t.Errorf("got %s, want %s", p, want)
		}
		return p
	}
	p := promote("PropagationPolicy CREATED DELETED, ConfigMap CREATED DELETED, Deployment FAILED", "rollback", true)
	if e := p.Results[2].Error; e == nil || e.Argument != "input.name" || !strings.Contains(e.Message, "not now") {
		t.Errorf("why it failed: %+v", e)
	}
	poll.True(t, within, "alpha has nothing of it", func() bool {
		return s.in(t, "alpha", "v1", "ConfigMap", "settings") == nil && s.in(t, "alpha", "policy.karmada.io/v1alpha1", "PropagationPolicy", p.PolicyName) == nil
	})
	p = promote("PropagationPolicy CREATED, ConfigMap CREATED, Deployment FAILED")
	if p.ConsistencyToken == nil || s.in(t, "alpha", "v1", "ConfigMap", "settings") == nil {
		t.Errorf("what was written is not there: %+v", p)
	}
	s.propagateAnother(t) // Karmada has come to the policy by then.
	web1 := s.in(t, "m1", "apps/v1", "Deployment", "web")
	if after := s.podUIDs(t); !slices.Equal(after, pods) || web1.GetGeneration() != generation || web1.GetLabels()["karmada.io/managed"] != "" {
		t.Errorf("the member noticed: pods %v were %v, %v", after, pods, web1.GetLabels())
	}
}

// What has no namespace gets a policy without one.
func TestPromoteWithoutNamespace(t *testing.T) {
	name := fmt.Sprintf("promoted-%d", time.Now().UnixNano())
	m1 := fleet.Open(t).Client(t, "m1")
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: 7}
	if err := m1.Create(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = fleet.Open(t).Client(t, "alpha").Delete(context.Background(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}})
		fleet.Open(t).LetGo(context.Background(), t, "m1", map[string]string{workv1alpha2.ClusterResourceBindingAnnotationKey: name + "-priorityclass"})
		_ = m1.Delete(context.Background(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}})
	})
	reachMember(t, "alice", "cluster-admin")
	alice := administrator(t, "alice")
	input := map[string]any{"instance": "alpha", "cluster": "m1", "group": "scheduling.k8s.io", "version": "v1", "resource": "priorityclasses", "name": name}
	poll.True(t, within, "alice may do it", func() bool {
		_, errs := mutate[written](t, alice, "promoteResource", but(input, "dryRun", true), "promoted")
		return len(errs) == 0
	})
	refused(t, alice, "promoteResource", but(input, "namespace", "shop"), "INVALID", "input.namespace")
	p := must[written](t, alice, "promoteResource", input, "promoted policyName "+writtenFields)
	if !p.Promoted || p.String() != "ClusterPropagationPolicy CREATED, PriorityClass CREATED" {
		t.Fatalf("got %s", p)
	}
	t.Cleanup(func() {
		policy := &policyv1alpha1.ClusterPropagationPolicy{ObjectMeta: metav1.ObjectMeta{Name: p.PolicyName}}
		if err := fleet.Open(t).Client(t, "alpha").Delete(context.Background(), policy); err != nil {
			t.Error(err)
		}
	})
	poll.True(t, within, "it is Karmada's in m1", func() bool {
		now, _ := storedIn(t, "m1", "", name, &schedulingv1.PriorityClass{})
		return now.Labels["karmada.io/managed"] == "true" && now.UID == class.UID && now.Value == 7
	})
	if _, there := storedIn(t, "m2", "", name, &schedulingv1.PriorityClass{}); there {
		t.Error("it is in m2 too")
	}
}

// What is promoted outlives its template in the member, unless that is not wanted.
func TestPromotionPreserves(t *testing.T) {
	s := newLegacy(t, "view", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kept}\ndata: {a: b}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: gone}\ndata: {a: b}")
	for name, preserve := range map[string]bool{"kept": true, "gone": false} {
		p := must[written](t, s.alice, "promoteResource", s.input("", "configmaps", name, "preserveOnDeletion", preserve), "promoted "+writtenFields)
		if !p.Promoted {
			t.Fatalf("%+v", p)
		}
		poll.True(t, within, name+" is Karmada's", func() bool { return s.in(t, "m1", "v1", "ConfigMap", name).GetLabels()["karmada.io/managed"] == "true" })
		must[map[string]any](t, s.alice, "deleteResource", map[string]any{"instance": "alpha", "version": "v1", "resource": "configmaps", "namespace": s.namespace, "name": name}, "deleted")
	}
	poll.True(t, within, "the one is removed", func() bool { return s.in(t, "m1", "v1", "ConfigMap", "gone") == nil })
	poll.True(t, within, "the other has no owner", func() bool {
		u := s.in(t, "m1", "v1", "ConfigMap", "kept")
		return u != nil && u.GetLabels()["karmada.io/managed"] == ""
	})
}
