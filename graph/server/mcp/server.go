package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/graph/operation"
	"github.com/kairship-io/kairship/graph/operation/openapi"
	"github.com/kairship-io/kairship/graph/server/cookie"
)

// Path is where the server is.
const Path = "/mcp"

// instructions are for the assistant.
const instructions = "Kairship shows many Karmada control planes (instances), each of which propagates workloads to Kubernetes clusters. " +
	"Begin with problems, or with search. explain says why a workload is as it is, and what to do. Tools only read unless they say so. " +
	"A list has freshness: how old it may be. Where an answer was too long, cut says what was left out: ask for less with first, or with a filter."

// New returns the handler of the protocol. Calls of tools go to graphql, which is the handler of /graphql, and fail where an
// operation is missing. Tools that write are there when confirmations seals their confirmations; nil for none.
func New(operations []*operation.Operation, schema *ast.Schema, graphql http.Handler, confirmations *cookie.Jar, maxBodyBytes int64, logger *slog.Logger) (http.Handler, error) {
	server := mcp.NewServer(&mcp.Implementation{Name: "kairship", Title: "Kairship", Version: "v1"}, &mcp.ServerOptions{
		Instructions: instructions, Logger: logger, Capabilities: &mcp.ServerCapabilities{},
	})
	byName := map[string]*operation.Operation{}
	for _, op := range operations {
		byName[op.Name] = op
	}
	for i := range tools {
		op := byName[tools[i].operation]
		if op == nil {
			return nil, fmt.Errorf("there is no operation %s for the tool %s", tools[i].operation, tools[i].name)
		}
		input, err := json.Marshal(openapi.Variables(op, schema))
		if err != nil {
			return nil, err
		}
		server.AddTool(&mcp.Tool{
			Name: tools[i].name, Description: tools[i].about + " " + op.Summary, InputSchema: json.RawMessage(input),
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(false)},
		}, (&caller{tool: &tools[i], operation: op, graphql: graphql}).call)
	}
	for i := range writers {
		if confirmations == nil {
			break
		}
		op := byName[writers[i].operation]
		if op == nil {
			return nil, fmt.Errorf("there is no operation %s for the tool %s", writers[i].operation, writers[i].name)
		}
		input, err := json.Marshal(writers[i].input(op, schema))
		if err != nil {
			return nil, err
		}
		server.AddTool(&mcp.Tool{
			Name: writers[i].name, Description: writers[i].about + " " + op.Summary + confirmHint, InputSchema: json.RawMessage(input),
			Annotations: &mcp.ToolAnnotations{DestructiveHint: new(true), OpenWorldHint: new(false)},
		}, (&changer{caller: caller{tool: &writers[i].tool, operation: op, graphql: graphql}, writer: &writers[i], jar: confirmations}).call)
	}
	if err := addResources(server, byName, graphql); err != nil {
		return nil, err
	}
	addPrompts(server)
	// Every request stands alone, so that any replica can answer it.
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		// Who may ask is decided before, by a token: a page that has rebound a name has none.
		Stateless: true, JSONResponse: true, Logger: logger, MaxRequestBodyBytes: maxBodyBytes, DisableLocalhostProtection: true,
	}), nil
}

// addPrompts adds what people choose as a beginning.
func addPrompts(server *mcp.Server) {
	for _, p := range []struct{ name, about, text string }{
		{"whats_broken", "What is broken in the fleet, and why", "Use the tool problems, then explain for each workload that it lists, and tell me what is broken, why, and what to do, the worst first."},
		{"before_maintenance", "What the loss of a cluster would do", "Ask me for the instance and the cluster, use preview_cluster_loss with the mode CORDON and then NO_EXECUTE_TAINT, and tell me what would move and what would have nowhere to go."},
	} {
		server.AddPrompt(&mcp.Prompt{Name: p.name, Description: p.about}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Description: p.about, Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: p.text}}}}, nil
		})
	}
}
