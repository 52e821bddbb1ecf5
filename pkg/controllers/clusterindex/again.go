package clusterindex

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/controllers/internal/phase"
	fleetcollection "github.com/kairship-io/kairship/pkg/fleet/collection"
)

const (
	// lookKey is the key of the Secret under which is when Clusterpedia was asked to look again.
	lookKey = "lookAgain"
	// lookInterval is the time between two such requests.
	lookInterval = 10 * time.Second
)

// lookAgain asks Clusterpedia to look again at what an instance serves, from time to time while it
// does not collect the member clusters; see fleetcollection.MembersMissing. It does so when the
// Secret of the PediaCluster changes, and goes on with the credentials that it has when these are
// the same.
func (r *Reconciler) lookAgain(ctx context.Context, s *scope) error {
	if len(s.pedia.Status.SyncResources) == 0 || !fleetcollection.MembersMissing(s.pedia) {
		return nil
	}
	secret, name := &corev1.Secret{}, client.ObjectKey{Namespace: r.Namespace, Name: secretName(s.cluster.Name)}
	if err := r.Live.Get(ctx, name, secret); err != nil {
		return fmt.Errorf("read Secret %s: %w", name, err)
	}
	if !s.owner.Owns(secret) {
		return nil
	}
	now := time.Now()
	if asked, err := time.Parse(time.RFC3339, string(secret.Data[lookKey])); err == nil {
		if since := now.Sub(asked); since >= 0 && since < lookInterval {
			return &phase.Stop{Condition: *s.indexed, Retry: lookInterval - since}
		}
	}
	updated := secret.DeepCopy()
	if updated.Data == nil {
		updated.Data = map[string][]byte{}
	}
	updated.Data[lookKey] = []byte(now.UTC().Format(time.RFC3339))
	if err := r.Client.Patch(ctx, updated, client.MergeFromWithOptions(secret, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("update Secret %s: %w", name, err)
	}
	return &phase.Stop{Condition: *s.indexed, Retry: lookInterval}
}
