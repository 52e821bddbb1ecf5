package specs

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/kairship-io/kairship/pkg/fleet/write"
)

// An update replaces the whole spec, so a client that read a part of a spec and
// sends that part back removes the rest. Nothing here refuses that: it may be meant.

// mostShown is how many characters of a value a warning shows.
const mostShown = 200

// notKept warns of the fields of a spec that an update does not keep although the
// input does not mention them. before and after are the spec as the instance stored
// it, and sent is the input as it was sent: a field that is null in it is mentioned.
func notKept(before, after map[string]any, sent any) []write.Warning {
	var found []write.Warning
	compareObject("spec", before, after, sent, func(path string, before, after any) {
		w := write.Warning{Code: write.WarningFieldNotKept, Argument: paths.Argument(path)}
		if after == nil {
			w.Message = fmt.Sprintf("the input does not mention %s, which is %s, so that the update removes it: an update replaces the whole spec. Send it to keep it, or null to remove it without this warning", path, shown(before))
		} else {
			w.Message = fmt.Sprintf("the input does not mention %s, which is %s, so that the update sets it to %s: an update replaces the whole spec. Send it to keep it, or null to reset it without this warning", path, shown(before), shown(after))
		}
		found = append(found, w)
	})
	return found
}

// compareObject calls found with the fields of an object that are not kept.
func compareObject(path string, before, after map[string]any, sent any, found func(path string, before, after any)) {
	mentions, ok := sent.(map[string]any)
	if !ok {
		return // It was sent as null, or as a document of the caller's own.
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		at := path + "." + name
		if value, mentioned := mentions[name]; mentioned {
			compareValue(at, before[name], after[name], value, found)
			continue
		}
		if value := after[name]; !reflect.DeepEqual(before[name], value) && (!empty(before[name]) || !empty(value)) {
			found(at, before[name], value)
		}
	}
}

// compareValue compares a field that the input mentions with what it mentions of it.
func compareValue(path string, before, after, sent any, found func(path string, before, after any)) {
	switch before := before.(type) {
	case map[string]any:
		now, _ := after.(map[string]any)
		compareObject(path, before, now, sent, found)
	case []any:
		now, _ := after.([]any)
		mentions, _ := sent.([]any)
		for to, from := range pairs(before, now) {
			was, ok := before[from].(map[string]any)
			is, still := now[to].(map[string]any)
			if ok && still && to < len(mentions) {
				compareObject(fmt.Sprintf("%s[%d]", path, to), was, is, mentions[to], found)
			}
		}
	}
}

// pairs finds which item of a list each item of another was before: its place in
// before, by its place in after. Items of lists have no identity, so equal ones are
// found first, and then those that have most fields in common.
func pairs(before, after []any) map[int]int {
	to := map[int]int{}
	used := make([]bool, len(before))
	match := func(likeness func(a, b any) int) {
		for i := range after {
			if _, done := to[i]; done {
				continue
			}
			best, most := -1, 0
			for j := range before {
				if n := likeness(before[j], after[i]); !used[j] && n > most {
					best, most = j, n
				}
			}
			if best >= 0 {
				to[i], used[best] = best, true
			}
		}
	}
	match(func(a, b any) int {
		if reflect.DeepEqual(a, b) {
			return 1
		}
		return 0
	})
	match(alike)
	return to
}

// alike counts the values that two items have in common, at every depth.
func alike(a, b any) int {
	switch a := a.(type) {
	case map[string]any:
		b, _ := b.(map[string]any)
		n := 0
		for name, value := range a {
			if other, ok := b[name]; ok {
				n += alike(value, other)
			}
		}
		return n
	case []any:
		b, _ := b.([]any)
		n := 0
		for i := range min(len(a), len(b)) {
			n += alike(a[i], b[i])
		}
		return n
	}
	if a == b {
		return 1
	}
	return 0
}

// empty reports whether Karmada's types omit a value.
func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return reflect.ValueOf(v).IsZero()
}

// shown is a value in a message.
func shown(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return "not readable"
	}
	text := []rune(string(raw))
	if len(text) > mostShown {
		return strings.TrimSpace(string(text[:mostShown])) + "…"
	}
	return string(text)
}
