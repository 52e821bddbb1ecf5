package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

// Trusted are documents under their hashes, and under their names in the
// file that they came from.
type Trusted map[string]string

// manifest is the file in the format that Apollo's generate-persisted-query-manifest writes.
type manifest struct {
	Format     string `json:"format"`
	Version    int    `json:"version"`
	Operations []struct {
		ID   string `json:"id"`
		Body string `json:"body"`
	} `json:"operations"`
}

const manifestFormat = "apollo-persisted-query-manifest"

// ParseTrusted reads a file of trusted documents: either a manifest in Apollo's
// format, or one JSON object whose members are documents under their hashes, as
// Relay and GraphQL Code Generator write it. A name of 64 hexadecimal digits must be
// the document's SHA-256. A file without documents, such as one that is being
// written, is an error.
func ParseTrusted(text []byte) (Trusted, error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil {
		return nil, errors.New("is no JSON object")
	}
	list := Trusted{}
	if _, apollo := members["operations"]; apollo {
		var m manifest
		if json.Unmarshal(text, &m) != nil || m.Format != manifestFormat || m.Version != 1 {
			return nil, fmt.Errorf("has operations and is not of the format %q, version 1", manifestFormat)
		}
		for _, op := range m.Operations {
			if err := list.add(op.ID, op.Body); err != nil {
				return nil, err
			}
		}
		members = nil
	}
	for id, raw := range members {
		var body string
		if json.Unmarshal(raw, &body) != nil {
			return nil, fmt.Errorf("the document under %q is not a string", id)
		}
		if err := list.add(id, body); err != nil {
			return nil, err
		}
	}
	if len(list) == 0 {
		return nil, errors.New("has no documents")
	}
	return list, nil
}

// sha256Text is what a hash looks like.
var sha256Text = regexp.MustCompile(`^[0-9a-f]{64}$`)

func (l Trusted) add(id, body string) error {
	sum := hash(body)
	switch _, known := l[id]; {
	case id == "" || body == "":
		return errors.New("has a document without an id or without a text")
	case sha256Text.MatchString(id) && id != sum:
		return fmt.Errorf("the document under %s has another hash: %s", id, sum)
	case known && l[id] != body:
		return fmt.Errorf("two documents have the id %q", id)
	}
	if _, err := parser.ParseQuery(&ast.Source{Input: body}); err != nil {
		return fmt.Errorf("the document under %q does not parse", id)
	}
	l.Put(id, body)
	return nil
}

// Put adds a document under a name, and under its hash.
func (l Trusted) Put(id, body string) { l[id], l[hash(body)] = body, body }
