package instancestatistics

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/status"
)

// clusterIndex finds the Physical Clusters of an Instance.
const clusterIndex = "instancestatistics.instance"

// joinedTo returns the instance that a Physical Cluster is to be joined to; the empty name for
// none. A Virtual one has no figures.
func joinedTo(object client.Object) []string {
	cluster, ok := object.(*v1alpha1.Cluster)
	switch {
	case !ok, cluster.Spec.Type == v1alpha1.ClusterTypeVirtual:
		return nil
	case cluster.Spec.InstanceRef == nil:
		return []string{""}
	}
	return []string{cluster.Spec.InstanceRef.Name}
}

// change is a Cluster whose figures are not what they should be.
type change struct {
	cluster *v1alpha1.Cluster
	summary *v1alpha1.ClusterSummary
}

// clustersOf returns the Clusters that are to be joined to an instance.
func (r *Reconciler) clustersOf(ctx context.Context, instance string) ([]v1alpha1.Cluster, error) {
	list := &v1alpha1.ClusterList{}
	if err := r.Client.List(ctx, list, client.MatchingFields{clusterIndex: instance}); err != nil {
		return nil, fmt.Errorf("list the clusters of instance %q: %w", instance, err)
	}
	return list.Items, nil
}

// changedMembers are the Clusters of an instance that do not say yet what its
// members report. When the instance's own summary is old, they keep their figures.
func (r *Reconciler) changedMembers(ctx context.Context, instance string, members map[string]member, summary *v1alpha1.InstanceSummary) ([]change, error) {
	all, err := r.clustersOf(ctx, instance)
	if err != nil {
		return nil, err
	}
	var changed []change
	for i := range all {
		c := &all[i]
		wanted := figuresOf(c, members)
		if summary != nil && summary.StaleSince != nil {
			wanted = oldMember(c, summary)
		}
		if !equality.Semantic.DeepEqual(c.Status.Summary, wanted) {
			changed = append(changed, change{c, wanted})
		}
	}
	return changed, nil
}

// figuresOf is what the instance's member of the same name reports, unless that is
// known to be another cluster.
func figuresOf(cluster *v1alpha1.Cluster, members map[string]member) *v1alpha1.ClusterSummary {
	m, joined := members[cluster.Name]
	if !joined || m.id != "" && cluster.Status.KubeSystemID != "" && m.id != cluster.Status.KubeSystemID {
		return nil
	}
	return summarizeMember(m)
}

// withoutFigures takes the figures away from Clusters that are joined to no
// instance, or to one that no longer exists.
func (r *Reconciler) withoutFigures(ctx context.Context, instance string) error {
	changed, err := r.changedMembers(ctx, instance, nil, nil)
	if err != nil {
		return err
	}
	return r.writeChanged(ctx, changed)
}

func (r *Reconciler) writeChanged(ctx context.Context, changed []change) error {
	var problems []error
	for _, c := range changed {
		before, after := v1alpha1.ClusterStatus{Summary: c.cluster.Status.Summary}, v1alpha1.ClusterStatus{Summary: c.summary}
		problems = append(problems, status.Apply(ctx, r.Client, c.cluster, Name, &before, &after))
	}
	return errors.Join(problems...)
}
