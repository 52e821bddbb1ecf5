package policies

import (
	"context"
	"fmt"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/index"
)

// namedCluster is a cluster that a spec names.
type namedCluster struct {
	at   string
	name string
}

// naming collects the clusters that a spec names.
type naming []namedCluster

func (n *naming) list(at *field.Path, names []string) {
	for i, name := range names {
		*n = append(*n, namedCluster{at.Index(i).String(), name})
	}
}

func (n *naming) affinity(at *field.Path, a *policyv1alpha1.ClusterAffinity) {
	if a != nil {
		n.list(at.Child("clusterNames"), a.ClusterNames)
		n.list(at.Child("exclude"), a.ExcludeClusters)
	}
}

// propagationClusters are the clusters that the spec of a propagation policy names.
func propagationClusters(spec *policyv1alpha1.PropagationSpec) []namedCluster {
	var n naming
	at := field.NewPath("spec", "placement")
	p := &spec.Placement
	n.affinity(at.Child("clusterAffinity"), p.ClusterAffinity)
	for i := range p.ClusterAffinities {
		at, term := at.Child("clusterAffinities").Index(i), &p.ClusterAffinities[i]
		n.affinity(at, &term.ClusterAffinity)
		for j := range term.OverflowAffinities {
			n.affinity(at.Child("overflowAffinities").Index(j), &term.OverflowAffinities[j].ClusterAffinity)
		}
	}
	if s := p.ReplicaScheduling; s != nil && s.WeightPreference != nil {
		for i := range s.WeightPreference.StaticWeightList {
			n.affinity(at.Child("replicaScheduling", "weightPreference", "staticWeightList").Index(i).Child("targetCluster"), &s.WeightPreference.StaticWeightList[i].TargetCluster)
		}
	}
	if s := spec.Suspension; s != nil && s.DispatchingOnClusters != nil {
		n.list(field.NewPath("spec", "suspension", "dispatchingOnClusters", "clusterNames"), s.DispatchingOnClusters.ClusterNames)
	}
	return n
}

// overrideClusters are the clusters that the spec of an override policy names.
func overrideClusters(spec *policyv1alpha1.OverrideSpec) []namedCluster {
	var n naming
	at := field.NewPath("spec")
	n.affinity(at.Child("targetCluster"), spec.TargetCluster) //nolint:staticcheck // deprecated, and still in use
	for i := range spec.OverrideRules {
		n.affinity(at.Child("overrideRules").Index(i).Child("targetCluster"), spec.OverrideRules[i].TargetCluster)
	}
	return n
}

// unknownClusters warns of the clusters that a spec names and the instance does not have.
func unknownClusters(instance string, named []namedCluster, members map[string]bool) []write.Warning {
	var found []write.Warning
	for _, c := range named {
		if members[c.name] {
			continue
		}
		found = append(found, write.Warning{
			Code: write.WarningUnknownCluster, Argument: paths.Argument(c.at),
			Message: fmt.Sprintf("instance %q has no member cluster %q: Karmada accepts the name, and it stands for nothing until a cluster of that name is joined", instance, c.name),
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
	named := c.clusters(spec)
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
	return unknownClusters(site.Instance, named, members)
}
