package passthrough_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"github.com/kairship-io/kairship/pkg/instanceproxy/passthrough"
)

const inMember = "/instances/alpha/proxy/apis/cluster.karmada.io/v1alpha1/clusters/m1/proxy/api/v1/namespaces/shop/pods/web"

// echo runs, in place of a kubelet, a command that writes what it reads.
func echo(w http.ResponseWriter, r *http.Request) {
	const stdin, stdout, status, closed = 0, 1, 3, 255
	upgrader := websocket.Upgrader{Subprotocols: []string{"v5.channel.k8s.io"}}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	for {
		_, message, err := conn.ReadMessage()
		switch {
		case err != nil:
			return
		case message[0] == closed:
			_ = conn.WriteMessage(websocket.BinaryMessage, append([]byte{status}, `{"status":"Success"}`...))
			_ = conn.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""))
			return
		case message[0] == stdin:
			message[0] = stdout
			_ = conn.WriteMessage(websocket.BinaryMessage, message)
		}
	}
}

// run runs a command over a WebSocket, as kubectl does, and returns what it writes.
func (s *scene) run(t *testing.T, token, path, stdin string, command ...string) (string, error) {
	t.Helper()
	query := url.Values{"stdin": {"true"}, "stdout": {"true"}, "container": {"main"}, "command": command}
	dialer := websocket.Dialer{Subprotocols: []string{"v5.channel.k8s.io"}}
	address := strings.Replace(s.url, "http://", "ws://", 1) + path + "/exec?" + query.Encode()
	conn, response, err := dialer.DialContext(t.Context(), address, http.Header{"Authorization": {"Bearer " + token}})
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	defer func() { _ = conn.Close() }()
	for _, message := range [][]byte{append([]byte{0}, stdin...), {255, 0}} {
		if err := conn.WriteMessage(websocket.BinaryMessage, message); err != nil {
			return "", err
		}
	}
	for out := ""; ; {
		_, message, err := conn.ReadMessage()
		switch {
		case err != nil:
			return out, err
		case message[0] == 3:
			return out, nil
		}
		out += string(message[1:])
	}
}

// line is the next line of the audit.
func (s *scene) line(t *testing.T) map[string]any {
	t.Helper()
	select {
	case text := <-s.log:
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		return line
	case <-time.After(15 * time.Second):
		t.Fatal("there is no line")
		return nil
	}
}

// A command runs over a WebSocket, and the audit has it when it begins and when it ends.
func TestExec(t *testing.T) {
	s := newScene(t, echo, nil)
	out, err := s.run(t, "t-alice", inMember, "what is sent comes back", "sh", "-c", "cat; echo done")
	if err != nil || out != "what is sent comes back" {
		t.Fatalf("%q %v", out, err)
	}
	ran := map[string]any{"cluster": "m1", "namespace": "shop", "pod": "web", "container": "main", "command": []any{"sh", "-c", "cat; echo done"}}
	for _, phase := range []string{"begin", "end"} {
		line := s.line(t)
		if d := cmp.Diff(ran, line["exec"]); d != "" || line["phase"] != phase || line["user"] != "alice" || line["decision"] != "allowed" {
			t.Errorf("%s: %v\n%s", phase, line, d)
		}
	}
	if _, err := s.run(t, "t-alice", "/instances/alpha/proxy/api/v1/namespaces/shop/pods/web", "x", slices.Repeat([]string{"word"}, 200)...); err != nil {
		t.Fatal(err)
	}
	ran = s.line(t)["exec"].(map[string]any)
	if words := ran["command"].([]any); len(words) != 100 || ran["truncated"] != true || ran["cluster"] != "" {
		t.Errorf("a long command in the instance itself: %v", ran)
	}
}

// Sessions take the verb create, also those that a WebSocket opens by GET. What is refused is not repeated.
func TestSessionsAreRefused(t *testing.T) {
	s := newScene(t, echo, nil)
	upgrade := []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="}
	for _, tt := range []struct {
		token, path string
		status      int
		says, why   string
	}{
		{"t-reader", inMember + "/exec?command=hunter2", 403, "cannot create instances/proxy", "may read alone"},
		{"t-reader", inMember + "/exec?watch=true&command=hunter2", 403, "cannot create instances/proxy", "a parameter makes no watch of it"},
		{"t-reader", strings.Replace(inMember, "/api/", "//api/", 1) + "//exec?command=hunter2", 403, "cannot create instances/proxy", "other servers clean a path"},
		{"t-reader", inMember + "/attach", 403, "cannot create instances/proxy", "may read alone"},
		{"t-reader", inMember + "/portforward", 403, "cannot create instances/proxy", "may read alone"},
		{"t-reader", inMember + "/proxy/socket", 403, "cannot create instances/proxy", "a server in the pod can do anything"},
		{"t-reader", "/instances/alpha/proxy/api/v1/pods?watch=true", 101, "", "a watch over a WebSocket is read"},
		{"t-reader", inMember + "/log?follow=true", 101, "", "so is a log"},
		{"t-viewer", inMember + "/exec?command=hunter2", 403, "cannot create instances/proxy", "has no passthrough"},
		{"t-mallory", inMember + "/exec?command=hunter2", 404, `instance \"alpha\" was not found`, "may not know of it"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+tt.path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+tt.token)
		for i := 0; i < len(upgrade); i += 2 {
			r.Header.Set(upgrade[i], upgrade[i+1])
		}
		response, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		var body bytes.Buffer
		if response.StatusCode != http.StatusSwitchingProtocols {
			_, _ = body.ReadFrom(response.Body)
		}
		_ = response.Body.Close()
		if response.StatusCode != tt.status || !strings.Contains(body.String(), tt.says) {
			t.Errorf("%s %s: HTTP %d %s: %s", tt.token, tt.path, response.StatusCode, &body, tt.why)
		}
		line := s.line(t)
		if text, _ := json.Marshal(line); line["exec"] != nil || bytes.Contains(text, []byte("hunter2")) {
			t.Errorf("%s %s: the audit has %s", tt.token, tt.path, text)
		}
	}
}

func TestSessionTimeout(t *testing.T) {
	begun := make(chan struct{}, 1)
	s := newScene(t, func(w http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		upgrader := websocket.Upgrader{Subprotocols: []string{"v5.channel.k8s.io"}}
		if conn, err := upgrader.Upgrade(w, r, nil); err == nil {
			_, _, _ = conn.ReadMessage() // Until the connection is closed.
			for {
				if _, _, err := conn.ReadMessage(); err != nil {
					break
				}
			}
			_ = conn.Close()
		}
	}, func(c *passthrough.Config) { c.SessionTimeout = 200 * time.Millisecond })
	if _, err := s.run(t, "t-alice", inMember, "", "sleep"); err == nil {
		t.Error("it ended as if it were complete")
	}
	<-begun
	if line := s.line(t); line["phase"] != "begin" {
		t.Errorf("begin: %v", line)
	}
	if line := s.line(t); line["phase"] != "end" || line["reason"] != "TIMEOUT" {
		t.Errorf("end: %v", line)
	}
}
