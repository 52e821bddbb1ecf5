package reference

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// document is the OpenAPI document, as far as the page shows it.
type document struct {
	Tags []struct {
		Name string `json:"name"`
	} `json:"tags"`
	Paths      map[string]map[string]*operation `json:"paths"`
	Components struct {
		Schemas map[string]*schema `json:"schemas"`
	} `json:"components"`
}

type operation struct {
	OperationID string      `json:"operationId"`
	Tags        []string    `json:"tags"`
	Summary     string      `json:"summary"`
	Description string      `json:"description"`
	Stability   string      `json:"x-stability"`
	Parameters  []parameter `json:"parameters"`
	RequestBody *body       `json:"requestBody"`
	Responses   map[string]struct {
		body

		Ref string `json:"$ref"`
	} `json:"responses"`

	Method, Path string `json:"-"`
}

type parameter struct {
	Name        string  `json:"name"`
	In          string  `json:"in"`
	Description string  `json:"description"`
	Required    bool    `json:"required"`
	Schema      *schema `json:"schema"`
}

type body struct {
	Content map[string]struct {
		Schema *schema `json:"schema"`
	} `json:"content"`
}

type schema struct {
	Ref         string             `json:"$ref"`
	Type        types              `json:"type"`
	Format      string             `json:"format"`
	Description string             `json:"description"`
	Enum        []string           `json:"enum"`
	AnyOf       []*schema          `json:"anyOf"`
	Items       *schema            `json:"items"`
	Properties  map[string]*schema `json:"properties"`
	Required    []string           `json:"required"`
}

// types are one type or several.
type types []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *types) UnmarshalJSON(text []byte) error {
	var single string
	if json.Unmarshal(text, &single) == nil {
		*t = types{single}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(t))
}

// noun are the operations of a noun.
type noun struct {
	Name       string
	Operations []*operation
}

// nouns returns the operations by noun, each by its path.
func (d *document) nouns() []noun {
	var all []noun
	for _, name := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(d.Paths[name])) {
			op := d.Paths[name][method]
			op.Method, op.Path = strings.ToUpper(method), name
			at := slices.IndexFunc(all, func(n noun) bool { return n.Name == op.Tags[0] })
			if at < 0 {
				all, at = append(all, noun{Name: op.Tags[0]}), len(all)
			}
			all[at].Operations = append(all[at].Operations, op)
		}
	}
	slices.SortFunc(all, func(a, b noun) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Inputs are the parameters with the members of the body.
func (o *operation) Inputs() []parameter {
	all := slices.Clone(o.Parameters)
	if o.RequestBody != nil {
		for _, of := range o.RequestBody.Content {
			all = append(all, of.Schema.Members("body")...)
		}
	}
	return all
}

// Answer is the schema of the answer; nil for none.
func (o *operation) Answer() *schema {
	for _, of := range o.Responses["200"].Content {
		return of.Schema
	}
	return nil
}

// Members are the members of an object, by name.
func (s *schema) Members(in string) []parameter {
	var all []parameter
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		of := s.Properties[name]
		all = append(all, parameter{Name: name, In: in, Description: of.Description, Required: slices.Contains(s.Required, name), Schema: of})
	}
	return all
}

// Refers is the name of the schema that this one is, or is a list of; empty for none.
func (s *schema) Refers() string {
	switch {
	case s.Ref != "":
		return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
	case s.Items != nil:
		return s.Items.Refers()
	}
	for _, one := range s.AnyOf {
		if name := one.Refers(); name != "" {
			return name
		}
	}
	return ""
}

// Text is the type in words.
func (s *schema) Text() string {
	name := strings.Join(slices.DeleteFunc(slices.Clone(s.Type), func(t string) bool { return t == "null" }), " or ")
	switch {
	case s.Items != nil:
		name = "list of " + s.Items.Text()
	case s.Refers() != "":
		name = s.Refers()
	case name == "":
		name = "any JSON"
	case s.Format != "":
		name += fmt.Sprintf(" (%s)", s.Format)
	}
	return name
}
