package faults

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/longtest"
	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// TestReasonsOfAMember takes the credentials for m1 from alpha, and then m1 itself, and reads from the explanations
// why nothing comes to m1.
func TestReasonsOfAMember(t *testing.T) {
	longtest.Only(t, "test/suite has the other reasons")
	s := begin(t)
	alpha, m1 := s.at["alpha"], s.at["m1"]
	const ns = "faults-reasons"
	s.createFor(t, alpha, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})
	poll.Until(t, noticeWithin, "m1 has the namespace", func(ctx context.Context) error {
		return m1.Get(ctx, client.ObjectKey{Name: ns}, &corev1.Namespace{})
	})
	send := func(name string) {
		t.Helper()
		labels := map[string]string{"app": name}
		s.createFor(t, alpha, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.example.com/main:1"}}}},
		}})
		s.createFor(t, alpha, &policyv1alpha1.PropagationPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: policyv1alpha1.PropagationSpec{
			ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "apps/v1", Kind: "Deployment", Name: name}},
			Placement:         policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1"}}},
		}})
	}
	stands := func(name string, codes ...string) {
		t.Helper()
		poll.Until(t, recoverWithin, name+" has a reason "+strings.Join(codes, " or "), func(ctx context.Context) error {
			return s.hasReason(ctx, ns, name, codes)
		})
	}
	send("before")
	stands("before", "POLICY_CLAIMED")
	poll.Until(t, noticeWithin, "m1 has what was sent before", func(ctx context.Context) error {
		return m1.Get(ctx, client.ObjectKey{Namespace: ns, Name: "before"}, &appsv1.Deployment{})
	})

	member, secret := &clusterv1alpha1.Cluster{}, &corev1.Secret{}
	if err := alpha.Get(t.Context(), client.ObjectKey{Name: "m1"}, member); err != nil {
		t.Fatal(err)
	}
	if err := alpha.Get(t.Context(), client.ObjectKey{Namespace: member.Spec.SecretRef.Namespace, Name: member.Spec.SecretRef.Name}, secret); err != nil {
		t.Fatal(err)
	}
	original := secret.DeepCopy()
	t.Cleanup(func() {
		if err := putBack(context.Background(), alpha, original); err != nil {
			t.Errorf("putting m1's credentials back: %v", err)
		}
	})
	for key := range secret.Data {
		if key != clusterv1alpha1.SecretCADataKey {
			secret.Data[key] = []byte("none")
		}
	}
	if err := alpha.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	send("unauthorized")
	stands("unauthorized", "APPLY_UNAUTHORIZED m1")
	if err := putBack(t.Context(), alpha, original); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, recoverWithin, "m1 has what it refused", func(ctx context.Context) error {
		return m1.Get(ctx, client.ObjectKey{Namespace: ns, Name: "unauthorized"}, &appsv1.Deployment{})
	})

	s.Kill(t, "m1-apiserver")
	send("unreachable")
	stands("unreachable", "APPLY_UNREACHABLE m1")
	stands("before", "CLUSTER_NOT_READY m1")
}

// hasReason returns an error unless the explanation of a Deployment of alpha has a reason with one of some codes,
// each with its cluster where it is about one.
func (s *scene) hasReason(ctx context.Context, namespace, name string, codes []string) error {
	type answer struct {
		Instance struct {
			Workload *struct {
				Explanation struct {
					Steps []struct {
						Reasons []struct {
							Code, Message string
							ClusterName   *string
						}
					}
				}
			}
		}
	}
	data, _, err := gql.Query[answer](ctx, s.api, `query($ns: String!, $name: String!) { instance(name: "alpha") { workload(kind: DEPLOYMENT, namespace: $ns, name: $name) {
		explanation { steps { reasons { code message clusterName } } } } } }`, map[string]any{"ns": namespace, "name": name})
	if err != nil {
		return err
	}
	if data.Instance.Workload == nil {
		return fmt.Errorf("%s is not there", name)
	}
	var found []string
	for _, step := range data.Instance.Workload.Explanation.Steps {
		for _, r := range step.Reasons {
			text := r.Code
			if r.ClusterName != nil {
				text += " " + *r.ClusterName
			}
			if slices.Contains(codes, text) {
				return nil
			}
			found = append(found, text+": "+r.Message)
		}
	}
	return fmt.Errorf("its reasons are %q", found)
}
