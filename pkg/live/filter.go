package live

import "k8s.io/apimachinery/pkg/labels"

// filter is a Filter that is quick to ask.
type filter struct {
	namespaces, names map[string]struct{}
	labels            labels.Selector
	match             func(*Object) bool
}

func newFilter(f Filter) filter {
	return filter{namespaces: setOf(f.Namespaces), names: setOf(f.Names), labels: f.Labels, match: f.Match}
}

// setOf is nil for nil only.
func setOf(values []string) map[string]struct{} {
	if values == nil {
		return nil
	}
	set := make(map[string]struct{}, len(values))
	for _, v := range values {
		set[v] = struct{}{}
	}
	return set
}

// visible is the object, or nil where it does not match.
func (f *filter) visible(o *Object) *Object {
	if o == nil {
		return nil
	}
	if f.namespaces != nil {
		if _, ok := f.namespaces[o.Meta.Namespace]; !ok {
			return nil
		}
	}
	if f.names != nil {
		if _, ok := f.names[o.Meta.Name]; !ok {
			return nil
		}
	}
	if f.labels != nil && !f.labels.Matches(labels.Set(o.Meta.Labels)) {
		return nil
	}
	if f.match != nil && !f.match(o) {
		return nil
	}
	return o
}
