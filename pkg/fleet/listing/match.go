package listing

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kairship-io/kairship/pkg/index"
)

// Matcher returns a function that reports whether a list with the filter has an object. Its errors
// name the argument.
func (f Filter) Matcher() (func(metav1.Object) bool, error) {
	selector, err := f.parse(index.ParseSelector)
	if err != nil {
		return nil, err
	}
	return f.matcher(selector), nil
}

// MemoryMatcher returns a Matcher for lists in memory, where labels also compare as numbers.
func (f Filter) MemoryMatcher() (func(metav1.Object) bool, error) {
	selector, err := f.parse(func(text string) (labels.Selector, error) { return labels.Parse(text) })
	if err != nil {
		return nil, err
	}
	return f.matcher(selector), nil
}

func (f Filter) matcher(selector labels.Selector) func(metav1.Object) bool {
	if selector == nil {
		selector = labels.Everything()
	}
	return func(o metav1.Object) bool {
		return (f.Namespaces == nil || slices.Contains(f.Namespaces, o.GetNamespace())) && f.matches(o, selector)
	}
}
