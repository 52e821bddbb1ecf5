package clusterindex

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers/internal/credentials"
	"github.com/kairship-io/kairship/pkg/controllers/internal/finalizer"
	"github.com/kairship-io/kairship/pkg/controllers/internal/ownership"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
)

// standForInstance lets a Virtual cluster pass only when it was made for an
// Instance that exists. What is indexed under k-alpha is shown as alpha's, so a
// cluster that a user registers under that name must not be collected.
func (r *Reconciler) standForInstance(ctx context.Context, s *scope) error {
	if s.cluster.Spec.Type != v1alpha1.ClusterTypeVirtual {
		return nil
	}
	for _, reader := range []client.Reader{r.Client, r.Live} { // what follows a no is too much for a stale cache
		instance, err := standsForInstance(ctx, reader, s.cluster)
		if err != nil {
			return err
		}
		if s.instance = instance; instance != nil {
			return nil
		}
	}
	if err := r.clean(ctx, s); err != nil {
		return err
	}
	return &phase.Stop{Condition: v1alpha1.NotIndexed(v1alpha1.ReasonNoInstance,
		"There is no Instance that Kairship made this virtual cluster for. Virtual clusters are made by Kairship alone: delete this one.")}
}

// standsForInstance finds the Instance that a cluster was made for; nil when there is none.
func standsForInstance(ctx context.Context, reader client.Reader, cluster *v1alpha1.Cluster) (*v1alpha1.Instance, error) {
	instance, err := referred(ctx, reader, cluster)
	if err != nil || instance == nil || !ownership.ByInstance(instance).Owns(cluster) {
		return nil, err
	}
	return instance, nil
}

// connect reads the credentials. Without them, a collection that runs goes on
// with those that it has: a Secret that is replaced by deleting it first must
// not cost the rows that are indexed.
func (r *Reconciler) connect(ctx context.Context, s *scope) error {
	to, err := r.reach(ctx, s)
	switch {
	case credentials.Unproven(err):
		s.unproven = err
		return nil
	case errors.Is(err, connection.ErrMissing):
		return &phase.Stop{Condition: v1alpha1.NotIndexed(v1alpha1.ReasonCredentialsMissing, err.Error())}
	case errors.Is(err, connection.ErrInvalid):
		return &phase.Stop{Condition: v1alpha1.NotIndexed(v1alpha1.ReasonCredentialsInvalid, err.Error())}
	case err != nil:
		return fmt.Errorf("connect to cluster %q: %w", s.cluster.Name, err)
	}
	s.to = to
	return nil
}

// reach reads the credentials of a cluster that may be collected.
func (r *Reconciler) reach(ctx context.Context, s *scope) (connection.Connection, error) {
	if s.instance != nil {
		return r.Credentials.OfVirtual(ctx, s.cluster, s.instance)
	}
	return r.Credentials.OfRegistered(ctx, s.cluster)
}

// leaveOut stops collecting a Physical cluster whose endpoint has another cluster now
// than when the collection began: its rows would be shown under the name of the former.
// Where the endpoint or the credentials were changed, the collection has the former
// ones and goes on.
func (r *Reconciler) leaveOut(ctx context.Context, s *scope) error {
	if s.instance != nil || !s.cluster.LeadsElsewhere() || s.cluster.Status.CredentialsFingerprint != "" {
		return nil
	}
	if err := r.clean(ctx, s); err != nil {
		return err
	}
	return s.isAnother()
}

// isAnother stops because nothing is collected of another cluster than was registered.
func (s *scope) isAnother() error {
	return &phase.Stop{Condition: v1alpha1.NotIndexed(v1alpha1.ReasonOtherCluster, "Nothing is collected, see condition "+v1alpha1.ConditionIdentified+".")}
}

// holdCluster keeps the Cluster from vanishing before its rows.
func (r *Reconciler) holdCluster(ctx context.Context, s *scope) error {
	return finalizer.Hold(ctx, r.Client, s.cluster, v1alpha1.ClusterIndexFinalizer)
}

// collect creates the PediaCluster, or brings it up to date.
func (r *Reconciler) collect(ctx context.Context, s *scope) error {
	if s.unproven != nil {
		return r.collectOn(ctx, s)
	}
	instance := s.instance
	if instance == nil {
		var err error
		if instance, err = referred(ctx, r.Client, s.cluster); err != nil {
			return err
		}
	}
	wanted := pediaCluster(s.cluster, s.to, r.Collect.kinds(s.cluster.Spec.Type, instance))
	s.owner.Mark(wanted)

	stored := &pediav1alpha2.PediaCluster{}
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(wanted), stored)
	switch {
	case apierrors.IsNotFound(err):
		if err := r.storeCredentials(ctx, s, nil); err != nil {
			return err
		}
		if err := r.Client.Create(ctx, wanted); err != nil {
			return fmt.Errorf("create PediaCluster %q: %w", wanted.Name, err)
		}
		if s.cluster.Spec.Type != v1alpha1.ClusterTypeVirtual || meta.FindStatusCondition(s.cluster.Status.Conditions, v1alpha1.ConditionIndexed) != nil {
			// A new virtual Cluster is always collected, so that needs no event.
			r.Recorder.Eventf(s.cluster, nil, corev1.EventTypeNormal, "IndexRequested", "Index", "Created PediaCluster %q", wanted.Name)
		}
		s.pedia = wanted
		return nil
	case err != nil:
		return fmt.Errorf("read PediaCluster %q: %w", wanted.Name, err)
	case !s.owner.Owns(stored):
		return &phase.Stop{Condition: v1alpha1.NotIndexed(v1alpha1.ReasonNameTaken, s.owner.Taken("PediaCluster", stored))}
	case !stored.DeletionTimestamp.IsZero():
		// A user deleted it. It is made again when it is deleted.
		if err := r.clean(ctx, s); err != nil {
			return err
		}
		return &phase.Stop{
			Condition: v1alpha1.NotIndexed(v1alpha1.ReasonCleaningUp, fmt.Sprintf("PediaCluster %q was deleted, and is made again.", wanted.Name)),
			Retry:     afterClean,
		}
	}

	if err := r.storeCredentials(ctx, s, stored); err != nil {
		return err
	}
	updated := stored.DeepCopy()
	s.owner.Mark(updated)
	metav1.SetMetaDataAnnotation(&updated.ObjectMeta, fingerprintAnnotation, wanted.Annotations[fingerprintAnnotation])
	updated.Spec = wanted.Spec
	if !equality.Semantic.DeepEqual(stored, updated) {
		// A patch keeps fields that this version of the API does not know.
		patch := client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})
		if err := r.Client.Patch(ctx, updated, patch); err != nil {
			return fmt.Errorf("update PediaCluster %q: %w", updated.Name, err)
		}
		r.Recorder.Eventf(s.cluster, nil, corev1.EventTypeNormal, "IndexUpdated", "Index",
			"Updated PediaCluster %q: the credentials, the endpoint or what is collected changed", updated.Name)
	}
	s.pedia = updated
	return nil
}

// referred is the instance that a cluster refers to; nil when there is none.
func referred(ctx context.Context, reader client.Reader, cluster *v1alpha1.Cluster) (*v1alpha1.Instance, error) {
	if cluster.Spec.InstanceRef == nil || cluster.Spec.InstanceRef.Name == "" {
		return nil, nil //nolint:nilnil // None is an answer here, not an error.
	}
	instance := &v1alpha1.Instance{}
	err := reader.Get(ctx, client.ObjectKey{Name: cluster.Spec.InstanceRef.Name}, instance)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // None is an answer here, not an error.
	case err != nil:
		return nil, fmt.Errorf("find the instance of cluster %q: %w", cluster.Name, err)
	}
	return instance, nil
}

// collectOn keeps a running collection with its credentials, and begins none: the present
// credentials may lead to a control plane that is collected already, or to another cluster.
func (r *Reconciler) collectOn(ctx context.Context, s *scope) error {
	stored := &pediav1alpha2.PediaCluster{}
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(s.cluster), stored)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("read PediaCluster %q: %w", s.cluster.Name, err)
	case (err != nil || !s.owner.Owns(stored) || !stored.DeletionTimestamp.IsZero()) && s.instance == nil && s.cluster.LeadsElsewhere():
		return s.isAnother()
	case err != nil || !s.owner.Owns(stored) || !stored.DeletionTimestamp.IsZero():
		return &phase.Stop{Condition: v1alpha1.IndexedUnknown(v1alpha1.ReasonPending, "Nothing is collected: "+s.unproven.Error()+".")}
	}
	s.pedia = stored
	return nil
}

// report says how the collection is. One that begins is Indexed once everything was
// listed and stored; later on, what is listed anew is collected as before.
func (r *Reconciler) report(_ context.Context, s *scope) error {
	condition := collection(s.pedia)
	if isTrue(&condition) && !meta.IsStatusConditionTrue(s.cluster.Status.Conditions, v1alpha1.ConditionIndexed) {
		if waiting := unlisted(s.pedia); len(waiting) > 0 {
			condition = v1alpha1.IndexedUnknown(v1alpha1.ReasonPending, fmt.Sprintf("Clusterpedia has not stored all %s yet.", some(waiting)))
		}
	}
	s.indexed = &condition
	return nil
}
