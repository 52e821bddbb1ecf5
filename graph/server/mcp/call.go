package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kairship-io/kairship/graph/operation"
	"github.com/kairship-io/kairship/graph/server/mediatype"
	"github.com/kairship-io/kairship/graph/server/response"
	"github.com/kairship-io/kairship/graph/server/telemetry"
)

// FromHeader carries the address of the one who asks to the calls. What a client sends under this name is not kept.
const FromHeader = "Kairship-From"

// carried are the headers of a call that its request to /graphql has too.
var carried = []string{"Authorization", "Traceparent", "Kairship-Consistency-Token"}

// caller calls the operation of a tool.
type caller struct {
	*tool

	operation *operation.Operation
	graphql   http.Handler
}

// request are the parameters of /graphql.
type request struct {
	DocumentID string         `json:"documentId"`
	Variables  map[string]any `json:"variables"`
}

// result is what /graphql answers.
type result struct {
	Data   json.RawMessage `json:"data"`
	Errors []struct {
		Message    string `json:"message"`
		Extensions struct {
			Code     string `json:"code"`
			Argument string `json:"argument"`
		} `json:"extensions"`
	} `json:"errors"`
}

// call implements mcp.ToolHandler. What goes wrong is part of the answer, so that the assistant can do something about it.
func (c *caller) call(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	variables, ok := c.variables(req.Params.Arguments)
	if !ok {
		return failed("the arguments are no JSON object"), nil
	}
	object, problems, err := c.execute(ctx, req.Extra.Header, variables)
	if err != nil {
		return nil, err
	}
	if object == nil {
		return failed(strings.Join(problems, "\n")), nil
	}
	return answer(object, problems), nil
}

// execute executes the operation. Without an object, the problems say why.
func (c *caller) execute(ctx context.Context, header http.Header, variables map[string]any) (json.RawMessage, []string, error) {
	found, err := c.send(ctx, header, request{DocumentID: c.operation.Name, Variables: variables})
	if err != nil {
		return nil, nil, err
	}
	var problems []string
	for _, e := range found.Errors {
		text := e.Message
		if e.Extensions.Argument != "" {
			text = e.Extensions.Argument + ": " + text
		}
		problems = append(problems, fmt.Sprintf("%s (%s)", text, e.Extensions.Code))
	}
	object := c.operation.Unwrap(found.Data)
	if object == nil && len(problems) == 0 {
		problems = []string{"there is no such object, or you may not know that there is (NOT_FOUND)"}
	}
	return object, problems, nil
}

// answer is an object with what is missing in it, as the result of a tool.
func answer(object json.RawMessage, problems []string) *mcp.CallToolResult {
	text, err := fit(object, problems)
	if err != nil {
		return failed(err.Error())
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}
}

// variables are those that the tool sends, with what the caller gives; false where that is no object.
func (c *caller) variables(given json.RawMessage) (map[string]any, bool) {
	variables := map[string]any{}
	maps.Copy(variables, c.sent)
	if len(given) == 0 {
		return variables, true
	}
	dec := json.NewDecoder(bytes.NewReader(given))
	dec.UseNumber()
	if dec.Decode(&variables) != nil || variables == nil {
		return nil, false
	}
	return variables, true
}

func failed(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// send sends a request to the handler of /graphql, as the one who called the tool.
func (c *caller) send(ctx context.Context, header http.Header, of request) (*result, error) {
	body, err := json.Marshal(of)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(telemetry.WithWay(ctx, telemetry.WayMCP), http.MethodPost, "/graphql", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for _, name := range carried {
		if values := header.Values(name); len(values) > 0 {
			r.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	r.Header.Set("Content-Type", mediatype.JSON)
	r.Header.Set("Accept", mediatype.GraphQL)
	r.RemoteAddr = header.Get(FromHeader)
	w := &response.Recorder{} // Its body has errors too, so the status says nothing more.
	c.graphql.ServeHTTP(w, r)
	var answered result
	if err := json.Unmarshal(w.Body.Bytes(), &answered); err != nil {
		return nil, fmt.Errorf("reading the answer of the operation %s: %w", of.DocumentID, err)
	}
	return &answered, nil
}
