package operation

import (
	"bytes"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
)

// Operation is a named operation.
type Operation struct {
	// Name is that of the operation and of its file, Noun that of the file's folder.
	Name, Noun string
	// Summary is one sentence, Description all that follows it; the latter may be empty.
	Summary, Description string
	Stability            Stability
	// Method and Path are those of HTTP; the path has its variables in braces.
	Method, Path string
	// Document is the text of the file, which has this operation alone.
	Document string
	// Definition is the operation, validated against the schema.
	Definition *ast.OperationDefinition
	// Result is the way from the data to the object that is the answer, as keys of the response.
	Result []string
	// Versioned reports whether that object has its version, under the key of Version.
	Versioned bool
}

// Version is the key of the version of an object, and the variable that has the one which is meant.
const Version = "resourceVersion"

// Stability is what a client may rely on.
type Stability string

// The stabilities of operations.
const (
	// Stable operations change only by additions.
	Stable Stability = "stable"
	// Beta operations may change from one release to the next; the changelog says how.
	Beta Stability = "beta"
)

// Reads reports whether the operation changes nothing.
func (o *Operation) Reads() bool { return o.Definition.Operation != ast.Mutation }

// Streams reports whether the operation has many answers.
func (o *Operation) Streams() bool { return o.Definition.Operation == ast.Subscription }

// HasBody reports whether variables come in the body.
func (o *Operation) HasBody() bool { return hasBody(o.Method) }

// InPath reports whether a variable is a segment of the path.
func (o *Operation) InPath(variable string) bool {
	return slices.Contains(variablesOf(o.Path), variable)
}

// Answer is the selection of the object that is the answer, and its type.
func (o *Operation) Answer() *ast.Field {
	var at *ast.Field
	set := o.Definition.SelectionSet
	for range o.Result {
		at = set[0].(*ast.Field) //nolint:forcetypeassert // Load has checked it.
		set = at.SelectionSet
	}
	return at
}

// Unwrap is the text of the object that the answer is, in the data of a response; nil where it is null. Above it, each
// object has one field, so that what surrounds it is known.
func (o *Operation) Unwrap(data []byte) []byte {
	for _, name := range o.Result {
		inner, ok := bytes.CutPrefix(data, []byte(`{"`+name+`":`))
		if !ok || len(inner) == 0 {
			return nil
		}
		data = inner[:len(inner)-1]
	}
	if len(data) == 0 || data[0] != '{' {
		return nil
	}
	return data
}
