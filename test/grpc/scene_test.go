package grpc

import (
	"context"
	"strconv"
	"testing"
	"time"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

// addScene makes what mutations are about that the fleet has none of: a ClusterOverridePolicy, an object that a member alone has,
// a role that the platform did not give, and a cluster of the inventory that is free. It adds their values, and the revision that
// frontend has. withoutNames knows the names.
func addScene(t *testing.T, f *fleet.Fleet, values variables) {
	t.Helper()
	everywhere := &policyv1alpha1.ClusterOverridePolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "frontend-everywhere"},
		Spec: policyv1alpha1.OverrideSpec{
			ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "none"}},
			OverrideRules: []policyv1alpha1.RuleWithCluster{{Overriders: policyv1alpha1.Overriders{
				LabelsOverrider: []policyv1alpha1.LabelAnnotationOverrider{{Operator: policyv1alpha1.OverriderOpAdd, Value: map[string]string{"a": "b"}}},
			}}},
		},
	}
	byHand := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "frontend-by-hand"}, Data: map[string]string{"a": "b"}}
	visitor := &kairshipv1alpha1.InstanceRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "frontend-visitor"},
		Spec: kairshipv1alpha1.InstanceRoleBindingSpec{
			InstanceRef: kairshipv1alpha1.InstanceReference{Name: "alpha"}, Role: kairshipv1alpha1.RoleViewer,
			Subject: kairshipv1alpha1.BindingSubject{Kind: kairshipv1alpha1.SubjectUser, Name: "visitor"}, Namespaces: []string{"shop"},
		},
	}
	spare := &kairshipv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "frontend-spare"}, Spec: kairshipv1alpha1.ClusterSpec{
		Type: kairshipv1alpha1.ClusterTypePhysical, APIEndpoint: "https://127.0.0.1:1",
		CredentialsSecretRef: &kairshipv1alpha1.ClusterCredentialsReference{
			SecretReference: kairshipv1alpha1.SecretReference{Namespace: kairshipv1alpha1.SystemNamespace, Name: "frontend-spare"},
		},
	}}
	for object, cluster := range map[client.Object]string{everywhere: "alpha", byHand: "m1", visitor: "global", spare: "global"} {
		c := f.Client(t, cluster)
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.Delete(context.Background(), object); err != nil {
				t.Error(err)
			}
		})
	}
	global := f.Client(t, "global")
	poll.True(t, 20*time.Second, "the role has taken effect", func() bool {
		return global.Get(t.Context(), client.ObjectKeyFromObject(visitor), visitor) == nil &&
			apimeta.IsStatusConditionTrue(visitor.Status.Conditions, kairshipv1alpha1.ConditionReady)
	})
	frontend := &appsv1.Deployment{}
	if err := f.Client(t, "m1").Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "frontend"}, frontend); err != nil {
		t.Fatal(err)
	}
	revision, err := strconv.Atoi(frontend.Annotations["deployment.kubernetes.io/revision"])
	if err != nil {
		t.Fatalf("the revision of frontend in m1: %v", err)
	}
	values.Writes["RollbackWorkload"] = map[string]any{"cluster": "m1", "toRevision": revision}
	values.Writes["UpdateClusterOverridePolicy"] = map[string]any{"name": everywhere.Name, "resourceVersion": everywhere.ResourceVersion}
	values.Writes["DeleteClusterOverridePolicy"] = map[string]any{"name": everywhere.Name}
	values.Writes["PromoteResource"] = map[string]any{"group": "", "resource": "configmaps", "name": byHand.Name}
	values.Writes["RevokeInstanceRole"] = map[string]any{"binding": visitor.Name}
	values.Writes["RemoveCluster"] = map[string]any{"cluster": spare.Name}
}
