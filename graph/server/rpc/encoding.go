package rpc

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// encoding is how JSON objects become messages of a type, in one pass: as protojson.Unmarshal and proto.Marshal do it, without
// the message between them, which takes more than the whole operation does. It is made of the type's descriptor, once.
type encoding struct {
	name protoreflect.FullName
	// fields are by their names in JSON.
	fields map[string]*member
}

// member is how the values of a field are written.
type member struct {
	number protowire.Number
	kind   protoreflect.Kind
	list   bool
	packed bool
	// values are the numbers of an enum by their names.
	values map[string]protoreflect.EnumNumber
	// of is the type of a message.
	of *encoding
}

// The messages whose JSON is no object with their fields.
const (
	timestampName protoreflect.FullName = "google.protobuf.Timestamp"
	valueName     protoreflect.FullName = "google.protobuf.Value"
	structName    protoreflect.FullName = "google.protobuf.Struct"
)

// encodings are those of all messages that were asked for.
type encodings map[protoreflect.FullName]*encoding

// of returns the encoding of a message.
func (all encodings) of(message protoreflect.MessageDescriptor) *encoding {
	if known := all[message.FullName()]; known != nil {
		return known
	}
	e := &encoding{name: message.FullName(), fields: map[string]*member{}}
	all[e.name] = e // First, because its fields may be of its own type.
	for i := range message.Fields().Len() {
		field := message.Fields().Get(i)
		m := &member{number: field.Number(), kind: field.Kind(), list: field.IsList(), packed: field.IsPacked()}
		switch {
		case field.Message() != nil:
			m.of = all.of(field.Message())
		case field.Enum() != nil:
			m.values = map[string]protoreflect.EnumNumber{}
			for j := range field.Enum().Values().Len() {
				value := field.Enum().Values().Get(j)
				m.values[string(value.Name())] = value.Number()
			}
		}
		e.fields[field.JSONName()] = m
	}
	return e
}

// encode appends the message that a JSON text is.
func (e *encoding) encode(to, text []byte) ([]byte, error) {
	// What the resolvers made is checked for what a message needs alone.
	w := &writer{to: to, from: jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))}
	if err := w.message(e); err != nil {
		return nil, fmt.Errorf("%s: %w", e.name, err)
	}
	return w.to, nil
}

// writer writes the values that it reads.
type writer struct {
	to   []byte
	from *jsontext.Decoder
	text []byte
}

// message writes the fields of a message.
func (w *writer) message(of *encoding) error {
	switch of.name {
	case timestampName:
		return w.timestamp()
	case valueName:
		return w.value()
	case structName:
		return w.entries()
	}
	if err := w.enter('{'); err != nil {
		return err
	}
	for w.more() {
		name, err := w.from.ReadValue()
		if err != nil {
			return err
		}
		m := of.fields[string(name[1:len(name)-1])]
		if m == nil {
			return fmt.Errorf("it has no field %s", name)
		}
		if err := w.field(m); err != nil {
			return err
		}
	}
	return w.leave()
}

// field writes a field; null is not set, except where it is a value of its own.
func (w *writer) field(m *member) error {
	switch {
	case w.from.PeekKind() == 'n' && (m.list || m.of == nil || m.of.name != valueName):
		return w.from.SkipValue()
	case m.packed:
		begin := w.begin(m.number)
		if err := w.list(m, w.scalar); err != nil {
			return err
		}
		w.end(begin)
		return nil
	case m.list:
		return w.list(m, w.single)
	}
	return w.single(m)
}

// list writes each value of a list.
func (w *writer) list(m *member, write func(*member) error) error {
	if err := w.enter('['); err != nil {
		return err
	}
	for w.more() {
		if err := write(m); err != nil {
			return err
		}
	}
	return w.leave()
}

// single writes a value with its number.
func (w *writer) single(m *member) error {
	switch m.kind {
	case protoreflect.MessageKind:
		begin := w.begin(m.number)
		if err := w.message(m.of); err != nil {
			return err
		}
		w.end(begin)
		return nil
	case protoreflect.StringKind:
		return w.string(m.number)
	case protoreflect.DoubleKind:
		w.to = protowire.AppendTag(w.to, m.number, protowire.Fixed64Type)
	default:
		w.to = protowire.AppendTag(w.to, m.number, protowire.VarintType)
	}
	return w.scalar(m)
}

// scalar writes a value of a fixed size or a varint.
func (w *writer) scalar(m *member) error {
	raw, err := w.from.ReadValue()
	if err != nil {
		return err
	}
	var n int64
	switch kind := raw.Kind(); {
	case m.kind == protoreflect.BoolKind && (kind == 't' || kind == 'f'):
		n = int64(protowire.EncodeBool(kind == 't')) //nolint:gosec // It is 0 or 1.
	case m.kind == protoreflect.Int32Kind && kind == '0':
		n, err = strconv.ParseInt(string(raw), 10, 32)
	case m.kind == protoreflect.Int64Kind && kind == '0':
		n, err = strconv.ParseInt(string(raw), 10, 64)
	case m.kind == protoreflect.DoubleKind && kind == '0':
		f, err := strconv.ParseFloat(string(raw), 64)
		w.to = protowire.AppendFixed64(w.to, math.Float64bits(f))
		return err
	case m.kind == protoreflect.EnumKind && kind == '"':
		number, ok := m.values[string(raw[1:len(raw)-1])]
		if !ok {
			return fmt.Errorf("%s is no value of the enum of field %d", raw, m.number)
		}
		n = int64(number)
	default:
		return fmt.Errorf("%s is no %s of field %d", raw, m.kind, m.number)
	}
	w.to = protowire.AppendVarint(w.to, uint64(n)) //nolint:gosec // Negative numbers are written so.
	return err
}

// string writes a text with its number.
func (w *writer) string(number protowire.Number) error {
	raw, err := w.from.ReadValue()
	switch {
	case err != nil:
		return err
	case raw.Kind() != '"':
		return fmt.Errorf("%s is no text of field %d", raw, number)
	case bytes.IndexByte(raw, '\\') >= 0:
		if w.text, err = jsontext.AppendUnquote(w.text[:0], raw); err != nil {
			return err
		}
	default:
		w.text = append(w.text[:0], raw[1:len(raw)-1]...)
	}
	w.to = protowire.AppendTag(w.to, number, protowire.BytesType)
	w.to = protowire.AppendBytes(w.to, w.text)
	return nil
}

// timestamp writes the fields of a Timestamp.
func (w *writer) timestamp() error {
	raw, err := w.from.ReadValue()
	if err != nil {
		return err
	}
	var at time.Time
	if err := at.UnmarshalJSON(raw); err != nil {
		return err
	}
	w.to = protowire.AppendTag(w.to, 1, protowire.VarintType)
	w.to = protowire.AppendVarint(w.to, uint64(at.Unix())) //nolint:gosec // As above.
	w.to = protowire.AppendTag(w.to, 2, protowire.VarintType)
	w.to = protowire.AppendVarint(w.to, uint64(at.Nanosecond())) //nolint:gosec // It is not negative.
	return nil
}
