package instances

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// CheckName names a check of an upgrade.
type CheckName string

// The checks.
const (
	CheckDataKept      CheckName = "DATA_KEPT"
	CheckVersionKnown  CheckName = "VERSION_KNOWN"
	CheckNotDowngrade  CheckName = "NO_DOWNGRADE"
	CheckOneMinor      CheckName = "ONE_MINOR_VERSION"
	CheckInstalled     CheckName = "INSTALLED"
	CheckInstanceReady CheckName = "INSTANCE_READY"
	CheckClustersReady CheckName = "CLUSTERS_READY"
)

// Check is what was found out before an upgrade.
type Check struct {
	Name    CheckName
	Passed  bool
	Message string
}

// preflight checks whether a Managed instance can have another version of Karmada; nothing for other changes.
func (s *Service) preflight(ctx context.Context, before, after *v1alpha1.Instance) ([]Check, error) {
	if after.Spec.Mode != v1alpha1.InstanceModeManaged || before.Spec.KarmadaVersion == after.Spec.KarmadaVersion {
		return []Check{}, nil
	}
	var all v1alpha1.ClusterList
	if err := s.Watched.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return nil, apierror.Wrap(err, apierror.CodeInternal, "the clusters of instance %q could not be read", before.Name)
	}
	return checks(before, after.Spec.KarmadaVersion, all.Items), nil
}

// checks are those of an upgrade of an instance to a version; the clusters are those of the inventory.
func checks(i *v1alpha1.Instance, to string, clusters []v1alpha1.Cluster) []Check {
	out := append(versionChecks(versionOf(i), to), dataKept(i))
	for _, c := range []struct {
		name CheckName
		kind string
	}{{CheckInstalled, v1alpha1.ConditionInstalled}, {CheckInstanceReady, v1alpha1.ConditionReady}} {
		found := meta.FindStatusCondition(i.Status.Conditions, c.kind)
		if found == nil {
			out = append(out, Check{c.name, false, fmt.Sprintf("Condition %s is not known yet.", c.kind)})
			continue
		}
		out = append(out, Check{c.name, meta.IsStatusConditionTrue(i.Status.Conditions, c.kind), found.Message})
	}
	total, ready := 0, 0
	for j := range clusters {
		c := &clusters[j]
		if c.Spec.Type == v1alpha1.ClusterTypeVirtual || c.Spec.InstanceRef == nil || c.Spec.InstanceRef.Name != i.Name {
			continue
		}
		total++
		if meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionJoined) && meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionReady) {
			ready++
		}
	}
	return append(out, Check{CheckClustersReady, ready == total, fmt.Sprintf("%d of %d clusters of the inventory are joined and ready.", ready, total)})
}

// dataKept checks that etcd has a volume: the operator of the next version makes its pods anew.
func dataKept(i *v1alpha1.Instance) Check {
	if i.Spec.Components.KeepsData() {
		return Check{CheckDataKept, true, "etcd has a volume."}
	}
	return Check{CheckDataKept, false, "etcd has no volume (components.etcd.storage), which it cannot get any more: all that is in the instance is lost " +
		"when an operator of another version makes the pod of etcd anew. Install another instance with a volume, and move its clusters and workloads."}
}

// versionChecks compare the version that there is with the one to come. Karmada supports upgrades by one minor version at
// a time, and none back.
func versionChecks(from, to string) []Check {
	is, err := version.ParseSemantic(from)
	next, nextErr := version.ParseSemantic(to)
	if err != nil || nextErr != nil {
		var unknown []string
		if err != nil {
			unknown = append(unknown, fmt.Sprintf("the version %q that there is", from))
		}
		if nextErr != nil {
			unknown = append(unknown, fmt.Sprintf("the version %q to come", to))
		}
		return []Check{{CheckVersionKnown, false, fmt.Sprintf("Cannot compare %s.", strings.Join(unknown, " with "))}}
	}
	change := fmt.Sprintf("From %s to %s.", from, to)
	return []Check{
		{CheckVersionKnown, true, change},
		{CheckNotDowngrade, !next.LessThan(is), change},
		{CheckOneMinor, next.Major() == is.Major() && next.Minor() <= is.Minor()+1, change},
	}
}
