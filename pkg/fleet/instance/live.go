package instance

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/fleet/changes"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
)

// Change is an event of a subscription to instances.
type Change = changes.Event[*Instance]

// Fields are the fields of an instance that are in its resource and can change.
func Fields() []changes.Field[*Instance] {
	return []changes.Field[*Instance]{
		{Name: "alias", Of: func(i *Instance) any { return i.Alias() }},
		{Name: "mode", Of: func(i *Instance) any { return i.Mode() }},
		{Name: "state", Of: func(i *Instance) any { return i.State() }},
		{Name: "conditions", Of: func(i *Instance) any { return i.Conditions() }},
		{Name: "karmadaVersion", Of: func(i *Instance) any { return i.KarmadaVersion() }},
		{Name: "kubernetesVersion", Of: func(i *Instance) any { return i.KubernetesVersion() }},
		{Name: "kubeSystemID", Of: func(i *Instance) any { return i.KubeSystemID() }},
		{Name: "labels", Of: func(i *Instance) any { return i.LabelPairs() }},
		{Name: "resourceVersion", Of: func(i *Instance) any { return i.Instance.ResourceVersion }},
		{Name: "hostCluster", Of: func(i *Instance) any { return i.HostName() }},
		{Name: "deletionPolicy", Of: func(i *Instance) any { return i.DeletionPolicy() }},
		{Name: "components", Of: func(i *Instance) any { return i.Components() }},
		{Name: "collect", Of: func(i *Instance) any { return i.Collect() }},
		{Name: "upgradeVersions", Of: func(i *Instance) any { return [2]any{i.Spec.KarmadaVersion, i.KarmadaVersion()} }},
		{Name: "manifest", Of: func(i *Instance) any { return i.Instance.ResourceVersion }},
		{Name: "yaml", Of: func(i *Instance) any { return i.Instance.ResourceVersion }},
		{Name: "summary", Of: func(i *Instance) any { return i.Summary() }},
	}
}

// Matcher returns a function that reports whether a list with the filter has an instance. Its
// errors name the argument.
func (f *Filter) Matcher() (func(*Instance) bool, error) {
	if f == nil {
		f = &Filter{}
	}
	named, err := f.listing().MemoryMatcher()
	if err != nil {
		return nil, err
	}
	return func(i *Instance) bool { return named(metav1.Object(i.Instance)) && f.matches(i) }, nil
}

func (f *Filter) listing() listing.Filter {
	return listing.Filter{Name: f.Name, NameContains: f.NameContains, LabelSelector: f.LabelSelector}
}

func (f *Filter) matches(i *Instance) bool {
	return (f.Mode == nil || slices.Contains(f.Mode, i.Mode())) && (f.State == nil || slices.Contains(f.State, i.State()))
}
