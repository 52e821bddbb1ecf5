package drift

import (
	"encoding/json"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/fleet/whatif/diff"
)

// Manager is the owner of a field, as the cluster has noted it in the managed fields of the object.
type Manager struct {
	// Name is that of the client, for example kubectl-edit.
	Name string
	// Operation is how it wrote the field.
	Operation string
	// Time is when it last wrote a field of the object; nil where that is not noted.
	Time *time.Time
}

// ManagerOf returns the owner of a field; the one that wrote last, where several own it, and nil where none
// does.
func (f *Field) ManagerOf(managers []metav1.ManagedFieldsEntry) *Manager {
	var last *metav1.ManagedFieldsEntry
	for i := range managers {
		m := &managers[i]
		if m.Subresource != "" || m.FieldsV1 == nil || !owns(m.FieldsV1.Raw, f.steps) {
			continue
		}
		if last == nil || last.Time == nil || m.Time != nil && last.Time.Before(m.Time) {
			last = m
		}
	}
	if last == nil {
		return nil
	}
	found := &Manager{Name: last.Manager, Operation: string(last.Operation)}
	if last.Time != nil {
		found.Time = &last.Time.Time
	}
	return found
}

// owns reports whether a set of fields, in the form FieldsV1, has a field: itself, or as part of a
// field that is owned as a whole, or with one of its parts.
func owns(fields json.RawMessage, steps []diff.Step) bool {
	if len(steps) == 0 {
		return true
	}
	var children map[string]json.RawMessage
	if json.Unmarshal(fields, &children) != nil {
		return false
	}
	if len(children) == 0 || len(children) == 1 && children["."] != nil {
		return true
	}
	for name, child := range children {
		if is(steps[0], name) {
			return owns(child, steps[1:])
		}
	}
	return false
}

// is reports whether a step is what FieldsV1 calls by a name: f:<key> for a key, and for an item of a list
// k:<keys>, v:<value> or i:<index>.
func is(s diff.Step, name string) bool {
	form, of, ok := strings.Cut(name, ":")
	if !ok {
		return false
	}
	if s.Item == nil {
		return form == "f" && of == s.Key
	}
	var value any
	if json.Unmarshal([]byte(of), &value) != nil {
		return false
	}
	switch form {
	case "k":
		keys, ok := value.(map[string]any)
		item, also := s.Item.(map[string]any)
		if !ok || !also {
			return false
		}
		for key, want := range keys {
			if !same(item[key], want) {
				return false
			}
		}
		return true
	case "v":
		return same(s.Item, value)
	case "i":
		return same(int64(s.Index), value)
	}
	return false
}

// same compares a value of a manifest with one that encoding/json decoded.
func same(a, b any) bool {
	if n, ok := a.(int64); ok {
		a = float64(n)
	}
	return a == b
}
