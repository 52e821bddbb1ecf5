package globalmanagement

import (
	"errors"
	"fmt"
	"go/build"
	"strings"
	"testing"
)

func event(change func(*Event)) Event {
	e := Event{EventID: "e-1", Type: Bound, Binding: Binding{
		BindingID: "b-1", Sequence: 1, Subject: Subject{Kind: User, Name: "alice"}, Role: Editor, Instance: "alpha", Namespaces: []string{"shop", "ops"},
	}}
	change(&e)
	return e
}

func TestEventValidate(t *testing.T) {
	many := make([]string, MaxNamespaces+1)
	for i := range many {
		many[i] = fmt.Sprintf("n%d", i)
	}
	for _, c := range []struct {
		reason string
		change func(*Event)
		field  string // that is wrong; empty when nothing is
	}{
		{"a whole event", func(*Event) {}, ""},
		{"a role on the whole instance", func(e *Event) { e.Namespaces = nil }, ""},
		{"IDs may have any form", func(e *Event) { e.BindingID, e.EventID = "urn:ä/1?x=y z", strings.Repeat("é", MaxIDLength) }, ""},
		{"service accounts are users", func(e *Event) { e.Subject.Name = "system:serviceaccount:ci:deployer" }, ""},
		{"no event ID", func(e *Event) { e.EventID = "" }, "eventID"},
		{"a long event ID", func(e *Event) { e.EventID = strings.Repeat("x", MaxIDLength+1) }, "eventID"},
		{"no binding ID", func(e *Event) { e.BindingID = "" }, "bindingID"},
		{"an ID that breaks a log's line", func(e *Event) { e.BindingID = "a\nb" }, "bindingID"},
		{"an ID that is no text", func(e *Event) { e.BindingID = "\xff" }, "bindingID"},
		{"no type", func(e *Event) { e.Type = "" }, "type"},
		{"another type", func(e *Event) { e.Type = "deleted" }, "type"},
		{"no sequence", func(e *Event) { e.Sequence = 0 }, "sequence"},
		{"a sequence below 1", func(e *Event) { e.Sequence = -1 }, "sequence"},
		{"no kind", func(e *Event) { e.Subject.Kind = "" }, "subject.kind"},
		{"a kind in other letters", func(e *Event) { e.Subject.Kind = "user" }, "subject.kind"},
		{"no name", func(e *Event) { e.Subject.Name = "" }, "subject.name"},
		{"a name that looks like another's", func(e *Event) { e.Subject.Name = "alice " }, "subject.name"},
		{"a name with a control character", func(e *Event) { e.Subject.Name = "al\x00ice" }, "subject.name"},
		{"a long name", func(e *Event) { e.Subject.Name = strings.Repeat("x", MaxNameLength+1) }, "subject.name"},
		{"the group of unauthenticated users", func(e *Event) { e.Subject = Subject{Group, "system:unauthenticated"} }, "subject.name"},
		{"no role", func(e *Event) { e.Role = "" }, "role"},
		{"another role", func(e *Event) { e.Role = "owner" }, "role"},
		{"a role in other letters", func(e *Event) { e.Role = "Admin" }, "role"},
		{"no instance", func(e *Event) { e.Instance = "" }, "instance"},
		{"no name of an instance", func(e *Event) { e.Instance = "../alpha" }, "instance"},
		{"a long name of an instance", func(e *Event) { e.Instance = strings.Repeat("a", 51) }, "instance"},
		{"an empty list would give more than a list of one", func(e *Event) { e.Namespaces = []string{} }, "namespaces"},
		{"too many namespaces", func(e *Event) { e.Namespaces = many }, "namespaces"},
		{"no name of a namespace", func(e *Event) { e.Namespaces[1] = "*" }, "namespaces[1]"},
		{"an empty name of a namespace", func(e *Event) { e.Namespaces[0] = "" }, "namespaces[0]"},
		{"a namespace twice", func(e *Event) { e.Namespaces[1] = "shop" }, "namespaces[1]"},
		{"an end needs what it ends, so that the end may come first", func(e *Event) { e.Type, e.Subject.Name = Unbound, "" }, "subject.name"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			wantField(t, event(c.change).Validate(), c.field)
		})
	}
}

func TestResyncValidate(t *testing.T) {
	b := event(func(*Event) {}).Binding
	again, bad := b, b
	again.Sequence = 2
	bad.BindingID, bad.Role = "b-2", "owner"
	for _, c := range []struct {
		reason string
		resync Resync
		field  string
	}{
		{"one binding", Resync{AsOf: 1, Bindings: []Binding{b}}, ""},
		{"none, and said so", Resync{AsOf: 1, Bindings: []Binding{}}, ""},
		{"a list that was forgotten would revoke everything", Resync{AsOf: 1}, "bindings"},
		{"no moment", Resync{Bindings: []Binding{b}}, "asOf"},
		{"a binding that is wrong", Resync{AsOf: 1, Bindings: []Binding{b, bad}}, "bindings[1].role"},
		{"a binding twice", Resync{AsOf: 1, Bindings: []Binding{b, again}}, "bindings[1].bindingID"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			wantField(t, c.resync.Validate(), c.field)
		})
	}
}

func wantField(t *testing.T, err error, want string) {
	t.Helper()
	problem, found := errors.AsType[*FieldError](err)
	switch {
	case err == nil && want == "":
	case err == nil:
		t.Errorf("accepted, and %s is wrong", want)
	case !found:
		t.Errorf("got %T, want a *FieldError", err)
	case problem.Field != want:
		t.Errorf("got %q, want a problem with %q", err, want)
	}
}

// TestStandardLibraryOnly keeps the SDK cheap to import: a platform must not get
// Kubernetes' client libraries for it.
func TestStandardLibraryOnly(t *testing.T) {
	const own = "github.com/kairship-io/kairship/pkg/globalmanagement"
	for _, folder := range []string{".", "client"} {
		p, err := build.ImportDir(folder, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range p.Imports {
			if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ".") && path != own {
				t.Errorf("%s imports %s", folder, path)
			}
		}
	}
}
