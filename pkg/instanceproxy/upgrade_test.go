package instanceproxy_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"testing"
)

// echo becomes a stream of its own that returns what it gets, as exec does.
func echo(w http.ResponseWriter, r *http.Request) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer func() { _ = conn.Close() }()
	fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", r.Header.Get("Upgrade"))
	fmt.Fprintf(conn, "%s\n", r.Header.Get("Impersonate-User"))
	_, _ = io.Copy(conn, buffered)
}

// An upgrade goes over HTTP/1.1, though everything else shares HTTP/2, and ends
// with the instance.
func TestUpgrade(t *testing.T) {
	w, _, c := alphaWorld(t, echo, nil)
	client, err := c.Get(t.Context(), "alpha")
	if err != nil {
		t.Fatal(err)
	}
	for _, protocol := range []string{"SPDY/3.1", "websocket"} {
		r, _ := http.NewRequestWithContext(as(t, "alice"), http.MethodPost, "https://x/exec", http.NoBody)
		r.Header.Set("Connection", "Upgrade")
		r.Header.Set("Upgrade", protocol)
		response, err := client.Transport().RoundTrip(r) //nolint:bodyclose // The stream below is the body.
		if err != nil || response.StatusCode != http.StatusSwitchingProtocols || response.Header.Get("Upgrade") != protocol {
			t.Fatalf("%s: %v %v", protocol, response, err)
		}
		stream, ok := response.Body.(io.ReadWriteCloser)
		if !ok {
			t.Fatalf("%s: the stream can't be written to", protocol)
		}
		lines := bufio.NewScanner(stream)
		fmt.Fprintln(stream, "hello")
		for _, want := range []string{"alice", "hello"} {
			if !lines.Scan() || lines.Text() != want {
				t.Fatalf("%s: %q, want %q", protocol, lines.Text(), want)
			}
		}
		if protocol == "websocket" {
			w.delete("alpha")
			if lines.Scan() {
				t.Errorf("%s: the stream goes on with %q after the instance has gone", protocol, lines.Text())
			}
		}
		stream.Close()
	}
}
