package index

import (
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// ParseSelector parses a label selector in Kubernetes' syntax. The operators >
// and < are refused: labels are text in the index, and text compares wrongly.
// Nil stands for a selector that selects everything.
func ParseSelector(text string) (labels.Selector, error) {
	s, err := labels.Parse(text)
	if err != nil {
		return nil, err
	}
	requirements, selectable := s.Requirements()
	if !selectable || len(requirements) == 0 {
		return nil, nil //nolint:nilnil // Nil selects everything.
	}
	for _, r := range requirements {
		if op := r.Operator(); op == selection.GreaterThan || op == selection.LessThan {
			return nil, fmt.Errorf("the operators > and < are not supported (label %q)", r.Key())
		}
	}
	return s, nil
}
