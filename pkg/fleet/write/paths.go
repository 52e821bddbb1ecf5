package write

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Paths says which input a field of an object comes from: the paths of inputs by
// those of fields. The longest field that fits counts; "" fits every field.
//
//	Paths{"": "input", "spec": "input.spec", "metadata.name": "input.name"}
//
// maps spec.placement.clusterAffinity to input.spec.placement.clusterAffinity.
// An input whose path ends with "!" takes the field without what follows it, as
// do those that are text: "input.patch!".
type Paths map[string]string

// Argument is the input that a field comes from; "input" where nothing says it.
func (p Paths) Argument(field string) string {
	field = strings.TrimPrefix(field, ".")
	prefixes := slices.SortedFunc(maps.Keys(p), func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, prefix := range prefixes {
		rest, ok := below(field, prefix)
		if !ok {
			continue
		}
		argument, whole := strings.CutSuffix(p[prefix], "!")
		switch {
		case whole || rest == "":
			return argument
		case prefix == "" && !strings.HasPrefix(rest, "["):
			return argument + "." + rest
		}
		return argument + rest
	}
	return "input"
}

// below is what of a field follows a prefix, with the dot or bracket that parts them.
func below(field, prefix string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(field, prefix)
	if !ok || prefix == "" || rest == "" {
		return rest, ok
	}
	return rest, rest[0] == '.' || rest[0] == '['
}
