package rpc

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// anyNumber and anyBool are fields of google.protobuf.Value.
var (
	anyNumber = &member{number: 2, kind: protoreflect.DoubleKind}
	anyBool   = &member{number: 4, kind: protoreflect.BoolKind}
)

// Further fields of google.protobuf.Value, and those of its objects and lists.
const (
	anyNull, anyString, anyObject, anyList protowire.Number = 1, 3, 5, 6

	anyMember, anyKey, anyMemberValue protowire.Number = 1, 1, 2
)

// value writes the fields of a Value: any JSON.
func (w *writer) value() error {
	switch w.from.PeekKind() {
	case '{':
		begin := w.begin(anyObject)
		if err := w.entries(); err != nil {
			return err
		}
		w.end(begin)
		return nil
	case '[':
		begin := w.begin(anyList)
		if err := w.list(anyElement, w.single); err != nil {
			return err
		}
		w.end(begin)
		return nil
	case '"':
		return w.string(anyString)
	case '0':
		return w.single(anyNumber)
	case 'n':
		w.to = protowire.AppendTag(w.to, anyNull, protowire.VarintType)
		w.to = protowire.AppendVarint(w.to, 0)
		return w.from.SkipValue()
	default:
		return w.single(anyBool)
	}
}

// anyElement is the field of a list's values.
var anyElement = &member{number: anyMember, kind: protoreflect.MessageKind, of: &encoding{name: valueName}}

// entries writes the members of an object, which are a map.
func (w *writer) entries() error {
	if err := w.enter('{'); err != nil {
		return err
	}
	for w.more() {
		begin := w.begin(anyMember)
		if err := w.string(anyKey); err != nil {
			return err
		}
		of := w.begin(anyMemberValue)
		if err := w.value(); err != nil {
			return err
		}
		w.end(of)
		w.end(begin)
	}
	return w.leave()
}

// begin writes the number of what has its length before it, and returns where that is to be.
func (w *writer) begin(number protowire.Number) int {
	w.to = protowire.AppendTag(w.to, number, protowire.BytesType)
	return len(w.to)
}

// end puts the length of what was written since before it.
func (w *writer) end(begin int) {
	length := len(w.to) - begin
	var prefix [10]byte
	size := len(protowire.AppendVarint(prefix[:0], uint64(length))) //nolint:gosec // It is not negative.
	w.to = append(w.to, prefix[:size]...)
	copy(w.to[begin+size:], w.to[begin:begin+length])
	copy(w.to[begin:], prefix[:size])
}

// enter begins to read an object or a list.
func (w *writer) enter(kind jsontext.Kind) error {
	switch is, err := w.from.ReadToken(); {
	case err != nil:
		return err
	case is.Kind() != kind:
		return fmt.Errorf("a %s is where a %s has to be", is.Kind(), kind)
	}
	return nil
}

// more reports whether the object or list has another member.
func (w *writer) more() bool {
	kind := w.from.PeekKind()
	return kind != '}' && kind != ']' && kind != 0
}

// leave ends to read an object or a list.
func (w *writer) leave() error {
	_, err := w.from.ReadToken()
	return err
}
