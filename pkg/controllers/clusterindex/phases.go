package clusterindex

import (
	"context"
	"errors"
	"fmt"

	pediav1alpha2 "github.com/clusterpedia-io/api/cluster/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers/internal/finalizer"
	"github.com/kairship-io/kairship/pkg/controllers/internal/outcome"
	"github.com/kairship-io/kairship/pkg/controllers/internal/ownership"
)

// standForInstance lets a Virtual cluster pass only when it was made for an
// Instance that exists. What is indexed under k-alpha is shown as alpha's, so a
// cluster that somebody registers under that name must not be collected.
func (r *Reconciler) standForInstance(ctx context.Context, s *scope) error {
	if s.cluster.Spec.Type != v1alpha1.ClusterTypeVirtual {
		return nil
	}
	for _, reader := range []client.Reader{r.Client, r.Live} { // what follows a no is too much for a stale cache
		stands, err := standsForInstance(ctx, reader, s.cluster)
		if err != nil || stands {
			return err
		}
	}
	if err := r.clean(ctx, s); err != nil {
		return err
	}
	return &outcome.Stop{Condition: v1alpha1.NotIndexed(v1alpha1.ReasonNoInstance,
		"There is no Instance that Kairship made this virtual cluster for. Virtual clusters are made by Kairship alone: delete this one.")}
}

func standsForInstance(ctx context.Context, reader client.Reader, cluster *v1alpha1.Cluster) (bool, error) {
	if cluster.Spec.InstanceRef == nil {
		return false, nil
	}
	instance := &v1alpha1.Instance{}
	err := reader.Get(ctx, client.ObjectKey{Name: cluster.Spec.InstanceRef.Name}, instance)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("find the instance of cluster %q: %w", cluster.Name, err)
	}
	return ownership.ByInstance(instance).Owns(cluster), nil
}

// connect reads the credentials. Without them, a collection that runs goes on
// with those that it has: a Secret that is replaced by deleting it first must
// not cost the rows that are indexed.
func (r *Reconciler) connect(ctx context.Context, s *scope) error {
	to, err := r.Credentials.OfCluster(ctx, s.cluster)
	switch {
	case errors.Is(err, connection.ErrMissing):
		return &outcome.Stop{Condition: v1alpha1.NotIndexed(v1alpha1.ReasonCredentialsMissing, err.Error())}
	case errors.Is(err, connection.ErrInvalid):
		return &outcome.Stop{Condition: v1alpha1.NotIndexed(v1alpha1.ReasonCredentialsInvalid, err.Error())}
	case err != nil:
		return fmt.Errorf("connect to cluster %q: %w", s.cluster.Name, err)
	}
	s.to = to
	return nil
}

// holdCluster keeps the Cluster from vanishing before its rows.
func (r *Reconciler) holdCluster(ctx context.Context, s *scope) error {
	return finalizer.Hold(ctx, r.Client, s.cluster, v1alpha1.ClusterIndexFinalizer)
}

// collect creates the PediaCluster, or brings it up to date.
func (r *Reconciler) collect(ctx context.Context, s *scope) error {
	wanted, err := pediaCluster(s.cluster, s.to)
	if err != nil {
		return err
	}
	s.owner.Mark(wanted)

	stored := &pediav1alpha2.PediaCluster{}
	err = r.Client.Get(ctx, client.ObjectKeyFromObject(wanted), stored)
	switch {
	case apierrors.IsNotFound(err):
		if err := r.Client.Create(ctx, wanted); err != nil {
			return fmt.Errorf("create PediaCluster %q: %w", wanted.Name, err)
		}
		if s.cluster.Spec.Type != v1alpha1.ClusterTypeVirtual || meta.FindStatusCondition(s.cluster.Status.Conditions, v1alpha1.ConditionIndexed) != nil {
			// That a new virtual Cluster is collected is no news: it is made for that.
			r.Recorder.Eventf(s.cluster, nil, corev1.EventTypeNormal, "IndexRequested", "Index", "Created PediaCluster %q", wanted.Name)
		}
		s.pedia = wanted
		return nil
	case err != nil:
		return fmt.Errorf("read PediaCluster %q: %w", wanted.Name, err)
	case !s.owner.Owns(stored):
		return &outcome.Stop{Condition: v1alpha1.NotIndexed(v1alpha1.ReasonNameTaken, s.owner.Taken("PediaCluster", stored))}
	case !stored.DeletionTimestamp.IsZero():
		// Somebody deleted it. It is made again when it is gone.
		if err := r.clean(ctx, s); err != nil {
			return err
		}
		return &outcome.Stop{
			Condition: v1alpha1.NotIndexed(v1alpha1.ReasonCleaningUp, fmt.Sprintf("PediaCluster %q was deleted, and is made again.", wanted.Name)),
			Retry:     afterClean,
		}
	}

	updated := stored.DeepCopy()
	s.owner.Mark(updated)
	updated.Spec = wanted.Spec
	if !equality.Semantic.DeepEqual(stored, updated) {
		// A patch leaves alone what this version of the API does not know of.
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

// report says how the collection is.
func (r *Reconciler) report(_ context.Context, s *scope) error {
	condition := collection(s.pedia)
	s.indexed = &condition
	return nil
}
