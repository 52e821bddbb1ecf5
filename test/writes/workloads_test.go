package writes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

const application = `
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: all, namespace: %[1]s}
spec:
  resourceSelectors:
  - {apiVersion: apps/v1, kind: Deployment}
  - {apiVersion: batch/v1, kind: CronJob}
  placement:
    clusterAffinity: {clusterNames: [m1, m2]}
    replicaScheduling:
      replicaSchedulingType: Divided
      replicaDivisionPreference: Weighted
      weightPreference:
        staticWeightList:
        - {targetCluster: {clusterNames: [m1]}, weight: 1}
        - {targetCluster: {clusterNames: [m2]}, weight: 1}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: %[1]s}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example.com/web:1"}]}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: %[1]s}
spec:
  schedule: "0 3 1 1 *"
  jobTemplate:
    spec:
      template:
        spec: {restartPolicy: Never, containers: [{name: job, image: "registry.example.com/job:1"}]}
`

// running applies the application as alice and waits until it runs in the members.
func running(t *testing.T) (namespace string, web map[string]any) {
	t.Helper()
	namespace = namespaceIn(t)
	p := must[applied](t, person(t, "alice"), "applyManifests", map[string]any{"instance": "alpha", "manifests": fmt.Sprintf(application, namespace)}, applyFields)
	if !p.Applied {
		t.Fatalf("%+v", p)
	}
	web = map[string]any{"instance": "alpha", "kind": "DEPLOYMENT", "namespace": namespace, "name": "web"}
	inMembers(t, namespace, "1 ready replica in each", func(d *appsv1.Deployment) bool { return d.Status.ReadyReplicas == 1 })
	return namespace, web
}

// inMembers waits until the Deployment web is in a state in both members.
func inMembers(t *testing.T, namespace, what string, is func(*appsv1.Deployment) bool) {
	t.Helper()
	f := fleet.Open(t)
	poll.Until(t, within, what, func(ctx context.Context) error {
		for _, member := range f.Members("alpha") {
			var d appsv1.Deployment
			if err := f.Client(t, member).Get(ctx, client.ObjectKey{Namespace: namespace, Name: "web"}, &d); err != nil {
				return err
			}
			if !is(&d) {
				return fmt.Errorf("%s: %+v", member, d.Status)
			}
		}
		return nil
	})
}

// indexed waits until the index has the Deployment web of both members.
func indexed(t *testing.T, as *gql.Client, namespace string) {
	t.Helper()
	const query = `query($ns: String!) { instance(name: "alpha") { workload(kind: DEPLOYMENT, namespace: $ns, name: "web") { placements { object { uid } } } } }`
	members := fleet.Open(t).Members("alpha")
	poll.Until(t, within, "the index has it in every member", func(ctx context.Context) error {
		got, _, err := gql.Query[struct {
			Instance struct {
				Workload *struct {
					Placements []struct{ Object *struct{ UID string } }
				}
			}
		}](ctx, as, query, map[string]any{"ns": namespace})
		if err != nil {
			return err
		}
		found := 0
		if w := got.Instance.Workload; w != nil {
			for _, p := range w.Placements {
				if p.Object != nil {
					found++
				}
			}
		}
		if found != len(members) {
			return fmt.Errorf("it has it in %d of %d", found, len(members))
		}
		return nil
	})
}

// pods are the pods of the Deployment web in the members, by cluster and name.
func pods(t *testing.T, namespace string) map[string]string {
	t.Helper()
	f := fleet.Open(t)
	found := map[string]string{}
	for _, member := range f.Members("alpha") {
		var list corev1.PodList
		if err := f.Client(t, member).List(t.Context(), &list, client.InNamespace(namespace), client.MatchingLabels{"app": "web"}); err != nil {
			t.Fatal(err)
		}
		for _, p := range list.Items {
			if p.DeletionTimestamp == nil {
				found[member+"/"+p.Name] = p.Spec.Containers[0].Image
			}
		}
	}
	return found
}

const workloadFields = "workload { name images resourceVersion freshness { source } } consistencyToken"

type workloadPayload struct {
	Workload struct {
		Images          []string
		ResourceVersion string
		Freshness       struct{ Source string }
	}
	ConsistencyToken *string
}

func TestWorkloads(t *testing.T) {
	t.Parallel()
	alice := person(t, "alice")
	namespace, web := running(t)
	template := func() *appsv1.Deployment {
		d := &appsv1.Deployment{}
		d.Namespace, d.Name = namespace, "web"
		return d
	}
	image := func(to string) map[string]any {
		return but(web, "images", []any{map[string]any{"container": "web", "image": to}})
	}

	t.Run("dry runs write nothing", func(t *testing.T) {
		for name, input := range map[string]map[string]any{
			"scaleWorkload": but(web, "replicas", 9), "restartWorkload": web, "pauseWorkload": web, "resumeWorkload": web, "setImage": image("registry.example.com/web:9"),
		} {
			unchanged(t, template(), func() {
				p := must[workloadPayload](t, alice, name, but(input, "dryRun", true), workloadFields)
				if p.ConsistencyToken != nil || p.Workload.Freshness.Source != "LIVE" {
					t.Errorf("%s: %+v", name, p)
				}
			})
		}
	})
	t.Run("strangers", func(t *testing.T) {
		for name, input := range map[string]map[string]any{
			"scaleWorkload": but(web, "replicas", 9), "restartWorkload": web, "pauseWorkload": web, "resumeWorkload": web,
			"setImage": image("x"), "rollbackWorkload": web,
			"triggerCronJob": {"instance": "alpha", "namespace": namespace, "name": "nightly"},
		} {
			unrelated(t, name, input)
		}
	})
	t.Run("conflicts", func(t *testing.T) {
		for name, input := range map[string]map[string]any{
			"scaleWorkload": but(web, "replicas", 9), "restartWorkload": web, "pauseWorkload": web, "resumeWorkload": web, "setImage": image("x"),
		} {
			// Karmada may write the status meanwhile: what counts is an answer during which it stayed.
			poll.Until(t, within, "the Deployment stays at a version", func(context.Context) error {
				before, _ := stored(t, namespace, "web", template())
				err := refused(t, alice, name, but(input, "resourceVersion", "1"), "CONFLICT", "input.resourceVersion")
				now, _ := stored(t, namespace, "web", template())
				if before.ResourceVersion != now.ResourceVersion {
					return fmt.Errorf("it moved from %s to %s", before.ResourceVersion, now.ResourceVersion)
				}
				if err.Extensions.CurrentResourceVersion != now.ResourceVersion {
					t.Errorf("%s: it is said to be at %q and is at %q", name, err.Extensions.CurrentResourceVersion, now.ResourceVersion)
				}
				return nil
			})
		}
	})
	t.Run("invalid", func(t *testing.T) {
		indexed(t, alice, namespace) // Before, no workload is known to have revisions.
		for _, tt := range []struct {
			name, code, argument string
			input                map[string]any
		}{
			{"scaleWorkload", "INVALID", "input.replicas", but(web, "replicas", -1)},
			{"scaleWorkload", "INVALID", "input.kind", but(web, "replicas", 1, "kind", "DAEMON_SET")},
			{"scaleWorkload", "NOT_FOUND", "input.name", but(web, "replicas", 1, "name", "none")},
			{"scaleWorkload", "INVALID", "input.name", but(web, "replicas", 1, "name", "../web")},
			{"scaleWorkload", "NOT_FOUND", "input.instance", but(web, "replicas", 1, "instance", "none")},
			{"restartWorkload", "INVALID", "input.kind", but(web, "kind", "CRON_JOB")},
			{"pauseWorkload", "INVALID", "input.kind", but(web, "kind", "STATEFUL_SET")},
			{"resumeWorkload", "INVALID", "input.namespace", but(web, "namespace", "No")},
			{"setImage", "INVALID", "input.images", but(web, "images", []any{})},
			{"setImage", "INVALID", "input.images[0].container", but(web, "images", []any{map[string]any{"container": "none", "image": "x"}})},
			{"setImage", "INVALID", "input.images[0].image", but(web, "images", []any{map[string]any{"container": "web", "image": " "}})},
			{"setImage", "INVALID", "input.images[0].image", but(web, "images", []any{map[string]any{"container": "web", "image": " x"}})},
			{"rollbackWorkload", "INVALID", "input.toRevision", but(web, "toRevision", 99)},
			{"rollbackWorkload", "INVALID", "input.cluster", but(web, "cluster", "m3")},
			{"rollbackWorkload", "INVALID", "input.name", web},
			{"scaleWorkload", "INVALID", "input.kind", but(web, "replicas", 1, "kind", "CUSTOM")},
			{"restartWorkload", "INVALID", "input.kind", but(web, "kind", "CUSTOM")},
			{"pauseWorkload", "INVALID", "input.kind", but(web, "kind", "CUSTOM")},
			{"resumeWorkload", "INVALID", "input.kind", but(web, "kind", "CUSTOM")},
			{"rollbackWorkload", "INVALID", "input.kind", but(web, "kind", "CUSTOM")},
			{"setImage", "INVALID", "input.kind", but(web, "kind", "CUSTOM", "images", []any{map[string]any{"container": "web", "image": "x"}})},
			{"triggerCronJob", "NOT_FOUND", "input.name", map[string]any{"instance": "alpha", "namespace": namespace, "name": "none"}},
			{"triggerCronJob", "INVALID", "input.jobName", map[string]any{"instance": "alpha", "namespace": namespace, "name": "nightly", "jobName": "Not A Name"}},
		} {
			refused(t, alice, tt.name, tt.input, tt.code, tt.argument)
		}
	})
	t.Run("scale", func(t *testing.T) {
		poll.Until(t, within, "nothing comes between reading and sending", func(context.Context) error {
			now, _ := stored(t, namespace, "web", template())
			_, errs := mutate[workloadPayload](t, alice, "scaleWorkload", but(web, "replicas", 4, "resourceVersion", now.ResourceVersion), workloadFields)
			switch {
			case moved(errs):
				return fmt.Errorf("%v", errs)
			case len(errs) > 0:
				return poll.Stop(fmt.Errorf("%v", errs))
			}
			return nil
		})
		inMembers(t, namespace, "2 ready replicas in each", func(d *appsv1.Deployment) bool { return d.Status.ReadyReplicas == 2 })
		tried("scaleWorkload", tookEffect)
		// The manifest says 2, and does not undo it by the way.
		input := map[string]any{"instance": "alpha", "manifests": fmt.Sprintf(application, namespace)}
		p := must[applied](t, alice, "applyManifests", input, applyFields)
		if p.Applied || p.Results[1].Error == nil || p.Results[1].Error.Code != "CONFLICT" || p.Results[1].Error.Argument != "input.manifests[1].spec.replicas" {
			t.Errorf("the manifest took the replicas back: %+v", p)
		}
		if p := must[applied](t, alice, "applyManifests", but(input, "force", true, "dryRun", true), applyFields); !p.Applied {
			t.Errorf("with force it may: %+v", p)
		}
	})
	t.Run("restart", func(t *testing.T) {
		before := pods(t, namespace)
		must[workloadPayload](t, alice, "restartWorkload", web, workloadFields)
		follows(t, "restartWorkload", "all pods are others", func(context.Context) error {
			after := pods(t, namespace)
			for name := range after {
				if _, same := before[name]; same {
					return fmt.Errorf("%s is still there", name)
				}
			}
			if len(after) != 4 {
				return fmt.Errorf("%d pods", len(after))
			}
			return nil
		})
	})
	t.Run("image, pause, resume and rollback", func(t *testing.T) {
		must[workloadPayload](t, alice, "pauseWorkload", web, workloadFields)
		inMembers(t, namespace, "paused", func(d *appsv1.Deployment) bool { return d.Spec.Paused })
		p := must[workloadPayload](t, alice, "setImage", image("registry.example.com/web:2"), workloadFields)
		if len(p.Workload.Images) != 1 || p.Workload.Images[0] != "registry.example.com/web:2" {
			t.Errorf("%+v", p)
		}
		inMembers(t, namespace, "the image is there", func(d *appsv1.Deployment) bool {
			return d.Spec.Template.Spec.Containers[0].Image == "registry.example.com/web:2"
		})
		for name, image := range pods(t, namespace) {
			if image != "registry.example.com/web:1" {
				t.Errorf("%s has %s while the roll-out is paused", name, image)
			}
		}
		tried("pauseWorkload", tookEffect)
		refused(t, alice, "rollbackWorkload", web, "INVALID", "input.name")
		must[workloadPayload](t, alice, "resumeWorkload", web, workloadFields)
		allPods(t, namespace, "registry.example.com/web:2")
		tried("setImage", tookEffect)
		tried("resumeWorkload", tookEffect)

		unchanged(t, template(), func() {
			must[workloadPayload](t, alice, "rollbackWorkload", but(web, "dryRun", true), workloadFields)
		})
		refused(t, alice, "rollbackWorkload", but(web, "resourceVersion", "1"), "CONFLICT", "input.resourceVersion")
		back := must[struct {
			Cluster  string
			Revision int
		}](t, alice, "rollbackWorkload", web, "cluster revision")
		if back.Cluster != "m1" || back.Revision == 0 {
			t.Errorf("%+v", back)
		}
		allPods(t, namespace, "registry.example.com/web:1")
		tried("rollbackWorkload", tookEffect)
	})
	t.Run("a Deployment that is overridden everywhere", func(t *testing.T) { rollbackOverridden(t, alice, namespace, web) })
	t.Run("a Service", func(t *testing.T) { exposed(t, alice, namespace, web) })
	t.Run("trigger", func(t *testing.T) { trigger(t, alice, namespace) })
}

// rollbackOverridden goes back where every member has another image than the template: the template gets its own
// earlier one.
func rollbackOverridden(t *testing.T, alice *gql.Client, namespace string, web map[string]any) {
	t.Helper()
	if err := fleet.Open(t).Client(t, "alpha").Create(t.Context(), &policyv1alpha1.OverridePolicy{
		ObjectMeta: meta(namespace, "registry"),
		Spec: policyv1alpha1.OverrideSpec{
			ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}},
			OverrideRules: []policyv1alpha1.RuleWithCluster{{Overriders: policyv1alpha1.Overriders{
				ImageOverrider: []policyv1alpha1.ImageOverrider{{Component: "Registry", Operator: "replace", Value: "eu.example.com"}},
			}}},
		},
	}); err != nil {
		t.Fatal(err)
	}
	has := func(image string) func(*appsv1.Deployment) bool {
		return func(d *appsv1.Deployment) bool {
			return d.Spec.Template.Spec.Containers[0].Image == image && d.Status.ObservedGeneration == d.Generation
		}
	}
	inMembers(t, namespace, "overridden", has("eu.example.com/web:1"))
	must[workloadPayload](t, alice, "setImage", but(web, "images", []any{map[string]any{"container": "web", "image": "registry.example.com/web:3"}}), workloadFields)
	inMembers(t, namespace, "overridden with the next image", has("eu.example.com/web:3"))
	type rolledBack struct {
		Workload struct{ Images []string }
		Derived  bool
		Cluster  string
	}
	const rolledBackFields = "workload { images } cluster derived"
	type revisions struct {
		Instance struct {
			WorkloadRevisions struct {
				Nodes []struct {
					ClusterName         string
					Number              int
					Images              []string
					Current, Overridden bool
				}
				Message *string
			}
		}
	}
	const listed = `query($ns: String!) { instance(name: "alpha") { workloadRevisions(kind: DEPLOYMENT, namespace: $ns, name: "web") {
		nodes { clusterName number createdAt changeCause images current overridden } message } } }`
	poll.Until(t, within, "the index has the revisions of both members", func(ctx context.Context) error {
		got, _, err := gql.Query[revisions](ctx, alice, listed, map[string]any{"ns": namespace})
		if err != nil {
			return err
		}
		current, nodes := map[string]string{}, got.Instance.WorkloadRevisions.Nodes
		for i, r := range nodes {
			if r.Current {
				current[r.ClusterName] = r.Images[0]
			}
			if before := nodes[max(0, i-1)]; !r.Overridden || (before.ClusterName == r.ClusterName && before.Number < r.Number) {
				return fmt.Errorf("%+v", r)
			}
		}
		if len(current) != 2 || current["m1"] != "eu.example.com/web:3" || current["m2"] != "eu.example.com/web:3" {
			return fmt.Errorf("%+v", got)
		}
		return nil
	})
	// Users who do not see the workload learn nothing of it.
	if got, _, err := gql.Query[struct{ Instance *struct{} }](t.Context(), person(t, "mallory"), listed, map[string]any{"ns": namespace}); err != nil || got.Instance != nil {
		t.Errorf("mallory gets %+v, %v", got, err)
	}
	poll.Until(t, within, "the index has the revisions of the member", func(context.Context) error {
		got, errs := mutate[rolledBack](t, alice, "rollbackWorkload", but(web, "cluster", "m2", "dryRun", true), rolledBackFields)
		if len(errs) > 0 || !slices.Equal(got.Workload.Images, []string{"registry.example.com/web:1"}) {
			return fmt.Errorf("%+v, %v", got, errs)
		}
		return nil
	})
	back := must[rolledBack](t, alice, "rollbackWorkload", but(web, "cluster", "m2"), rolledBackFields)
	if !back.Derived || back.Cluster != "m2" || len(back.Workload.Images) != 1 || back.Workload.Images[0] != "registry.example.com/web:1" {
		t.Errorf("%+v", back)
	}
	inMembers(t, namespace, "the earlier image", has("eu.example.com/web:1"))
}

// exposed gives the Deployment web a Service in both members.
func exposed(t *testing.T, alice *gql.Client, namespace string, web map[string]any) {
	t.Helper()
	const fields = "service { name } policyName consistencyToken"
	type payload struct {
		Service          *struct{ Name string }
		PolicyName       string
		ConsistencyToken *string
	}
	input := but(web, "ports", []any{map[string]any{"port": 80, "targetPort": "8080", "name": "main", "protocol": "TCP"}}, "labels", []any{map[string]any{"key": "a", "value": "b"}})
	for _, with := range []map[string]any{
		{"type": "NODE_PORT", "serviceName": "nodes", "ports": []any{map[string]any{"port": 53, "protocol": "UDP"}}},
		{"type": "LOAD_BALANCER", "serviceName": "outside", "ports": []any{map[string]any{"port": 99, "protocol": "SCTP"}}},
		{"type": "CLUSTER_IP", "headless": true},
	} {
		tried := but(input, "dryRun", true)
		maps.Copy(tried, with)
		if p := must[payload](t, alice, "createService", tried, fields); p.ConsistencyToken != nil || p.Service == nil {
			t.Errorf("%v: %+v", with, p)
		}
	}
	unrelated(t, "createService", input)
	refused(t, alice, "createService", but(input, "ports", []any{}), "INVALID", "input.ports")
	for _, kind := range []string{"JOB", "CRON_JOB", "CUSTOM"} {
		refused(t, alice, "createService", but(input, "kind", kind), "INVALID", "input.kind")
	}
	for _, kind := range []string{"STATEFUL_SET", "DAEMON_SET"} {
		refused(t, alice, "createService", but(input, "kind", kind, "name", "none"), "NOT_FOUND", "input.name")
	}
	refused(t, alice, "createService", but(input, "name", "none"), "NOT_FOUND", "input.name")
	p := must[payload](t, alice, "createService", input, fields)
	if p.Service == nil || p.Service.Name != "web" || p.ConsistencyToken == nil {
		t.Fatalf("%+v", p)
	}
	follows(t, "createService", "the Service is in both members", func(ctx context.Context) error {
		f := fleet.Open(t)
		for _, member := range f.Members("alpha") {
			var service corev1.Service
			if err := f.Client(t, member).Get(ctx, client.ObjectKey{Namespace: namespace, Name: "web"}, &service); err != nil {
				return err
			}
			if service.Spec.Selector["app"] != "web" || service.Spec.Ports[0].TargetPort.IntValue() != 8080 {
				return fmt.Errorf("%s has %+v", member, service.Spec)
			}
		}
		return nil
	})
	refused(t, alice, "createService", input, "ALREADY_EXISTS", "input.name")
	refused(t, alice, "createService", but(input, "serviceName", "web"), "ALREADY_EXISTS", "input.serviceName")
}

func allPods(t *testing.T, namespace, image string) {
	t.Helper()
	poll.Until(t, within, "4 pods with "+image, func(context.Context) error {
		found := pods(t, namespace)
		for name, has := range found {
			if has != image {
				return fmt.Errorf("%s has %s", name, has)
			}
		}
		if len(found) != 4 {
			return fmt.Errorf("%d pods", len(found))
		}
		return nil
	})
}

func trigger(t *testing.T, alice *gql.Client, namespace string) {
	t.Helper()
	input := map[string]any{"instance": "alpha", "namespace": namespace, "name": "nightly", "jobName": "now"}
	must[map[string]any](t, alice, "triggerCronJob", but(input, "dryRun", true), "job { name } consistencyToken")
	if _, there := stored(t, namespace, "now", &batchv1.Job{}); there {
		t.Error("a dry run made a Job")
	}
	if _, there := stored(t, namespace, "now", &policyv1alpha1.PropagationPolicy{}); there {
		t.Error("a dry run made a policy")
	}
	must[map[string]any](t, alice, "triggerCronJob", input, "job { name } consistencyToken")
	f := fleet.Open(t)
	follows(t, "triggerCronJob", "the Job is done in a member", func(ctx context.Context) error {
		done := 0
		for _, member := range f.Members("alpha") {
			var job batchv1.Job
			if err := client.IgnoreNotFound(f.Client(t, member).Get(ctx, client.ObjectKey{Namespace: namespace, Name: "now"}, &job)); err != nil {
				return err
			}
			done += int(job.Status.Succeeded)
		}
		if done != 1 {
			return fmt.Errorf("%d completions", done)
		}
		return nil
	})
	refused(t, alice, "triggerCronJob", input, "ALREADY_EXISTS", "input.jobName")
}
