package clusterindex

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers/internal/ownership"
	"github.com/kairship-io/kairship/pkg/controllers/internal/status"
)

// scope is the state that the phases of one reconciliation share.
type scope struct {
	cluster *v1alpha1.Cluster
	owner   ownership.Owner

	// instance is what a Virtual cluster stands for; set by standForInstance.
	instance *v1alpha1.Instance
	// unproven is why the credentials are not used yet; set by connect.
	unproven error
	// to is how the cluster is reached; set by connect.
	to connection.Connection
	// pedia is the PediaCluster as it is stored; set by collect.
	pedia *pediav1alpha2.PediaCluster
	// indexed is the condition to write; nil keeps the stored one.
	indexed *metav1.Condition
	// gone means that the Cluster has been released, so there is no object to write to.
	gone bool
}

func newScope(cluster *v1alpha1.Cluster) *scope {
	return &scope{cluster: cluster, owner: ownership.ByCluster(cluster)}
}

// close writes the condition, once, however the phases ended.
func (s *scope) close(ctx context.Context, r *Reconciler) error {
	if s.gone || s.indexed == nil {
		return nil
	}
	before := v1alpha1.ClusterStatus{Conditions: status.Pick(s.cluster.Status.Conditions, v1alpha1.ConditionIndexed)}
	after := v1alpha1.ClusterStatus{Conditions: status.Conditions(before.Conditions, s.cluster.Generation, *s.indexed)}
	if err := status.Apply(ctx, r.Client, s.cluster, Name, &before, &after); err != nil {
		return err
	}
	status.Announce(r.Recorder, s.cluster, "Index", before.Conditions, after.Conditions)
	return nil
}
