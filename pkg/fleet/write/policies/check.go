package policies

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/policy"
	"github.com/kairship-io/kairship/pkg/fleet/write/specs"
)

// The instance decides which policies are valid: it may run another version of Karmada than
// Kairship knows. The checks here find contradictions that no version could give a meaning to, so
// that they are reported without a request.

type violations []apierror.Field

func (f *violations) add(at *field.Path, message string) {
	*f = append(*f, apierror.Field{Argument: specs.Argument(at.String()), Message: message})
}

func propagationContradictions(spec *policyv1alpha1.PropagationSpec) []apierror.Field {
	var f violations
	at := field.NewPath("spec")
	placement := at.Child("placement")
	if spec.Placement.ClusterAffinity != nil && len(spec.Placement.ClusterAffinities) > 0 {
		f.add(placement.Child("clusterAffinities"), "clusterAffinities and clusterAffinity exclude each other")
	}
	for i, c := range spec.Placement.SpreadConstraints {
		at := placement.Child("spreadConstraints").Index(i)
		if c.SpreadByField != "" && c.SpreadByLabel != "" {
			f.add(at.Child("spreadByLabel"), "spreadByLabel and spreadByField exclude each other")
		}
		if c.MaxGroups > 0 && c.MaxGroups < c.MinGroups {
			f.add(at.Child("maxGroups"), fmt.Sprintf("maxGroups is %d and must not be less than minGroups, which is %d", c.MaxGroups, c.MinGroups))
		}
	}
	if s := spec.Suspension; s != nil && s.Dispatching != nil && *s.Dispatching &&
		s.DispatchingOnClusters != nil && len(s.DispatchingOnClusters.ClusterNames) > 0 {
		f.add(at.Child("suspension", "dispatchingOnClusters"), "dispatchingOnClusters makes no sense when dispatching to all clusters is suspended")
	}
	return f
}

func overrideContradictions(spec *policyv1alpha1.OverrideSpec) []apierror.Field {
	var f violations
	at := field.NewPath("spec")
	if len(spec.OverrideRules) > 0 {
		if spec.TargetCluster != nil { //nolint:staticcheck // deprecated, and still in use
			f.add(at.Child("targetCluster"), "targetCluster and overrideRules exclude each other")
		}
		if policy.ChangesAnything(spec.Overriders) { //nolint:staticcheck // deprecated, and still in use
			f.add(at.Child("overriders"), "overriders and overrideRules exclude each other")
		}
	}
	for i, rule := range spec.OverrideRules {
		fieldContradictions(&f, at.Child("overrideRules").Index(i).Child("overriders"), rule.Overriders)
	}
	fieldContradictions(&f, at.Child("overriders"), spec.Overriders) //nolint:staticcheck // deprecated, and still in use
	return f
}

func fieldContradictions(f *violations, at *field.Path, o policyv1alpha1.Overriders) {
	for i, change := range o.FieldOverrider {
		at := at.Child("fieldOverrider").Index(i)
		switch {
		case len(change.JSON) > 0 && len(change.YAML) > 0:
			f.add(at.Child("yaml"), "yaml and json exclude each other: a document is one of the two")
		case len(change.JSON) == 0 && len(change.YAML) == 0:
			f.add(at, "json or yaml is needed")
		}
	}
}
