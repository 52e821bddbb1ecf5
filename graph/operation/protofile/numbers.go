package protofile

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Numbers are what clients rely on: for each message and enum the number and the type of each name in it, and for each
// service its methods. Nothing is taken out when it is no longer there, so that no number is used for something else.
type Numbers map[string]map[string]Entry

// Entry is what is kept of a field, a value of an enum or a method. Its text is the number and the type.
type Entry struct {
	// Number is zero for a method.
	Number int
	// Type is empty for a value of an enum.
	Type string
}

// MarshalText implements encoding.TextMarshaler.
func (e Entry) MarshalText() ([]byte, error) {
	return []byte(strings.TrimSpace(strconv.Itoa(e.Number) + " " + e.Type)), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (e *Entry) UnmarshalText(text []byte) error {
	number, typ, _ := strings.Cut(string(text), " ")
	n, err := strconv.Atoi(number)
	e.Number, e.Type = n, typ
	return err
}

// The numbers that no field may have: those of the implementation of Protocol Buffers.
const (
	firstInternal = 19000
	lastInternal  = 19999
)

// ReadNumbers reads what Write wrote.
func ReadNumbers(text []byte) (Numbers, error) {
	n := Numbers{}
	if len(text) == 0 {
		return n, nil
	}
	err := json.Unmarshal(text, &n)
	return n, err
}

// Write writes the numbers; what is the same is the same text.
func (n Numbers) Write() ([]byte, error) {
	text, err := json.MarshalIndent(n, "", " ")
	return append(text, '\n'), err
}

// number returns the number of a name, a new one where it has none.
func (n Numbers) number(of, name, typ string) (int, error) {
	known := n[of]
	if known == nil {
		known = map[string]Entry{}
		n[of] = known
	}
	if had, ok := known[name]; ok {
		if had.Type != typ {
			return 0, fmt.Errorf("%s.%s was %q and would be %q, which breaks clients: give it another name", of, name, had.Type, typ)
		}
		return had.Number, nil
	}
	next := 1
	for _, entry := range known {
		next = max(next, entry.Number+1)
	}
	if next >= firstInternal && next <= lastInternal {
		next = lastInternal + 1
	}
	known[name] = Entry{Number: next, Type: typ}
	return next, nil
}

// removed are the names that a message or an enum had, sorted by number.
func (n Numbers) removed(of string, present func(name string) bool) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(n[of])) {
		if !present(name) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return n[of][a].Number - n[of][b].Number })
	return names
}

// methods notes the methods of a service, and refuses to lose or to change one.
func (n Numbers) methods(service string, types map[string]string) error {
	known := n[service]
	if known == nil {
		known = map[string]Entry{}
		n[service] = known
	}
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(known)) {
		switch typ, ok := types[name]; {
		case !ok:
			wrong = append(wrong, fmt.Errorf("the method %s was removed, which breaks clients: keep its operation", name))
		case typ != known[name].Type:
			wrong = append(wrong, fmt.Errorf("the method %s was %s and would be %s, which breaks clients", name, known[name].Type, typ))
		}
	}
	for name, typ := range types {
		if _, ok := known[name]; !ok {
			known[name] = Entry{Type: typ}
		}
	}
	return errors.Join(wrong...)
}
