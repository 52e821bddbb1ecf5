package server_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/graph/server/readiness"
	"github.com/kairship-io/kairship/graph/server/trace"
)

func TestOneLinePerRequest(t *testing.T) {
	const secret = "hunter2"
	for _, tt := range []struct {
		name string
		call call
		want map[string]any
	}{
		{
			name: "query", call: call{body: `{"query":"query Hello($n:String){hello(name:$n)}","variables":{"n":"` + secret + `"}}`},
			want: map[string]any{"status": 200.0, "outcome": "ok", "user": "admin", "operation": "Hello", "type": "query"},
		},
		{
			name: "mutation without a name", call: call{body: `{"query":"mutation{touch}"}`},
			want: map[string]any{"status": 200.0, "outcome": "ok", "user": "admin", "operation": "", "type": "mutation"},
		},
		{
			name: "bad literal", call: call{accept: graphQLJSON, body: `{"query":"query Q{items(color:` + secret + `){name}}"}`},
			want: map[string]any{"status": 400.0, "outcome": "refused", "user": "admin", "operation": "", "type": "", "errors": map[string]any{"INVALID": 1.0}},
		},
		{
			name: "bad variable", call: call{accept: graphQLJSON, body: `{"query":"query Q($c:Color){items(color:$c){name}}","variables":{"c":"` + secret + `"}}`},
			want: map[string]any{"status": 400.0, "outcome": "refused", "user": "admin", "operation": "Q", "type": "query", "errors": map[string]any{"INVALID": 1.0}},
		},
		{
			name: "bad operation name", call: call{accept: graphQLJSON, body: `{"query":"query Q{hello}","operationName":"` + secret + `"}`},
			want: map[string]any{"status": 400.0, "outcome": "refused", "user": "admin", "operation": "", "type": "", "errors": map[string]any{"INVALID": 1.0}},
		},
		{
			name: "two mistakes", call: call{body: `{"query":"{nope nothing}"}`},
			want: map[string]any{"status": 200.0, "outcome": "refused", "user": "admin", "operation": "", "type": "", "errors": map[string]any{"INVALID": 2.0}},
		},
		{
			name: "range", call: call{body: `{"query":"{items(first:-1){name}}"}`},
			want: map[string]any{"status": 200.0, "outcome": "failed", "user": "admin", "operation": "", "type": "query", "errors": map[string]any{"INVALID": 1.0}},
		},
		{
			name: "batch", call: call{body: `[{"query":"{hello}","variables":{"p":"` + secret + `"}}]`},
			want: map[string]any{"status": 400.0, "outcome": "refused", "user": "admin", "operation": "", "type": "", "errors": map[string]any{"INVALID": 1.0}},
		},
		{
			name: "body that is no JSON", call: call{body: secret},
			want: map[string]any{"status": 400.0, "outcome": "refused", "user": "admin", "operation": "", "type": "", "errors": map[string]any{"INVALID": 1.0}},
		},
		{
			name: "bad token", call: call{token: secret, body: `{"query":"{hello}"}`},
			want: map[string]any{"status": 401.0, "outcome": "refused", "errors": map[string]any{"UNAUTHENTICATED": 1.0}},
		},
		{
			name: "not served", call: call{token: "mallory", body: `{"query":"{hello}"}`},
			want: map[string]any{"status": 403.0, "outcome": "refused", "decision": "denied", "user": "mallory", "operation": "", "type": "", "errors": map[string]any{"FORBIDDEN": 1.0}},
		},
		{
			name: "long operation name", call: call{body: `{"query":"query ` + strings.Repeat("a", 500) + `{hello}"}`},
			want: map[string]any{"status": 200.0, "outcome": "ok", "user": "admin", "operation": strings.Repeat("a", 100), "type": "query"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := start(t, nil, nil)
			s.do(t, tt.call)
			lines := s.log.lines(t)
			if len(lines) != 1 {
				t.Fatalf("got %d lines, want 1:\n%s", len(lines), s.log)
			}
			tt.want["level"], tt.want["durationMs"], tt.want["traceId"], tt.want["from"] = "INFO", 0.0, traceID, loopback
			tt.want["msg"] = "graphql request"
			if _, known := tt.want["user"]; known {
				tt.want["msg"], tt.want["via"], tt.want["instances"], tt.want["instanceCount"] = "audit", "graphql", []any{}, 0.0
				if tt.want["decision"] == nil {
					tt.want["decision"] = "allowed"
				}
			}
			if d := cmp.Diff(tt.want, lines[0]); d != "" {
				t.Errorf("line (-want +got):\n%s", d)
			}
			if strings.Contains(s.log.String(), secret) {
				t.Errorf("the log has what only the caller may know: %s", s.log)
			}
		})
	}
}

func TestDurationIsLogged(t *testing.T) {
	now := time.Unix(0, 0)
	s := start(t, nil, func(c *server.Config) {
		c.Now = func() time.Time { return now }
		c.RequestScope = func(ctx context.Context) context.Context {
			now = now.Add(1500 * time.Microsecond)
			return ctx
		}
	})
	s.do(t, call{body: `{"query":"{hello}"}`})
	if got := s.log.lines(t)[0]["durationMs"]; got != 1.5 {
		t.Errorf("got %v ms, want 1.5", got)
	}
}

func TestRefusalsDoNotEcho(t *testing.T) {
	s := start(t, nil, nil)
	for name, body := range map[string]string{
		"batch":        `[{"query":"mutation{login(password:\"hunter2\")}"}]`,
		"broken JSON":  `{"query":"{hello}","variables":{"password":"hunter2"`,
		"no object":    `"hunter2"`,
		"wrong types":  `{"query":["hunter2"]}`,
		"bad variable": `{"query":"{hello}","variables":"hunter2"}`,
	} {
		if r := s.do(t, call{body: body}); r.status != http.StatusBadRequest || strings.Contains(r.body, "hunter2") {
			t.Errorf("%s: got %d %s, want 400 without the body", name, r.status, r.body)
		}
	}
}

func TestUndecidedTokenLogsWhy(t *testing.T) {
	s := start(t, nil, nil)
	s.do(t, call{token: "undecided", body: `{"query":"{hello}"}`})
	lines := s.log.lines(t)
	if len(lines) != 2 || lines[0]["cause"] != "dial tcp: connection refused" || lines[0]["level"] != "WARN" {
		t.Errorf("the operator is not told that the global cluster is away:\n%s", s.log)
	}
}

func TestTraceID(t *testing.T) {
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	s := start(t, nil, nil)
	for _, tt := range []struct {
		traceparent string
		want        string
		why         string
	}{
		{parent, "4bf92f3577b34da6a3ce929d0e0e4736", "the caller's trace goes on"},
		{"", traceID, "a new trace"},
		{"01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-extra", "4bf92f3577b34da6a3ce929d0e0e4736", "later versions may add fields"},
		{"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-extra", traceID, "this version has four"},
		{"ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", traceID, "version ff is forbidden"},
		{"00-00000000000000000000000000000000-00f067aa0ba902b7-01", traceID, "zero is no trace"},
		{"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", traceID, "zero is no parent"},
		{"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", traceID, "upper case is not valid"},
		{"00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01", traceID, "too short"},
		{"00-4bf92f3577b34da6a3ce929d0e0e47zz-00f067aa0ba902b7-01", traceID, "not hexadecimal"},
		{"hunter2", traceID, "not a traceparent"},
	} {
		r := s.do(t, call{accept: graphQLJSON, header: http.Header{"Traceparent": {tt.traceparent}}, body: `{"query":"{nope}"}`})
		got := extensions(decode(t, r.body)["errors"].([]any)[0])["traceId"]
		lines := s.log.lines(t)
		logged := lines[len(lines)-1]["traceId"]
		if header := r.header.Get(trace.Header); header != tt.want || got != tt.want || logged != tt.want {
			t.Errorf("%q: header %s, error %v, log %v; want %s: %s", tt.traceparent, header, got, logged, tt.want, tt.why)
		}
	}
}

func TestRandomTraceIDs(t *testing.T) {
	s := start(t, nil, func(c *server.Config) { c.NewTraceID = nil })
	seen := map[string]bool{}
	for range 3 {
		id := s.do(t, call{body: `{"query":"{hello}"}`}).header.Get(trace.Header)
		if len(id) != 32 || seen[id] {
			t.Errorf("trace id %q is not 32 digits of its own", id)
		}
		seen[id] = true
	}
}

func TestLogHandlerAddsTheTraceOnce(t *testing.T) {
	var out bytes.Buffer
	logger := slog.New(trace.LogHandler(trace.LogHandler(slog.NewTextHandler(&out, nil)))).With("a", 1).WithGroup("g")
	s := start(t, nil, func(c *server.Config) {
		c.RequestScope = func(ctx context.Context) context.Context {
			logger.InfoContext(ctx, "inside")
			return ctx
		}
	})
	s.do(t, call{body: `{"query":"{hello}"}`})
	logger.Info("outside")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || strings.Count(lines[0], traceID) != 1 || strings.Contains(lines[1], "traceId") {
		t.Errorf("want the trace id once inside of a request, and not outside:\n%s", out.String())
	}
}

func TestReadiness(t *testing.T) {
	var indexErr, globalErr error
	now := time.Unix(0, 0)
	runs := 0
	s := start(t, nil, func(c *server.Config) {
		c.Now = func() time.Time { return now }
		c.Checks = []readiness.Check{
			{Name: "global-cluster", Required: true, Run: func(context.Context) error { return globalErr }},
			{Name: "index", Run: func(context.Context) error { runs++; return indexErr }},
		}
	})
	for _, tt := range []struct {
		name          string
		global, index error
		wait          time.Duration
		status        int
		body          string
		why           string
	}{
		{
			name: "well", wait: time.Minute, status: 200,
			body: `{"status":"ok","checks":[{"name":"global-cluster","status":"ok"},{"name":"index","status":"ok"}]}`,
			why:  "everything answers",
		},
		{
			name: "index down", index: errors.New("secret"), wait: time.Minute, status: 200,
			body: `{"status":"degraded","checks":[{"name":"global-cluster","status":"ok"},{"name":"index","status":"failing","message":"failing; the log says why"}]}`,
			why:  "a part can be answered, so load balancers must not take every replica away",
		},
		{
			name: "global cluster down", global: errUndecided, index: errors.New("secret"), wait: time.Minute, status: 503,
			body: `{"status":"failing","checks":[{"name":"global-cluster","status":"failing","message":"` + errUndecided.Message + `"},{"name":"index","status":"failing","message":"failing; the log says why"}]}`,
			why:  "no user can be let in",
		},
		{
			name: "asked again at once", wait: 0, status: 503,
			body: `{"status":"failing","checks":[{"name":"global-cluster","status":"failing","message":"` + errUndecided.Message + `"},{"name":"index","status":"failing","message":"failing; the log says why"}]}`,
			why:  "a report serves a second, regardless of the client",
		},
		{
			name: "well again", wait: time.Second, status: 200,
			body: `{"status":"ok","checks":[{"name":"global-cluster","status":"ok"},{"name":"index","status":"ok"}]}`,
			why:  "it recovers on its own",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			now = now.Add(tt.wait)
			indexErr, globalErr = tt.index, tt.global
			r := s.do(t, call{method: http.MethodGet, path: "/readyz", token: "none"})
			if r.status != tt.status || strings.TrimSpace(r.body) != tt.body {
				t.Errorf("got %d %s\nwant %d %s\n%s", r.status, r.body, tt.status, tt.body, tt.why)
			}
		})
	}
	if runs != 4 {
		t.Errorf("the checks ran %d times for five probes, want 4", runs)
	}
	// Index fails, global fails, both pass again.
	if lines := s.log.lines(t); len(lines) != 4 {
		t.Errorf("got %d log lines, want one per change:\n%s", len(lines), s.log)
	}
}

// TestReadinessRequiredOnce: what was never reached may be set up wrongly; what was
// reached before is away for all replicas alike.
func TestReadinessRequiredOnce(t *testing.T) {
	indexErr := errors.New("away")
	now := time.Unix(0, 0)
	s := start(t, nil, func(c *server.Config) {
		c.Now = func() time.Time { return now }
		c.Checks = []readiness.Check{{Name: "index", RequiredOnce: true, Run: func(context.Context) error { return indexErr }}}
	})
	for i, step := range []struct {
		err    error
		status int
		says   string
	}{
		{errors.New("away"), 503, `"status":"failing"`}, {nil, 200, `"status":"ok"`}, {errors.New("away"), 200, `"status":"degraded"`},
	} {
		now = now.Add(time.Minute)
		indexErr = step.err
		if r := s.do(t, call{method: http.MethodGet, path: "/readyz"}); r.status != step.status || !strings.Contains(r.body, step.says) {
			t.Errorf("step %d: %d %s, want %d %s", i, r.status, r.body, step.status, step.says)
		}
	}
}
