// Package openapi writes the OpenAPI 3.1 document of named operations.
package openapi

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/graph/operation"
)

// Document is an OpenAPI document.
type Document struct {
	OpenAPI    string                `json:"openapi"`
	Info       Info                  `json:"info"`
	Servers    []Server              `json:"servers"`
	Security   []map[string][]string `json:"security"`
	Tags       []Tag                 `json:"tags"`
	Paths      map[string]Path       `json:"paths"`
	Components Components            `json:"components"`
}

// Info says what the document is about.
type Info struct {
	Title       string  `json:"title"`
	Version     string  `json:"version"`
	Summary     string  `json:"summary"`
	Description string  `json:"description"`
	License     License `json:"license"`
}

// License is the licence of the API.
type License struct {
	Name       string `json:"name"`
	Identifier string `json:"identifier"`
}

// Server is where the API is.
type Server struct {
	URL string `json:"url"`
}

// Tag groups operations.
type Tag struct {
	Name string `json:"name"`
}

// Path are the operations of a path by their methods, in small letters.
type Path map[string]*Operation

// Operation is an operation.
type Operation struct {
	OperationID string              `json:"operationId"`
	Tags        []string            `json:"tags"`
	Summary     string              `json:"summary"`
	Description string              `json:"description,omitempty"`
	Parameters  []Parameter         `json:"parameters,omitempty"`
	RequestBody *Body               `json:"requestBody,omitempty"`
	Responses   map[string]Response `json:"responses"`
	Stability   operation.Stability `json:"x-stability"`
}

// Parameter is a parameter in the path, the query string or a header.
type Parameter struct {
	Name        string               `json:"name"`
	In          string               `json:"in"`
	Description string               `json:"description,omitempty"`
	Required    bool                 `json:"required,omitempty"`
	Schema      *Schema              `json:"schema,omitempty"`
	Content     map[string]MediaType `json:"content,omitempty"`
}

// Body is the body of a request.
type Body struct {
	Required bool                 `json:"required,omitempty"`
	Content  map[string]MediaType `json:"content"`
}

// Response is an answer, or a reference to one.
type Response struct {
	Ref         string               `json:"$ref,omitempty"`
	Description string               `json:"description,omitempty"`
	Headers     map[string]Header    `json:"headers,omitempty"`
	Content     map[string]MediaType `json:"content,omitempty"`
}

// Header is a header of an answer.
type Header struct {
	Description string  `json:"description"`
	Schema      *Schema `json:"schema"`
}

// MediaType is the content of one media type.
type MediaType struct {
	Schema *Schema `json:"schema"`
}

// Components are what the rest refers to.
type Components struct {
	Schemas         map[string]*Schema        `json:"schemas"`
	Responses       map[string]Response       `json:"responses"`
	SecuritySchemes map[string]SecurityScheme `json:"securitySchemes"`
}

// SecurityScheme is a way to authenticate.
type SecurityScheme struct {
	Type        string `json:"type"`
	Scheme      string `json:"scheme"`
	Description string `json:"description"`
}

// problems is the response that all operations share.
const problems = "#/components/responses/Problem"

// Of writes the document of operations.
func Of(operations []*operation.Operation, schema *ast.Schema) ([]byte, error) {
	w := &writer{schema: schema, components: map[string]*Schema{}}
	doc := Document{
		OpenAPI: "3.1.0",
		Info: Info{
			Title: "Kairship", Version: "v1", License: License{Name: "Apache 2.0", Identifier: "Apache-2.0"},
			Summary: "The management plane over many Karmada control planes.",
			Description: "Each operation is a named GraphQL operation; docs/rest.md has what holds for all of them. " +
				"Where a part of an answer is missing, `errors` in it says which and why.",
		},
		Servers:  []Server{{URL: "/"}},
		Security: []map[string][]string{{"bearer": {}}},
		Paths:    map[string]Path{},
	}
	seen := map[string]bool{}
	for _, op := range operations {
		if doc.Paths[op.Path] == nil {
			doc.Paths[op.Path] = Path{}
		}
		doc.Paths[op.Path][strings.ToLower(op.Method)] = w.operation(op)
		if !seen[op.Noun] {
			seen[op.Noun] = true
			doc.Tags = append(doc.Tags, Tag{Name: op.Noun})
		}
	}
	w.addProblem()
	doc.Components = Components{
		Schemas: w.components,
		Responses: map[string]Response{"Problem": {
			Description: "The request was refused or failed.", Content: map[string]MediaType{"application/problem+json": {Schema: &Schema{Ref: component("Problem")}}},
		}},
		SecuritySchemes: map[string]SecurityScheme{"bearer": {Type: "http", Scheme: "bearer", Description: "A token of the global cluster."}},
	}
	text, err := json.MarshalIndent(doc, "", " ")
	return append(text, '\n'), err
}

// operation describes an operation.
func (w *writer) operation(op *operation.Operation) *Operation {
	of := &Operation{
		OperationID: op.Name, Tags: []string{op.Noun}, Summary: op.Summary, Description: op.Description, Stability: op.Stability,
		Responses: map[string]Response{"default": {Ref: problems}},
	}
	body := &Schema{Type: one("object"), Properties: map[string]*Schema{}}
	for _, v := range op.Definition.VariableDefinitions {
		schema := w.input(v.Type)
		required := v.Type.NonNull && v.DefaultValue == nil
		switch {
		case op.InPath(v.Variable):
			of.Parameters = append(of.Parameters, Parameter{Name: v.Variable, In: "path", Required: true, Schema: schema, Description: op.Described(v.Variable)})
		case op.HasBody():
			schema.Description = op.Described(v.Variable)
			body.Properties[v.Variable] = schema
			if required {
				body.Required = append(body.Required, v.Variable)
			}
		case w.schema.Types[v.Type.Name()].Kind == ast.InputObject:
			of.Parameters = append(of.Parameters, Parameter{Name: v.Variable, In: "query", Required: required, Description: op.Described(v.Variable), Content: map[string]MediaType{"application/json": {Schema: schema}}})
		default:
			of.Parameters = append(of.Parameters, Parameter{Name: v.Variable, In: "query", Required: required, Description: op.Described(v.Variable), Schema: schema})
		}
		if v.Variable == operation.Version {
			of.Parameters = append(of.Parameters, Parameter{Name: "If-Match", In: "header", Description: "The `ETag` of the object that is meant; the same as `resourceVersion`.", Schema: &Schema{Type: one("string")}})
		}
	}
	if len(body.Properties) > 0 {
		of.RequestBody = &Body{Required: len(body.Required) > 0, Content: map[string]MediaType{"application/json": {Schema: body}}}
	}
	w.answer(op, of)
	return of
}

// answer describes what an operation is answered when it succeeds.
func (w *writer) answer(op *operation.Operation, of *Operation) {
	field := op.Answer()
	result := w.object(field.SelectionSet, field.Definition.Type.Name())
	if op.Streams() {
		of.Responses[strconv.Itoa(http.StatusOK)] = Response{
			Description: "Server-sent events, as docs/streaming.md has them: the data of each `next` is a result of GraphQL.",
			Content:     map[string]MediaType{"text/event-stream": {Schema: &Schema{Type: one("string")}}},
		}
		return
	}
	result.Properties["errors"] = &Schema{Type: one("array"), Items: &Schema{Ref: component("Failure")}, Description: "What is missing in the answer, and why; absent where nothing is."}
	result.Properties["extensions"] = &Schema{Type: one("object"), Description: "What the answer has beside its data, such as warnings."}
	w.components[op.Name+"Response"] = result
	ok := Response{Description: "The answer.", Content: map[string]MediaType{"application/json": {Schema: &Schema{Ref: component(op.Name + "Response")}}}}
	if op.Versioned {
		ok.Headers = map[string]Header{"ETag": {Description: "The version of the object, for `If-Match` and `If-None-Match`.", Schema: &Schema{Type: one("string")}}}
	}
	of.Responses[strconv.Itoa(http.StatusOK)] = ok
}
