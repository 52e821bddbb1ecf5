package hostile

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gorilla/websocket"

	"github.com/kairship-io/kairship/test/internal/gql"
)

// patience is how long an answer may take before it counts as none. Bodies that never
// end are given up by the server after ten seconds.
const patience = 30 * time.Second

// attacker sends attacks as one user.
type attacker struct {
	server *url.URL
	token  string
	client *http.Client
}

// outcome is what an attack got.
type outcome struct {
	kind   string
	status int
	code   string
	took   time.Duration
	// closed: the server closed the connection while the client still wrote. What it had
	// answered by then is lost, as TCP has it.
	closed  bool
	problem error
}

// send sends an attack and judges the answer.
func (a attacker) send(ctx context.Context, what attack) outcome {
	begun := time.Now()
	status, contentType, body, err := a.exchange(ctx, what)
	out := outcome{kind: what.kind, status: status, took: time.Since(begun)}
	switch {
	case isReset(err):
		out.closed = true
	case err != nil:
		out.problem = fmt.Errorf("no answer after %s: %w", out.took.Round(time.Millisecond), err)
	case status >= http.StatusInternalServerError && !slices.Contains(what.statuses, status):
		out.problem = fmt.Errorf("HTTP %d: %.300s", status, body)
	case slices.Contains(what.statuses, status) && !strings.Contains(contentType, "json"):
	default:
		out.code, out.problem = judge(what, status, contentType, body)
	}
	return out
}

// isReset reports whether the connection was closed under a client that was still writing.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// judge finds the code of a refusal.
func judge(what attack, status int, contentType string, body []byte) (string, error) {
	if strings.HasPrefix(contentType, eventType) {
		for line := range strings.Lines(string(body)) {
			if data, found := strings.CutPrefix(line, "data: "); found {
				body = []byte(data)
				break
			}
		}
	} else if !strings.Contains(contentType, "json") {
		return "", fmt.Errorf("HTTP %d of type %q, which is no documented answer: %.300s", status, contentType, body)
	}
	var answer struct {
		Errors []gql.Error `json:"errors"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return "", fmt.Errorf("HTTP %d: the answer is no JSON: %.300s", status, body)
	}
	if len(answer.Errors) == 0 {
		return "", fmt.Errorf("HTTP %d: it was not refused: %.300s", status, body)
	}
	for _, e := range answer.Errors {
		// Who asks too often is told so, whatever they ask.
		if !slices.Contains(what.codes, e.Extensions.Code) && e.Extensions.Code != "RATE_LIMITED" {
			return "", fmt.Errorf("HTTP %d: code %q, want one of %v: %s", status, e.Extensions.Code, what.codes, e.Message)
		}
	}
	return answer.Errors[0].Extensions.Code, nil
}

func (a attacker) exchange(ctx context.Context, what attack) (status int, contentType string, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if what.raw != "" {
		return a.exchangeRaw(ctx, what.raw)
	}
	if what.socket {
		return a.exchangeMessages(ctx, what.body)
	}
	var reader io.Reader = bytes.NewReader(what.body)
	if what.slow {
		reader = &dripping{ctx: ctx, text: what.body}
	}
	r, err := http.NewRequestWithContext(ctx, what.method, a.server.String()+what.path, reader)
	if err != nil {
		return 0, "", nil, err
	}
	r.Header = what.header
	if what.slow {
		r.ContentLength = int64(len(what.body))
	}
	if r.Header.Get("Authorization") == "" {
		r.Header.Set("Authorization", "Bearer "+a.token)
	}
	resp, err := a.client.Do(r)
	if err != nil {
		return 0, "", nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, resp.Header.Get("Content-Type"), body, err
}

// exchangeRaw sends bytes, whatever they are.
func (a attacker) exchangeRaw(ctx context.Context, text string) (status int, contentType string, body []byte, err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", a.server.Host)
	if err != nil {
		return 0, "", nil, err
	}
	defer func() { _ = conn.Close() }()
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline)
	if _, err := io.WriteString(conn, text); err != nil {
		return 0, "", nil, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, "", nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err = io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, resp.Header.Get("Content-Type"), body, err
}

// exchangeMessages runs an operation over a WebSocket of its own, and returns its
// errors as a response over HTTP would have them.
func (a attacker) exchangeMessages(ctx context.Context, payload []byte) (status int, contentType string, body []byte, err error) {
	dialer := websocket.Dialer{Subprotocols: []string{"graphql-transport-ws"}}
	conn, resp, err := dialer.DialContext(ctx, "ws://"+a.server.Host+"/graphql", http.Header{"Authorization": {"Bearer " + a.token}})
	if resp != nil {
		_ = resp.Body.Close()
	}
	if err != nil {
		return 0, "", nil, err
	}
	defer func() { _ = conn.Close() }()
	deadline, _ := ctx.Deadline()
	_ = conn.SetReadDeadline(deadline)
	for _, text := range []string{`{"type":"connection_init"}`, `{"type":"subscribe","id":"1","payload":` + string(payload) + `}`} {
		if err := conn.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
			return 0, "", nil, err
		}
		var answer struct {
			Type    string
			Payload json.RawMessage
		}
		if err := conn.ReadJSON(&answer); err != nil {
			return 0, "", nil, err
		}
		switch answer.Type {
		case "error":
			return http.StatusSwitchingProtocols, responseType, []byte(`{"errors":` + string(answer.Payload) + `}`), nil
		case "next":
			return http.StatusSwitchingProtocols, responseType, answer.Payload, nil
		}
	}
	return 0, "", nil, errors.New("the operation has no answer")
}

// dripping gives a byte now and then.
type dripping struct {
	ctx  context.Context
	text []byte
}

// Read implements io.Reader.
func (d *dripping) Read(p []byte) (int, error) {
	select {
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	case <-time.After(50 * time.Millisecond):
	}
	if len(d.text) == 0 {
		return 0, io.EOF
	}
	p[0], d.text = d.text[0], d.text[1:]
	return 1, nil
}
