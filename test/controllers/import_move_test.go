package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// TestMembersAreJoinedByTheirEntry looks at what the fleet's members have been
// given, which only Kairship gave them.
func TestMembersAreJoinedByTheirEntry(t *testing.T) {
	s := openImports(t)
	for member, instance := range map[string]string{"m1": "alpha", "m2": "alpha", "m3": "beta"} {
		s.becomes(heard, member, "True/Joined", instance)
		cluster := &v1alpha1.Cluster{}
		s.must(s.global.Get(t.Context(), client.ObjectKey{Name: member}, cluster))
		karmada := &clusterv1alpha1.Cluster{}
		s.must(s.at[instance].Get(t.Context(), client.ObjectKey{Name: member}, karmada))
		for what, pair := range map[string][2]string{
			"owner":    {karmada.Labels[v1alpha1.OwnerUIDLabel], string(cluster.UID)},
			"endpoint": {karmada.Spec.APIEndpoint, cluster.Spec.APIEndpoint},
			"id":       {karmada.Spec.ID, cluster.Status.KubeSystemID},
			"provider": {karmada.Spec.Provider, cluster.Spec.Provider},
			"region":   {karmada.Labels["topology.kubernetes.io/region"], cluster.Spec.Region},
			"zone":     {karmada.Spec.Zones[0], cluster.Spec.Zone},
		} {
			if pair[0] != pair[1] || pair[0] == "" {
				t.Errorf("%s: the %s is %q, want %q", member, what, pair[0], pair[1])
			}
		}
		for where, objects := range made(instance, member) {
			for _, object := range objects {
				s.must(s.at[where].Get(t.Context(), client.ObjectKeyFromObject(object), object))
			}
		}
	}
}

// TestMoveByEditingOneField moves m3 to alpha and back. While workloads are in
// it, it stays and says which; nothing of the former instance remains.
func TestMoveByEditingOneField(t *testing.T) {
	s := openImports(t)
	s.restoreM3()
	s.edit("m3", to("alpha", v1alpha1.RemovalBlock))
	s.becomes(heard, "m3", "False/Blocked", "2 objects", "Deployment billing/api", "StatefulSet billing/ledger", `"beta"`)
	s.must(s.running(t.Context())) // Nothing was touched.

	s.edit("m3", func(spec *v1alpha1.ClusterSpec) { spec.Join.RemovalPolicy = v1alpha1.RemovalForce })
	s.becomes(moved, "m3", "True/Joined", `"alpha"`)
	s.must(s.nothingLeft(t.Context(), "beta", "m3", false))

	s.edit("m3", func(spec *v1alpha1.ClusterSpec) { spec.InstanceRef.Name = "beta" })
	s.becomes(moved, "m3", "True/Joined", `"beta"`)
	s.must(s.nothingLeft(t.Context(), "alpha", "m3", false))
	s.must(s.running(t.Context()))
}

// TestClearedReferenceFreesTheCluster takes m3 out of beta, and looks for what is
// left of either in the other.
func TestClearedReferenceFreesTheCluster(t *testing.T) {
	s := openImports(t)
	s.restoreM3()
	s.edit("m3", to("", v1alpha1.RemovalForce))
	s.becomes(moved, "m3", "False/Free")
	s.must(s.nothingLeft(t.Context(), "beta", "m3", true))
	cluster := &v1alpha1.Cluster{}
	poll.Until(t, heard, "the record and the finalizer go too", func(ctx context.Context) error {
		if err := s.global.Get(ctx, client.ObjectKey{Name: "m3"}, cluster); err != nil {
			return err
		}
		if cluster.Status.Membership != nil {
			return fmt.Errorf("the record is %+v", cluster.Status.Membership)
		}
		if slices.Contains(cluster.Finalizers, v1alpha1.ClusterImportFinalizer) {
			return errors.New("the finalizer is there")
		}
		return nil
	})
}

// TestWhatIsTakenAwayIsMadeAgain meddles with a member inside its instance and in
// the cluster itself.
func TestWhatIsTakenAwayIsMadeAgain(t *testing.T) {
	s := openImports(t)
	objects := made("beta", "m3")
	secret, role := objects["beta"][1], objects["m3"][4]
	karmada := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m3"}}
	s.must(s.at["beta"].Delete(t.Context(), secret))
	s.must(s.at["m3"].Delete(t.Context(), role))
	s.must(s.at["beta"].Get(t.Context(), client.ObjectKeyFromObject(karmada), karmada))
	right := karmada.Spec.APIEndpoint
	// Seen at the next look at the instance, because the object changed: then all is looked at.
	patch := client.MergeFrom(karmada.DeepCopy())
	karmada.Spec.APIEndpoint = "https://127.0.0.1:1"
	s.must(s.at["beta"].Patch(t.Context(), karmada, patch))
	poll.Until(t, discovered, "everything is made again", func(ctx context.Context) error {
		if err := s.at["beta"].Get(ctx, client.ObjectKeyFromObject(karmada), karmada); err != nil {
			return err
		}
		if karmada.Spec.APIEndpoint != right {
			return fmt.Errorf("the endpoint is %s", karmada.Spec.APIEndpoint)
		}
		return errors.Join(s.at["beta"].Get(ctx, client.ObjectKeyFromObject(secret), secret), s.at["m3"].Get(ctx, client.ObjectKeyFromObject(role), role))
	})
	s.must(s.running(t.Context()))
}

// TestAnEntryForAnotherEndpointIsRefused points the entry of m3 to m2: the instance
// must not be told of it.
func TestAnEntryForAnotherEndpointIsRefused(t *testing.T) {
	s := openImports(t)
	other := &v1alpha1.Cluster{}
	s.must(s.global.Get(t.Context(), client.ObjectKey{Name: "m2"}, other))
	before := &v1alpha1.Cluster{}
	s.must(s.global.Get(t.Context(), client.ObjectKey{Name: "m3"}, before))
	restore := func() {
		ctx := context.Background()
		if err := s.tryEdit(ctx, "m3", func(spec *v1alpha1.ClusterSpec) { *spec = *before.Spec.DeepCopy() }); err != nil {
			t.Error(err)
		}
		if err := s.tryBecomes(ctx, discovered, "m3", "True/Joined"); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(restore)
	s.edit("m3", func(spec *v1alpha1.ClusterSpec) {
		spec.APIEndpoint, spec.CredentialsSecretRef = other.Spec.APIEndpoint, other.Spec.CredentialsSecretRef
	})
	s.becomes(heard, "m3", "False/OtherCluster", other.Spec.APIEndpoint)
	karmada := &clusterv1alpha1.Cluster{}
	s.must(s.at["beta"].Get(t.Context(), client.ObjectKey{Name: "m3"}, karmada))
	if karmada.Spec.APIEndpoint != before.Spec.APIEndpoint {
		t.Errorf("beta was told of %s", karmada.Spec.APIEndpoint)
	}
	err := s.at["m2"].Get(t.Context(), client.ObjectKey{Namespace: joinNamespace, Name: "karmada-m3"}, made("beta", "m3")["m3"][0])
	if !apierrors.IsNotFound(err) {
		t.Errorf("m2 has an account for m3: %v", err)
	}
}
