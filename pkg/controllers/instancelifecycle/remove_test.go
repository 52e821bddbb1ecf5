package instancelifecycle_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	operatorv1alpha1 "github.com/karmada-io/karmada/operator/pkg/apis/operator/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/projection"
)

// deleted has an Instance uninstall its Karmada when it is deleted.
func deleted(s *v1alpha1.InstanceSpec) { s.DeletionPolicy = v1alpha1.DeletionPolicyDelete }

func (w *world) delete(name string) {
	w.Helper()
	w.must(w.kube.Delete(w.Context(), w.instance(name)))
}

func (w *world) instanceGone(name string) {
	w.Helper()
	if err := w.kube.Get(w.Context(), client.ObjectKey{Name: name}, &v1alpha1.Instance{}); client.IgnoreNotFound(err) != nil || err == nil {
		w.Errorf("Instance %s is there: %v", name, err)
	}
}

// TestDelete uninstalls, after the others and before the Instance goes.
func TestDelete(t *testing.T) {
	w := newWorld(t)
	w.reached("d1")
	w.managed("removed", "d1", deleted)
	w.install("removed")
	w.edit("removed", func(i *v1alpha1.Instance) { controllerutil.AddFinalizer(i, v1alpha1.InstanceAccessFinalizer) })
	w.reported()

	w.wantRecorded("removed", projection.ActivityCreate)
	w.delete("removed")
	w.reconcileUntilDone("removed")
	w.removable("removed", "False/CleaningUpFirst", v1alpha1.InstanceAccessFinalizer)
	w.wantRecorded("removed")
	if !w.karmada("removed").DeletionTimestamp.IsZero() {
		t.Fatal("it is uninstalled while access rules are taken out of it")
	}

	w.edit("removed", func(i *v1alpha1.Instance) { controllerutil.RemoveFinalizer(i, v1alpha1.InstanceAccessFinalizer) })
	if result := w.reconcileUntilDone("removed"); result.RequeueAfter == 0 {
		t.Error("it is not reported when it takes too long")
	}
	w.removable("removed", "True/Removable")
	w.installed("removed", "False/Uninstalling", `from cluster "d1"`)
	if w.karmada("removed").DeletionTimestamp.IsZero() {
		t.Fatal("the operator is not asked to uninstall")
	}
	w.judge("removed", metav1.ConditionFalse, "Failed", "the host does not answer")
	w.now = time.Now().Add(11 * time.Minute)
	w.reconcileUntilDone("removed")
	w.installed("removed", "False/UninstallStuck", "not uninstalled Karmada k-removed/removed within 10m0s", "the host does not answer", v1alpha1.ForceDeleteAnnotation)
	get(w, hostSecretOf("removed"), &corev1.Secret{}) // The operator needs it for as long as it tries.

	w.uninstalled("removed")
	w.reconcile("removed")
	w.instanceGone("removed")
	w.gone(karmadaOf("removed"), &operatorv1alpha1.Karmada{})
	w.gone(hostSecretOf("removed"), &corev1.Secret{})
	w.gone(client.ObjectKey{Name: "k-removed"}, &corev1.Namespace{})
	get(w, client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: "d1"}, &corev1.Secret{}) // The Cluster's own.
	get(w, client.ObjectKey{Name: "d1"}, &v1alpha1.Cluster{})
	w.wantRecorded("removed", projection.ActivityDelete)
	reported := w.reported()
	for _, part := range []string{"Normal KarmadaDeleted", "Warning UninstallStuck"} {
		if strings.Count(reported, part) != 1 {
			t.Errorf("there is not one event %q:\n%s", part, reported)
		}
	}
}

// TestDeleteBeforeItBegan removes what was made, and no more.
func TestDeleteBeforeItBegan(t *testing.T) {
	for _, policy := range []v1alpha1.DeletionPolicy{v1alpha1.DeletionPolicyDelete, v1alpha1.DeletionPolicyRetain} {
		t.Run(string(policy), func(t *testing.T) {
			w := newWorld(t)
			name := "early-" + strings.ToLower(string(policy))
			w.reached("d-" + name)
			w.managed(name, "d-"+name, func(s *v1alpha1.InstanceSpec) { s.DeletionPolicy = policy })
			w.fail = func(verb string) error {
				if verb == "apply" {
					return errors.New("the process is dead")
				}
				return nil
			}
			if _, err := w.reconciler.Reconcile(t.Context(), requestOf(name)); err == nil {
				t.Fatal("the Karmada was applied")
			}
			w.fail = nil
			get(w, hostSecretOf(name), &corev1.Secret{})
			w.delete(name)
			w.reconcile(name)
			w.instanceGone(name)
			w.gone(hostSecretOf(name), &corev1.Secret{})
			w.gone(client.ObjectKey{Name: "k-" + name}, &corev1.Namespace{})
		})
	}
}

// TestDeleteLeavesOthersAlone: a namespace goes with everything in it.
func TestDeleteLeavesOthersAlone(t *testing.T) {
	w := newWorld(t)
	w.reached("d2")
	w.managed("crowded", "d2", deleted)
	w.install("crowded")
	theirs := &operatorv1alpha1.Karmada{ObjectMeta: metav1.ObjectMeta{Namespace: "k-crowded", Name: "theirs"}}
	w.must(w.kube.Create(t.Context(), theirs))
	w.delete("crowded")
	w.reconcileUntilDone("crowded")
	w.uninstalled("crowded")
	w.reconcile("crowded")
	w.instanceGone("crowded")
	get(w, client.ObjectKeyFromObject(theirs), theirs)
	if namespace := get(w, client.ObjectKey{Name: "k-crowded"}, &corev1.Namespace{}); !namespace.DeletionTimestamp.IsZero() {
		t.Error("the namespace is deleted, and another owner's Karmada with it")
	}
}

// TestDeleteLeavesSecretsAlone checks that Secrets keep a namespace from being deleted, except
// those that Kubernetes creates automatically.
func TestDeleteLeavesSecretsAlone(t *testing.T) {
	for _, c := range []struct {
		name   string
		secret metav1.ObjectMeta
		stays  bool
	}{
		{"theirs", metav1.ObjectMeta{Name: "theirs"}, true},
		{"helms", metav1.ObjectMeta{Name: "theirs", Labels: map[string]string{"app.kubernetes.io/managed-by": "Helm"}}, true},
		{"operators", metav1.ObjectMeta{Name: "etcd-cert", Labels: map[string]string{"app.kubernetes.io/managed-by": "karmada-operator"}}, false},
		{"published", metav1.ObjectMeta{Name: "published-karmada-admin-config"}, false},
		{"token", metav1.ObjectMeta{Name: "default-token", Annotations: map[string]string{corev1.ServiceAccountNameKey: "default"}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.reached("s-" + c.name)
			w.managed(c.name, "s-"+c.name, deleted)
			w.install(c.name)
			secret := &corev1.Secret{ObjectMeta: c.secret}
			secret.Namespace = "k-" + c.name
			w.must(w.kube.Create(t.Context(), secret))
			w.delete(c.name)
			w.reconcileUntilDone(c.name)
			w.uninstalled(c.name)
			w.reported()
			w.reconcile(c.name)
			w.instanceGone(c.name)
			reported := w.reported()
			if !c.stays {
				w.gone(client.ObjectKey{Name: "k-" + c.name}, &corev1.Namespace{})
				return
			}
			get(w, client.ObjectKeyFromObject(secret), secret)
			namespace := get(w, client.ObjectKey{Name: "k-" + c.name}, &corev1.Namespace{})
			if !namespace.DeletionTimestamp.IsZero() || namespace.Labels[v1alpha1.OwnerUIDLabel] != "" {
				t.Errorf("the namespace is not let go: %+v", namespace.ObjectMeta)
			}
			if strings.Count(reported, "Warning NamespaceLeft") != 1 || !strings.Contains(reported, "Secret theirs") {
				t.Errorf("no event is sent:\n%s", reported)
			}
		})
	}
}

// TestDeleteLeavesWhatItMayNotSee checks that a namespace is kept when Kairship may not list its
// Secrets, because it cannot know that there are none. Where Kairship is known not to have the
// permission, it does not ask.
func TestDeleteLeavesWhatItMayNotSee(t *testing.T) {
	for name, known := range map[string]bool{"unseen": false, "unread": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.reached("d9-" + name)
			w.managed(name, "d9-"+name, deleted)
			w.install(name)
			w.delete(name)
			w.reconcileUntilDone(name)
			w.uninstalled(name)
			direct, ok := w.kube.(client.WithWatch)
			if !ok {
				t.Fatalf("%T cannot watch", w.kube)
			}
			asked := false
			w.reconciler.Live = interceptor.NewClient(direct, interceptor.Funcs{
				List: func(ctx context.Context, c client.WithWatch, of client.ObjectList, opts ...client.ListOption) error {
					if _, secrets := of.(*metav1.PartialObjectMetadataList); secrets {
						asked = true
						return apierrors.NewForbidden(corev1.Resource("secrets"), "", errors.New("no"))
					}
					return c.List(ctx, of, opts...)
				},
			})
			if known {
				w.reconciler.Credentials.Namespaces = []string{v1alpha1.SystemNamespace}
			}
			w.reported()
			w.reconcile(name)
			w.instanceGone(name)
			if namespace := get(w, client.ObjectKey{Name: "k-" + name}, &corev1.Namespace{}); !namespace.DeletionTimestamp.IsZero() {
				t.Error("the namespace is deleted")
			}
			if reported := w.reported(); !strings.Contains(reported, "Warning NamespaceLeft") {
				t.Errorf("no event is sent:\n%s", reported)
			}
			if asked == known {
				t.Errorf("asked: %t", asked)
			}
		})
	}
}

// TestDeleteLeavesTheNamespaceOfOthersAlone: what was there before is not Kairship's,
// empty or not.
func TestDeleteLeavesTheNamespaceOfOthersAlone(t *testing.T) {
	w := newWorld(t)
	w.must(w.kube.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "k-before"}}))
	w.reached("d8")
	w.managed("before", "d8", deleted)
	w.reconcileUntilDone("before")
	w.installed("before", "False/NameTaken", "Namespace")
	w.delete("before")
	w.reconcile("before")
	w.instanceGone("before")
	if namespace := get(w, client.ObjectKey{Name: "k-before"}, &corev1.Namespace{}); !namespace.DeletionTimestamp.IsZero() {
		t.Error("the namespace is deleted")
	}
}

// TestRetain lets the Karmada go, whichever write was the last of a process; the
// next Instance of its name takes it over.
func TestRetain(t *testing.T) {
	w := newWorld(t)
	w.reached("d3")
	w.reached("d4")
	w.managed("kept", "d3")
	w.install("kept")
	before := w.karmada("kept")

	w.delete("kept")
	// The Karmada, the Secret, the namespace, the finalizer; one write in a life.
	lives, err := 0, errors.New("it has not begun")
	for ; err != nil && lives < 10; lives++ {
		w.diesAfter(1)
		_, err = w.reconciler.Reconcile(t.Context(), requestOf("kept"))
	}
	if err != nil || lives < 4 {
		t.Fatalf("it took %d lives, and the last one ended with %v", lives, err)
	}
	w.fail = nil
	w.instanceGone("kept")
	after := w.karmada("kept")
	if !after.DeletionTimestamp.IsZero() || after.Generation != before.Generation {
		t.Error("the Karmada was changed or deleted")
	}
	if after.Labels[v1alpha1.OwnerUIDLabel] != "" || after.Annotations[v1alpha1.RetainedAnnotation] != "d3" {
		t.Errorf("its labels are %v, its annotations %v", after.Labels, after.Annotations)
	}
	get(w, hostSecretOf("kept"), &corev1.Secret{})
	if got := strings.Count(w.reported(), "Normal Retained"); got != 1 {
		t.Errorf("%d events tell that it stays", got)
	}

	t.Run("not by an Instance on another host", func(t *testing.T) {
		w.managed("kept", "d4")
		w.reconcileUntilDone("kept")
		w.installed("kept", "False/NameTaken", "Karmada")
		w.delete("kept")
		w.reconcile("kept")
		w.instanceGone("kept")
		if now := w.karmada("kept"); now.Generation != before.Generation || !now.DeletionTimestamp.IsZero() || now.Annotations[v1alpha1.RetainedAnnotation] != "d3" {
			t.Errorf("the Karmada was touched: %+v", now.ObjectMeta)
		}
	})
	t.Run("but by one on the same", func(t *testing.T) {
		w.reported()
		again := w.managed("kept", "d3", deleted)
		w.reconcileUntilDone("kept")
		w.installed("kept", "True/Installed")
		now := w.karmada("kept")
		if now.UID != before.UID || now.Labels[v1alpha1.OwnerUIDLabel] != string(again.UID) || now.Annotations[v1alpha1.RetainedAnnotation] != "" {
			t.Errorf("it is not taken over: %+v", now.ObjectMeta)
		}
		if reported := w.reported(); !strings.Contains(reported, "KarmadaTakenOver") {
			t.Errorf("no event is sent:\n%s", reported)
		}
		if w.instance("kept").CredentialsRef() == nil {
			t.Error("its credentials are not picked up")
		}
		w.delete("kept")
		w.reconcileUntilDone("kept")
		w.uninstalled("kept")
		w.reconcile("kept")
		w.instanceGone("kept")
		w.gone(hostSecretOf("kept"), &corev1.Secret{})
		w.gone(client.ObjectKey{Name: "k-kept"}, &corev1.Namespace{})
	})
}

// oldServer is an API server of before Kubernetes 1.31.
type oldServer struct{ client.Reader }

func (s oldServer) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if selector := new(client.ListOptions).ApplyOptions(opts).FieldSelector; selector != nil {
		return apierrors.NewBadRequest("field label not supported: " + selector.String())
	}
	return s.Reader.List(ctx, list, opts...)
}

// TestJoinedClustersKeepAnInstance, Managed or not, until they have left it or
// the spec says otherwise.
func TestJoinedClustersKeepAnInstance(t *testing.T) {
	w := newWorld(t)
	external := func(name string) {
		w.must(w.kube.Create(t.Context(), &v1alpha1.Instance{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: v1alpha1.InstanceSpec{Mode: v1alpha1.InstanceModeExternal, KubeconfigSecretRef: &v1alpha1.SecretKeyReference{
				SecretReference: v1alpha1.SecretReference{Name: name},
			}},
		}))
		w.reconcileUntilDone(name)
	}
	join := func(name, instance string) *v1alpha1.Cluster {
		cluster := w.host(name)
		cluster.Spec.InstanceRef = &v1alpha1.InstanceReference{Name: instance}
		w.must(w.kube.Update(t.Context(), cluster))
		return cluster
	}

	t.Run("until they have left", func(t *testing.T) {
		external("joined")
		one, two := join("j2", "joined"), join("j1", "joined")
		join("j3", "another")
		w.delete("joined")
		w.reconcileUntilDone("joined")
		w.removable("joined", "False/ClustersJoined", "joined to it: j1, j2.", "unjoinCluster", v1alpha1.ForceDeleteAnnotation)

		w.must(w.kube.Delete(t.Context(), two))
		one.Spec.InstanceRef = nil
		w.must(w.kube.Update(t.Context(), one))
		one.Status.Membership = &v1alpha1.ClusterMembership{Instance: "joined"}
		w.must(w.kube.Status().Update(t.Context(), one))
		w.reconcileUntilDone("joined")
		w.removable("joined", "False/ClustersJoined", "joined to it: j2.") // It has not left yet.

		one.Status.Membership = nil
		w.must(w.kube.Status().Update(t.Context(), one))
		w.reconcile("joined")
		w.instanceGone("joined")
	})
	t.Run("also where fields of custom resources cannot be selected", func(t *testing.T) {
		live := w.reconciler.Live
		defer func() { w.reconciler.Live = live }()
		w.reconciler.Live = oldServer{live}
		external("joined-of-old")
		cluster := join("j6", "joined-of-old")
		w.delete("joined-of-old")
		w.reconcileUntilDone("joined-of-old")
		w.removable("joined-of-old", "False/ClustersJoined", "joined to it: j6.")
		w.must(w.kube.Delete(t.Context(), cluster))
		w.reconcile("joined-of-old")
		w.instanceGone("joined-of-old")
	})
	t.Run("or the spec says otherwise", func(t *testing.T) {
		external("forced")
		cluster := join("j4", "forced")
		before := cluster.ResourceVersion
		w.delete("forced")
		w.reconcileUntilDone("forced")
		w.edit("forced", func(i *v1alpha1.Instance) { i.Annotations = map[string]string{v1alpha1.ForceDeleteAnnotation: "true"} })
		w.reconcile("forced")
		w.instanceGone("forced")
		if now := get(w, client.ObjectKey{Name: "j4"}, cluster); now.ResourceVersion != before {
			t.Error("the cluster was changed")
		}
	})
	t.Run("a Managed one is not uninstalled meanwhile", func(t *testing.T) {
		w.reached("d5")
		w.managed("joined-managed", "d5", deleted)
		w.install("joined-managed")
		cluster := join("j5", "joined-managed")
		w.delete("joined-managed")
		w.reconcileUntilDone("joined-managed")
		w.removable("joined-managed", "False/ClustersJoined", "j5")
		if !w.karmada("joined-managed").DeletionTimestamp.IsZero() {
			t.Fatal("it is uninstalled under its clusters")
		}
		w.must(w.kube.Delete(t.Context(), cluster))
		w.reconcileUntilDone("joined-managed")
		w.installed("joined-managed", "False/Uninstalling")
	})
}

// TestForcedDeletionDoesNotWait checks that a forced deletion releases the Instance at once, and
// keeps the objects that the operator needs to finish.
func TestForcedDeletionDoesNotWait(t *testing.T) {
	w := newWorld(t)
	w.reached("d6")
	w.managed("hurried", "d6", deleted)
	w.install("hurried")
	w.edit("hurried", func(i *v1alpha1.Instance) {
		i.Annotations = map[string]string{v1alpha1.ForceDeleteAnnotation: "true"}
	})
	w.delete("hurried")
	w.reported()
	w.reconcile("hurried")
	w.instanceGone("hurried")
	if w.karmada("hurried").DeletionTimestamp.IsZero() {
		t.Error("the operator is not asked to uninstall")
	}
	get(w, hostSecretOf("hurried"), &corev1.Secret{})
	if reported := w.reported(); !strings.Contains(reported, "Warning NotWaitedFor") || !strings.Contains(reported, "k-hurried-host") {
		t.Errorf("no event says what stays:\n%s", reported)
	}
}

// TestAUserDeletesTheKarmada: it is made again once it is deleted.
func TestAUserDeletesTheKarmada(t *testing.T) {
	w := newWorld(t)
	w.reached("d7")
	w.managed("restored", "d7")
	w.install("restored")
	w.must(w.kube.Delete(t.Context(), w.karmada("restored")))
	w.reconcileUntilDone("restored")
	w.installed("restored", "False/Uninstalling", "was deleted, and the operator uninstalls it")
	w.uninstalled("restored")
	w.reconcileUntilDone("restored")
	w.installed("restored", "Unknown/Pending")
	w.install("restored")
}
