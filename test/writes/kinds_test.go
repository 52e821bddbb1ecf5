package writes

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

// others are workloads of the kinds beside Deployment, whole in each member.
const others = `
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: others, namespace: %[1]s}
spec:
  resourceSelectors:
  - {apiVersion: apps/v1, kind: StatefulSet}
  - {apiVersion: apps/v1, kind: DaemonSet}
  - {apiVersion: batch/v1, kind: Job}
  - {apiVersion: batch/v1, kind: CronJob}
  placement: {clusterAffinity: {clusterNames: [m1, m2]}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: %[1]s}
spec:
  replicas: 1
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: main, image: "registry.example.com/db:1"}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: %[1]s}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: main, image: "registry.example.com/agent:1"}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once, namespace: %[1]s}
spec:
  suspend: true
  template:
    spec: {restartPolicy: Never, containers: [{name: main, image: "registry.example.com/job:1"}]}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: %[1]s}
spec:
  schedule: "0 3 1 1 *"
  jobTemplate:
    spec:
      template:
        spec: {restartPolicy: Never, containers: [{name: main, image: "registry.example.com/job:1"}]}
`

// kindsScene are workloads of every kind, which run in both members.
type kindsScene struct {
	namespace string
	names     map[string]string
}

func newKindsScene(t *testing.T) *kindsScene {
	t.Helper()
	s := &kindsScene{namespace: namespaceIn(t), names: map[string]string{
		"STATEFUL_SET": "db", "DAEMON_SET": "agent", "JOB": "once", "CRON_JOB": "nightly",
	}}
	p := must[applied](t, person(t, "alice"), "applyManifests", map[string]any{"instance": "alpha", "manifests": fmt.Sprintf(others, s.namespace)}, applyFields)
	if !p.Applied {
		t.Fatalf("%+v", p)
	}
	s.inMembers(t, "STATEFUL_SET", "it runs", func(u *unstructured.Unstructured) bool { return number(u, "status", "readyReplicas") == 1 })
	s.inMembers(t, "DAEMON_SET", "it runs", func(u *unstructured.Unstructured) bool { return number(u, "status", "numberReady") > 0 })
	s.inMembers(t, "JOB", "it is there", func(*unstructured.Unstructured) bool { return true })
	s.inMembers(t, "CRON_JOB", "it is there", func(*unstructured.Unstructured) bool { return true })
	return s
}

func (s *kindsScene) input(kind string, more ...any) map[string]any {
	return but(map[string]any{"instance": "alpha", "kind": kind, "namespace": s.namespace, "name": s.names[kind]}, more...)
}

func (s *kindsScene) object(kind string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	switch kind {
	case "STATEFUL_SET":
		u.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("StatefulSet"))
	case "DAEMON_SET":
		u.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("DaemonSet"))
	case "JOB":
		u.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("Job"))
	case "CRON_JOB":
		u.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("CronJob"))
	}
	u.SetNamespace(s.namespace)
	u.SetName(s.names[kind])
	return u
}

// inMembers waits until a workload is in a state in both members.
func (s *kindsScene) inMembers(t *testing.T, kind, what string, is func(*unstructured.Unstructured) bool) {
	t.Helper()
	f := fleet.Open(t)
	poll.Until(t, within, kind+": "+what, func(ctx context.Context) error {
		for _, member := range f.Members("alpha") {
			u := s.object(kind)
			if err := f.Client(t, member).Get(ctx, client.ObjectKeyFromObject(u), u); err != nil {
				return fmt.Errorf("%s: %w", member, err)
			}
			if !is(u) {
				return fmt.Errorf("%s: %v, %v", member, u.Object["spec"], u.Object["status"])
			}
		}
		return nil
	})
}

func number(u *unstructured.Unstructured, path ...string) int64 {
	n, _, _ := unstructured.NestedInt64(u.Object, path...)
	return n
}

func image(u *unstructured.Unstructured) string {
	path := []string{"spec", "template", "spec", "containers"}
	if u.GetKind() == "CronJob" {
		path = []string{"spec", "jobTemplate", "spec", "template", "spec", "containers"}
	}
	containers, _, _ := unstructured.NestedSlice(u.Object, path...)
	if len(containers) == 0 {
		return ""
	}
	name, _, _ := unstructured.NestedString(containers[0].(map[string]any), "image")
	return name
}

// podImages are the images of the pods with a label in both members.
func (s *kindsScene) podImages(t *testing.T, app string) []string {
	t.Helper()
	f := fleet.Open(t)
	var images []string
	for _, member := range f.Members("alpha") {
		var list corev1.PodList
		if err := f.Client(t, member).List(t.Context(), &list, client.InNamespace(s.namespace), client.MatchingLabels{"app": app}); err != nil {
			t.Fatal(err)
		}
		for _, p := range list.Items {
			if p.DeletionTimestamp == nil {
				images = append(images, p.Spec.Containers[0].Image)
			}
		}
	}
	return images
}

// Every mutation of workloads does what it says to every kind that it is for, and
// refuses the others by their kind.
func TestEveryKindOfWorkload(t *testing.T) {
	t.Parallel()
	s := newKindsScene(t)
	alice := person(t, "alice")
	images := func(to string) []any { return []any{map[string]any{"container": "main", "image": to}} }
	suspended := func(want bool) func(*unstructured.Unstructured) bool {
		return func(u *unstructured.Unstructured) bool {
			is, _, _ := unstructured.NestedBool(u.Object, "spec", "suspend")
			return is == want
		}
	}
	ownImage := func(u *unstructured.Unstructured) bool { return image(u) == "registry.example.com/own:2" }
	restarted := func(u *unstructured.Unstructured) bool {
		at, _, _ := unstructured.NestedString(u.Object, "spec", "template", "metadata", "annotations", "kubectl.kubernetes.io/restartedAt")
		return at != ""
	}
	steps := []struct {
		mutation string
		more     []any
		effects  map[string]func(*unstructured.Unstructured) bool
	}{
		{"scaleWorkload", []any{"replicas", 2}, map[string]func(*unstructured.Unstructured) bool{
			"STATEFUL_SET": func(u *unstructured.Unstructured) bool { return number(u, "status", "readyReplicas") == 2 },
		}},
		{"pauseWorkload", nil, map[string]func(*unstructured.Unstructured) bool{"JOB": suspended(true), "CRON_JOB": suspended(true)}},
		{"resumeWorkload", nil, map[string]func(*unstructured.Unstructured) bool{"JOB": suspended(false), "CRON_JOB": suspended(false)}},
		{"setImage", []any{"images", images("registry.example.com/own:2")}, map[string]func(*unstructured.Unstructured) bool{
			"STATEFUL_SET": ownImage, "DAEMON_SET": ownImage, "CRON_JOB": ownImage,
		}},
		{"restartWorkload", nil, map[string]func(*unstructured.Unstructured) bool{
			"STATEFUL_SET": restarted, "DAEMON_SET": restarted, "JOB": func(*unstructured.Unstructured) bool { return true }, // See below.
		}},
	}
	for _, kind := range []string{"STATEFUL_SET", "DAEMON_SET", "JOB", "CRON_JOB"} {
		for _, step := range steps {
			is, can := step.effects[kind]
			if !can {
				refused(t, alice, step.mutation, s.input(kind, step.more...), "INVALID", "input.kind")
				continue
			}
			must[workloadPayload](t, alice, step.mutation, s.input(kind, append([]any{"dryRun", true}, step.more...)...), workloadFields)
			refused(t, alice, step.mutation, s.input(kind, append([]any{"resourceVersion", "1"}, step.more...)...), "CONFLICT", "input.resourceVersion")
			must[workloadPayload](t, alice, step.mutation, s.input(kind, step.more...), workloadFields)
			s.inMembers(t, kind, step.mutation, is)
		}
		if !slices.Contains([]string{"STATEFUL_SET", "DAEMON_SET"}, kind) {
			refused(t, alice, "rollbackWorkload", s.input(kind), "INVALID", "input.kind")
		}
	}
	poll.Until(t, within, "the Job runs again in both members", func(ctx context.Context) error {
		f := fleet.Open(t)
		for _, member := range f.Members("alpha") {
			var jobs batchv1.JobList
			if err := f.Client(t, member).List(ctx, &jobs, client.InNamespace(s.namespace)); err != nil {
				return err
			}
			if again := slices.ContainsFunc(jobs.Items, func(j batchv1.Job) bool { return strings.HasPrefix(j.Name, "once-") && j.Status.StartTime != nil }); !again || len(jobs.Items) != 2 {
				return fmt.Errorf("%s has %d Jobs", member, len(jobs.Items))
			}
		}
		return nil
	})
}

// StatefulSets and DaemonSets go back to what their members had, from the
// revisions that a member keeps of what was sent to it.
func TestRollbackOfOtherKinds(t *testing.T) {
	t.Parallel()
	s := newKindsScene(t)
	alice := person(t, "alice")
	f := fleet.Open(t)
	type payload struct {
		Cluster  string
		Revision int
	}
	for kind, app := range map[string]string{"STATEFUL_SET": "db", "DAEMON_SET": "agent"} {
		t.Run(kind, func(t *testing.T) {
			first := "registry.example.com/" + app + ":1"
			refused(t, alice, "rollbackWorkload", s.input(kind), "INVALID", "input.name") // There is one revision.
			for _, tag := range []string{"2", "3"} {
				to := "registry.example.com/" + app + ":" + tag
				must[workloadPayload](t, alice, "setImage", s.input(kind, "images", []any{map[string]any{"container": "main", "image": to}}), workloadFields)
				s.inMembers(t, kind, "it has "+to, func(u *unstructured.Unstructured) bool {
					return image(u) == to && number(u, "metadata", "generation") == number(u, "status", "observedGeneration")
				})
			}
			rollback := func(wantImage string, more ...any) payload {
				t.Helper()
				var p payload
				poll.Until(t, within, "the index has the revision with "+wantImage, func(context.Context) error {
					type shown struct {
						payload
						Workload struct{ Images []string }
					}
					got, errs := mutate[shown](t, alice, "rollbackWorkload", s.input(kind, append([]any{"dryRun", true}, more...)...), "cluster revision workload { images }")
					if len(errs) > 0 || !slices.Equal(got.Workload.Images, []string{wantImage}) {
						return fmt.Errorf("%v, %v", got, errs)
					}
					p = got.payload
					return nil
				})
				return p
			}
			before := s.object(kind)
			if err := f.Client(t, "alpha").Get(t.Context(), client.ObjectKeyFromObject(before), before); err != nil {
				t.Fatal(err)
			}
			rollback("registry.example.com/"+app+":2", "cluster", "m2")
			p := rollback(first, "toRevision", 1)
			if p.Cluster != "m1" || p.Revision != 1 {
				t.Errorf("got %+v", p)
			}
			refused(t, alice, "rollbackWorkload", s.input(kind, "toRevision", 99), "INVALID", "input.toRevision")
			refused(t, alice, "rollbackWorkload", s.input(kind, "cluster", "m3"), "INVALID", "input.cluster")
			refused(t, alice, "rollbackWorkload", s.input(kind, "resourceVersion", "1"), "CONFLICT", "input.resourceVersion")
			must[payload](t, alice, "rollbackWorkload", s.input(kind, "toRevision", 1), "cluster revision")
			poll.Until(t, within, "all pods have the first image again", func(context.Context) error {
				images := s.podImages(t, app)
				if len(images) < 2 || slices.ContainsFunc(images, func(i string) bool { return i != first }) {
					return fmt.Errorf("%v", images)
				}
				return nil
			})
			// Nothing but the template went back.
			after := s.object(kind)
			if err := f.Client(t, "alpha").Get(t.Context(), client.ObjectKeyFromObject(after), after); err != nil {
				t.Fatal(err)
			}
			if image(after) != first {
				t.Errorf("the template has %s", image(after))
			}
			for _, u := range []*unstructured.Unstructured{before, after} {
				unstructured.RemoveNestedField(u.Object, "spec", "template")
			}
			if fmt.Sprint(before.Object["spec"]) != fmt.Sprint(after.Object["spec"]) {
				t.Errorf("the spec was %v and is %v", before.Object["spec"], after.Object["spec"])
			}
		})
	}
}

// A CronJob whose policy was deleted, or may not be read, starts nothing, and a Job
// whose policy is refused does not stay behind.
func TestTriggerWithoutAPolicy(t *testing.T) {
	t.Parallel()
	namespace, alice := namespaceIn(t), person(t, "alice")
	alpha := fleet.Open(t).Client(t, "alpha")
	text := fmt.Sprintf("apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: nightly, namespace: %s}\nspec: {schedule: \"0 3 1 1 *\", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}}\n", namespace)
	must[applied](t, alice, "applyManifests", map[string]any{"instance": "alpha", "manifests": text}, applyFields)
	input := map[string]any{"instance": "alpha", "namespace": namespace, "name": "nightly", "jobName": "now"}
	refused(t, alice, "triggerCronJob", input, "INVALID", "input.name")

	policy := &policyv1alpha1.PropagationPolicy{ObjectMeta: meta(namespace, "jobs"), Spec: policyv1alpha1.PropagationSpec{
		ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "batch/v1", Kind: "CronJob"}},
		Placement:         policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1"}}},
	}}
	// It is there, and it belongs to another owner.
	taken := &policyv1alpha1.PropagationPolicy{ObjectMeta: meta(namespace, "now"), Spec: policyv1alpha1.PropagationSpec{
		ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "v1", Kind: "Secret", Name: "none"}},
	}}
	for _, o := range []client.Object{policy, taken} {
		if err := alpha.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	poll.Until(t, within, "the policy has claimed the CronJob", func(context.Context) error {
		if c, _ := stored(t, namespace, "nightly", &batchv1.CronJob{}); c.Annotations[policyv1alpha1.PropagationPolicyNameAnnotation] == "" {
			return fmt.Errorf("its annotations are %v", c.Annotations)
		}
		return nil
	})
	refused(t, alice, "triggerCronJob", but(input, "dryRun", true), "ALREADY_EXISTS", "input.jobName")
	refused(t, alice, "triggerCronJob", input, "ALREADY_EXISTS", "input.jobName")
	poll.Until(t, within, "the Job of the refused policy is deleted", func(context.Context) error {
		if _, there := stored(t, namespace, "now", &batchv1.Job{}); there {
			return fmt.Errorf("it is there")
		}
		return nil
	})
	if now, _ := stored(t, namespace, "now", &policyv1alpha1.PropagationPolicy{}); now.UID != taken.UID {
		t.Error("another owner's policy was deleted")
	}
	if err := alpha.Patch(t.Context(), policy, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspension":{"dispatching":true}}}`))); err != nil {
		t.Fatal(err)
	}
	// A name is made where none is told.
	p := must[struct{ Job struct{ Name string } }](t, alice, "triggerCronJob", but(input, "jobName", nil), "job { name }")
	made, there := stored(t, namespace, p.Job.Name, &policyv1alpha1.PropagationPolicy{})
	if !there || made.Spec.Suspension == nil || len(made.OwnerReferences) != 1 {
		t.Errorf("the Job %q has the policy %+v", p.Job.Name, made)
	}
}
