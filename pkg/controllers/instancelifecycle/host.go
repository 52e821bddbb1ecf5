package instancelifecycle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	operatorv1alpha1 "github.com/karmada-io/karmada/operator/pkg/apis/operator/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kairship-io/kairship/internal/excerpt"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers/instancelifecycle/conversion"
	"github.com/kairship-io/kairship/pkg/controllers/internal/finalizer"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
)

// hostSecretSuffix ends the name of the Secret with which the operator reaches the
// host cluster of an instance.
const hostSecretSuffix = "-host"

func hostSecret(instance string) v1alpha1.SecretReference {
	return v1alpha1.SecretReference{
		Namespace: v1alpha1.SystemNamespace, Name: v1alpha1.VirtualClusterName(instance) + hostSecretSuffix,
	}
}

// globalCluster remembers which cluster the global one is.
type globalCluster struct {
	mu  sync.Mutex
	uid types.UID
}

// id is the UID of the global cluster's namespace kube-system.
func (g *globalCluster) id(ctx context.Context, live client.Reader) (types.UID, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.uid == "" {
		namespace := &corev1.Namespace{}
		if err := live.Get(ctx, client.ObjectKey{Name: "kube-system"}, namespace); err != nil {
			return "", fmt.Errorf("read the namespace kube-system of the global cluster: %w", err)
		}
		g.uid = namespace.UID
	}
	return g.uid, nil
}

// hold keeps the Instance from vanishing before it may.
func (r *Reconciler) hold(ctx context.Context, s *scope) error {
	return finalizer.Hold(ctx, r.Client, s.instance, v1alpha1.LifecycleFinalizer)
}

func holds(instance *v1alpha1.Instance) bool {
	return controllerutil.ContainsFinalizer(instance, v1alpha1.LifecycleFinalizer)
}

// findOperator makes sure that the global cluster knows the operator's kind.
// Whether the operator runs is seen by what it does.
func (r *Reconciler) findOperator(_ context.Context, _ *scope) error {
	served, err := r.operatorServed()
	switch {
	case err != nil:
		return err
	case !served:
		return operatorMissing()
	}
	return r.karmadas.begin()
}

func operatorMissing() error {
	return &phase.Stop{Retry: whileMissing, Condition: v1alpha1.NotInstalled(v1alpha1.ReasonOperatorMissing,
		"The global cluster does not know the kind Karmada of operator.karmada.io: install the Karmada operator.")}
}

func (r *Reconciler) operatorServed() (bool, error) {
	_, err := r.Client.RESTMapper().RESTMapping(conversion.GVK.GroupKind(), conversion.GVK.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("find the kind of the Karmada operator: %w", err)
	}
	return true, nil
}

// findKarmada reads what the operator has been asked for.
func (r *Reconciler) findKarmada(ctx context.Context, s *scope) error {
	karmada := &operatorv1alpha1.Karmada{}
	key := client.ObjectKey{Namespace: conversion.Namespace(s.instance.Name), Name: s.instance.Name}
	var err error
	if !r.karmadas.find(ctx, key, karmada) {
		// What the cache has not heard of may still belong to another owner.
		err = r.Live.Get(ctx, key, karmada)
	}
	switch {
	case unserved(err):
		return operatorMissing()
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsForbidden(err):
		return &phase.Stop{Retry: whileMissing, Condition: v1alpha1.NotInstalled(v1alpha1.ReasonNotAllowed,
			"Kairship may not read what the operator was asked for; give its controllers the role of the chart: "+excerpt.Of(err.Error(), mostOfOperator))}
	case err != nil:
		return fmt.Errorf("read the Karmada of instance %q: %w", s.instance.Name, err)
	case !s.owner.Owns(karmada) && !retainedFor(karmada, s.instance):
		return &phase.Stop{Condition: v1alpha1.NotInstalled(v1alpha1.ReasonNameTaken, s.owner.Taken("Karmada", karmada))}
	case !karmada.DeletionTimestamp.IsZero():
		return &phase.Stop{Condition: v1alpha1.NotInstalled(v1alpha1.ReasonUninstalling,
			fmt.Sprintf("The Karmada %s/%s was deleted, and the operator uninstalls it. It is installed again when it no longer exists.", karmada.Namespace, karmada.Name))}
	}
	s.karmada = karmada
	return nil
}

// findHost finds out which cluster to install on, and whether it is the
// operator's own. A host that cannot be found any more is a reason to worry, but
// it takes nothing away from what is installed already.
func (r *Reconciler) findHost(ctx context.Context, s *scope) error {
	name := s.instance.Spec.HostCluster
	s.host.Secret = hostSecret(s.instance.Name)
	if s.karmada != nil {
		// Where it is installed was decided when it was asked for.
		s.host.Local = s.karmada.Spec.HostCluster == nil || s.karmada.Spec.HostCluster.SecretRef == nil || s.karmada.Spec.HostCluster.SecretRef.Name == ""
	}
	cluster := &v1alpha1.Cluster{}
	err := r.Client.Get(ctx, client.ObjectKey{Name: name}, cluster)
	switch {
	case apierrors.IsNotFound(err), err == nil && cluster.Spec.Type == v1alpha1.ClusterTypeVirtual:
		return s.withoutHost(v1alpha1.ReasonHostClusterMissing, fmt.Sprintf("There is no Physical Cluster %q to install on.", name))
	case err != nil:
		return fmt.Errorf("read cluster %q: %w", name, err)
	}
	s.cluster, s.host.Endpoint = cluster, cluster.Spec.APIEndpoint
	if s.karmada != nil {
		return nil
	}
	if cluster.Status.KubeSystemID == "" {
		return s.withoutHost(v1alpha1.ReasonHostClusterNotReady,
			fmt.Sprintf("Cluster %q has not been reached yet, see its condition Reachable: it is not known which cluster it is.", name))
	}
	global, err := r.global.id(ctx, r.Live)
	if err != nil {
		return err
	}
	s.host.Local = cluster.Status.KubeSystemID == string(global)
	return nil
}

// withoutHost stops, unless the Karmada is there already.
func (s *scope) withoutHost(reason, message string) error {
	if s.karmada == nil {
		return &phase.Stop{Condition: v1alpha1.NotInstalled(reason, message)}
	}
	s.concern = message
	return nil
}

// prepareNamespace makes the namespace of the Karmada.
func (r *Reconciler) prepareNamespace(ctx context.Context, s *scope) error {
	name := conversion.Namespace(s.instance.Name)
	namespace := &corev1.Namespace{}
	err := r.Live.Get(ctx, client.ObjectKey{Name: name}, namespace)
	switch {
	case apierrors.IsNotFound(err):
		namespace.Name = name
		namespace.Labels = s.owner.Labels()
		if err := r.Client.Create(ctx, namespace); err != nil {
			return fmt.Errorf("create namespace %q: %w", name, err)
		}
		return nil
	case err != nil:
		return fmt.Errorf("read namespace %q: %w", name, err)
	case !namespace.DeletionTimestamp.IsZero():
		return &phase.Stop{Retry: whileAtWork, Condition: v1alpha1.NotInstalled(v1alpha1.ReasonCleaningUp,
			fmt.Sprintf("The namespace %q of an earlier installation is being removed.", name))}
	case s.owner.Owns(namespace):
		return nil
	case !letGo(namespace, s.instance):
		return &phase.Stop{Condition: v1alpha1.NotInstalled(v1alpha1.ReasonNameTaken, s.owner.Taken("Namespace", namespace))}
	}
	return r.takeOver(ctx, s, namespace)
}

// prepareCredentials keeps the Secret with which the operator reaches the host.
func (r *Reconciler) prepareCredentials(ctx context.Context, s *scope) error {
	if s.host.Local || s.cluster == nil {
		return nil
	}
	to, err := r.Credentials.OfRegistered(ctx, s.cluster)
	switch {
	case errors.Is(err, connection.ErrMissing), errors.Is(err, connection.ErrInvalid):
		return s.withoutHost(v1alpha1.ReasonHostClusterNotReady, fmt.Sprintf("Cluster %q cannot be installed on: %v.", s.cluster.Name, err))
	case err != nil:
		return fmt.Errorf("connect to cluster %q: %w", s.cluster.Name, err)
	}
	// The operator reads this key, whatever the comments of its API say about others.
	kubeconfig, err := to.Kubeconfig()
	if err != nil {
		return err
	}
	key := s.host.Secret.NamespacedName()
	secret := &corev1.Secret{}
	err = r.Live.Get(ctx, key, secret)
	switch {
	case apierrors.IsNotFound(err):
		secret.Namespace, secret.Name = key.Namespace, key.Name
		secret.Labels = s.owner.Labels()
		secret.Data = map[string][]byte{v1alpha1.KubeconfigSecretKey: kubeconfig}
		if err := r.Client.Create(ctx, secret); err != nil {
			return fmt.Errorf("create the Secret %s: %w", key, err)
		}
		return nil
	case err != nil:
		return fmt.Errorf("read the Secret %s: %w", key, err)
	case !s.owner.Owns(secret) && !letGo(secret, s.instance):
		return &phase.Stop{Condition: v1alpha1.NotInstalled(v1alpha1.ReasonNameTaken, s.owner.Taken("Secret", secret))}
	case s.owner.Owns(secret) && bytes.Equal(secret.Data[v1alpha1.KubeconfigSecretKey], kubeconfig):
		return nil
	}
	before := secret.DeepCopy()
	s.mark(secret)
	secret.Data = map[string][]byte{v1alpha1.KubeconfigSecretKey: kubeconfig}
	if err := r.Client.Patch(ctx, secret, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("update the Secret %s: %w", key, err)
	}
	r.Recorder.Eventf(s.instance, nil, corev1.EventTypeNormal, "HostCredentialsUpdated", "Manage",
		"The operator reaches cluster %q with its new credentials from its next run on", s.cluster.Name)
	return nil
}
