package virtualclustersync

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers/internal/credentials"
	"github.com/kairship-io/kairship/pkg/controllers/internal/finalizer"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
)

// connect reads the credentials. Without them the virtual Cluster, should there
// be one, stays as it is: a Secret that is replaced by deleting it first must
// not cost the rows that are indexed.
func (r *Reconciler) connect(ctx context.Context, s *scope) error {
	if s.instance.CredentialsRef() == nil && s.instance.Spec.Mode == v1alpha1.InstanceModeManaged {
		return &phase.Stop{Condition: v1alpha1.IndexedUnknown(v1alpha1.ReasonPending, "The instance has no credentials before it is installed.")}
	}
	to, err := r.Credentials.OfInstance(ctx, s.instance)
	switch {
	case credentials.Unproven(err):
		s.unproven = err
		return nil
	case errors.Is(err, connection.ErrMissing):
		return &phase.Stop{Condition: v1alpha1.NotIndexed(v1alpha1.ReasonCredentialsMissing, err.Error())}
	case errors.Is(err, connection.ErrInvalid):
		return &phase.Stop{Condition: v1alpha1.NotIndexed(v1alpha1.ReasonCredentialsInvalid, err.Error())}
	case err != nil:
		return fmt.Errorf("connect to instance %q: %w", s.instance.Name, err)
	}
	s.to = to
	return nil
}

// holdInstance keeps the Instance from vanishing before what is made from it.
func (r *Reconciler) holdInstance(ctx context.Context, s *scope) error {
	return finalizer.Hold(ctx, r.Client, s.instance, v1alpha1.VirtualClusterFinalizer)
}

// register creates the virtual Cluster, or brings it up to date.
func (r *Reconciler) register(ctx context.Context, s *scope) error {
	name := v1alpha1.VirtualClusterName(s.instance.Name)
	stored := &v1alpha1.Cluster{}
	err := r.Client.Get(ctx, client.ObjectKey{Name: name}, stored)
	switch {
	case apierrors.IsNotFound(err) && s.unproven != nil && time.Since(s.instance.CreationTimestamp.Time) < patience:
		return &phase.Stop{Retry: patience} // It is being looked at, and what is said before that is overwritten.
	case apierrors.IsNotFound(err) && s.unproven != nil:
		return &phase.Stop{Condition: v1alpha1.IndexedUnknown(v1alpha1.ReasonPending, "Nothing is collected: "+s.unproven.Error()+".")}
	case apierrors.IsNotFound(err) && !s.instance.DeletionTimestamp.IsZero():
		// The client that took it away, such as the garbage collector, would do so again.
		return &phase.Stop{Condition: v1alpha1.NotIndexed(v1alpha1.ReasonCleaningUp,
			fmt.Sprintf("Cluster %q is gone, and is not made again for an Instance that is being deleted.", name))}
	case apierrors.IsNotFound(err):
		created := &v1alpha1.Cluster{}
		created.Name = name
		// The controller that collects it would put it on with the next write, and takes it off.
		created.Finalizers = []string{v1alpha1.ClusterIndexFinalizer}
		s.shape(created)
		if err := r.Client.Create(ctx, created); err != nil {
			return fmt.Errorf("create cluster %q: %w", name, err)
		}
		if told := meta.FindStatusCondition(s.instance.Status.Conditions, v1alpha1.ConditionIndexed); told != nil && told.Reason != v1alpha1.ReasonPending {
			// A new Instance always has one, so that needs no event. This one had to wait for it,
			// or has lost it.
			r.Recorder.Eventf(s.instance, nil, corev1.EventTypeNormal, "VirtualClusterCreated", "Sync", "Created Cluster %q", name)
		}
		s.cluster = created
		return nil
	case err != nil:
		return fmt.Errorf("read cluster %q: %w", name, err)
	case !s.owner.Owns(stored):
		return &phase.Stop{Condition: v1alpha1.NotIndexed(v1alpha1.ReasonNameTaken, s.owner.Taken(v1alpha1.ClusterKind, stored))}
	case !stored.DeletionTimestamp.IsZero():
		// A user deleted it. It is made again when it is deleted, of which we hear.
		return &phase.Stop{Condition: v1alpha1.NotIndexed(v1alpha1.ReasonCleaningUp,
			fmt.Sprintf("Cluster %q is being deleted. It is made again when it is gone.", name))}
	case s.unproven != nil:
		s.cluster = stored // A collection that runs goes on with the credentials that it has.
		return nil         //nolint:nilerr // It is kept for the condition.
	}

	updated := stored.DeepCopy()
	s.shape(updated)
	if !equality.Semantic.DeepEqual(stored, updated) {
		patch := client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})
		if err := r.Client.Patch(ctx, updated, patch); err != nil {
			return fmt.Errorf("update cluster %q: %w", name, err)
		}
	}
	s.cluster = updated
	return nil
}

// shape sets the fields of the Cluster that the Instance decides, and keeps the others.
func (s *scope) shape(cluster *v1alpha1.Cluster) {
	s.owner.Mark(cluster)
	cluster.Spec.Type = v1alpha1.ClusterTypeVirtual
	cluster.Spec.Hidden = true
	cluster.Spec.Alias = s.instance.Spec.Alias
	cluster.Spec.APIEndpoint = s.to.Endpoint
	cluster.Spec.ProxyURL = "" // The kubeconfig's own is used.
	cluster.Spec.InstanceRef = &v1alpha1.InstanceReference{Name: s.instance.Name}

	// The Secret is referred to and not copied: one place to rotate, one to guard.
	ref := s.instance.CredentialsRef()
	cluster.Spec.CredentialsSecretRef = &v1alpha1.ClusterCredentialsReference{SecretReference: ref.SecretReference}
	if ref.Key != v1alpha1.KubeconfigSecretKey {
		cluster.Spec.CredentialsSecretRef.Key = ref.Key
	}
}

// patience is how long a new virtual Cluster gets to say how it is collected, which
// it does almost at once. What would be said here before that would be written to be
// overwritten.
const patience = 2 * time.Second

// report repeats on the Instance how its virtual Cluster is collected.
func (r *Reconciler) report(_ context.Context, s *scope) error {
	found := meta.FindStatusCondition(s.cluster.Status.Conditions, v1alpha1.ConditionIndexed)
	switch {
	case found != nil:
		condition := *found
		s.indexed = &condition
	case time.Since(s.cluster.CreationTimestamp.Time) < patience:
		s.again = patience
	default:
		condition := v1alpha1.IndexedUnknown(v1alpha1.ReasonPending, fmt.Sprintf("Cluster %q is registered, and its collection is not reported yet.", s.cluster.Name))
		s.indexed = &condition
	}
	return nil
}

// unregister deletes the virtual Cluster and waits until it is removed, which it is
// only after its rows in the index. Nothing of this needs the instance itself.
func (r *Reconciler) unregister(ctx context.Context, s *scope) error {
	name := v1alpha1.VirtualClusterName(s.instance.Name)
	stored := &v1alpha1.Cluster{}
	// A cache without our own creation would leave the object behind forever.
	err := r.Live.Get(ctx, client.ObjectKey{Name: name}, stored)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read cluster %q: %w", name, err)
	case !s.owner.Owns(stored):
		return nil // It belongs to another owner, and stays.
	}
	if stored.DeletionTimestamp.IsZero() {
		uid := stored.UID
		if err := r.Client.Delete(ctx, stored, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete cluster %q: %w", name, err)
		}
	}
	condition := v1alpha1.NotIndexed(v1alpha1.ReasonCleaningUp, fmt.Sprintf("Cluster %q is being removed together with its rows in the index.", name))
	if found := meta.FindStatusCondition(stored.Status.Conditions, v1alpha1.ConditionIndexed); found != nil && found.Reason == v1alpha1.ReasonCleaningUp {
		condition = *found // It knows better what it waits for.
	}
	return &phase.Stop{Condition: condition}
}

// leaveOut keeps an Instance out of the index whose control plane is not its own: what
// is there would be counted twice, or shown as another instance's.
func (r *Reconciler) leaveOut(ctx context.Context, s *scope) error {
	if err := r.unregister(ctx, s); err != nil {
		return err
	}
	return &phase.Stop{Condition: v1alpha1.NotIndexed(s.foreign.Reason, "Nothing is collected, see condition "+v1alpha1.ConditionIdentified+".")}
}

// releaseInstance lets the Instance go.
func (r *Reconciler) releaseInstance(ctx context.Context, s *scope) error {
	s.gone = true
	return finalizer.Release(ctx, r.Client, s.instance, v1alpha1.VirtualClusterFinalizer)
}
