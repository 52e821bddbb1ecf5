package changes

import (
	"cmp"
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// selectedPaths returns the paths at which two values of one type differ, in the words of the API: the
// dotted names of fields, below a prefix. Fields have their JSON names or else their Go names.
// Lists are compared item by item and their positions are not named; where they differ in length,
// the path is that of the list. The paths are in order, each once.
func selectedPaths(prefix string, before, after any) []string {
	d := differ{found: map[string]struct{}{}}
	d.compare(prefix, reflect.ValueOf(before), reflect.ValueOf(after))
	return slices.Sorted(maps.Keys(d.found))
}

type differ struct {
	found map[string]struct{}
}

func (d *differ) differs(path string) { d.found[path] = struct{}{} }

func (d *differ) compare(path string, a, b reflect.Value) {
	a, b = reached(a), reached(b)
	switch {
	case !a.IsValid() && !b.IsValid():
		return
	case !a.IsValid() || !b.IsValid() || a.Type() != b.Type():
		d.differs(path)
		return
	case scalar(a.Type()):
		if !reflect.DeepEqual(a.Interface(), b.Interface()) && textOf(a) != textOf(b) {
			d.differs(path)
		}
		return
	}
	switch a.Kind() {
	case reflect.Struct:
		d.fields(path, a, b)
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() {
			d.differs(path)
			return
		}
		for i := range a.Len() {
			d.compare(path, a.Index(i), b.Index(i))
		}
	default:
		if !reflect.DeepEqual(a.Interface(), b.Interface()) {
			d.differs(path)
		}
	}
}

// fields compares the fields of structs, those of embedded ones as their own.
func (d *differ) fields(path string, a, b reflect.Value) {
	for i := range a.NumField() {
		f := a.Type().Field(i)
		if !f.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			d.compare(path, a.Field(i), b.Field(i))
			continue
		case name == "":
			name = lowered(f.Name)
		}
		d.compare(path+"."+name, a.Field(i), b.Field(i))
	}
}

// lowered is the API's name of a field without a JSON name: "LastTransitionTime"
// is lastTransitionTime, "CPU" is cpu, "PodIP" is podIP.
func lowered(name string) string {
	n := 0
	for n < len(name) && name[n] >= 'A' && name[n] <= 'Z' {
		n++
	}
	if n > 1 && n < len(name) {
		n-- // The last capital begins the next word.
	}
	return strings.ToLower(name[:n]) + name[n:]
}

// reached follows pointers and interfaces; invalid where they lead nowhere.
func reached(v reflect.Value) reflect.Value {
	for v.IsValid() && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) {
		v = v.Elem()
	}
	return v
}

var (
	marshalsJSON = reflect.TypeFor[json.Marshaler]()
	marshalsText = reflect.TypeFor[encoding.TextMarshaler]()
)

// scalar reports whether a type is shown as one value: times, quantities and the like.
func scalar(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(marshalsJSON) || p.Implements(marshalsText)
}

// textOf is what is shown of a scalar: two moments that are the same in different
// zones differ in Go, and so do equal quantities that were written differently.
func textOf(v reflect.Value) string {
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	raw, err := json.Marshal(p.Interface())
	if err != nil {
		return ""
	}
	return string(raw)
}

// touches reports whether a change shows in a selection. Both are paths; a path of
// either stands for everything below it.
func touches(changed, selected []string) bool {
	for _, c := range changed {
		for _, s := range selected {
			if under(c, s) || under(s, c) {
				return true
			}
		}
	}
	return false
}

// under reports whether a path is another one, or below it.
func under(path, above string) bool {
	rest, ok := strings.CutPrefix(path, above)
	return ok && (rest == "" || rest[0] == '.')
}

// Field is a field of a noun that its objects carry.
type Field[T any] struct {
	// Name of the field in the API.
	Name string
	// Of is its value. A failure counts as a value of its own.
	Of func(T) any
}

// Value makes the Of of a getter that can fail.
func Value[T, V any](get func(T) (V, error)) func(T) any {
	return func(object T) any {
		v, err := get(object)
		if err != nil {
			return unreadable{err.Error()}
		}
		return v
	}
}

// unreadable is the value of a field that can't be read.
type unreadable struct{ Error string }

// Of returns which fields of a noun differ between two states of an object.
func Of[T any](fields []Field[T], before, after T) []string {
	var changed []string
	for _, f := range fields {
		changed = append(changed, selectedPaths(f.Name, f.Of(before), f.Of(after))...)
	}
	slices.SortFunc(changed, cmp.Compare[string])
	return slices.Compact(changed)
}
