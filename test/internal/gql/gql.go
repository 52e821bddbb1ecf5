// Package gql is a small GraphQL client for tests.
package gql

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kairship-io/kairship/internal/poll"
)

// The media types of responses.
const (
	JSON     = "application/json"
	Response = "application/graphql-response+json"
)

// Client sends operations.
type Client struct {
	// URL of the endpoint, with its path.
	URL string
	// Token is sent as a bearer token; nothing is sent where it is empty.
	Token string
	// Consistency is sent as the consistency token; nothing is sent where it is empty.
	Consistency string
	// Shared lets the server share answers: no plan is asked for, which is about one
	// request alone.
	Shared bool
	HTTP   *http.Client
}

// New makes a client of a server.
func New(server, token string) *Client {
	return &Client{URL: strings.TrimSuffix(server, "/") + "/graphql", Token: token, HTTP: &http.Client{Timeout: 30 * time.Second}}
}

// Request is one operation.
type Request struct {
	Query string `json:"query"`
	// OperationName is needed where the query has several.
	OperationName string         `json:"operationName,omitempty"`
	Variables     map[string]any `json:"variables,omitempty"`
	Extensions    map[string]any `json:"extensions,omitempty"`
	// Accept is the media type of the response; JSON where empty.
	Accept string `json:"-"`
}

// Error is an error of a response.
type Error struct {
	Message    string `json:"message"`
	Path       []any  `json:"path"`
	Extensions struct {
		Code     string `json:"code"`
		Argument string `json:"argument"`
		Instance string `json:"instance"`
		TraceID  string `json:"traceId"`
		// CurrentResourceVersion is what a conflict contains of the object as it is.
		CurrentResourceVersion string `json:"currentResourceVersion"`
		// Reason is why a subscription ended.
		Reason string `json:"reason"`
	} `json:"extensions"`
}

// PathText is the path as text, for example instances.nodes.0.workloads.
func (e Error) PathText() string {
	parts := make([]string, len(e.Path))
	for i, p := range e.Path {
		parts[i] = fmt.Sprint(p)
	}
	return strings.Join(parts, ".")
}

func (e Error) String() string {
	return fmt.Sprintf("%s at %q (argument %q): %s", e.Extensions.Code, e.PathText(), e.Extensions.Argument, e.Message)
}

// Result is a response.
type Result struct {
	Status      int
	Header      http.Header
	ContentType string
	TraceID     string
	Took        time.Duration
	// HasData tells a response with data, be it null, from one without.
	HasData bool
	Data    json.RawMessage
	Errors  []Error
	// IndexRequests is what the operation cost; -1 where the server does not say.
	IndexRequests int
	Body          []byte
}

// Do sends an operation. It fails only when there is no response.
func (c *Client) Do(ctx context.Context, r Request) (*Result, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return c.Send(ctx, body, r.Accept)
}

// Send sends a body as it is.
func (c *Client) Send(ctx context.Context, body []byte, accept string) (*Result, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if accept == "" {
		accept = JSON
	}
	req.Header.Set("Content-Type", JSON)
	req.Header.Set("Accept", accept)
	if !c.Shared {
		req.Header.Set("Kairship-Query-Plan", "1")
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	if c.Consistency != "" {
		req.Header.Set("Kairship-Consistency-Token", c.Consistency)
	}
	begun := time.Now()
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	result := &Result{
		Status: resp.StatusCode, Header: resp.Header, ContentType: resp.Header.Get("Content-Type"), TraceID: resp.Header.Get("Kairship-Trace-Id"),
		Took: time.Since(begun), Body: raw, IndexRequests: -1,
	}
	var parsed struct {
		Data       *json.RawMessage `json:"data"`
		Errors     []Error          `json:"errors"`
		Extensions struct {
			Plan *struct {
				IndexRequests int `json:"indexRequests"`
			} `json:"plan"`
		} `json:"extensions"`
	}
	if err := json.Unmarshal(raw, &parsed); err != nil {
		return nil, fmt.Errorf("HTTP %d is no GraphQL response: %w: %.300s", resp.StatusCode, err, raw)
	}
	// A null is not kept by a pointer, so the names are looked at too.
	var names map[string]json.RawMessage
	if err := json.Unmarshal(raw, &names); err != nil {
		return nil, err
	}
	_, result.HasData = names["data"]
	if parsed.Data != nil {
		result.Data = *parsed.Data
	}
	result.Errors = parsed.Errors
	if p := parsed.Extensions.Plan; p != nil {
		result.IndexRequests = p.IndexRequests
	}
	return result, nil
}

// Must sends an operation whose response may have errors.
func (c *Client) Must(t testing.TB, r Request) *Result {
	t.Helper()
	result, err := c.Do(t.Context(), r)
	if err != nil {
		t.Fatalf("no response: %v\n%s", err, r.Query)
	}
	return result
}

// Query sends an operation that must succeed, and reads its data.
func Query[T any](ctx context.Context, c *Client, query string, variables map[string]any) (T, *Result, error) {
	var into T
	result, err := c.Do(ctx, Request{Query: query, Variables: variables})
	switch {
	case err != nil:
		return into, nil, err
	case len(result.Errors) > 0:
		err := fmt.Errorf("HTTP %d with errors: %v", result.Status, result.Errors)
		if result.Errors[0].Extensions.Code == "INVALID" {
			err = poll.Stop(err) // The test asks the wrong question.
		}
		return into, result, err
	}
	if err := json.Unmarshal(result.Data, &into); err != nil {
		return into, result, fmt.Errorf("reading the data: %w", err)
	}
	return into, result, nil
}

// MustQuery sends an operation that must succeed.
func MustQuery[T any](t testing.TB, c *Client, query string, variables map[string]any) (T, *Result) {
	t.Helper()
	data, result, err := Query[T](t.Context(), c, query, variables)
	if err != nil {
		t.Fatalf("%v\n%s\nvariables: %v", err, query, variables)
	}
	return data, result
}
