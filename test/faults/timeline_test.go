package faults

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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/longtest"
	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// restarted are all processes that a timeline passes on its way to a caller: Kairship's, the index's and Karmada's.
var restarted = []string{
	"alpha-apiserver", "alpha-controller-manager", "alpha-scheduler", "m1-apiserver", "global-apiserver",
	"clusterpedia-apiserver", "clustersynchro-manager", "kairship-controller-manager-0", "kairship-controller-manager-1", "kairship-apiserver",
}

// TestTimelineOutlivesRestarts makes a rollout, an eviction and a change of a policy, restarts every process, and expects
// that nothing of the timelines is lost and that they go on.
func TestTimelineOutlivesRestarts(t *testing.T) {
	longtest.Only(t, "it restarts every process")
	s := begin(t)
	alpha := s.at["alpha"]
	const ns = "faults-timeline"
	patch := func(o client.Object, text string) {
		t.Helper()
		poll.Until(t, time.Minute, "the change is made", func(ctx context.Context) error {
			return alpha.Patch(ctx, o.DeepCopyObject().(client.Object), client.RawPatch("application/merge-patch+json", []byte(text)))
		})
	}
	s.createFor(t, alpha, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})
	labels := map[string]string{"app": "web"}
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}, Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/web:1"}}}},
	}}
	policy := &policyv1alpha1.PropagationPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}, Spec: policyv1alpha1.PropagationSpec{
		ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}},
		Placement:         policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1"}}},
	}}
	s.createFor(t, alpha, web.DeepCopy())
	s.createFor(t, alpha, policy.DeepCopy())
	var now []string
	has := func(what string, want ...string) {
		t.Helper()
		poll.Until(t, 3*time.Minute, "the timelines have "+what, func(ctx context.Context) (err error) {
			if now, err = timelines(ctx, s.api, ns); err != nil {
				return err
			}
			for _, one := range want {
				if !slices.ContainsFunc(now, func(text string) bool { return strings.Contains(text, one) }) {
					return fmt.Errorf("no entry is %q: %q", one, now)
				}
			}
			return nil
		})
	}
	has("the placement", "PLACEMENT m1 - > SCHEDULED", "HEALTH m1 PROGRESSING > HEALTHY")
	patch(web, `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"registry.example.com/web:2"}]}}}}`)
	has("the rollout", "web:1 > registry.example.com/web:2")
	patch(policy, `{"spec":{"placement":{"clusterAffinity":{"clusterNames":["m1","m2"]}}}}`)
	has("the change of the policy", "SPEC ", "PLACEMENT m2 - > SCHEDULED")
	// What Karmada's taint manager writes for a cluster that fails.
	poll.Until(t, time.Minute, "it is evicted from m1", func(ctx context.Context) error {
		b := &workv1alpha2.ResourceBinding{}
		if err := alpha.Get(ctx, client.ObjectKey{Namespace: ns, Name: "web-deployment"}, b); err != nil {
			return err
		}
		b.Spec.Clusters = slices.DeleteFunc(b.Spec.Clusters, func(c workv1alpha2.TargetCluster) bool { return c.Name == "m1" })
		b.Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{
			FromCluster: "m1", PurgeMode: policyv1alpha1.PurgeModeGracefully, Reason: workv1alpha2.EvictionReasonTaintUntolerated, Producer: workv1alpha2.EvictionProducerTaintManager,
			SuppressDeletion: new(true),
		}}
		return alpha.Update(ctx, b)
	})
	has("the eviction", "PLACEMENT m1 SCHEDULED > EVICTING")
	before := slices.Clone(now)

	for _, name := range restarted {
		s.Restart(t, name)
	}
	s.server = s.PID(t, "kairship-apiserver") // The test ended the one of before.
	poll.Until(t, 3*time.Minute, "the timelines have all that they had", func(ctx context.Context) error {
		after, err := timelines(ctx, s.api, ns)
		if err != nil {
			return err
		}
		for _, one := range before {
			if !slices.Contains(after, one) {
				return fmt.Errorf("%q is missing: %q", one, after)
			}
		}
		return nil
	})
	patch(web, `{"spec":{"replicas":3}}`)
	has("what happens afterwards", "REPLICAS 1 > 3")
}

// timelines are those of the Deployment web of a namespace of alpha and of its policy, each entry a line with its time.
func timelines(ctx context.Context, as *gql.Client, namespace string) ([]string, error) {
	type list struct {
		Nodes []struct {
			At, Change                        string
			ClusterName, Field, Before, After *string
		}
	}
	data, _, err := gql.Query[struct {
		Instance struct{ Workload, Policy *struct{ Timeline list } }
	}](ctx, as, `query($ns: String!) { instance(name: "alpha") {
		workload(kind: DEPLOYMENT, namespace: $ns, name: "web") { timeline(first: 100) { ...entries } }
		policy: propagationPolicy(namespace: $ns, name: "web") { timeline(first: 100) { ...entries } } } }
		fragment entries on TimelineEntryConnection { nodes { at change clusterName field before after } }`, map[string]any{"ns": namespace})
	if err != nil {
		return nil, err
	}
	if data.Instance.Workload == nil || data.Instance.Policy == nil {
		return nil, fmt.Errorf("the index has not both in %s", namespace)
	}
	var all []string
	for _, n := range slices.Concat(data.Instance.Workload.Timeline.Nodes, data.Instance.Policy.Timeline.Nodes) {
		text := n.At + " " + n.Change
		for _, part := range []*string{n.ClusterName, n.Field} {
			if part != nil {
				text += " " + *part
			}
		}
		show := func(s *string) string {
			if s == nil {
				return "-"
			}
			return *s
		}
		all = append(all, text+" "+show(n.Before)+" > "+show(n.After))
	}
	return all, nil
}
