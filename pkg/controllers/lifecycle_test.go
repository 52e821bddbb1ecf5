package controllers_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/apitest"
	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers"
)

var (
	first  = connection.Connection{Endpoint: "https://10.0.0.1:6443", Token: "first"}
	second = connection.Connection{Endpoint: "https://10.0.0.2:6443", ServerName: "kube", Token: "second", ProxyURL: "http://proxy:3128"}
)

// reads returns how Clusterpedia will connect with what it was given.
func (w *world) reads(pedia *pediav1alpha2.PediaCluster) connection.Connection {
	w.Helper()
	spec := pedia.Spec
	if len(spec.Kubeconfig)+len(spec.TokenData)+len(spec.CertData)+len(spec.KeyData)+len(spec.CAData) > 0 {
		w.Error("the PediaCluster has credentials, which every reader of it can use")
	}
	from := spec.AuthenticationFrom.KubeConfig
	found, err := connection.Parse(w.collectedWith(from.Name).Data, connection.Source{KubeconfigKey: from.Key})
	w.must(err)
	return found
}

// collectedWith returns a Secret in the namespace of Clusterpedia.
func (w *world) collectedWith(name string) *corev1.Secret {
	w.Helper()
	secret := &corev1.Secret{}
	w.must(w.kube.Get(w.Context(), client.ObjectKey{Namespace: controllers.DefaultIndexNamespace, Name: name}, secret))
	return secret
}

// noSecret fails the test where Kairship left a Secret in the namespace of Clusterpedia.
func (w *world) noSecret(name string) {
	w.Helper()
	err := w.kube.Get(w.Context(), client.ObjectKey{Namespace: controllers.DefaultIndexNamespace, Name: name}, &corev1.Secret{})
	if !apierrors.IsNotFound(err) {
		w.Errorf("Secret %s: %v, want it deleted", name, err)
	}
}

func TestInstanceIsRegisteredCollectedAndRemoved(t *testing.T) {
	w := newWorld(t)
	w.secret("life", "kubeconfig", first)
	instance := w.instance("life", "kubeconfig")
	w.reconcile("life")

	cluster := get(w, "k-life", &v1alpha1.Cluster{})
	if diff := cmp.Diff(v1alpha1.ClusterSpec{
		Type: v1alpha1.ClusterTypeVirtual, Hidden: true, Alias: "The life", APIEndpoint: first.Endpoint,
		CredentialsSecretRef: &v1alpha1.ClusterCredentialsReference{SecretReference: v1alpha1.SecretReference{Namespace: "kairship-system", Name: "life"}},
		InstanceRef:          &v1alpha1.InstanceReference{Name: "life"},
	}, cluster.Spec); diff != "" {
		t.Errorf("spec of the virtual Cluster (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{
		"app.kubernetes.io/managed-by": "kairship", "kairship.io/instance": "life", "kairship.io/owner-uid": string(instance.UID),
	}, cluster.Labels); diff != "" {
		t.Errorf("labels of the virtual Cluster (-want +got):\n%s", diff)
	}
	if owner := metav1.GetControllerOf(cluster); owner == nil || owner.UID != instance.UID {
		t.Errorf("the Instance does not control the virtual Cluster: %+v", owner)
	}

	pedia := get(w, "k-life", &pediav1alpha2.PediaCluster{})
	if diff := cmp.Diff(map[string]string{
		"app.kubernetes.io/managed-by": "kairship", "kairship.io/cluster": "k-life", "kairship.io/owner-uid": string(cluster.UID),
	}, pedia.Labels); diff != "" {
		t.Errorf("labels of the PediaCluster (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(first, w.reads(pedia)); diff != "" {
		t.Errorf("connection of the PediaCluster (-want +got):\n%s", diff)
	}
	w.wantInstance("life", "Unknown/Pending")
	w.wantCluster("k-life", "Unknown/Pending")

	w.takeUp("k-life")
	w.reconcile("life")
	w.wantInstance("life", "True/Collecting", "collects 29 kinds")
	w.wantCluster("k-life", "True/Collecting", "collects 29 kinds")

	t.Run("what is settled is not written again", func(t *testing.T) {
		before := w.writes.Load()
		for range 3 {
			w.syncInstance("life")
			w.indexCluster("k-life")
		}
		if now := w.writes.Load(); now != before {
			t.Errorf("%d writes, want none", now-before)
		}
	})

	t.Run("new credentials arrive", func(t *testing.T) {
		w.secret("life", "kubeconfig", second)
		w.reconcile("life")
		if diff := cmp.Diff(second, w.reads(get(w, "k-life", &pediav1alpha2.PediaCluster{}))); diff != "" {
			t.Errorf("connection of the PediaCluster (-want +got):\n%s", diff)
		}
		if got := get(w, "k-life", &v1alpha1.Cluster{}).Spec.APIEndpoint; got != second.Endpoint {
			t.Errorf("the virtual Cluster's endpoint is %s, want %s", got, second.Endpoint)
		}
	})

	t.Run("missing credentials cost nothing that is there", func(t *testing.T) {
		w.secretData("life", nil)
		w.reconcile("life")
		w.wantInstance("life", "False/CredentialsMissing", "kairship-system/life", `no key "kubeconfig"`)
		if diff := cmp.Diff(second, w.reads(get(w, "k-life", &pediav1alpha2.PediaCluster{}))); diff != "" {
			t.Errorf("connection of the PediaCluster (-want +got):\n%s", diff)
		}
	})

	// The credentials are removed by now, so nothing below can depend on the instance.
	w.must(w.kube.Delete(t.Context(), instance))
	w.reconcile("life")
	w.wantInstance("life", "False/CleaningUp", `PediaCluster "k-life"`)
	if retry := w.indexCluster("k-life").RequeueAfter; retry <= 0 {
		t.Error("it is not checked again whether the PediaCluster is removed")
	}
	get(w, "life", &v1alpha1.Instance{}) // It waits for the rows.

	w.cleanUp("k-life")
	w.reconcile("life")
	w.gone("life", &v1alpha1.Instance{})
	w.gone("k-life", &v1alpha1.Cluster{})
	w.gone("k-life", &pediav1alpha2.PediaCluster{})
	w.noSecret("kairship-k-life")
	if err := w.kube.Get(t.Context(), client.ObjectKey{Namespace: "kairship-system", Name: "life"}, &corev1.Secret{}); err != nil {
		t.Errorf("the Secret is not ours and must stay: %v", err)
	}

	t.Run("the same name again is another instance", func(t *testing.T) {
		w.secret("life", "kubeconfig", first)
		again := w.instance("life", "kubeconfig")
		w.reconcile("life")
		if got := get(w, "k-life", &v1alpha1.Cluster{}).Labels["kairship.io/owner-uid"]; got != string(again.UID) {
			t.Errorf("the virtual Cluster belongs to %s, want %s", got, again.UID)
		}
	})
}

func TestInstanceWithAKeyOfItsOwn(t *testing.T) {
	w := newWorld(t)
	w.secret("own-key", "admin.conf", first)
	w.instance("own-key", "admin.conf")
	w.reconcile("own-key")
	if diff := cmp.Diff(first, w.reads(get(w, "k-own-key", &pediav1alpha2.PediaCluster{}))); diff != "" {
		t.Errorf("connection of the PediaCluster (-want +got):\n%s", diff)
	}
}

func TestManagedInstanceWaitsForItsInstallation(t *testing.T) {
	w := newWorld(t)
	instance := &v1alpha1.Instance{
		ObjectMeta: metav1.ObjectMeta{Name: "managed"},
		Spec:       v1alpha1.InstanceSpec{Mode: v1alpha1.InstanceModeManaged, HostCluster: "m1"},
	}
	w.must(w.kube.Create(t.Context(), instance))
	w.reconcile("managed")
	w.wantInstance("managed", "Unknown/Pending", "before it is installed")
	w.gone("k-managed", &v1alpha1.Cluster{})

	w.secret("managed", "kubeconfig", first)
	get(w, "managed", instance)
	instance.Status.KubeconfigSecretRef = &v1alpha1.SecretKeyReference{SecretReference: v1alpha1.SecretReference{Namespace: "kairship-system", Name: "managed"}, Key: "kubeconfig"}
	w.must(w.kube.Status().Update(t.Context(), instance))
	w.reconcile("managed")
	get(w, "k-managed", &pediav1alpha2.PediaCluster{})
}

func TestPhysicalClusterIsCollectedAndRemoved(t *testing.T) {
	w := newWorld(t)
	ca := apitest.Config(t).CAData
	w.secretData("phys", map[string][]byte{"token": []byte("t\n"), "caBundle": ca})
	cluster := w.physical("phys", "https://10.0.0.3:6443")
	w.indexCluster("phys")
	pedia := get(w, "phys", &pediav1alpha2.PediaCluster{})
	if diff := cmp.Diff(connection.Connection{Endpoint: "https://10.0.0.3:6443", Token: "t", CAData: ca}, w.reads(pedia)); diff != "" {
		t.Errorf("connection of the PediaCluster (-want +got):\n%s", diff)
	}
	w.takeUp("phys")
	w.indexCluster("phys")
	w.wantCluster("phys", "True/Collecting", "collects 16 kinds")

	t.Run("another endpoint and a proxy arrive", func(t *testing.T) {
		patch := client.MergeFrom(get(w, "phys", cluster).DeepCopy())
		cluster.Spec.APIEndpoint, cluster.Spec.ProxyURL = "https://m1.example.com", "socks5://proxy:1080"
		w.must(w.kube.Patch(t.Context(), cluster, patch))
		w.indexCluster("phys")
		want := connection.Connection{Endpoint: "https://m1.example.com", Token: "t", CAData: ca, ProxyURL: "socks5://proxy:1080"}
		if diff := cmp.Diff(want, w.reads(get(w, "phys", &pediav1alpha2.PediaCluster{}))); diff != "" {
			t.Errorf("connection of the PediaCluster (-want +got):\n%s", diff)
		}
	})

	t.Run("settings that are not ours survive", func(t *testing.T) {
		sharding := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"shardingName":"s1"},"metadata":{"labels":{"team":"x"}}}`))
		w.must(w.kube.Patch(t.Context(), pedia, sharding))
		w.secretData("phys", map[string][]byte{"token": []byte("rotated"), "caBundle": ca})
		w.indexCluster("phys")
		stored := &unstructured.Unstructured{}
		stored.SetGroupVersionKind(pediav1alpha2.SchemeGroupVersion.WithKind("PediaCluster"))
		get(w, "phys", stored)
		if name, _, _ := unstructured.NestedString(stored.Object, "spec", "shardingName"); name != "s1" || stored.GetLabels()["team"] != "x" {
			t.Errorf("shardingName is %q and the labels are %v after an update", name, stored.GetLabels())
		}
		if got := w.reads(get(w, "phys", &pediav1alpha2.PediaCluster{})).Token; got != "rotated" {
			t.Errorf("the token is %q", got)
		}
	})

	w.must(w.kube.Delete(t.Context(), cluster))
	w.indexCluster("phys")
	w.wantCluster("phys", "False/CleaningUp")
	w.collectedWith("kairship-phys") // Clusterpedia may still need it.
	w.cleanUp("phys")
	w.indexCluster("phys")
	w.gone("phys", &v1alpha1.Cluster{})
	w.noSecret("kairship-phys")
}

func TestDeletedObjectsAreMadeAgain(t *testing.T) {
	w := newWorld(t)
	w.secret("again", "kubeconfig", first)
	w.instance("again", "kubeconfig")
	w.reconcile("again")
	if reported := w.reported("VirtualClusterCreated"); reported > 0 {
		t.Errorf("%d events tell that a new Instance has a virtual Cluster, which is no news", reported)
	}
	w.takeUp("k-again")
	w.reconcile("again")

	w.must(w.kube.Delete(t.Context(), get(w, "k-again", &pediav1alpha2.PediaCluster{})))
	w.reconcile("again")
	w.wantCluster("k-again", "False/CleaningUp")
	w.cleanUp("k-again")
	w.reconcile("again")
	if pedia := get(w, "k-again", &pediav1alpha2.PediaCluster{}); !pedia.DeletionTimestamp.IsZero() {
		t.Error("the PediaCluster was not made again")
	}

	old := get(w, "k-again", &v1alpha1.Cluster{})
	w.must(w.kube.Delete(t.Context(), old))
	w.reconcile("again")
	w.reconcile("again")
	if now := get(w, "k-again", &v1alpha1.Cluster{}); now.UID == old.UID {
		t.Error("the Cluster was not made again")
	}
	if reported := w.reported("VirtualClusterCreated"); reported != 1 {
		t.Errorf("%d events tell that it was made again, want 1", reported)
	}
	w.wantInstance("again", "Unknown/Pending")
}
