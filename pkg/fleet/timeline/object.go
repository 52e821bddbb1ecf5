package timeline

import (
	"slices"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/internal/excerpt"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/projection"
)

// Object names an object of an instance that has, or had, a history.
type Object struct {
	Kind      string
	Namespace *string
	Name      string
}

// The kinds besides workloads.
var (
	namespaced  = []string{policyv1alpha1.ResourceKindPropagationPolicy, policyv1alpha1.ResourceKindOverridePolicy}
	clusterWide = []string{projection.KindMember, policyv1alpha1.ResourceKindClusterPropagationPolicy, policyv1alpha1.ResourceKindClusterOverridePolicy}
)

// longestName bounds what is repeated of an input in an error, in bytes.
const longestName = 100

// key is the object in the words of the history. Its errors name the argument.
func (o *Object) key(instance string) (projection.ObjectKey, error) {
	key := projection.ObjectKey{Instance: instance, Kind: o.Kind, Name: o.Name}
	inNamespace := slices.Contains(namespaced, o.Kind) || workload.Kind(o.Kind).Valid()
	if o.Namespace != nil {
		key.Namespace = *o.Namespace
	}
	switch {
	case !inNamespace && !slices.Contains(clusterWide, o.Kind):
		return key, apierror.Invalid("object.kind", "%q has no timeline: give a kind of workloads, such as DEPLOYMENT or Rollout.argoproj.io, MemberCluster, or a kind of policies", excerpt.Of(o.Kind, longestName))
	case o.Name == "":
		return key, apierror.Invalid("object.name", "Give the name of the object")
	case inNamespace && key.Namespace == "":
		return key, apierror.Invalid("object.namespace", "A %s is in a namespace: give it", o.Kind)
	case !inNamespace && key.Namespace != "":
		return key, apierror.Invalid("object.namespace", "A %s has no namespace: leave it out", o.Kind)
	}
	return key, nil
}
