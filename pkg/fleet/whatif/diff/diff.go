package diff

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Change is a field that differs between two manifests.
type Change struct {
	// Path is the JSON pointer of the field, as override policies name fields. The index of an
	// item is its place before, or after where it was added.
	Path string
	// Before and After are the values as JSON, shortened to MaxText bytes; nil where there is none.
	Before, After *string
	// Steps lead to the field in the manifest after; where it has none, in the manifest before.
	Steps []Step
}

// Step is a part of a path: the key of a map, or an item of a list.
type Step struct {
	Key string
	// Item is the item of a list; nil for the key of a map.
	Item any
	// Index is the place of the item.
	Index int
}

// Between returns the fields that differ between two manifests, by path.
func Between(before, after map[string]any) []Change {
	w := walker{}
	w.compare(nil, nil, before, after)
	return w.changes
}

// Within returns the fields of a manifest that differ in an object made from it, by path. Fields that the
// object has in addition are defaults of its cluster, except items of a list that the manifest has.
func Within(manifest, object map[string]any) []Change {
	w := walker{within: true}
	w.compare(nil, nil, manifest, object)
	return w.changes
}

type walker struct {
	// within ignores what is only in the second manifest.
	within  bool
	changes []Change
}

// add notes a change. The values are missing where they are nil.
func (w *walker) add(path []string, steps []Step, before, after any) {
	w.changes = append(w.changes, Change{Path: pointer(path), Before: text(before), After: text(after), Steps: slices.Clone(steps)})
}

func (w *walker) compare(path []string, steps []Step, before, after any) {
	switch b := before.(type) {
	case map[string]any:
		if a, ok := after.(map[string]any); ok {
			w.maps(path, steps, b, a)
			return
		}
	case []any:
		if a, ok := after.([]any); ok {
			w.lists(path, steps, b, a)
			return
		}
	}
	switch {
	case before == nil && (after == nil || w.within):
	case w.within && after == nil && empty(before):
	case !equal(before, after):
		w.add(path, steps, before, after)
	}
}

func (w *walker) maps(path []string, steps []Step, before, after map[string]any) {
	keys := slices.Collect(maps.Keys(before))
	if !w.within {
		for key := range after {
			if _, both := before[key]; !both {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		w.compare(append(slices.Clip(path), key), append(slices.Clip(steps), Step{Key: key}), before[key], after[key])
	}
}

// lists compares lists: item by item where their items have keys and the same order, or where they are
// equally long.
func (w *walker) lists(path []string, steps []Step, before, after []any) {
	key := keyOf(before, after)
	if key == "" {
		w.byIndex(path, steps, before, after)
		return
	}
	placesBefore, placesAfter := places(before, key), places(after, key)
	if !sameOrder(before, after, key, placesBefore, placesAfter) {
		w.add(path, steps, before, after)
		return
	}
	for i, item := range before {
		step := Step{Item: item, Index: i}
		var other any
		if j, ok := placesAfter[valueOf(item, key)]; ok {
			other = after[j]
			step = Step{Item: other, Index: j}
		}
		w.item(path, steps, i, step, item, other)
	}
	for j, item := range after {
		if _, ok := placesBefore[valueOf(item, key)]; !ok {
			w.item(path, steps, j, Step{Item: item, Index: j}, nil, item)
		}
	}
}

func (w *walker) byIndex(path []string, steps []Step, before, after []any) {
	if len(before) != len(after) {
		if w.within && len(after) == 0 && len(before) == 0 {
			return
		}
		w.add(path, steps, before, after)
		return
	}
	for i := range before {
		w.item(path, steps, i, Step{Item: after[i], Index: i}, before[i], after[i])
	}
}

// item compares two items of lists, one of which may be missing.
func (w *walker) item(path []string, steps []Step, index int, step Step, before, after any) {
	path = append(slices.Clip(path), strconv.Itoa(index))
	steps = append(slices.Clip(steps), step)
	if before == nil || after == nil {
		if !equal(before, after) {
			w.add(path, steps, before, after)
		}
		return
	}
	w.compare(path, steps, before, after)
}

// keys distinguish the items of Kubernetes' lists, the best first.
var keys = []string{"name", "mountPath", "devicePath", "containerPort", "port", "key", "ip", "topologyKey", "host", "path", "type"}

// keyOf is the key that distinguishes the items of both lists; empty where none does.
func keyOf(lists ...[]any) string {
	for _, key := range keys {
		if !slices.ContainsFunc(lists, func(list []any) bool { return len(places(list, key)) != len(list) }) {
			return key
		}
	}
	return ""
}

// places are the places of the items of a list by their keys. Items without one, or with the one of
// another item, are missing.
func places(list []any, key string) map[string]int {
	found := make(map[string]int, len(list))
	for i, item := range list {
		if value := valueOf(item, key); value != "" {
			found[value] = i
		}
	}
	return found
}

// valueOf is the key of an item as text; empty where it has none.
func valueOf(item any, key string) string {
	fields, ok := item.(map[string]any)
	if !ok {
		return ""
	}
	switch value := fields[key].(type) {
	case string:
		return value
	case int64, float64:
		return *text(value)
	}
	return ""
}

// sameOrder reports whether the items that both lists have are in the same order.
func sameOrder(before, after []any, key string, placesBefore, placesAfter map[string]int) bool {
	common := func(list []any, other map[string]int) []string {
		var in []string
		for _, item := range list {
			if value := valueOf(item, key); value != "" {
				if _, ok := other[value]; ok {
					in = append(in, value)
				}
			}
		}
		return in
	}
	return slices.Equal(common(before, placesAfter), common(after, placesBefore))
}

// pointer is a path as a JSON pointer (RFC 6901).
func pointer(path []string) string {
	var b strings.Builder
	for _, segment := range path {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(segment))
	}
	return b.String()
}
