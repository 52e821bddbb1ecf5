package controllers

import (
	"context"
	"maps"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

func (s *imports) karmada(ctx context.Context, instance, cluster string) (*clusterv1alpha1.Cluster, error) {
	karmada := &clusterv1alpha1.Cluster{}
	err := s.at[instance].Get(ctx, client.ObjectKey{Name: cluster}, karmada)
	return karmada, err
}

// entry makes another entry of the inventory for a cluster that has one, for the
// length of the test.
func (s *imports) entry(name, of, instance string) {
	s.Helper()
	original := &v1alpha1.Cluster{}
	s.must(s.global.Get(s.Context(), client.ObjectKey{Name: of}, original))
	entry := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: *original.Spec.DeepCopy()}
	entry.Spec.InstanceRef = nil
	if instance != "" {
		entry.Spec.InstanceRef = &v1alpha1.InstanceReference{Name: instance}
	}
	s.must(s.global.Create(s.Context(), entry))
	s.Cleanup(func() { s.removed(entry) })
}

// entryOfGlobal registers the global cluster itself, which no instance has, for the
// length of the test.
func (s *imports) entryOfGlobal(name, instance string) {
	s.Helper()
	kubeconfig, err := os.ReadFile(s.fleet.Cluster(s.T, "global").Kubeconfig)
	s.must(err)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: name},
		Data:       map[string][]byte{v1alpha1.KubeconfigSecretKey: kubeconfig},
	}
	s.must(s.global.Create(s.Context(), secret))
	s.Cleanup(func() {
		if err := client.IgnoreNotFound(s.global.Delete(context.Background(), secret)); err != nil {
			s.Error(err)
		}
	})
	entry := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ClusterSpec{
		APIEndpoint:          s.fleet.Cluster(s.T, "global").Server,
		CredentialsSecretRef: &v1alpha1.ClusterCredentialsReference{SecretReference: v1alpha1.SecretReference{Name: name}},
		InstanceRef:          &v1alpha1.InstanceReference{Name: instance},
	}}
	s.must(s.global.Create(s.Context(), entry))
	s.Cleanup(func() { s.removed(entry) })
}

// removed deletes an entry of the inventory, and waits until it is removed.
func (s *imports) removed(entry *v1alpha1.Cluster) {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), moved)
	defer cancel()
	err := client.IgnoreNotFound(s.global.Delete(ctx, entry))
	if err == nil {
		err = poll.Try(ctx, moved, func(ctx context.Context) error {
			err := s.global.Get(ctx, client.ObjectKeyFromObject(entry), entry.DeepCopy())
			if apierrors.IsNotFound(err) {
				return nil
			}
			word, message, _ := s.joinedAs(ctx, entry.Name)
			return errorf(err, "%s still exists: %s: %s", entry.Name, word, message)
		})
	}
	if err != nil {
		s.Errorf("removing %s: %v", entry.Name, err)
	}
}

// TestForeignMembersAreLeftAlone joins a cluster to beta behind Kairship's back. An
// entry of the inventory for it says so, whatever it wants, and goes without
// touching it.
func TestForeignMembersAreLeftAlone(t *testing.T) {
	s := openImports(t)
	const name = importPrefix + "foreign"
	system := &corev1.Namespace{}
	s.must(s.global.Get(t.Context(), client.ObjectKey{Name: "kube-system"}, system))
	byHand := &clusterv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"by": "hand"}},
		Spec: clusterv1alpha1.ClusterSpec{
			ID: string(system.UID), SyncMode: clusterv1alpha1.Push, APIEndpoint: "https://127.0.0.1:1", Region: "somewhere",
			SecretRef: &clusterv1alpha1.LocalSecretReference{Namespace: joinNamespace, Name: name},
		},
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: joinNamespace, Name: name}, Data: map[string][]byte{"token": []byte("x"), "caBundle": nil}}
	s.must(s.at["beta"].Create(t.Context(), secret))
	s.must(s.at["beta"].Create(t.Context(), byHand))
	t.Cleanup(func() {
		ctx := context.Background()
		for _, object := range []client.Object{byHand, secret} {
			if err := client.IgnoreNotFound(s.at["beta"].Delete(ctx, object)); err != nil {
				t.Error(err)
			}
		}
		err := poll.Try(ctx, moved, func(ctx context.Context) error {
			_, err := s.karmada(ctx, "beta", name)
			if apierrors.IsNotFound(err) {
				return nil
			}
			return errorf(err, "%s is still a member of beta", name)
		})
		if err != nil {
			t.Error(err)
		}
	})

	s.entryOfGlobal(name, "beta")
	s.becomes(heard, name, "False/Foreign", `"`+name+`"`, "not made by Kairship")
	s.edit(name, func(spec *v1alpha1.ClusterSpec) { spec.InstanceRef = nil })
	s.becomes(discovered, name, "False/Foreign", `"beta"`, "not joined by Kairship")
	s.edit(name, func(spec *v1alpha1.ClusterSpec) { spec.InstanceRef = &v1alpha1.InstanceReference{Name: "alpha"} })
	s.becomes(heard, name, "False/JoinedElsewhere", `"beta"`, "not joined by Kairship")
	if _, err := s.karmada(t.Context(), "alpha", name); !apierrors.IsNotFound(err) {
		t.Errorf("alpha has it: %v", err)
	}
	entry := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	s.removed(entry)

	after, err := s.karmada(t.Context(), "beta", name)
	s.must(err)
	spec, labels := byHand.Spec.DeepCopy(), maps.Clone(byHand.Labels)
	// What Karmada itself adds: its taints, and the models of its nodes.
	after.Spec.Taints, spec.Taints, after.Spec.ResourceModels, spec.ResourceModels = nil, nil, nil, nil
	if diff := cmp.Diff(spec, &after.Spec); diff != "" {
		t.Errorf("the foreign member was changed (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(labels, after.Labels); diff != "" {
		t.Errorf("its labels were changed (-before +after):\n%s", diff)
	}
	if after.UID != byHand.UID || after.DeletionTimestamp != nil {
		t.Errorf("it was removed or made anew")
	}
	s.must(s.at["beta"].Get(t.Context(), client.ObjectKeyFromObject(secret), secret))
	if err := s.global.Get(t.Context(), client.ObjectKey{Name: joinNamespace}, &corev1.Namespace{}); !apierrors.IsNotFound(err) {
		t.Errorf("something was made in the cluster: %v", err)
	}
}

// TestOneClusterIsInOneInstance gives m2, a member of alpha, a second entry that
// wants beta.
func TestOneClusterIsInOneInstance(t *testing.T) {
	s := openImports(t)
	const name = importPrefix + "twin"
	s.entry(name, "m2", "beta")
	s.becomes(heard, name, "False/JoinedElsewhere", `"m2"`, `"alpha"`)
	if _, err := s.karmada(t.Context(), "beta", name); !apierrors.IsNotFound(err) {
		t.Errorf("beta has it: %v", err)
	}
	s.edit(name, func(spec *v1alpha1.ClusterSpec) { spec.InstanceRef = nil })
	s.becomes(heard, name, "False/JoinedElsewhere", `"alpha"`)
	s.becomes(heard, "m2", "True/Joined", `"alpha"`)
}
