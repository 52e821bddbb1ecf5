package clusterindex

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/finalizer"
	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
)

const (
	// cleanPoll is how often the removal of a PediaCluster is checked, in case the watch misses it.
	cleanPoll = 5 * time.Second
	// afterClean is when to look again at one that was removed, which the cache does not
	// know yet.
	afterClean = time.Second
	// nudgeAfter is how long Clusterpedia gets before it is reminded.
	nudgeAfter = 30 * time.Second
	// nudgeAnnotation holds when Clusterpedia was reminded last.
	nudgeAnnotation = v1alpha1.GroupName + "/reminded-at"
)

// clean deletes our PediaCluster, waits until it no longer exists, and deletes the Secret
// that it refers to. Clusterpedia holds the PediaCluster with a finalizer until its rows
// are deleted. It does not matter whether the cluster itself can be reached.
func (r *Reconciler) clean(ctx context.Context, s *scope) error {
	stored := &pediav1alpha2.PediaCluster{}
	// A cache that has not seen our own create yet would let the rows stay for ever.
	err := r.Live.Get(ctx, client.ObjectKey{Name: s.cluster.Name}, stored)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("read PediaCluster %q: %w", s.cluster.Name, err)
	case err != nil || !s.owner.Owns(stored): // One that is not ours stays.
		return r.removeSecret(ctx, s)
	}

	if stored.DeletionTimestamp.IsZero() {
		uid := stored.UID
		if err := r.Client.Delete(ctx, stored, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete PediaCluster %q: %w", stored.Name, err)
		}
		r.Recorder.Eventf(s.cluster, nil, corev1.EventTypeNormal, "IndexCleanup", "Clean", "Deleted PediaCluster %q", stored.Name)
	} else if err := r.remind(ctx, stored); err != nil {
		return err
	}
	return &phase.Stop{
		Condition: v1alpha1.NotIndexed(v1alpha1.ReasonCleaningUp, fmt.Sprintf(
			"Clusterpedia is removing the rows of PediaCluster %q. If this lasts, see whether its clustersynchro-manager and its database are up.", stored.Name)),
		Retry: cleanPoll,
	}
}

// remind makes Clusterpedia try again. It gives up after five attempts within
// two minutes, as when its database is down, and looks at the PediaCluster again
// only when that changes; so it is changed now and then.
func (r *Reconciler) remind(ctx context.Context, stored *pediav1alpha2.PediaCluster) error {
	now := time.Now()
	last := stored.DeletionTimestamp.Time
	if text, found := stored.Annotations[nudgeAnnotation]; found {
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			last = at
		}
	}
	if now.Sub(last) < nudgeAfter {
		return nil
	}
	reminded := stored.DeepCopy()
	if reminded.Annotations == nil {
		reminded.Annotations = map[string]string{}
	}
	reminded.Annotations[nudgeAnnotation] = now.UTC().Format(time.RFC3339)
	patch := client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, reminded, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remind Clusterpedia of PediaCluster %q: %w", stored.Name, err)
	}
	return nil
}

// releaseCluster lets the Cluster go.
func (r *Reconciler) releaseCluster(ctx context.Context, s *scope) error {
	s.gone = true
	return finalizer.Release(ctx, r.Client, s.cluster, v1alpha1.ClusterIndexFinalizer)
}
