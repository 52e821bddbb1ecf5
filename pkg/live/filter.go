package live

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
)

// filter is a Filter that is quick to ask.
type filter struct {
	namespaces, names words
	labels            labels.Selector
	match             func(*Object) bool
}

func newFilter(f Filter) filter {
	return filter{namespaces: setOf(f.Namespaces), names: setOf(f.Names), labels: f.Labels, match: f.Match}
}

// words are those that are wanted. Most filters have a few, of which a list is looked
// through quicker than a map is, and costs each subscriber less.
type words struct {
	// some: there is a list at all, be it empty.
	some bool
	list []string
	set  map[string]struct{}
}

func setOf(values []string) words {
	w := words{some: values != nil, list: values}
	if len(values) > few {
		w.set = make(map[string]struct{}, len(values))
		for _, v := range values {
			w.set[v] = struct{}{}
		}
	}
	return w
}

// admit reports whether a word is wanted.
func (w *words) admit(word string) bool {
	switch {
	case !w.some:
		return true
	case w.set == nil:
		return slices.Contains(w.list, word)
	}
	_, ok := w.set[word]
	return ok
}

// visible is the object, or nil where it does not match.
func (f *filter) visible(o *Object) *Object {
	if o == nil {
		return nil
	}
	if !f.namespaces.admit(o.Meta.Namespace) || !f.names.admit(o.Meta.Name) {
		return nil
	}
	if f.labels != nil && !f.labels.Matches(labels.Set(o.Meta.Labels)) {
		return nil
	}
	if f.match != nil && !f.match(o) {
		return nil
	}
	return o
}
