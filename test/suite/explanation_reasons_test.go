package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// given are workloads with reasons that their explanations have to have, each with the cluster and the
// policy that it is about. A code alone may be about any.
var given = map[string][]string{
	"api-version":     {"POLICY_NONE", "POLICY_API_VERSION_DIFFERS near-api-version"},
	"namespace":       {"POLICY_NONE", "POLICY_NAMESPACE_DIFFERS"},
	"lazy":            {"POLICY_LAZY lazy"},
	"waiting":         {"POLICY_OVERRIDES_MISSING waiting"},
	"ending":          {"POLICY_DELETING ending"},
	"lost":            {"POLICY_CLAIM_LOST"},
	"junior":          {"POLICY_CLAIMED junior", "POLICY_NOT_PREEMPTING senior"},
	"doomed":          {"TEMPLATE_DELETING"},
	"never":           {"POLICY_NONE", "NAMESPACE_NEVER_PROPAGATED"},
	"other-scheduler": {"SCHEDULER_OTHER"},
	"held":            {"SCHEDULING_SUSPENDED"},
	"too-large":       {"NOT_ENOUGH_RESOURCES"},
	"spread":          {"CLUSTER_SPREAD m2"},
	"five":            {"SCHEDULER_ERROR"},
	"weights":         {"CLUSTER_WEIGHT_ZERO m2"},
	"one-of-two":      {"CLUSTER_NOT_CHOSEN"},
	"evicted":         {"CLUSTER_EVICTING m2"},
	"unserved":        {"NO_CLUSTER_FITS", "CLUSTER_API_MISSING m1", "CLUSTER_API_MISSING m2"},
	"refused":         {"APPLY_REFUSED m1"},
	"hooked":          {"APPLY_FAILED m1"},
	"invalid":         {"APPLY_INVALID m1"},
	"deadline":        {"ROLLOUT_FAILED m1", "POD_UNSCHEDULABLE m1"},
	"no-pods":         {"REPLICAS_NOT_CREATED m1"},
	"late":            {"JOB_FAILED m1"},
	"nightly":         {"CRON_JOB_RUN_FAILED m1"},
	"image":           {"POD_IMAGE m1"},
	"crashing":        {"POD_CRASHING m1"},
	"configuration":   {"POD_CONFIGURATION m1"},
	"failed":          {"POD_FAILED m1"},
	"unready":         {"REPLICAS_NOT_READY m1", "POD_NOT_READY m1"},
	"starting":        {"POD_STARTING m1"},
}

// reasonsWorld are the workloads of given, and what holds them up.
type reasonsWorld struct {
	*world
	// ns has most of them, refused those of which m1 takes no Deployments, and empty those for which it makes no Pods.
	ns, refused, empty string
}

// TestReasons brings about the reasons that workloads stand where they do, and reads them from the explanations.
func TestReasons(t *testing.T) {
	on := open(t)
	id := newID()
	w := &reasonsWorld{&world{fleet: on.fleet, id: id}, "suite-" + id + "-given", "suite-" + id + "-refused", "suite-" + id + "-empty"}
	t.Cleanup(w.remove)
	w.regionless(t, "m2")
	w.templates(t)
	w.happen(t)
	ask := map[string]any{"ns": []string{w.ns, w.refused, w.empty, "kube-public"}}
	poll.Until(t, propagationTimeout, "every explanation has its reasons", func(ctx context.Context) error {
		w.suffer(ctx, t)
		data, _, err := gql.Query[struct{ Workloads struct{ Nodes []explained } }](ctx, on.kairship, explanations, ask)
		if err != nil {
			return err
		}
		found := map[string]*explained{}
		for i := range data.Workloads.Nodes {
			found[strings.TrimSuffix(data.Workloads.Nodes[i].Name, "-"+w.id)] = &data.Workloads.Nodes[i]
		}
		var all []error
		for name, reasons := range given {
			if one := found[name]; one == nil {
				all = append(all, fmt.Errorf("%s is not there", name))
			} else if err := one.has(reasons); err != nil {
				all = append(all, fmt.Errorf("%s at %s %s: %w", name, one.Explanation.Stage, one.Explanation.State, err))
			}
		}
		return errors.Join(all...)
	})
	for _, person := range []string{"bob", "mallory"} {
		if r := on.as(t, person).Must(t, gql.Request{Query: explanations, Variables: ask}); string(r.Data) != `{"workloads":{"nodes":[]}}` {
			t.Errorf("%s gets %s", person, r.Data)
		}
	}
}

// regionless takes the region from a member of alpha until the test ends.
func (w *reasonsWorld) regionless(t testing.TB, cluster string) {
	t.Helper()
	alpha, region := w.fleet.Client(t, "alpha"), ""
	set := func(ctx context.Context, to string) error {
		c := &clusterv1alpha1.Cluster{}
		if err := alpha.Get(ctx, client.ObjectKey{Name: cluster}, c); err != nil {
			return err
		}
		c.Spec.Region, region = to, c.Spec.Region
		return alpha.Update(ctx, c)
	}
	poll.Until(t, propagationTimeout, cluster+" has no region", func(ctx context.Context) error { return set(ctx, "") })
	before := region
	t.Cleanup(func() {
		poll.Until(t, propagationTimeout, cluster+" has its region", func(ctx context.Context) error { return set(ctx, before) })
	})
}

// has returns an error unless an explanation has some reasons.
func (e *explained) has(reasons []string) error {
	var found []string
	for i := range e.Explanation.Steps {
		for j := range e.Explanation.Steps[i].Reasons {
			found = append(found, e.Explanation.Steps[i].Reasons[j].text())
		}
	}
	for _, reason := range reasons {
		if !slices.ContainsFunc(found, func(one string) bool { return one == reason || strings.HasPrefix(one, reason+" ") }) {
			return fmt.Errorf("no reason is %s: %v", reason, found)
		}
	}
	return nil
}

// policyTo is a policy that sends the Deployment of its name to clusters, changed by some functions.
func (w *reasonsWorld) policyTo(name string, clusters []string, changes ...func(*policyv1alpha1.PropagationSpec)) created {
	p := propagation(w.meta(w.ns, name), selects("Deployment", w.ns, name), to(clusters...))
	for _, change := range changes {
		change(&p.Spec)
	}
	return created{"alpha", p}
}

// templates makes the namespaces, the policies and the workloads.
func (w *reasonsWorld) templates(t testing.TB) {
	t.Helper()
	for _, ns := range []string{w.ns, w.refused, w.empty} {
		w.create(t, created{"alpha", &corev1.Namespace{ObjectMeta: w.meta("", ns)}})
	}
	m1 := w.fleet.Client(t, "m1")
	for _, ns := range []string{w.ns, w.refused, w.empty} {
		poll.Until(t, propagationTimeout, "m1 has namespace "+ns, func(ctx context.Context) error {
			return m1.Get(ctx, client.ObjectKey{Name: ns}, &corev1.Namespace{})
		})
	}
	none := func(ns string, what corev1.ResourceName) created {
		return created{"m1", &corev1.ResourceQuota{ObjectMeta: w.meta(ns, "none"), Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{what: resource.MustParse("0")}}}}
	}
	w.create(t, none(w.refused, "count/deployments.apps"), none(w.empty, corev1.ResourcePods))
	w.create(t, created{"m1", w.unreachableWebhook()})
	kind, policy, custom := w.unserved()
	w.create(t, created{"alpha", kind}, created{"alpha", deployment(w.meta(w.ns, "lazy"))}, created{"alpha", deployment(w.meta("kube-public", "never-"+w.id))})
	m1Only, both := []string{"m1"}, []string{"m1", "m2"}
	spread := func(field policyv1alpha1.SpreadFieldValue, groups int) func(*policyv1alpha1.PropagationSpec) {
		return func(s *policyv1alpha1.PropagationSpec) {
			s.Placement.SpreadConstraints = []policyv1alpha1.SpreadConstraint{{SpreadByField: field, MinGroups: groups, MaxGroups: groups}}
			if field != policyv1alpha1.SpreadByFieldCluster { // Karmada asks for both.
				s.Placement.SpreadConstraints = append(s.Placement.SpreadConstraints, policyv1alpha1.SpreadConstraint{SpreadByField: policyv1alpha1.SpreadByFieldCluster, MinGroups: 1})
			}
		}
	}
	weighted := func(preference policyv1alpha1.ClusterPreferences) func(*policyv1alpha1.PropagationSpec) {
		return func(s *policyv1alpha1.PropagationSpec) {
			s.Placement.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{
				ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided, ReplicaDivisionPreference: policyv1alpha1.ReplicaDivisionPreferenceWeighted, WeightPreference: &preference,
			}
		}
	}
	ending := w.policyTo("ending", m1Only)
	ending.object.SetFinalizers([]string{"kairship.io/suite"})
	elsewhere := &policyv1alpha1.ClusterPropagationPolicy{ObjectMeta: w.global("elsewhere"), Spec: policyv1alpha1.PropagationSpec{ResourceSelectors: selects("Deployment", "elsewhere-"+w.id, "namespace"), Placement: to("m1")}}
	invalid := &policyv1alpha1.OverridePolicy{ObjectMeta: w.meta(w.ns, "invalid"), Spec: tagging(selects("Deployment", w.ns, "invalid"), "m1")}
	invalid.Spec.OverrideRules[0].Overriders = policyv1alpha1.Overriders{Plaintext: []policyv1alpha1.PlaintextOverrider{{Path: "/spec/replicas", Operator: policyv1alpha1.OverriderOpReplace, Value: apiextensionsv1.JSON{Raw: []byte("-1")}}}}
	nearVersion := selects("Deployment", w.ns, "api-version")
	nearVersion[0].APIVersion = "apps/v1beta1"
	w.create(t,
		created{"alpha", propagation(w.meta(w.ns, "near-api-version"), nearVersion, to("m1"))}, created{"alpha", elsewhere}, created{"alpha", invalid}, ending,
		w.policyTo("waiting", m1Only, func(s *policyv1alpha1.PropagationSpec) { s.DependentOverrides = []string{"none-such"} }),
		w.policyTo("other-scheduler", m1Only, func(s *policyv1alpha1.PropagationSpec) { s.SchedulerName = "other" }),
		w.policyTo("held", m1Only, func(s *policyv1alpha1.PropagationSpec) { s.SchedulerName = "other" }), // Until the binding is there.
		w.policyTo("too-large", m1Only, weighted(policyv1alpha1.ClusterPreferences{DynamicWeight: policyv1alpha1.DynamicWeightByAvailableReplicas})),
		w.policyTo("spread", both, spread(policyv1alpha1.SpreadByFieldRegion, 1)),
		w.policyTo("five", both, spread(policyv1alpha1.SpreadByFieldCluster, 5)),
		w.policyTo("weights", both, weighted(policyv1alpha1.ClusterPreferences{StaticWeightList: []policyv1alpha1.StaticClusterWeight{{TargetCluster: policyv1alpha1.ClusterAffinity{ClusterNames: m1Only}, Weight: 1}}})),
		w.policyTo("one-of-two", both, spread(policyv1alpha1.SpreadByFieldCluster, 1)),
		created{"alpha", propagation(w.meta(w.refused, "refused"), selects("Deployment", w.refused, "refused"), to("m1"))},
		created{"alpha", propagation(w.meta(w.empty, "no-pods"), selects("Deployment", w.empty, "no-pods"), to("m1"))},
		created{"alpha", propagation(w.meta(w.ns, "late"), selects("Job", w.ns, "late"), to("m1"))},
		created{"alpha", propagation(w.meta(w.ns, "nightly"), selects("CronJob", w.ns, "nightly"), to("m1"))},
	)
	for _, name := range []string{"lost", "junior", "doomed", "evicted", "invalid", "hooked", "deadline", "image", "crashing", "configuration", "failed", "unready", "starting"} {
		w.create(t, w.policyTo(name, m1Only))
	}
	for name := range given {
		d := deployment(w.meta(w.ns, name))
		switch name {
		case "lazy", "never", "late", "nightly", "unserved":
			continue
		case "refused":
			d.Namespace = w.refused
		case "no-pods":
			d.Namespace = w.empty
		case "hooked":
			d.Labels["hooked"] = w.id
		case "doomed":
			d.Finalizers = []string{"kairship.io/suite"}
		case "deadline":
			d = demanding("100k", d)
			d.Spec.ProgressDeadlineSeconds = new(int32(1))
		case "too-large", "image", "crashing", "configuration", "failed":
			d = demanding("100k", d) // What a test writes into the status of a pod without a node stays there.
		}
		w.create(t, created{"alpha", d})
	}
	late := job(w.meta(w.ns, "late"))
	late.Spec.ActiveDeadlineSeconds = new(int64(1))
	late.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100k")}
	nightly := &batchv1.CronJob{ObjectMeta: w.meta(w.ns, "nightly"), Spec: batchv1.CronJobSpec{Schedule: "0 0 1 1 *", JobTemplate: batchv1.JobTemplateSpec{Spec: job(metav1.ObjectMeta{}).Spec}}}
	w.create(t, created{"alpha", late}, created{"alpha", nightly}, created{"alpha", policy})
	alpha := w.fleet.Client(t, "alpha")
	poll.Until(t, propagationTimeout, "Karmada has looked at what was created after lazy", func(ctx context.Context) error {
		return alpha.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: "weights-deployment"}, &workv1alpha2.ResourceBinding{})
	})
	w.create(t, w.policyTo("lazy", m1Only, func(s *policyv1alpha1.PropagationSpec) { s.ActivationPreference = policyv1alpha1.LazyActivation }))
	poll.Until(t, propagationTimeout, "alpha serves the kind", func(ctx context.Context) error {
		return client.IgnoreAlreadyExists(alpha.Create(ctx, custom))
	})
}

// unreachableWebhook refuses the Deployment hooked in m1, because it cannot be called.
func (w *reasonsWorld) unreachableWebhook() client.Object {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: w.global("hook"), Webhooks: []admissionregistrationv1.ValidatingWebhook{{
		Name: "hook.example.com", ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/")}, ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"hooked": w.id}},
		SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
		}},
	}}}
}

// group is that of the kind that alpha alone has.
func (w *reasonsWorld) group() string { return "suite-" + w.id + ".example.com" }

// unserved is a kind that alpha alone has, with a policy for its only object.
func (w *reasonsWorld) unserved() (kind *unstructured.Unstructured, policy *policyv1alpha1.PropagationPolicy, object *unstructured.Unstructured) {
	group := w.group()
	labels := map[string]any{"suite": w.id}
	kind = &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "unserveds." + group, "labels": labels},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced", "names": map[string]any{"plural": "unserveds", "singular": "unserved", "kind": "Unserved", "listKind": "UnservedList"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}},
		},
	}}
	object = &unstructured.Unstructured{Object: map[string]any{"apiVersion": group + "/v1", "kind": "Unserved", "metadata": map[string]any{"namespace": w.ns, "name": "unserved", "labels": labels}}}
	what := []policyv1alpha1.ResourceSelector{{APIVersion: group + "/v1", Kind: "Unserved", Namespace: w.ns, Name: "unserved"}}
	return kind, propagation(w.meta(w.ns, "unserved"), what, to("m1", "m2")), object
}

// happen changes what has been propagated.
func (w *reasonsWorld) happen(t testing.TB) {
	t.Helper()
	alpha, m1 := w.fleet.Client(t, "alpha"), w.fleet.Client(t, "m1")
	do := func(what string, f func(ctx context.Context) error) {
		t.Helper()
		poll.Until(t, propagationTimeout, what, f)
	}
	patch := func(ctx context.Context, c client.Client, o client.Object, text string) error {
		return c.Patch(ctx, o, client.RawPatch("application/merge-patch+json", []byte(text)))
	}
	for _, name := range []string{"lost", "evicted", "ending", "junior", "doomed"} {
		do("m1 has "+name, func(ctx context.Context) error {
			return m1.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: name}, deployment(metav1.ObjectMeta{}))
		})
	}
	do("the policies go", func(ctx context.Context) error {
		return errors.Join(
			client.IgnoreNotFound(alpha.Delete(ctx, propagation(w.meta(w.ns, "lost"), nil, to()))),
			client.IgnoreNotFound(alpha.Delete(ctx, propagation(w.meta(w.ns, "ending"), nil, to()))),
			client.IgnoreNotFound(alpha.Delete(ctx, deployment(w.meta(w.ns, "doomed")))))
	})
	t.Cleanup(func() {
		for _, o := range []client.Object{propagation(w.meta(w.ns, "ending"), nil, to()), deployment(w.meta(w.ns, "doomed"))} {
			_ = patch(context.Background(), alpha, o, `{"metadata":{"finalizers":null}}`)
		}
	})
	senior := w.policyTo("senior", []string{"m1"}, func(s *policyv1alpha1.PropagationSpec) {
		s.ResourceSelectors[0].Name = "junior"
		s.Priority = new(int32(10))
	})
	w.create(t, senior)
	do("the scheduling of one is suspended", func(ctx context.Context) error {
		b := &workv1alpha2.ResourceBinding{}
		if err := alpha.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: "held-deployment"}, b); err != nil {
			return err
		}
		b.Spec.Suspension = &workv1alpha2.Suspension{Scheduling: new(true)}
		return alpha.Update(ctx, b)
	})
	do("it is evicted from m2", func(ctx context.Context) error {
		b := &workv1alpha2.ResourceBinding{}
		if err := alpha.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: "evicted-deployment"}, b); err != nil {
			return err
		}
		b.Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{
			FromCluster: "m2", Reason: workv1alpha2.EvictionReasonTaintUntolerated, Producer: workv1alpha2.EvictionProducerTaintManager, SuppressDeletion: new(true),
			PurgeMode: policyv1alpha1.Graciously,
		}}
		return alpha.Update(ctx, b)
	})
}

// suffer has what runs in m1 report what a kubelet and a controller would report of it.
func (w *reasonsWorld) suffer(ctx context.Context, t testing.TB) {
	t.Helper()
	m1 := w.fleet.Client(t, "m1")
	waiting := func(reason string) func(*corev1.PodStatus) {
		return func(s *corev1.PodStatus) {
			s.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", Image: image, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "the suite says so"}}}}
		}
	}
	unready := func(phase corev1.PodPhase) func(*corev1.PodStatus) {
		return func(s *corev1.PodStatus) {
			if s.PodIP == "" {
				return // kwok is about to start it.
			}
			s.Phase = phase
			for i := range s.Conditions {
				if c := &s.Conditions[i]; c.Type == corev1.PodReady || c.Type == corev1.ContainersReady {
					c.Status = corev1.ConditionFalse
				}
			}
		}
	}
	for name, change := range map[string]func(*corev1.PodStatus){
		"image": waiting("ImagePullBackOff"), "crashing": waiting("CrashLoopBackOff"), "configuration": waiting("CreateContainerConfigError"),
		"failed":  func(s *corev1.PodStatus) { s.Phase, s.Message = corev1.PodFailed, "the suite says so" },
		"unready": unready(corev1.PodRunning), "starting": unready(corev1.PodPending),
	} {
		var pods corev1.PodList
		if err := m1.List(ctx, &pods, client.InNamespace(w.ns), client.MatchingLabels{"app": name}); err != nil {
			continue
		}
		for i := range pods.Items {
			if pods.Items[i].Status.Phase != corev1.PodFailed {
				change(&pods.Items[i].Status)
				_ = m1.Status().Update(ctx, &pods.Items[i])
			}
		}
	}
	c := &batchv1.CronJob{}
	if err := m1.Get(ctx, client.ObjectKey{Namespace: w.ns, Name: "nightly"}, c); err == nil && c.Status.LastScheduleTime == nil {
		c.Status.LastScheduleTime = new(metav1.Now())
		_ = m1.Status().Update(ctx, c)
	}
}
