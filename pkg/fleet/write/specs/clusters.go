package specs

import (
	"context"
	"fmt"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/index"
)

// NamedCluster is a cluster that a spec names.
type NamedCluster struct {
	// At is the field, and Name that of the cluster.
	At, Name string
}

// UnknownClusters warns of the clusters that a spec names and the instance does not have.
func UnknownClusters(instance string, named []NamedCluster, members map[string]bool) []write.Warning {
	var found []write.Warning
	for _, c := range named {
		if members[c.Name] {
			continue
		}
		found = append(found, write.Warning{
			Code: write.WarningUnknownCluster, Argument: paths.Argument(c.At),
			Message: fmt.Sprintf("instance %q has no member cluster %q: Karmada accepts the name, and it stands for nothing until a cluster of that name is joined", instance, c.Name),
		})
	}
	return found
}

var memberClusters = write.Kind{
	GroupVersionResource: schema.GroupVersion(clusterv1alpha1.GroupVersion).WithResource(index.MemberClusters.Resource), Kind: index.MemberClusters.Kind,
}

// warnOfClusters warns of unknown clusters, by what the instance itself lists for the caller at
// this moment: the index lags, and would miss a cluster that has just joined. Callers who may not
// list clusters get no warning, because it would reveal their names. A list that fails is no reason
// to refuse the change, so it warns of nothing.
func (c *Changes[T, S]) warnOfClusters(ctx context.Context, site *write.Site, spec *S) []write.Warning {
	if c.Clusters == nil {
		return nil
	}
	named := c.Clusters(spec)
	if len(named) == 0 || !site.Reads("") {
		return nil
	}
	members := map[string]bool{}
	more, err := write.Each(ctx, site.Client(), write.Listing{Kind: memberClusters, MetadataOnly: true, Paths: paths}, func(m *metav1.PartialObjectMetadata) error {
		members[m.Name] = true
		return nil
	})
	if err != nil || more {
		return nil
	}
	return UnknownClusters(site.Instance, named, members)
}
