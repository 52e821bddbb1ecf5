package workload

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	workv1alpha2 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha2"
)

// Source reads the objects that the state of one workload is computed from, besides its
// template. A missing object is nil without an error.
type Source interface {
	// Binding returns the ResourceBinding of the workload.
	Binding() (*workv1alpha2.ResourceBinding, error)
	// Policy returns the policy that claimed the workload. A ClusterPropagationPolicy has the
	// same fields, and no namespace.
	Policy(ref *PolicyRef) (*policyv1alpha1.PropagationPolicy, error)
	// Members returns the member clusters of the instance by name.
	Members() (map[string]Member, error)
	// OverridePolicies returns the override policies that may select the workload; see Facts.
	OverridePolicies() ([]*policyv1alpha1.OverridePolicy, error)
	// Works returns the metadata of the Works that carry the workload to member clusters, by
	// cluster.
	Works(clusters []string) (map[string]*metav1.ObjectMeta, error)
	// Objects returns the objects of the workload in member clusters, by cluster.
	Objects(clusters []string) (map[string]*Object, error)
}

// Gather reads the Facts of a workload. Everything that computes a state from the index reads
// its facts with Gather, so that equal objects give equal states. A change is read where it
// begins before where it arrives, so that what it has not reached yet shows.
func Gather(kind Kind, template *Object, from Source) (*Facts, error) {
	f := &Facts{Kind: kind, Template: template, Members: map[string]Member{}, Overrides: map[string][]AppliedOverride{}}
	var err error
	if f.Binding, err = from.Binding(); err != nil || f.Binding == nil {
		return f, err
	}
	if ref := PolicyRefOf(template); ref != nil {
		if f.Policy, err = from.Policy(ref); err != nil {
			return nil, err
		}
		f.PolicyMissing = f.Policy == nil
	}
	if f.Members, err = from.Members(); err != nil {
		return nil, err
	}
	policies, err := from.OverridePolicies()
	if err != nil {
		return nil, err
	}
	f.OverridePolicies = append([]*policyv1alpha1.OverridePolicy{}, policies...)
	works, err := from.Works(clustersOf(f.Binding))
	if err != nil {
		return nil, err
	}
	for _, work := range works {
		Record(f.Overrides, work.Namespace, work.Annotations)
	}
	if kind.Custom() {
		return f, nil // Its state is what Karmada makes of its objects.
	}
	f.Objects, err = from.Objects(clustersOf(f.Binding))
	return f, err
}
