package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
