package clusterimport

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// errOutdated ends a reconciliation that goes by a record which is not stored any more:
// the cache is behind, or this process was frozen and another replica leads by now.
var errOutdated = errors.New("status.membership is not what it was when it was read")

// verify reads from the API server whether the stored record is the one that this
// reconciliation goes by. Every write to an instance or a member follows it, and the
// object to be changed or deleted is read before it: see the package's documentation.
func (r *Reconciler) verify(ctx context.Context, s *scope) error {
	now := &v1alpha1.Cluster{}
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(s.cluster), now)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read cluster %q: %w", s.cluster.Name, err)
	}
	switch {
	case err != nil, now.UID != s.cluster.UID:
	case !equality.Semantic.DeepEqual(now.Status.Membership, s.stored.Membership):
	// Nothing is made for a Cluster that may vanish first.
	case !s.mustLeave() && !controllerutil.ContainsFinalizer(now, v1alpha1.ClusterImportFinalizer):
	default:
		return nil
	}
	s.outdated = true
	return errOutdated
}
