package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kairship-io/kairship/graph/operation"
)

// resources are what clients may attach to a conversation. The variables of the operation are the segments of the URI.
var resources = []struct {
	tool

	uri string
}{
	{tool{name: "instance", operation: "GetInstance", about: "A Karmada control plane."}, "kairship://instances/{instance}"},
	{tool{name: "workload", operation: "GetWorkload", about: "A workload with its placements and its policy; kind as in DEPLOYMENT."}, "kairship://workloads/{instance}/{namespace}/{kind}/{name}"},
}

// addResources adds the resources. Each is answered by its operation, as a tool is.
func addResources(server *mcp.Server, byName map[string]*operation.Operation, graphql http.Handler) error {
	for i := range resources {
		r := &resources[i]
		op := byName[r.operation]
		if op == nil {
			return fmt.Errorf("there is no operation %s for the resource %s", r.operation, r.name)
		}
		c := &caller{tool: &r.tool, operation: op, graphql: graphql}
		server.AddResourceTemplate(&mcp.ResourceTemplate{Name: r.name, Description: r.about, MIMEType: "application/json", URITemplate: r.uri},
			func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				variables, ok := segments(r.uri, req.Params.URI)
				if !ok {
					return nil, mcp.ResourceNotFoundError(req.Params.URI)
				}
				object, problems, err := c.execute(ctx, req.Extra.Header, variables)
				switch {
				case err != nil:
					return nil, err
				case object == nil && strings.HasSuffix(problems[0], "(NOT_FOUND)"):
					return nil, mcp.ResourceNotFoundError(req.Params.URI)
				case object == nil:
					return nil, errors.New(strings.Join(problems, "\n"))
				}
				text, err := fit(object, problems)
				if err != nil {
					return nil, err
				}
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: "application/json", Text: string(text)}}}, nil
			})
	}
	return nil
}

// segments are the variables of a template in a URI; false where it is none of the template's.
func segments(template, uri string) (map[string]any, bool) {
	names, values := strings.Split(template, "/"), strings.Split(uri, "/")
	if len(names) != len(values) {
		return nil, false
	}
	variables := map[string]any{}
	for i, name := range names {
		variable, isVariable := strings.CutPrefix(name, "{")
		value, err := url.PathUnescape(values[i])
		switch {
		case err != nil || value == "" && isVariable || !isVariable && values[i] != name:
			return nil, false
		case isVariable:
			variables[strings.TrimSuffix(variable, "}")] = value
		}
	}
	return variables, true
}
