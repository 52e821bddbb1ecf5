package rpc

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/vektah/gqlparser/v2/ast"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// variablesOf makes the variables of an operation of its request. What is not set is left out, so that it has its default.
func (s *Service) variablesOf(m *method, of protoreflect.Message) (map[string]any, error) {
	r := reader{s.schema}
	variables := map[string]any{}
	if err := known(of, ""); err != nil {
		return nil, err
	}
	for _, v := range m.operation.Definition.VariableDefinitions {
		if err := r.member(variables, of, v.Variable, v.Type, v.DefaultValue != nil, ""); err != nil {
			return nil, err
		}
	}
	return variables, nil
}

// known refuses fields that a message does not define: a newer client may mean by one that nothing is to be written.
func known(of protoreflect.Message, path string) error {
	if len(of.GetUnknown()) > 0 {
		return apierror.Invalid(path, "%s has a field that this server does not know: it may be older than your client", of.Descriptor().Name())
	}
	return nil
}

// reader reads messages as values of a schema.
type reader struct{ schema *ast.Schema }

// member reads a field of a message into the object that the message is.
func (r reader) member(into map[string]any, of protoreflect.Message, name string, typ *ast.Type, hasDefault bool, path string) error {
	field := of.Descriptor().Fields().ByJSONName(name)
	switch {
	case field == nil:
		return nil
	case path != "":
		path += "." + name
	default:
		path = name
	}
	if field.IsList() {
		list := of.Get(field).List()
		// A message cannot have null for a list: an empty one is not set, unless something has to be there.
		if list.Len() == 0 && (hasDefault || !typ.NonNull) {
			return nil
		}
		values := make([]any, list.Len())
		for i := range values {
			value, err := r.value(field, list.Get(i), typ.Elem, path+"["+strconv.Itoa(i)+"]")
			if err != nil {
				return err
			}
			values[i] = value
		}
		into[name] = values
		return nil
	}
	if !of.Has(field) {
		return nil
	}
	value, err := r.value(field, of.Get(field), typ, path)
	into[name] = value
	return err
}

// value reads a single value.
func (r reader) value(field protoreflect.FieldDescriptor, v protoreflect.Value, typ *ast.Type, path string) (any, error) {
	switch field.Kind() {
	case protoreflect.BoolKind:
		return v.Bool(), nil
	case protoreflect.StringKind:
		return v.String(), nil
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		return json.Number(strconv.FormatInt(v.Int(), 10)), nil
	case protoreflect.DoubleKind:
		if f := v.Float(); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return json.Number(strconv.FormatFloat(f, 'g', -1, 64)), nil
		}
		return nil, apierror.Invalid(path, "must be a finite number")
	case protoreflect.EnumKind:
		if value := field.Enum().Values().ByNumber(v.Enum()); value != nil && value.Number() != 0 {
			return string(value.Name()), nil
		}
		return nil, apierror.Invalid(path, "%d is no value of %s", v.Enum(), typ.Name())
	case protoreflect.MessageKind:
		return r.object(v.Message(), typ, path)
	default: // Definitions that package protofile writes have no other kinds.
		return nil, apierror.Invalid(path, "has a type that no variable has")
	}
}

// object reads a message.
func (r reader) object(of protoreflect.Message, typ *ast.Type, path string) (any, error) {
	if err := known(of, path); err != nil {
		return nil, err
	}
	switch m := of.Interface().(type) {
	case *timestamppb.Timestamp:
		if m.CheckValid() != nil {
			return nil, apierror.Invalid(path, "must be a time of the years 1 to 9999")
		}
		return m.AsTime().Format(time.RFC3339Nano), nil
	case *structpb.Value:
		return m.AsInterface(), nil
	}
	def := r.schema.Types[typ.Name()]
	values := map[string]any{}
	for _, member := range def.Fields {
		if err := r.member(values, of, member.Name, member.Type, member.DefaultValue != nil, path); err != nil {
			return nil, err
		}
	}
	return values, nil
}
