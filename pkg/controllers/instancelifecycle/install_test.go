package instancelifecycle_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/projection"
)

// TestInstallation follows an Instance from nothing to its kubeconfig.
func TestInstallation(t *testing.T) {
	w := newWorld(t)
	w.managed("fresh", "h1")
	w.reconcileUntilDone("fresh")
	w.installed("fresh", "False/HostClusterMissing", `no Physical Cluster "h1"`)
	w.gone(client.ObjectKey{Name: "k-fresh"}, &corev1.Namespace{})

	cluster := w.host("h1")
	w.reconcileUntilDone("fresh")
	w.installed("fresh", "False/HostClusterNotReady", "not been reached yet")

	w.is(cluster, "uid-of-h1")
	if result := w.reconcileUntilDone("fresh"); result.RequeueAfter != 0 {
		t.Errorf("it looks again after %s, though the operator's word is watched", result.RequeueAfter)
	}
	w.installed("fresh", "Unknown/Pending", "whether it runs")
	karmada := w.karmada("fresh")
	ref := karmada.Spec.HostCluster.SecretRef
	if got, want := karmada.Spec.HostCluster.APIEndpoint, "h1.example.com:6443"; got != want || ref == nil || ref.Namespace != "kairship-system" || ref.Name != "k-fresh-host" {
		t.Errorf("the operator is told endpoint %q and Secret %+v", got, ref)
	}
	if len(karmada.OwnerReferences) > 0 {
		t.Error("the garbage collector would uninstall what is to be retained")
	}
	kubeconfig, err := clientcmd.Load(get(w, hostSecretOf("fresh"), &corev1.Secret{}).Data["kubeconfig"])
	w.must(err)
	current := kubeconfig.Contexts[kubeconfig.CurrentContext]
	if got := kubeconfig.AuthInfos[current.AuthInfo].Token; got != token {
		t.Errorf("the operator gets the token %q", got)
	}

	w.takeUp("fresh")
	w.reconcileUntilDone("fresh")
	w.judge("fresh", metav1.ConditionFalse, "Progressing", "karmada init job is in progressing")
	if result := w.reconcileUntilDone("fresh"); result.RequeueAfter == 0 {
		t.Error("it is not checked how far the operator has got")
	}
	w.installed("fresh", "False/Installing", "karmada init job is in progressing")

	w.judge("fresh", metav1.ConditionFalse, "Failed", "failed to install etcd component, err: no storage")
	w.reconcileUntilDone("fresh")
	w.installed("fresh", "False/InstallationFailed", "no storage")
	w.judge("fresh", metav1.ConditionFalse, "Progressing", "karmada init job is in progressing")
	w.reconcileUntilDone("fresh")
	w.installed("fresh", "False/InstallationFailed", "no storage") // It tries again, and may fail again.

	if w.instance("fresh").CredentialsRef() != nil {
		t.Error("there are credentials before the operator publishes any")
	}
	w.judge("fresh", metav1.ConditionTrue, "Completed", "karmada init job is completed")
	if result := w.reconcileUntilDone("fresh"); result.RequeueAfter != 0 {
		t.Errorf("it looks again after %s, though nothing is open", result.RequeueAfter)
	}
	w.installed("fresh", "True/Installed", `Karmada k-fresh/fresh on cluster "h1"`)
	want := &v1alpha1.SecretKeyReference{SecretReference: v1alpha1.SecretReference{Namespace: "k-fresh", Name: "fresh-karmada-admin-config"}, Key: "karmada.config"}
	if diff := cmp.Diff(want, w.instance("fresh").CredentialsRef()); diff != "" {
		t.Errorf("where its credentials are (-want +got):\n%s", diff)
	}

	reported := w.reported()
	for _, part := range []string{"HostClusterMissing", "HostClusterNotReady", "KarmadaCreated", "InstallationFailed", "Normal Installed"} {
		if strings.Count(reported, " "+strings.TrimPrefix(part, "Normal ")+" ") != 1 {
			t.Errorf("there is not one event %s:\n%s", part, reported)
		}
	}
	if strings.Contains(reported, token) {
		t.Errorf("an event tells the token:\n%s", reported)
	}
	w.wantRecorded("fresh", projection.ActivityCreate)
}

// TestChange: what is changed reaches the operator, and is not done before it says so.
func TestChange(t *testing.T) {
	w := newWorld(t)
	w.reached("h2")
	w.managed("changed", "h2", func(s *v1alpha1.InstanceSpec) {
		s.Components = &v1alpha1.InstanceComponents{
			Scheduler:   &v1alpha1.ComponentSettings{Replicas: new(int32(3))},
			Descheduler: &v1alpha1.DeschedulerSettings{Enabled: true},
		}
	})
	w.install("changed")
	w.reported()
	if got := *w.karmada("changed").Spec.Components.KarmadaScheduler.Replicas; got != 3 {
		t.Fatalf("the scheduler has %d replicas", got)
	}

	t.Run("an alias concerns no other", func(*testing.T) {
		before := w.karmada("changed").ResourceVersion
		w.edit("changed", func(i *v1alpha1.Instance) { i.Spec.Alias = "Changed" })
		w.reconcileUntilDone("changed")
		w.installed("changed", "True/Installed")
		if got := w.karmada("changed").ResourceVersion; got != before {
			t.Error("the Karmada was written")
		}
	})

	t.Run("another version is another image", func(*testing.T) {
		w.edit("changed", func(i *v1alpha1.Instance) {
			i.Spec.KarmadaVersion = "v1.18.2"
			i.Spec.Components.Scheduler = nil
		})
		w.reconcileUntilDone("changed")
		w.installed("changed", "False/Updating", "not taken up the last change")
		if w.instance("changed").CredentialsRef() == nil {
			t.Error("the credentials of what serves are removed")
		}
		karmada := w.karmada("changed")
		if got := karmada.Spec.Components.KarmadaScheduler.ImageTag; got != "v1.18.2" {
			t.Errorf("the scheduler's image is %q", got)
		}
		if got := karmada.Spec.Components.KarmadaScheduler.Replicas; got != nil {
			t.Errorf("the scheduler has %d replicas; what is left out goes back to the operator's default", *got)
		}
		w.takeUp("changed")
		w.reconcileUntilDone("changed")
		if got := *w.karmada("changed").Spec.Components.KarmadaScheduler.Replicas; got != 1 {
			t.Errorf("the operator's default is %d", got)
		}
		w.judge("changed", metav1.ConditionFalse, "Progressing", "in progressing")
		w.reconcileUntilDone("changed")
		w.installed("changed", "False/Updating", "in progressing")
		w.judge("changed", metav1.ConditionFalse, "Failed", "no such image")
		w.reconcileUntilDone("changed")
		w.installed("changed", "False/UpdateFailed", "no such image")
		w.judge("changed", metav1.ConditionTrue, "Completed", "done")
		w.reconcileUntilDone("changed")
		w.installed("changed", "True/Installed")
	})

	t.Run("what others change is put right", func(*testing.T) {
		karmada := w.karmada("changed")
		karmada.Spec.Components.KarmadaDescheduler.Replicas = new(int32(7))
		karmada.Spec.Components.KarmadaScheduler.Replicas = new(int32(5)) // Not ours to say.
		delete(karmada.Labels, v1alpha1.InstanceLabel)
		karmada.Labels["team"] = "x"
		w.must(w.kube.Update(t.Context(), karmada))
		w.reconcileUntilDone("changed")
		// Without its label it is not known as the Instance's any more.
		w.installed("changed", "False/NameTaken", "Karmada", "left alone")
		karmada = w.karmada("changed")
		karmada.Labels[v1alpha1.InstanceLabel] = "changed"
		w.must(w.kube.Update(t.Context(), karmada))
		w.reconcileUntilDone("changed")
		karmada = w.karmada("changed")
		if got := *karmada.Spec.Components.KarmadaDescheduler.Replicas; got != 1 {
			t.Errorf("the descheduler has %d replicas", got)
		}
		if got := *karmada.Spec.Components.KarmadaScheduler.Replicas; got != 5 || karmada.Labels["team"] != "x" {
			t.Errorf("what the Instance says nothing of was changed: %d replicas of the scheduler, labels %v", got, karmada.Labels)
		}
		w.judge("changed", metav1.ConditionTrue, "Completed", "done again")
		w.reconcileUntilDone("changed")
		w.installed("changed", "True/Installed")
	})

	reported := w.reported()
	if got := strings.Count(reported, "KarmadaChanged"); got != 2 {
		t.Errorf("%d changes are told, want 2:\n%s", got, reported)
	}
}

// TestHost: what becomes of the host becomes known to the operator, and takes
// nothing away.
func TestHost(t *testing.T) {
	w := newWorld(t)
	cluster := w.reached("h3")
	w.managed("hosted", "h3")
	w.install("hosted")

	t.Run("new credentials reach the operator", func(t *testing.T) {
		w.hostToken("h3", "rotated-"+token)
		w.reconcileUntilDone("hosted")
		if data := string(get(w, hostSecretOf("hosted"), &corev1.Secret{}).Data["kubeconfig"]); !strings.Contains(data, "rotated-"+token) {
			t.Error("the operator still has the old token")
		}
		reported := w.reported()
		if !strings.Contains(reported, "HostCredentialsUpdated") || strings.Contains(reported, token) {
			t.Errorf("the events are\n%s", reported)
		}
		w.installed("hosted", "True/Installed")
	})
	t.Run("credentials that may lead to another cluster wait", func(t *testing.T) {
		w.reconciler.Credentials.ProvenOnly = true
		w.hostToken("h3", "unproven-"+token)
		w.reconcileUntilDone("hosted")
		operators := func() string { return string(get(w, hostSecretOf("hosted"), &corev1.Secret{}).Data["kubeconfig"]) }
		if !strings.Contains(operators(), "rotated-"+token) {
			t.Error("the operator has credentials that may lead to another cluster")
		}
		w.installed("hosted", "True/Installed", "condition Identified")
		w.must(w.kube.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster))
		to, err := w.reconciler.Credentials.OfCluster(t.Context(), cluster)
		w.must(err)
		cluster.Status.CredentialsFingerprint = to.Fingerprint()
		w.must(w.kube.Status().Update(t.Context(), cluster))
		w.reconcileUntilDone("hosted")
		if !strings.Contains(operators(), "unproven-"+token) {
			t.Error("the operator still has the old token")
		}
		w.reconciler.Credentials.ProvenOnly = false
	})
	t.Run("a copy that a user changed is put right", func(t *testing.T) {
		secret := get(w, hostSecretOf("hosted"), &corev1.Secret{})
		secret.Data["kubeconfig"] = []byte("nonsense")
		w.must(w.kube.Update(t.Context(), secret))
		w.reconcileUntilDone("hosted")
		if data := string(get(w, hostSecretOf("hosted"), &corev1.Secret{}).Data["kubeconfig"]); !strings.Contains(data, token) {
			t.Errorf("the copy is %q", data)
		}
	})
	t.Run("another endpoint is told", func(t *testing.T) {
		w.must(w.kube.Get(t.Context(), client.ObjectKey{Name: "h3"}, cluster))
		cluster.Spec.APIEndpoint = "https://10.1.2.3:6443"
		w.must(w.kube.Update(t.Context(), cluster))
		w.reconcileUntilDone("hosted")
		if got := w.karmada("hosted").Spec.HostCluster.APIEndpoint; got != "10.1.2.3:6443" {
			t.Errorf("the operator is told %q", got)
		}
		w.judge("hosted", metav1.ConditionTrue, "Completed", "done")
		w.reconcileUntilDone("hosted")
	})
	t.Run("lost credentials take nothing away", func(t *testing.T) {
		w.must(w.kube.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kairship-system", Name: "h3"}}))
		w.reconcileUntilDone("hosted")
		w.installed("hosted", "True/Installed", "there is no Secret kairship-system/h3")
		get(w, hostSecretOf("hosted"), &corev1.Secret{})
	})
	t.Run("a lost cluster takes nothing away", func(t *testing.T) {
		before := w.karmada("hosted").Generation
		w.must(w.kube.Delete(t.Context(), cluster))
		w.reconcileUntilDone("hosted")
		w.installed("hosted", "True/Installed", `no Physical Cluster "h3"`)
		if got := w.karmada("hosted"); got.Generation != before || got.Spec.HostCluster.SecretRef.Name != "k-hosted-host" {
			t.Errorf("the Karmada was changed: %+v", got.Spec.HostCluster)
		}
		if w.instance("hosted").CredentialsRef() == nil {
			t.Error("the credentials of what serves are removed")
		}
	})
}

// TestTheGlobalClusterAsHost: the operator needs no credentials for the cluster in
// which it runs, and the instance is reached inside of it.
func TestTheGlobalClusterAsHost(t *testing.T) {
	w := newWorld(t)
	system := get(w, client.ObjectKey{Name: "kube-system"}, &corev1.Namespace{})
	w.is(w.host("itself"), string(system.UID))
	w.managed("local", "itself")
	w.install("local")
	karmada := w.karmada("local")
	if ref := karmada.Spec.HostCluster.SecretRef; ref != nil && ref.Name != "" {
		t.Errorf("the operator is told to use the Secret %+v", ref)
	}
	if got := karmada.Spec.Components.KarmadaAPIServer.ServiceType; got != corev1.ServiceTypeClusterIP {
		t.Errorf("the Service is a %s", got)
	}
	w.gone(hostSecretOf("local"), &corev1.Secret{})
	w.reconcileUntilDone("local")
	w.installed("local", "True/Installed")
}

// TestNamesOfOthers checks that an object of another owner with the name is reported and not
// changed.
func TestNamesOfOthers(t *testing.T) {
	for _, c := range []struct {
		reason string
		name   string
		theirs client.Object
	}{
		{"a namespace without owner labels", "taken-ns", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "k-taken-ns"}}},
		{"a namespace of an earlier Instance", "taken-old", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "k-taken-old", Labels: map[string]string{
			v1alpha1.ManagedByLabel: v1alpha1.ManagedByValue, v1alpha1.InstanceLabel: "taken-old", v1alpha1.OwnerUIDLabel: "of-before",
		}}}},
		{"a Secret", "taken-secret", &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kairship-system", Name: "k-taken-secret-host"}}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := newWorld(t)
			w.reached("h-" + c.name)
			w.must(w.kube.Create(t.Context(), c.theirs))
			before := c.theirs.GetResourceVersion()
			w.managed(c.name, "h-"+c.name)
			w.reconcileUntilDone(c.name)
			w.installed(c.name, "False/NameTaken", c.theirs.GetName(), "left alone")
			w.must(w.kube.Get(t.Context(), client.ObjectKeyFromObject(c.theirs), c.theirs))
			if c.theirs.GetResourceVersion() != before {
				t.Error("it was changed")
			}
			w.must(w.kube.Delete(t.Context(), w.instance(c.name)))
			w.reconcile(c.name)
			w.gone(client.ObjectKey{Name: c.name}, &v1alpha1.Instance{})
			w.must(w.kube.Get(t.Context(), client.ObjectKeyFromObject(c.theirs), c.theirs))
			if !c.theirs.GetDeletionTimestamp().IsZero() {
				t.Error("it was deleted")
			}
		})
	}
}

// TestInterrupted: whichever write is the last of a process, the next one finishes.
func TestInterrupted(t *testing.T) {
	w := newWorld(t)
	w.reached("h4")
	const atLeast, most = 5, 20 // Finalizer, namespace, Secret, Karmada, status.
	for writes := 0; ; writes++ {
		name := fmt.Sprintf("interrupted-%d", writes)
		w.managed(name, "h4")
		died := w.diesAfter(writes)
		for range 5 {
			if _, err := w.reconciler.Reconcile(t.Context(), requestOf(name)); err != nil {
				break
			}
		}
		w.fail = nil
		w.reconcileUntilDone(name)
		w.installed(name, "Unknown/Pending")
		w.install(name)
		if !died() {
			if writes < atLeast {
				t.Errorf("there are no more than %d writes", writes)
			}
			break
		}
		if writes > most {
			t.Fatal("there is no end to the writes")
		}
	}
}

// TestExternal: an External Instance is kept, and nothing else is done with it.
func TestExternal(t *testing.T) {
	w := newWorld(t)
	w.must(w.kube.Create(t.Context(), &v1alpha1.Instance{
		ObjectMeta: metav1.ObjectMeta{Name: "external"},
		Spec: v1alpha1.InstanceSpec{Mode: v1alpha1.InstanceModeExternal, KubeconfigSecretRef: &v1alpha1.SecretKeyReference{
			SecretReference: v1alpha1.SecretReference{Name: "external"},
		}},
	}))
	w.reconcileUntilDone("external")
	if got := w.writes.Load(); got != 1 {
		t.Errorf("there were %d writes, want one: the finalizer", got)
	}
	if meta.FindStatusCondition(w.instance("external").Status.Conditions, v1alpha1.ConditionInstalled) != nil {
		t.Error("it says something of an installation")
	}
	w.gone(client.ObjectKey{Name: "k-external"}, &corev1.Namespace{})
}

// TestWithoutTheOperator checks that a missing operator is reported, and looked for again.
func TestWithoutTheOperator(t *testing.T) {
	w := newWorld(t)
	w.reached("h5")
	w.managed("no-operator", "h5")
	served := w.reconciler.Client
	w.reconciler.Client = ignorant{served}
	if result := w.reconcileUntilDone("no-operator"); result.RequeueAfter == 0 || result.RequeueAfter > time.Minute {
		t.Errorf("it looks again after %s", result.RequeueAfter)
	}
	w.installed("no-operator", "False/OperatorMissing", "install the Karmada operator")
	w.gone(client.ObjectKey{Name: "k-no-operator"}, &corev1.Namespace{})

	w.reconciler.Client = served
	w.reconcileUntilDone("no-operator")
	w.installed("no-operator", "Unknown/Pending")

	// Deleting the CRD has deleted every Karmada.
	w.reconciler.Client = ignorant{served}
	w.must(w.kube.Delete(t.Context(), w.instance("no-operator")))
	w.reconcile("no-operator")
	w.gone(client.ObjectKey{Name: "no-operator"}, &v1alpha1.Instance{})
}

// ignorant knows no kind.
type ignorant struct{ client.Client }

func (ignorant) RESTMapper() meta.RESTMapper { return meta.NewDefaultRESTMapper(nil) }
