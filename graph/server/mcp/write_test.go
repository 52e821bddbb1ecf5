package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	v1 "github.com/kairship-io/kairship/api/v1"
	"github.com/kairship-io/kairship/graph/generated"
	"github.com/kairship-io/kairship/graph/operation"
	"github.com/kairship-io/kairship/graph/server/cookie"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/consistency"
)

type oneKey []byte

func (k oneKey) Key(context.Context) ([]byte, error) { return k, nil }
func (k oneKey) Find(context.Context, [consistency.KeyIDSize]byte) ([]byte, error) {
	return k, nil
}

// scene is a server whose operations are answered by a function.
type scene struct {
	user authz.User
	now  time.Time
	sent []map[string]any
	url  string
}

func newScene(t *testing.T, writes bool) *scene {
	t.Helper()
	s := &scene{user: authz.User{Name: "alice", UID: "1", Groups: []string{"a", "b"}}, now: time.Now()}
	schema := generated.NewExecutableSchema(generated.Config{}).Schema()
	operations, err := operation.Load(v1.Operations, schema)
	if err != nil {
		t.Fatal(err)
	}
	graphql := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var of request
		if err := json.NewDecoder(r.Body).Decode(&of); err != nil {
			t.Error(err)
		}
		s.sent = append(s.sent, of.Variables)
		answers := map[string]string{
			"ScaleWorkload":   `{"data":{"scaleWorkload":{"workload":{"name":"a","resourceVersion":"7"},"consistencyToken":null}}}`,
			"RestartWorkload": `{"data":{"restartWorkload":{"workload":{"name":"a","resourceVersion":"7"},"consistencyToken":null}}}`,
			"ApplyManifests":  `{"data":{"applyManifests":{"applied":false,"fingerprint":null,"results":[]}}}`,
		}
		if of.Variables["manifests"] == "with a Secret" {
			answers["ApplyManifests"] = `{"data":{"applyManifests":{"applied":true,"fingerprint":"f","results":[{"kind":"ConfigMap","name":"a"},{"kind":"Secret","name":"b"}]}}}`
		}
		_, _ = w.Write([]byte(answers[of.DocumentID]))
	})
	var jar *cookie.Jar
	if writes {
		jar = Confirmations(oneKey("a key"), func() time.Time { return s.now })
	}
	handler, err := New(operations, schema, graphql, jar, 1<<20, nil)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(authz.WithUser(r.Context(), s.user)))
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *scene) connect(t *testing.T) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.url, DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// call returns the answer of a tool as text, and whether it is an error.
func call(t *testing.T, session *mcp.ClientSession, name string, given map[string]any) (string, bool) {
	t.Helper()
	answer, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: given})
	if err != nil {
		return err.Error(), true
	}
	content, ok := answer.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("got %v", answer.Content)
	}
	return content.Text, answer.IsError
}

// confirmationOf tries a call, and returns the confirmation.
func confirmationOf(t *testing.T, session *mcp.ClientSession, name string, given map[string]any) string {
	t.Helper()
	text, isError := call(t, session, name, given)
	var tried struct {
		DryRun  bool   `json:"dryRun"`
		Confirm string `json:"confirm"`
	}
	if err := json.Unmarshal([]byte(text), &tried); err != nil || isError || !tried.DryRun {
		t.Fatalf("%s, %v", text, err)
	}
	return tried.Confirm
}

func with(given map[string]any, name string, value any) map[string]any {
	out := map[string]any{name: value}
	for k, v := range given {
		if k != name {
			out[k] = v
		}
	}
	return out
}

func TestWritesAreConfirmed(t *testing.T) {
	s := newScene(t, true)
	session := s.connect(t)
	given := map[string]any{"instance": "alpha", "namespace": "shop", "kind": "DEPLOYMENT", "name": "a", "replicas": 2}
	token := confirmationOf(t, session, "scale", given)
	if token == "" || len(s.sent) != 1 || s.sent[0]["dryRun"] != true {
		t.Fatalf("it sent %v", s.sent)
	}
	alice := s.user
	for name, c := range map[string]struct {
		change func()
		tool   string
		given  map[string]any
	}{
		"another user":     {func() { s.user.Name = "bob" }, "scale", given},
		"another UID":      {func() { s.user.UID = "2" }, "scale", given},
		"other groups":     {func() { s.user.Groups = []string{"a"} }, "scale", given},
		"other arguments":  {nil, "scale", with(given, "replicas", 3)},
		"another argument": {nil, "scale", with(given, "colour", "red")},
		"another tool":     {nil, "restart", given},
		"too late":         {func() { s.now = s.now.Add(confirmedWithin) }, "scale", given},
		"its own version":  {nil, "scale", with(given, "resourceVersion", "8")},
		"not a dry run":    {nil, "scale", with(given, "dryRun", false)},
	} {
		now := s.now
		if c.change != nil {
			c.change()
		}
		text, isError := call(t, session, c.tool, with(c.given, confirm, token))
		if !isError || len(s.sent) != 1 {
			t.Errorf("%s: it sent %v and answered %s", name, s.sent, text)
		}
		s.user, s.now = alice, now
	}
	for _, wrong := range []string{"wrong", token[:len(token)-2] + "AA", token[:8]} {
		if text, isError := call(t, session, "scale", with(given, confirm, wrong)); !isError || len(s.sent) != 1 {
			t.Errorf("%s: it answered %s", wrong, text)
		}
	}
	if text, isError := call(t, session, "scale", with(given, confirm, token)); isError || len(s.sent) != 2 || s.sent[1]["dryRun"] != false || s.sent[1]["resourceVersion"] != "7" || s.sent[1][confirm] != nil {
		t.Errorf("it sent %v and answered %s", s.sent, text)
	}
	if token := confirmationOf(t, session, "apply", map[string]any{"instance": "alpha", "manifests": "a"}); token != "" {
		t.Error("what cannot be applied has a confirmation")
	}
	if text, isError := call(t, session, "apply", map[string]any{"instance": "alpha", "manifests": "with a Secret"}); !isError || !strings.Contains(text, "Secret b") || strings.Contains(text, `"confirm"`) {
		t.Errorf("a Secret: %s", text)
	}
}

// TestWritesAreOff has no tool that writes unless it is switched on.
func TestWritesAreOff(t *testing.T) {
	for _, on := range []bool{false, true} {
		s := newScene(t, on)
		session := s.connect(t)
		list, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		writing := map[string]bool{}
		for _, tool := range list.Tools {
			if !tool.Annotations.ReadOnlyHint {
				writing[tool.Name] = true
			}
		}
		for _, w := range writers {
			if writing[w.name] != on {
				t.Errorf("%s is listed: %v, want %v", w.name, writing[w.name], on)
			}
			if on {
				continue
			}
			if text, isError := call(t, session, w.name, map[string]any{}); !isError || !strings.Contains(text, "unknown tool") || len(s.sent) > 0 {
				t.Errorf("%s answers %s", w.name, text)
			}
		}
		if on != (len(writing) == len(writers)) {
			t.Errorf("these write: %v", writing)
		}
	}
}
