package globalmanagement

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits of what a binding may say.
const (
	// MaxIDLength bounds BindingID and EventID, in characters.
	MaxIDLength = 256
	// MaxNameLength bounds a subject's name, in characters.
	MaxNameLength = 512
	// MaxNamespaces bounds the namespaces of a binding.
	MaxNamespaces = 256
	// maxInstanceLength bounds the name of an Instance.
	maxInstanceLength = 50
	// maxLabelLength bounds the name of a namespace.
	maxLabelLength = 63
)

// FieldError says what is wrong with a part of a body.
type FieldError struct {
	// Field is the part, such as subject.name or bindings[2].role.
	Field string
	// Problem follows it in a sentence.
	Problem string
}

func (e *FieldError) Error() string { return e.Field + " " + e.Problem }

func wrong(field, format string, args ...any) *FieldError {
	return &FieldError{Field: field, Problem: fmt.Sprintf(format, args...)}
}

// Validate finds the first part of the event that the receiver would refuse,
// whatever else it knows. Its error is a *FieldError.
func (e Event) Validate() error {
	if problem := checkID("eventID", e.EventID); problem != nil {
		return problem
	}
	switch e.Type {
	case Bound, Changed, Unbound:
	default:
		return wrong("type", "must be %s, %s or %s, not %q", Bound, Changed, Unbound, e.Type)
	}
	return e.Binding.Validate()
}

// Validate is that of Event, for a binding.
func (b Binding) Validate() error {
	if problem := b.check(); problem != nil {
		return problem
	}
	return nil
}

func (b Binding) check() *FieldError {
	if problem := checkID("bindingID", b.BindingID); problem != nil {
		return problem
	}
	if b.Sequence < 1 {
		return wrong("sequence", "must be 1 or more, not %d", b.Sequence)
	}
	if problem := b.Subject.check(); problem != nil {
		return problem
	}
	switch b.Role {
	case Viewer, Editor, Admin:
	default:
		return wrong("role", "must be %s, %s or %s, not %q", Viewer, Editor, Admin, b.Role)
	}
	if !label(b.Instance, maxInstanceLength) {
		return wrong("instance", "must be the name of an instance: up to %d lower-case letters, digits and '-', beginning and ending with a letter or digit", maxInstanceLength)
	}
	return b.checkNamespaces()
}

func (s Subject) check() *FieldError {
	switch s.Kind {
	case User, Group:
	default:
		return wrong("subject.kind", "must be %s or %s, not %q", User, Group, s.Kind)
	}
	switch {
	case s.Name == "":
		return wrong("subject.name", "must be given")
	case utf8.RuneCountInString(s.Name) > MaxNameLength:
		return wrong("subject.name", "must have at most %d characters", MaxNameLength)
	case !utf8.ValidString(s.Name), strings.ContainsFunc(s.Name, unicode.IsControl), strings.TrimSpace(s.Name) != s.Name:
		return wrong("subject.name", "must have no control characters, and no spaces at its ends")
	case s.Name == "system:anonymous", s.Name == "system:unauthenticated":
		return wrong("subject.name", "must not be %s: whoever has not said who they are cannot be given a role", s.Name)
	}
	return nil
}

func (b Binding) checkNamespaces() *FieldError {
	if b.Namespaces != nil && len(b.Namespaces) == 0 {
		return wrong("namespaces", "must not be empty: leave it out to give the role on the whole instance, or send the event unbound")
	}
	if len(b.Namespaces) > MaxNamespaces {
		return wrong("namespaces", "must be at most %d, not %d", MaxNamespaces, len(b.Namespaces))
	}
	for i, namespace := range b.Namespaces {
		field := fmt.Sprintf("namespaces[%d]", i)
		if !label(namespace, maxLabelLength) {
			return wrong(field, "must be the name of a namespace: up to %d lower-case letters, digits and '-', beginning and ending with a letter or digit", maxLabelLength)
		}
		if slices.Contains(b.Namespaces[:i], namespace) {
			return wrong(field, "must not be there twice: %s", namespace)
		}
	}
	return nil
}

// Validate is that of Event, for a resync.
func (r Resync) Validate() error {
	if r.AsOf < 1 {
		return wrong("asOf", "must be the moment before the bindings were read, in milliseconds since 1970")
	}
	if r.Bindings == nil {
		return wrong("bindings", "must be given; an empty list takes every role away")
	}
	seen := make(map[string]int, len(r.Bindings))
	for i, b := range r.Bindings {
		field := fmt.Sprintf("bindings[%d]", i)
		if problem := b.check(); problem != nil {
			return wrong(field+"."+problem.Field, "%s", problem.Problem)
		}
		if first, found := seen[b.BindingID]; found {
			return wrong(field+".bindingID", "must not be that of bindings[%d]", first)
		}
		seen[b.BindingID] = i
	}
	return nil
}

func checkID(field, id string) *FieldError {
	switch {
	case id == "":
		return wrong(field, "must be given")
	case utf8.RuneCountInString(id) > MaxIDLength:
		return wrong(field, "must have at most %d characters", MaxIDLength)
	case !utf8.ValidString(id), strings.ContainsFunc(id, unicode.IsControl):
		return wrong(field, "must have no control characters")
	}
	return nil
}

// label reports whether a text is a DNS label of at most so many characters.
func label(text string, most int) bool {
	if text == "" || len(text) > most || text[0] == '-' || text[len(text)-1] == '-' {
		return false
	}
	for i := range len(text) {
		c := text[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}
