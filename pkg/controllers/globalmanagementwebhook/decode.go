package globalmanagementwebhook

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	gm "github.com/kairship-io/kairship/pkg/globalmanagement"
)

// decode reads a body strictly: one JSON value and nothing after it, in valid
// UTF-8, every name once, spelled exactly so, and known. Whatever could be
// understood in two ways is refused.
func decode(body []byte, into any) error {
	err := json.Unmarshal(body, into, json.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		problem := "must not be " + words[semantic.JSONKind]
		switch {
		case errors.Is(err, json.ErrUnknownName):
			problem = "is no part of the protocol"
		case semantic.Err != nil:
			problem = "cannot be read: " + semantic.Err.Error()
		}
		if semantic.JSONPointer == "" {
			return fmt.Errorf("the body %s", problem)
		}
		return &gm.FieldError{Field: pathOf(semantic.JSONPointer), Problem: problem}
	}
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return &gm.FieldError{Field: pathOf(syntactic.JSONPointer), Problem: "must not be there twice"}
		}
		return fmt.Errorf("the body is not one JSON object: %w, at byte %d", syntactic.Err, syntactic.ByteOffset)
	}
	return fmt.Errorf("the body cannot be read: %w", err)
}

// words are what people call the kinds of JSON.
var words = map[jsontext.Kind]string{
	'n': "null", 'f': "a boolean", 't': "a boolean", '"': "a string", '0': "a number", '{': "an object", '[': "an array",
}

// maxPath bounds the path in an answer, in bytes: names in it may be the sender's.
const maxPath = 200

// pathOf writes a JSON pointer as the protocol does: bindings[2].role.
func pathOf(pointer jsontext.Pointer) string {
	var path strings.Builder
	for token := range pointer.Tokens() {
		switch {
		case path.Len() == 0:
			path.WriteString(token)
		case strings.Trim(token, "0123456789") == "":
			path.WriteString("[" + token + "]")
		default:
			path.WriteString("." + token)
		}
	}
	if path.Len() > maxPath {
		return strings.ToValidUTF8(path.String()[:maxPath], "") + "..."
	}
	return path.String()
}
