package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorv1alpha1 "github.com/karmada-io/karmada/operator/pkg/apis/operator/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// TestOperatorInstalls has the real operator install into a member whose nodes
// are simulated, and compares what the Instance says with how far it has got.
func TestOperatorInstalls(t *testing.T) {
	s := openLives(t)
	name := lifecyclePrefix + "installed"
	s.create(name, "/bad/crds.tar.gz", v1alpha1.DeletionPolicyDelete)

	// What fails is told in the operator's words.
	s.says(deployed, name, v1alpha1.ConditionInstalled, "False/InstallationFailed", "/bad/crds.tar.gz", "404")
	karmada := s.karmada(name)
	if !slices.Contains(karmada.Finalizers, "operator.karmada.io/finalizer") {
		t.Errorf("the operator has not taken it up: finalizers %v", karmada.Finalizers)
	}

	// Once that is put right, it goes on: up to what it needs an answer for from the
	// apiserver that it has installed. The Instance tells both, how far it got and why
	// no further.
	sofar := []string{"karmada-system", `So far on cluster "` + lifecycleHost + `"`, "aggregated-apiserver 1/1", " apiserver 1/1", "etcd 1/1"}
	s.edit(name, func(i *v1alpha1.Instance) {
		i.Spec.Components.CRDTarballURL = s.crds.URL + "/good/" + name + "/crds.tar.gz"
	})
	s.says(deployed, name, v1alpha1.ConditionInstalled, "False/InstallationFailed", sofar...)
	if got := s.instance(name).Status; got.State != v1alpha1.InstanceStateInProcess || got.KubeconfigSecretRef != nil {
		t.Errorf("its state is %s, its credentials are %v", got.State, got.KubeconfigSecretRef)
	}
	found, err := s.components(t.Context(), name)
	s.must(err)
	const karmadaImage = "docker.io/karmada/karmada-aggregated-apiserver:v1.18.2"
	if got := found[name+"-karmada-aggregated-apiserver"]; got != karmadaImage {
		t.Errorf("karmada-aggregated-apiserver runs %q, want %q", got, karmadaImage)
	}
	if len(found) != 3 {
		t.Errorf("the operator has deployed %v, and the Instance speaks of three components", found)
	}
	s.gone(s.global, &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "k-" + name}}) // Nothing is made of what is not there.

	// A change is nothing that the operator has done before it says so.
	thaw := s.fleet.Freeze(t, "karmada-operator")
	s.edit(name, func(i *v1alpha1.Instance) {
		i.Spec.Components.Scheduler = &v1alpha1.ComponentSettings{Replicas: new(int32(2))}
	})
	s.says(heard, name, v1alpha1.ConditionInstalled, "False/Installing", "has not taken up the last change")
	thaw()
	s.says(deployed, name, v1alpha1.ConditionInstalled, "False/InstallationFailed", sofar...)
	want := map[string]string{"cluster-monitor-grace-period": "1m30s", "enable-no-execute-taint-eviction": "true", "feature-gates": "Failover=true"}
	karmada = s.karmada(name)
	if diff := cmp.Diff(want, karmada.Spec.Components.KarmadaControllerManager.ExtraArgs); diff != "" {
		t.Errorf("the arguments of the controller manager (-want +got):\n%s", diff)
	}
	if got := *karmada.Spec.Components.KarmadaScheduler.Replicas; got != 2 {
		t.Errorf("the scheduler is to have %d replicas", got)
	}

	thaw = s.fleet.Freeze(t, "karmada-operator")
	s.must(s.global.Delete(t.Context(), s.instance(name)))
	s.says(heard, name, v1alpha1.ConditionInstalled, "False/Uninstalling", `from cluster "`+lifecycleHost+`"`)
	thaw()
	s.goneWithAll(name)
	poll.Until(t, deployed, "nothing runs in the host", func(ctx context.Context) error {
		left, err := s.components(ctx, name)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("there are %v", left)
		}
		return err
	})
	secret := &corev1.Secret{}
	if err := s.global.Get(t.Context(), client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: lifecycleHost + "-credentials"}, secret); err != nil {
		t.Errorf("the cluster's own credentials: %v", err)
	}
}

// TestRetainedKarmadaIsTakenOver: the operator's object outlives its Instance, and
// belongs to the next one of its name.
func TestRetainedKarmadaIsTakenOver(t *testing.T) {
	s := openLives(t)
	name := lifecyclePrefix + "retained"
	s.create(name, "/bad/crds.tar.gz", v1alpha1.DeletionPolicyRetain)
	s.says(deployed, name, v1alpha1.ConditionInstalled, "False/InstallationFailed", "404")
	before := s.karmada(name)
	s.must(s.global.Delete(t.Context(), s.instance(name)))
	s.gone(s.global, &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: name}})
	after := s.karmada(name)
	if after.UID != before.UID || !after.DeletionTimestamp.IsZero() || after.Annotations[v1alpha1.RetainedAnnotation] != lifecycleHost {
		t.Errorf("it is not retained: %+v", after.ObjectMeta)
	}
	if diff := cmp.Diff(before.Spec, after.Spec); diff != "" {
		t.Errorf("it was changed (-before +after):\n%s", diff)
	}

	s.create(name, "/bad/crds.tar.gz", v1alpha1.DeletionPolicyDelete)
	s.says(deployed, name, v1alpha1.ConditionInstalled, "False/InstallationFailed", "404")
	if got := s.karmada(name); got.UID != before.UID || got.Labels[v1alpha1.OwnerUIDLabel] != string(s.instance(name).UID) {
		t.Errorf("it is not taken over: %+v", got.ObjectMeta)
	}
	s.must(s.global.Delete(t.Context(), s.instance(name)))
	s.goneWithAll(name)
}

// TestPublishedKubeconfigIsPickedUp plays the operator's last step, which it does
// not reach here, with the kubeconfig of a control plane that runs. From there the
// instance is one as any other, until it is deleted.
func TestPublishedKubeconfigIsPickedUp(t *testing.T) {
	s := openLives(t)
	name := lifecyclePrefix + "published"
	s.create(name, "/bad/crds.tar.gz", v1alpha1.DeletionPolicyDelete)
	s.says(deployed, name, v1alpha1.ConditionInstalled, "False/InstallationFailed", "404")
	thaw := s.fleet.Freeze(t, "karmada-operator")
	alias := s.fleet.Alias(t, "beta")
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "k-" + name, Name: name + "-karmada-admin-config"},
		Data:       map[string][]byte{"karmada.config": alias.Kubeconfig(t, name)},
	}
	s.must(s.global.Create(t.Context(), secret))
	s.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		karmada := s.karmada(name)
		operatorv1alpha1.KarmadaCompleted(karmada, operatorv1alpha1.Ready, "karmada init job is completed")
		karmada.Status.SecretRef = &operatorv1alpha1.LocalSecretReference{Namespace: secret.Namespace, Name: secret.Name}
		return s.global.Status().Update(t.Context(), karmada)
	}))

	s.says(heard, name, v1alpha1.ConditionInstalled, "True/Installed", `on cluster "`+lifecycleHost+`"`)
	s.says(heard, name, v1alpha1.ConditionReady, "True/Available")
	s.says(deployed, name, v1alpha1.ConditionIndexed, "True/Collecting")
	if got := s.instance(name).Status; got.State != v1alpha1.InstanceStateRunning || got.APIEndpoint != alias.Config(name).Clusters["x"].Server {
		t.Errorf("its state is %s at %s", got.State, got.APIEndpoint)
	}

	// As long as clusters keep it, it is as it was: a user has to empty them.
	cluster := s.joined(name)
	s.must(s.global.Delete(t.Context(), s.instance(name)))
	s.says(heard, name, v1alpha1.ConditionRemovable, "False/ClustersJoined", cluster.Name)
	// Another controller says so, after or before.
	poll.Until(t, heard, "its state", func(context.Context) error {
		if got := s.instance(name).Status.State; got != v1alpha1.InstanceStateTerminating {
			return fmt.Errorf("it is %s", got)
		}
		return nil
	})
	// What would be removed at once has been when the controllers have answered a later change.
	s.edit(name, func(i *v1alpha1.Instance) { i.Spec.Alias = "Kept" })
	for _, condition := range []string{v1alpha1.ConditionRemovable, v1alpha1.ConditionIndexed} {
		poll.Until(t, heard, condition+" is of the change", func(context.Context) error {
			now := s.instance(name)
			if found := meta.FindStatusCondition(now.Status.Conditions, condition); found == nil || found.ObservedGeneration != now.Generation {
				return fmt.Errorf("at generation %d it is %+v", now.Generation, found)
			}
			return nil
		})
	}
	virtual := &v1alpha1.Cluster{}
	s.must(s.global.Get(t.Context(), client.ObjectKey{Name: "k-" + name}, virtual))
	if now := s.instance(name); !virtual.DeletionTimestamp.IsZero() || !meta.IsStatusConditionTrue(now.Status.Conditions, v1alpha1.ConditionIndexed) {
		t.Errorf("its virtual cluster is taken apart while it is kept: %+v, %+v", virtual.ObjectMeta, now.Status.Conditions)
	}
	if !s.karmada(name).DeletionTimestamp.IsZero() {
		t.Error("it is uninstalled under its clusters")
	}
	s.must(s.global.Delete(t.Context(), cluster))

	// What Kairship has of it is removed before it is uninstalled.
	s.says(deployed, name, v1alpha1.ConditionInstalled, "False/Uninstalling")
	s.gone(s.global, &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "k-" + name}})
	thaw()
	s.goneWithAll(name)
}

// joined is a Cluster that is to join an instance, and never does.
func (s *lives) joined(instance string) *v1alpha1.Cluster {
	s.Helper()
	cluster := &v1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: instance + "-member"},
		Spec: v1alpha1.ClusterSpec{
			APIEndpoint:          "https://127.0.0.1:1",
			CredentialsSecretRef: &v1alpha1.ClusterCredentialsReference{SecretReference: v1alpha1.SecretReference{Name: lifecyclePrefix + "no-such-secret"}},
			InstanceRef:          &v1alpha1.InstanceReference{Name: instance},
		},
	}
	s.must(s.global.Create(s.Context(), cluster))
	s.Cleanup(func() { _ = client.IgnoreNotFound(s.global.Delete(context.Background(), cluster)) })
	return cluster
}

// TestManagedInstancesAreValidated: what the operator cannot change in place is
// refused, and so is what it never accepts.
func TestManagedInstancesAreValidated(t *testing.T) {
	s := openLives(t)
	name := lifecyclePrefix + "fixed"
	s.create(name, "/bad/crds.tar.gz", v1alpha1.DeletionPolicyDelete)
	for _, c := range []struct {
		reason string
		change func(*v1alpha1.InstanceSpec)
		says   string
	}{
		{"a control plane does not move", func(i *v1alpha1.InstanceSpec) { i.HostCluster = "m1" }, "hostCluster cannot change"},
		{"etcd's members are fixed", func(i *v1alpha1.InstanceSpec) {
			i.Components.Etcd = &v1alpha1.EtcdSettings{Replicas: new(int32(3))}
		}, "etcd cannot change"},
		{"the certificate is issued once", func(i *v1alpha1.InstanceSpec) {
			i.Components.APIServer = &v1alpha1.APIServerSettings{ServiceType: v1alpha1.ServiceTypeLoadBalancer}
		}, "serviceType cannot change"},
		{"no way back", func(i *v1alpha1.InstanceSpec) { i.KarmadaVersion = "v1.17.0" }, "karmadaVersion cannot go back"},
		{"it stays managed", func(i *v1alpha1.InstanceSpec) { i.Mode = v1alpha1.InstanceModeExternal }, "mode cannot change"},
	} {
		instance := s.instance(name)
		before := instance.DeepCopy()
		c.change(&instance.Spec)
		err := s.global.Patch(t.Context(), instance, client.MergeFrom(before))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: the API server says %v", c.reason, err)
		}
	}
}
