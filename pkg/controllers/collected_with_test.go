package controllers_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/controllers"
)

// TestCredentialsOfEarlierReleases are moved out of the PediaCluster.
func TestCredentialsOfEarlierReleases(t *testing.T) {
	w := newWorld(t)
	w.secret("earlier", "kubeconfig", first)
	w.instance("earlier", "kubeconfig")
	w.reconcile("earlier")
	kubeconfig, err := first.Kubeconfig()
	w.must(err)
	pedia := get(w, "k-earlier", &pediav1alpha2.PediaCluster{})
	pedia.Annotations, pedia.Spec.AuthenticationFrom = nil, nil
	pedia.Spec.Kubeconfig, pedia.Spec.TokenData = kubeconfig, []byte("t")
	w.must(w.kube.Update(t.Context(), pedia))
	w.must(w.kube.Delete(t.Context(), w.collectedWith("kairship-k-earlier")))

	w.reconcile("earlier")
	if diff := cmp.Diff(first, w.reads(get(w, "k-earlier", &pediav1alpha2.PediaCluster{}))); diff != "" {
		t.Errorf("connection of the PediaCluster (-want +got):\n%s", diff)
	}
}

// TestSecretIsStoredAgain when Clusterpedia reports that it cannot use it.
func TestSecretIsStoredAgain(t *testing.T) {
	w := newWorld(t)
	w.secret("stored", "kubeconfig", first)
	w.instance("stored", "kubeconfig")
	w.reconcile("stored")
	reject := func() {
		pedia := get(w, "k-stored", &pediav1alpha2.PediaCluster{})
		meta.SetStatusCondition(&pedia.Status.Conditions, metav1.Condition{
			Type: pediav1alpha2.ValidatedCondition, Status: metav1.ConditionFalse, Reason: "InvalidConfig", Message: "not usable",
		})
		w.must(w.kube.Status().Update(t.Context(), pedia))
	}
	for reason, spoil := range map[string]func(*corev1.Secret) error{
		"deleted":     func(secret *corev1.Secret) error { return w.kube.Delete(t.Context(), secret) },
		"overwritten": func(secret *corev1.Secret) error { secret.Data = nil; return w.kube.Update(t.Context(), secret) },
	} {
		w.must(spoil(w.collectedWith("kairship-k-stored")))
		reject()
		w.reconcile("stored")
		if diff := cmp.Diff(first, w.reads(get(w, "k-stored", &pediav1alpha2.PediaCluster{}))); diff != "" {
			t.Errorf("connection after the Secret was %s (-want +got):\n%s", reason, diff)
		}
	}
}

// TestForeignSecretIsLeftAlone in the namespace of Clusterpedia.
func TestForeignSecretIsLeftAlone(t *testing.T) {
	for _, c := range foreignLabels {
		t.Run(c.reason, func(t *testing.T) {
			w := newWorld(t)
			foreign := &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: controllers.DefaultIndexNamespace, Name: "kairship-k-kept", Labels: c.labels},
				Data:       map[string][]byte{"kubeconfig": []byte("foreign")},
			}
			w.must(w.kube.Create(t.Context(), foreign))
			w.secret("kept", "kubeconfig", first)
			instance := w.instance("kept", "kubeconfig")
			w.reconcile("kept")
			w.wantCluster("k-kept", "False/NameTaken", `Secret "kairship-k-kept"`)
			w.gone("k-kept", &pediav1alpha2.PediaCluster{}) // It would be collected with credentials of others.

			w.must(w.kube.Delete(t.Context(), instance))
			w.reconcile("kept")
			if diff := cmp.Diff(foreign.Data, w.collectedWith("kairship-k-kept").Data); diff != "" {
				t.Errorf("the foreign Secret changed (-want +got):\n%s", diff)
			}
			w.must(w.kube.Delete(t.Context(), foreign))
		})
	}
}

// TestIndexNamespaceIsMissing names the flag that a person has to set.
func TestIndexNamespaceIsMissing(t *testing.T) {
	w := newWorld(t)
	w.index.Namespace = "nowhere"
	w.secret("homeless", "kubeconfig", first)
	w.instance("homeless", "kubeconfig")
	w.syncInstance("homeless")
	w.indexCluster("k-homeless")
	w.wantCluster("k-homeless", "False/CredentialsMissing", `"nowhere"`, "--index-namespace")
	if retry := w.indexCluster("k-homeless").RequeueAfter; retry <= 0 {
		t.Error("the namespace is not looked for again")
	}

	w.index.Namespace = "somewhere"
	w.must(client.IgnoreAlreadyExists(w.kube.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "somewhere"}})))
	w.reconcile("homeless")
	w.wantCluster("k-homeless", "Unknown/Pending")
}
