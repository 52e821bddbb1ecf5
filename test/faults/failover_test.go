package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/longtest"
	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// lostKey is the key of the taint that a cluster gets which is not ready.
const lostKey = "kairship.io/lost"

var tolerated = corev1.Toleration{Key: lostKey, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}

// losses are Deployments with three replicas, by name, and where their policies send them.
func losses() map[string]policyv1alpha1.Placement {
	to := func(clusters ...string) policyv1alpha1.Placement {
		return policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: clusters}}
	}
	divided := func(preference *policyv1alpha1.ClusterPreferences) policyv1alpha1.Placement {
		p := to("m1", "m2")
		p.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.ReplicaSchedulingTypeDivided, ReplicaDivisionPreference: policyv1alpha1.ReplicaDivisionPreferenceWeighted, WeightPreference: preference}
		return p
	}
	weight := func(cluster string, weight int64) policyv1alpha1.StaticClusterWeight {
		return policyv1alpha1.StaticClusterWeight{TargetCluster: policyv1alpha1.ClusterAffinity{ClusterNames: []string{cluster}}, Weight: weight}
	}
	tolerant := to("m1", "m2")
	tolerant.ClusterTolerations = []corev1.Toleration{tolerated}
	one := to("m1", "m2")
	one.SpreadConstraints = []policyv1alpha1.SpreadConstraint{{SpreadByField: policyv1alpha1.SpreadByFieldCluster, MinGroups: 1, MaxGroups: 1}}
	groups := policyv1alpha1.Placement{ClusterAffinities: []policyv1alpha1.ClusterAffinityTerm{
		{AffinityName: "first", ClusterAffinity: *to("m1").ClusterAffinity}, {AffinityName: "second", ClusterAffinity: *to("m2").ClusterAffinity},
	}}
	return map[string]policyv1alpha1.Placement{
		"both": to("m1", "m2"), "only": to("m1"), "other": to("m2"), "tolerant": tolerant, "one": one, "groups": groups,
		"weighted": divided(&policyv1alpha1.ClusterPreferences{StaticWeightList: []policyv1alpha1.StaticClusterWeight{weight("m1", 2), weight("m2", 1)}}),
		"dynamic":  divided(&policyv1alpha1.ClusterPreferences{DynamicWeight: policyv1alpha1.DynamicWeightByAvailableReplicas}),
	}
}

// failedOver is the namespace of alpha that TestMemberFailover uses.
const failedOver = "faults-failover"

// TestMemberFailover previews the loss of m1, kills its API server, and compares what the failover of Karmada then does.
// The fleet's Karmada has failover off, so the test starts its controllers with it.
func TestMemberFailover(t *testing.T) {
	longtest.Only(t, "it takes minutes until Karmada evicts")
	s := begin(t)
	alpha := s.at["alpha"]
	s.createFor(t, alpha, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: failedOver}})
	for name, placement := range losses() {
		labels := map[string]string{"app": name}
		s.createFor(t, alpha, &policyv1alpha1.PropagationPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: failedOver, Name: name}, Spec: policyv1alpha1.PropagationSpec{
			ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "apps/v1", Kind: "Deployment", Name: name}}, Placement: placement,
		}})
		s.createFor(t, alpha, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: failedOver, Name: name}, Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/main:1"}}}},
		}})
	}
	before := stable(t, "the scheduler has placed all", s.scheduled)
	s.tolerate(t)
	s.failover(t)
	s.taintWhatIsNotReady(t)
	want := s.lossOf(t, before)
	if maps.Equal(want, before) {
		t.Fatalf("the preview moves nothing: %v", want)
	}

	s.End(t, "m1-apiserver", syscall.SIGKILL)
	is := func(ctx context.Context) error {
		now, err := s.scheduled(ctx)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(want, now); diff != "" {
			return fmt.Errorf("it is not as previewed (-want +got):\n%s", diff)
		}
		return nil
	}
	poll.Until(t, recoverWithin, "the failover does what the preview says", is)
	if after := stable(t, "the failover ends", s.scheduled); !maps.Equal(want, after) {
		t.Errorf("it went on to %v, and the preview says %v", after, want)
	}
}

// scheduled are the clusters of each Deployment of the namespace with their replicas, by name. Its error names one
// that is not scheduled.
func (s *scene) scheduled(ctx context.Context) (map[string]string, error) {
	var all workv1alpha2.ResourceBindingList
	if err := s.at["alpha"].List(ctx, &all, client.InNamespace(failedOver)); err != nil {
		return nil, err
	}
	placed := map[string]string{}
	for i := range all.Items {
		b := &all.Items[i]
		if meta.FindStatusCondition(b.Status.Conditions, workv1alpha2.Scheduled) == nil {
			return nil, fmt.Errorf("%s is not scheduled", b.Name)
		}
		var clusters []string
		for _, c := range b.Spec.Clusters {
			clusters = append(clusters, fmt.Sprintf("%s:%d", c.Name, c.Replicas))
		}
		slices.Sort(clusters)
		placed[b.Spec.Resource.Name] = strings.Join(clusters, " ")
	}
	if len(placed) < len(losses()) {
		return nil, fmt.Errorf("only %d are bound", len(placed))
	}
	return placed, nil
}

// lossItem is an object of a preview of the loss of a cluster.
type lossItem struct {
	Kind, Name, Effect                string
	Namespace                         *string
	PlacementsBefore, PlacementsAfter []replicasIn
}

type replicasIn struct {
	ClusterName string
	Replicas    int
}

func placed(in []replicasIn) string {
	texts := make([]string, len(in))
	for i, c := range in {
		texts[i] = fmt.Sprintf("%s:%d", c.ClusterName, c.Replicas)
	}
	slices.Sort(texts)
	return strings.Join(texts, " ")
}

// lossOf previews the loss of m1: where each Deployment of the namespace goes, in the form of scheduled.
func (s *scene) lossOf(t *testing.T, before map[string]string) map[string]string {
	t.Helper()
	want := maps.Clone(before)
	poll.Until(t, noticeWithin, "the preview knows the Deployments and the taint policy", func(ctx context.Context) error {
		type answer struct {
			Instance struct {
				ClusterLossPreview struct{ Items []lossItem }
			}
		}
		data, _, err := gql.Query[answer](ctx, s.api, `{ instance(name: "alpha") { clusterLossPreview(clusters: ["m1"], mode: UNREADY, assume: {noExecuteEviction: true}) {
			items(first: 500) { kind namespace name effect placementsBefore { clusterName replicas } placementsAfter { clusterName replicas } } } } }`, nil)
		if err != nil {
			return err
		}
		evicted := 0
		for _, i := range data.Instance.ClusterLossPreview.Items {
			if i.Namespace == nil || *i.Namespace != failedOver || i.Kind != "Deployment" {
				continue
			}
			if is := placed(i.PlacementsBefore); is != before[i.Name] {
				return fmt.Errorf("%s is at %q, and the preview knows %q", i.Name, before[i.Name], is)
			}
			if i.Effect == "EVICTED" {
				evicted++
			}
			want[i.Name] = placed(i.PlacementsAfter)
		}
		if evicted == 0 {
			return errors.New("nothing is evicted")
		}
		return nil
	})
	return want
}

// taintWhatIsNotReady has Karmada taint clusters that are not ready.
func (s *scene) taintWhatIsNotReady(t *testing.T) {
	t.Helper()
	s.createFor(t, s.at["alpha"], &policyv1alpha1.ClusterTaintPolicy{ObjectMeta: metav1.ObjectMeta{Name: failedOver}, Spec: policyv1alpha1.ClusterTaintPolicySpec{
		AddOnConditions:    []policyv1alpha1.MatchCondition{{ConditionType: clusterv1alpha1.ClusterConditionReady, Operator: policyv1alpha1.MatchConditionOpNotIn, StatusValues: []metav1.ConditionStatus{metav1.ConditionTrue}}},
		RemoveOnConditions: []policyv1alpha1.MatchCondition{{ConditionType: clusterv1alpha1.ClusterConditionReady, Operator: policyv1alpha1.MatchConditionOpIn, StatusValues: []metav1.ConditionStatus{metav1.ConditionTrue}}},
		Taints:             []policyv1alpha1.Taint{{Key: lostKey, Effect: corev1.TaintEffectNoExecute}},
	}})
}

// failover starts the controllers of alpha with failover until the test ends, in place of those of the fleet. The fleet
// is healed after that, because they hold the ports of the fleet's own.
func (s *scene) failover(t *testing.T) {
	t.Helper()
	const name = "alpha-controller-manager"
	args := append(s.Args(t, name), "--feature-gates=Failover=true", "--enable-no-execute-taint-eviction=true", "--resource-eviction-rate=20")
	s.End(t, name, syscall.SIGKILL)
	cmd := exec.Command(args[0], args[1:]...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// tolerate has all policies but those of the test tolerate the taint, so that nothing else is evicted. When the test ends
// the fleet is healed, and the policies are as they were once m1 has lost the taint.
func (s *scene) tolerate(t *testing.T) {
	t.Helper()
	alpha := s.at["alpha"]
	var policies policyv1alpha1.PropagationPolicyList
	var wide policyv1alpha1.ClusterPropagationPolicyList
	if err := errors.Join(alpha.List(t.Context(), &policies), alpha.List(t.Context(), &wide)); err != nil {
		t.Fatal(err)
	}
	set := func(ctx context.Context, tolerations func(of *policyv1alpha1.Placement) []corev1.Toleration) error {
		var all []error
		patch := func(o client.Object, of *policyv1alpha1.Placement) {
			raw, err := json.Marshal(tolerations(of))
			if err == nil {
				err = alpha.Patch(ctx, o.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"placement":{"clusterTolerations":%s}}}`, raw)))
			}
			all = append(all, client.IgnoreNotFound(err))
		}
		for i := range policies.Items {
			if p := &policies.Items[i]; p.Namespace != failedOver {
				patch(p, &p.Spec.Placement)
			}
		}
		for i := range wide.Items {
			patch(&wide.Items[i], &wide.Items[i].Spec.Placement)
		}
		return errors.Join(all...)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), recoverWithin)
		defer cancel()
		s.Heal(t)
		err := poll.Try(ctx, recoverWithin, func(ctx context.Context) error {
			m1 := &clusterv1alpha1.Cluster{}
			if err := alpha.Get(ctx, client.ObjectKey{Name: "m1"}, m1); err != nil {
				return err
			}
			if !meta.IsStatusConditionTrue(m1.Status.Conditions, clusterv1alpha1.ClusterConditionReady) {
				return errors.New("m1 is not ready")
			}
			if !slices.ContainsFunc(m1.Spec.Taints, lost) {
				return nil
			}
			m1.Spec.Taints = slices.DeleteFunc(m1.Spec.Taints, lost)
			return alpha.Update(ctx, m1)
		})
		if err == nil {
			err = set(ctx, func(of *policyv1alpha1.Placement) []corev1.Toleration { return of.ClusterTolerations })
		}
		if err != nil {
			t.Errorf("putting the policies back: %v", err)
		}
	})
	err := set(t.Context(), func(of *policyv1alpha1.Placement) []corev1.Toleration {
		return append(slices.Clone(of.ClusterTolerations), tolerated)
	})
	if err != nil {
		t.Fatal(err)
	}
	poll.Until(t, recoverWithin, "the scheduler has read the tolerations", func(ctx context.Context) error {
		var all workv1alpha2.ResourceBindingList
		if err := alpha.List(ctx, &all); err != nil {
			return err
		}
		for i := range all.Items {
			applied := all.Items[i].Annotations["policy.karmada.io/applied-placement"]
			if all.Items[i].Namespace != failedOver && applied != "" && !strings.Contains(applied, lostKey) {
				return fmt.Errorf("%s was scheduled without", all.Items[i].Name)
			}
		}
		return nil
	})
}

func lost(taint corev1.Taint) bool { return taint.Key == lostKey }
