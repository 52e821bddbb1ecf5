package indextest

import (
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation"
)

// fields adds the conditions of a field selector: terms of the form path=value,
// with commas between. Clusterpedia knows more; it refuses what is refused here.
func (c *query) fields(text string) error {
	if text == "" {
		return nil
	}
	for term := range strings.SplitSeq(text, ",") {
		at, value, found := strings.Cut(term, "=")
		if !found || strings.ContainsAny(value, "=!()<> \t") {
			return refuse(http.StatusInternalServerError, "the field selector %q can't be read", text)
		}
		path, err := fieldPath(at)
		if err != nil {
			return err
		}
		c.json(path, selection.Equals, []string{value})
	}
	return nil
}

// fieldPath reads a path: steps with a dot between, or in brackets and quotes.
func fieldPath(text string) ([]string, error) {
	var path []string
	for rest := text; rest != ""; {
		var step string
		if after, quoted := strings.CutPrefix(rest, "['"); quoted {
			var closed bool
			if step, rest, closed = strings.Cut(after, "']"); !closed {
				return nil, refuse(http.StatusInternalServerError, "not found right quote in %q", text)
			}
		} else {
			rest = strings.TrimPrefix(rest, ".")
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			step, rest = rest[:end], rest[end:]
		}
		if errs := validation.IsQualifiedName(step); len(errs) > 0 {
			return nil, refuse(http.StatusInternalServerError, "%q: %s", step, strings.Join(errs, "; "))
		}
		path = append(path, step)
	}
	return path, nil
}
