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
	// Policy returns the spec of the policy that claimed the workload.
	Policy(ref *PolicyRef) (*policyv1alpha1.PropagationSpec, error)
	// Members returns the member clusters of the instance by name.
	Members() (map[string]Member, error)
	// Object returns the object of the workload in a member cluster.
	Object(cluster string) (*Object, error)
	// Work returns the metadata of the Work that carries the workload to a member cluster.
	Work(cluster string) (*metav1.ObjectMeta, error)
}

// Gather reads the Facts of a workload. Everything that computes a state from the index reads
// its facts with Gather, so that equal objects give equal states.
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
	}
	if f.Members, err = from.Members(); err != nil {
		return nil, err
	}
	f.Objects = map[string]*Object{}
	for _, cluster := range Clusters(f.Binding) {
		o, err := from.Object(cluster)
		if err != nil {
			return nil, err
		}
		if o != nil {
			f.Objects[cluster] = o
		}
	}
	for _, cluster := range f.unexplained() {
		work, err := from.Work(cluster)
		if err != nil {
			return nil, err
		}
		if work != nil {
			Record(f.Overrides, work.Namespace, work.Annotations)
		}
	}
	return f, nil
}
