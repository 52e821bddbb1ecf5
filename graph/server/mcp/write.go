package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/graph/operation"
	"github.com/kairship-io/kairship/graph/operation/openapi"
	"github.com/kairship-io/kairship/graph/server/cookie"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/consistency"
)

// writer is a tool that writes.
type writer struct {
	tool

	// version is where the answer of a dry run has the version of what it saw, and bound the variable that has only that changed.
	version []string
	bound   string
}

// writers are the tools that write.
var writers = []writer{
	{tool: tool{name: "apply", operation: "ApplyManifests", about: "Writes objects of any kind into an instance."}, version: []string{"fingerprint"}, bound: "expect"},
	{tool: tool{name: "scale", operation: "ScaleWorkload", about: "Writes."}, version: []string{"workload", "resourceVersion"}, bound: "resourceVersion"},
	{tool: tool{name: "restart", operation: "RestartWorkload", about: "Writes."}, version: []string{"workload", "resourceVersion"}, bound: "resourceVersion"},
}

const (
	// confirm is the argument that has a confirmation.
	confirm     = "confirm"
	confirmHint = " Without confirm it writes nothing, and answers what it would do with a confirm: show that to the user, and call it again with the same arguments and that confirm."
	// confirmedWithin is how long a confirmation is good for.
	confirmedWithin = 5 * time.Minute
)

// Confirmations returns what seals the confirmations of writes; nil without keys.
func Confirmations(keys consistency.Keys, now func() time.Time) *cookie.Jar {
	if keys == nil {
		return nil
	}
	return &cookie.Jar{Name: "kairship-mcp-confirmation", Life: confirmedWithin, Keys: keys, Now: now}
}

// input is the schema of the tool's arguments: the variables of its operation, but for those that it sets.
func (w *writer) input(op *operation.Operation, schema *ast.Schema) *openapi.Schema {
	s := openapi.Variables(op, schema)
	delete(s.Properties, "dryRun")
	delete(s.Properties, w.bound)
	s.Properties[confirm] = &openapi.Schema{Type: []string{"string"}, Description: "What the same call answered before, to have it written."}
	return s
}

// confirmation is what a caller confirms: one call, over the versions that were seen.
type confirmation struct {
	Name      string   `json:"n"`
	UID       string   `json:"u"`
	Groups    []string `json:"g"`
	Tool      string   `json:"t"`
	Arguments string   `json:"a"`
	Version   string   `json:"v"`
}

// of reports whether the confirmation is for the same call of the same user.
func (c *confirmation) of(other *confirmation) bool {
	return c.Name == other.Name && c.UID == other.UID && slices.Equal(c.Groups, other.Groups) && c.Tool == other.Tool && c.Arguments == other.Arguments
}

// changer calls the operation of a tool that writes.
type changer struct {
	caller

	writer *writer
	jar    *cookie.Jar
}

// call implements mcp.ToolHandler.
func (c *changer) call(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	user, ok := authz.UserFrom(ctx)
	if !ok {
		return nil, errors.New("the request has no user")
	}
	given, ok := c.variables(req.Params.Arguments)
	if !ok {
		return failed("the arguments are no JSON object"), nil
	}
	for _, own := range []string{"dryRun", c.writer.bound} {
		if _, has := given[own]; has {
			return failed(own + ": is set by the tool: leave it out (INVALID)"), nil
		}
	}
	sealed, _ := given[confirm].(string)
	delete(given, confirm)
	text, err := json.Marshal(given) // Keys are in their order.
	if err != nil {
		return nil, err
	}
	hash := sha256.Sum256(text)
	asked := &confirmation{
		Name: user.Name, UID: user.UID, Groups: slices.Sorted(slices.Values(user.Groups)), Tool: c.name, Arguments: hex.EncodeToString(hash[:]),
	}
	if sealed == "" {
		return c.try(ctx, req, given, asked)
	}
	var confirmed confirmation
	switch err := c.jar.Open(ctx, sealed, &confirmed); {
	case errors.Is(err, cookie.ErrNone):
		return failed("confirm: is no confirmation, or is older than five minutes: call the tool without it (INVALID)"), nil
	case err != nil:
		return nil, err
	case !confirmed.of(asked):
		return failed("confirm: is for another call: call the tool without it, and then again with the same arguments (INVALID)"), nil
	}
	variables := maps.Clone(given)
	variables["dryRun"], variables[c.writer.bound] = false, confirmed.Version
	object, problems, err := c.execute(ctx, req.Extra.Header, variables)
	if err != nil {
		return nil, err
	}
	if object == nil {
		return failed(strings.Join(problems, "\n")), nil
	}
	if text, err := fit(object, problems); err == nil {
		object = text
	} else {
		object = encoded(map[string]string{"written": "all or a part of it: the results are too long to show, so read the objects"})
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(object)}}}, nil
}

// try runs the operation as a dry run, and adds a confirmation to its answer where it could be written.
func (c *changer) try(ctx context.Context, req *mcp.CallToolRequest, given map[string]any, asked *confirmation) (*mcp.CallToolResult, error) {
	variables := maps.Clone(given)
	variables["dryRun"] = true
	object, problems, err := c.execute(ctx, req.Extra.Header, variables)
	if err != nil {
		return nil, err
	}
	if object == nil {
		return failed(strings.Join(problems, "\n")), nil
	}
	if secret := secretAmong(object); secret != "" {
		return failed("manifests: Secret " + secret + " is not written by an assistant, and nothing else with it: leave it out (FORBIDDEN)"), nil
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(object, &fields); err != nil {
		return nil, err
	}
	fields["dryRun"] = encoded(true)
	if asked.Version = c.writer.versionOf(object); asked.Version != "" && len(problems) == 0 {
		sealed, err := c.jar.Seal(ctx, asked)
		if err != nil {
			return nil, err
		}
		fields[confirm] = encoded(sealed)
	}
	if object, err = json.Marshal(fields); err != nil {
		return nil, err
	}
	return answer(object, problems), nil
}

// secretAmong names a Secret among the results of a dry run; empty for none. Without its confirmation, nothing is written.
func secretAmong(object json.RawMessage) string {
	var tried struct {
		Results []struct {
			Kind *string `json:"kind"`
			Name *string `json:"name"`
		} `json:"results"`
	}
	if json.Unmarshal(object, &tried) != nil {
		return ""
	}
	for _, r := range tried.Results {
		if r.Kind != nil && *r.Kind == "Secret" {
			if r.Name == nil {
				return "without a name"
			}
			return *r.Name
		}
	}
	return ""
}

// versionOf is the version of what a dry run saw; empty where it could not be written.
func (w *writer) versionOf(object json.RawMessage) string {
	for _, name := range w.version {
		fields := map[string]json.RawMessage{}
		if json.Unmarshal(object, &fields) != nil {
			return ""
		}
		object = fields[name]
	}
	var version string
	if json.Unmarshal(object, &version) != nil {
		return ""
	}
	return version
}
