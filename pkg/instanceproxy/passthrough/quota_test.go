package passthrough_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/instanceproxy/passthrough"
	"github.com/kairship-io/kairship/pkg/quota"
)

// A user's requests count together with their GraphQL requests, and separately from those of other
// users. Streams have a limit of their own.
func TestQuota(t *testing.T) {
	users := quota.New(quota.Limits{MaxConcurrent: 1, MaxStreams: 1}, nil)
	s := newScene(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") != "" {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}, func(c *passthrough.Config) { c.Quotas = users })
	const path = "/instances/alpha/proxy/api/v1/pods"
	get := func(token, path string) (int, string, string) {
		response, body := s.do(t, token, "GET", path, nil) //nolint:bodyclose // do closes it.
		return response.StatusCode, response.Header.Get("Retry-After"), body
	}
	entered, limited := users.Enter("alice")
	if limited != nil {
		t.Fatal(limited)
	}
	if status, after, body := get("t-alice", path); status != http.StatusTooManyRequests || after != "1" || !strings.Contains(body, "RATE_LIMITED") {
		t.Errorf("beside an operation of GraphQL: HTTP %d, Retry-After %q, %s", status, after, body)
	}
	if status, _, body := get("t-reader", path); status != http.StatusOK {
		t.Errorf("another user: HTTP %d %s", status, body)
	}
	entered.End()
	for range 3 {
		if status, _, body := get("t-alice", path); status != http.StatusOK {
			t.Errorf("one after the other: HTTP %d %s", status, body)
		}
	}
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path+"?watch=1", http.NoBody)
	r.Header.Set("Authorization", "Bearer t-alice")
	watch, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || watch.StatusCode != http.StatusOK {
		t.Fatalf("%+v, %v", watch, err)
	}
	defer watch.Body.Close()
	if status, _, body := get("t-alice", path+"?watch=1"); status != http.StatusTooManyRequests || !strings.Contains(body, "watches") {
		t.Errorf("a second watch: HTTP %d %s", status, body)
	}
	if status, _, body := get("t-alice", path); status != http.StatusOK {
		t.Errorf("a list beside a watch: HTTP %d %s", status, body)
	}
}

// slowIndex answers when its caller has no more time, or with as much as the caller may hold.
type slowIndex struct{ deadline chan time.Time }

func (slowIndex) Has(context.Context, string, schema.GroupVersionResource) (bool, error) {
	return true, nil
}

func (i slowIndex) Get(ctx context.Context, _ string, _ schema.GroupVersionResource, _, _ string) (any, map[string]string, error) {
	at, _ := ctx.Deadline()
	i.deadline <- at
	<-ctx.Done()
	return nil, nil, apierror.Wrap(ctx.Err(), apierror.CodeTimeout, "The index did not answer before the request's deadline")
}

func (slowIndex) List(ctx context.Context, _ string, _ schema.GroupVersionResource, _ string, _ url.Values) (any, map[string]string, error) {
	for {
		if err := quota.From(ctx).Hold(1 << 20); err != nil {
			return nil, nil, err
		}
	}
}

// What the index answers has a deadline, and the memory of an operation.
func TestIndexHasLimits(t *testing.T) {
	users := quota.New(quota.Limits{}, nil)
	index := slowIndex{make(chan time.Time, 1)}
	s := newScene(t, mirror, func(c *passthrough.Config) {
		c.Index, c.Quotas, c.IndexTimeout = index, users, 20*time.Millisecond
	})
	const path = "/instances/alpha/proxy/api/v1/namespaces/shop/pods"
	response, body := s.do(t, "t-alice", "GET", path+"/web?source=index", nil) //nolint:bodyclose // do closes it.
	if response.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "TIMEOUT") || (<-index.deadline).IsZero() {
		t.Errorf("HTTP %d %s", response.StatusCode, body)
	}
	response, body = s.do(t, "t-alice", "GET", path+"?source=index", nil) //nolint:bodyclose // do closes it.
	var status struct {
		Message string `json:"message"`
	}
	if err := json.Unmarshal([]byte(body), &status); err != nil || response.StatusCode != http.StatusBadRequest ||
		response.Header.Get(passthrough.CodeHeader) != "QUERY_TOO_COMPLEX" || !strings.Contains(status.Message, "128 MiB") {
		t.Errorf("HTTP %d %s", response.StatusCode, body)
	}
	if held := users.Held(); held != 0 {
		t.Errorf("%d bytes are held", held)
	}
}

// partIndex collects pods and nothing else.
type partIndex struct{ slowIndex }

func (partIndex) Has(_ context.Context, _ string, of schema.GroupVersionResource) (bool, error) {
	return of == schema.GroupVersionResource{Version: "v1", Resource: "pods"}, nil
}

func (partIndex) List(context.Context, string, schema.GroupVersionResource, string, url.Values) (any, map[string]string, error) {
	return "the index", nil, nil
}

// The index does not answer for a kind that it does not collect: a request with the parameter
// fails, and the instance answers a request with the header.
func TestIndexOfWhatIsNotCollected(t *testing.T) {
	s := newScene(t, mirror, func(c *passthrough.Config) { c.Index = partIndex{} })
	const path = "/instances/alpha/proxy/api/v1/namespaces/shop/"
	for _, tt := range []struct {
		token, kind string
		header      []string
		status      int
		says        string
	}{
		{"t-alice", "pods?source=index", nil, http.StatusOK, "the index"},
		{"t-alice", "pods", []string{"Kairship-Source", "index"}, http.StatusOK, "the index"},
		{"t-alice", "secrets?source=index", nil, http.StatusBadRequest, "does not collect"},
		{"t-alice", "secrets", []string{"Kairship-Source", "index"}, http.StatusOK, "GET /api/v1/namespaces/shop/secrets as alice"},
		{"t-mallory", "secrets?source=index", nil, http.StatusNotFound, "not found"},
	} {
		response, body := s.do(t, tt.token, "GET", path+tt.kind, nil, tt.header...) //nolint:bodyclose // do closes it.
		if response.StatusCode != tt.status || !strings.Contains(body, tt.says) {
			t.Errorf("%s %s %v: HTTP %d %s", tt.token, tt.kind, tt.header, response.StatusCode, body)
		}
	}
}

// A request with an end of its own ends in time, and one without goes on.
func TestDeadline(t *testing.T) {
	send := make(chan struct{})
	s := newScene(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "" {
			<-r.Context().Done()
			return
		}
		_ = http.NewResponseController(w).Flush()
		<-send
		_, _ = io.WriteString(w, "an event")
	}, func(c *passthrough.Config) { c.Timeout = 20 * time.Millisecond })
	const path = "/instances/alpha/proxy/api/v1/pods"
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path+"?watch=1", http.NoBody)
	r.Header.Set("Authorization", "Bearer t-alice")
	watch, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Body.Close()
	response, body := s.do(t, "t-alice", "GET", path, nil) //nolint:bodyclose // do closes it.
	if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get(passthrough.CodeHeader) != "INSTANCE_UNAVAILABLE" {
		t.Errorf("a list that takes too long: HTTP %d %s", response.StatusCode, body)
	}
	close(send)
	if raw, err := io.ReadAll(watch.Body); err != nil || string(raw) != "an event" {
		t.Errorf("a watch of the same age: %q, %v", raw, err)
	}
}
