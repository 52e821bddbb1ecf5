package writes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// driftAnswer is the drift of a placement.
type driftAnswer struct {
	Drifted         bool
	Action          string
	ManagersMessage *string
	TotalFields     int
	Fields          []struct {
		Path        string
		Sent, Found *string
		Retained    bool
		Manager     *struct{ Name, Operation string }
	}
}

func (d *driftAnswer) String() string {
	return fmt.Sprintf("drifted %t, %s, fields %+v", d.Drifted, d.Action, d.Fields)
}

const driftFields = `drifted action managersMessage totalFields fields { path sent found retained manager { name operation time } }`

// driftOf reads the drift of a StatefulSet of alpha in m1; nil where there is none.
func driftOf(ctx context.Context, as *gql.Client, namespace string) (*driftAnswer, error) {
	type answer struct {
		Instance *struct {
			Workload *struct {
				Placements []struct {
					ClusterName string
					Drift       *driftAnswer
				}
			}
		}
	}
	data, _, err := gql.Query[answer](ctx, as, `query($ns: String!) { instance(name: "alpha") { workload(kind: STATEFUL_SET, namespace: $ns, name: "db") {
		placements { clusterName drift { `+driftFields+` } } } } }`, map[string]any{"ns": namespace})
	if err != nil {
		return nil, err
	}
	if data.Instance == nil || data.Instance.Workload == nil {
		return nil, nil //nolint:nilnil // The user does not see it.
	}
	for _, p := range data.Instance.Workload.Placements {
		if p.ClusterName == "m1" {
			return p.Drift, nil
		}
	}
	return nil, nil //nolint:nilnil // It is not there yet.
}

// statefulSet is a StatefulSet, which keeps its generation when an annotation changes.
func statefulSet(namespace string) *appsv1.StatefulSet {
	labels := map[string]string{"app": "db"}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "db", Annotations: map[string]string{"note": "sent"}},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "db", Image: "registry.example.com/db:1"}},
			}},
		},
	}
}

// toCluster is a policy that sends the StatefulSet to m1.
func toCluster(namespace string) *policyv1alpha1.PropagationPolicy {
	return &policyv1alpha1.PropagationPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "db"},
		Spec: policyv1alpha1.PropagationSpec{
			ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db"}},
			Placement:         policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1"}}},
		},
	}
}

// A drift made by hand in a member is shown with its manager, and with what Karmada does about it.
func TestDriftIsShown(t *testing.T) {
	t.Parallel()
	f := fleet.Open(t)
	namespace := namespaceIn(t)
	alpha, m1 := f.Client(t, "alpha"), f.Client(t, "m1")
	policy := toCluster(namespace)
	for _, o := range []client.Object{statefulSet(namespace), policy} {
		if err := alpha.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	admin, alice := administrator(t, "admin"), person(t, "alice")
	shows := func(as *gql.Client, what string, right func(d *driftAnswer) bool) {
		t.Helper()
		poll.Until(t, within, what, func(ctx context.Context) error {
			d, err := driftOf(ctx, as, namespace)
			if err == nil && (d == nil || !right(d)) {
				err = fmt.Errorf("it is %s", d)
			}
			return err
		})
	}
	// change changes the object in the member as a client of its own.
	change := func(patch string) {
		t.Helper()
		if err := m1.Patch(t.Context(), statefulSet(namespace), client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner("hand")); err != nil {
			t.Fatal(err)
		}
	}
	none := func(d *driftAnswer) bool {
		return d.Action == "NONE" && !d.Drifted && d.TotalFields == 0 && len(d.Fields) == 0
	}
	shows(admin, "nothing has drifted", none)

	change(`{"metadata":{"annotations":{"note":"found"}}}`)
	shows(admin, "the annotation has drifted", func(d *driftAnswer) bool {
		return d.Drifted && d.Action == "NEXT_SYNC" && len(d.Fields) == 1 && d.Fields[0].Path == "/metadata/annotations/note" && *d.Fields[0].Sent == `"sent"` &&
			*d.Fields[0].Found == `"found"` && !d.Fields[0].Retained && d.Fields[0].Manager != nil && d.Fields[0].Manager.Name == "hand" && d.Fields[0].Manager.Operation == "Update"
	})
	// Kairship's roles inside an instance do not reach its members.
	shows(alice, "the same without the manager", func(d *driftAnswer) bool {
		return d.Drifted && len(d.Fields) == 1 && d.Fields[0].Manager == nil && d.ManagersMessage != nil && strings.Contains(*d.ManagersMessage, "clusters/proxy")
	})
	for name, want := range map[string]int{"admin": 1, "alice": 1, "bob": 0, "mallory": 0} {
		listedAsDrifted(t, person(t, name), namespace, want)
	}
	for _, name := range []string{"bob", "mallory"} {
		if d, err := driftOf(t.Context(), person(t, name), namespace); d != nil || err != nil {
			t.Errorf("%s gets %s, %v", name, d, err)
		}
	}
	// A label is overwritten at once, and the annotation with it.
	change(`{"metadata":{"labels":{"karmada.io/managed":"true","work.karmada.io/permanent-id":"found"}}}`)
	shows(admin, "Karmada has overwritten it", none)
	listedAsDrifted(t, admin, namespace, 0)

	suspend := func(suspended bool) {
		t.Helper()
		patch := fmt.Appendf(nil, `{"spec":{"suspension":{"dispatching":%t}}}`, suspended)
		if err := alpha.Patch(t.Context(), policy.DeepCopy(), client.RawPatch(types.MergePatchType, patch)); err != nil {
			t.Fatal(err)
		}
		poll.Until(t, within, "Karmada has noted that dispatching is suspended or not", func(ctx context.Context) error {
			var works workv1alpha1.WorkList
			if err := alpha.List(ctx, &works, client.InNamespace("karmada-es-m1")); err != nil {
				return err
			}
			for i := range works.Items {
				w := &works.Items[i]
				if w.Annotations[workv1alpha2.ResourceBindingNamespaceAnnotationKey] == namespace && w.Spec.SuspendDispatching != nil && *w.Spec.SuspendDispatching == suspended {
					return nil
				}
			}
			return errors.New("it has not")
		})
	}
	suspend(true)
	change(`{"spec":{"replicas":3}}`)
	shows(admin, "the replicas have drifted", func(d *driftAnswer) bool {
		return d.Drifted && d.Action == "SUSPENDED" && len(d.Fields) == 1 && d.Fields[0].Path == "/spec/replicas" && d.Fields[0].Manager != nil && d.Fields[0].Manager.Name == "hand"
	})
	suspend(false)
	shows(admin, "Karmada has written what it sent", none)
}

// listedAsDrifted expects that a list of what has drifted in a namespace has a number of workloads, and that of what
// has not drifted the others that the user sees.
func listedAsDrifted(t *testing.T, as *gql.Client, namespace string, want int) {
	t.Helper()
	type list struct {
		TotalCount int
		Nodes      []struct {
			Placements []struct{ Drift *driftAnswer }
		}
	}
	poll.Until(t, within, "the lists have what has drifted, and the rest", func(ctx context.Context) error {
		data, _, err := gql.Query[struct{ Drifted, Other, All list }](ctx, as, `query($in: [String!]) {
			drifted: workloads(filter: {namespaces: $in, drifted: true}) { totalCount nodes { placements { drift { `+driftFields+` } } } }
			other: workloads(filter: {namespaces: $in, drifted: false}) { totalCount }
			all: workloads(filter: {namespaces: $in}) { totalCount } }`, map[string]any{"in": []string{namespace}})
		if err != nil {
			return err
		}
		if data.Drifted.TotalCount != want || len(data.Drifted.Nodes) != want || data.Other.TotalCount != data.All.TotalCount-want {
			return fmt.Errorf("got %+v", data)
		}
		for _, node := range data.Drifted.Nodes {
			if len(node.Placements) != 1 || node.Placements[0].Drift == nil || !node.Placements[0].Drift.Drifted {
				return fmt.Errorf("a placement says otherwise: %+v", node)
			}
		}
		return nil
	})
}
