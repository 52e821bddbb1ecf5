package passthrough_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/pkg/instanceproxy/fake"
	"github.com/kairship-io/kairship/pkg/instanceproxy/passthrough"
)

// net/http reads on its own what is left of a body, and in full duplex it then trips
// over its own reading when the next request comes over the connection.
func TestBodyThatIsNotRead(t *testing.T) {
	whole := func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }
	none := func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex() // Or it would read it on its own.
		w.WriteHeader(http.StatusForbidden)
	}
	const large = 200 << 10
	for _, tt := range []struct {
		instance http.Handler
		// length is what is announced, of which not all may be sent.
		length, sent int
		status       int
		// closes is whether the connection can't be used again.
		closes bool
		why    string
	}{
		{http.HandlerFunc(whole), 0, 0, 200, false, "there is none"},
		{http.HandlerFunc(whole), 5, 5, 200, false, "the instance read it"},
		{http.HandlerFunc(whole), large, large, 200, false, "the instance read all of it"},
		{http.HandlerFunc(none), 10, 5, 403, true, "the instance refused it before"},
		{fake.Unavailable, 0, 0, 503, false, "there is none, and no instance"},
		{fake.Unavailable, 5, 5, 503, true, "there is no instance"},
	} {
		s := newScene(t, nil, func(c *passthrough.Config) { c.Clients = fake.New(t, map[string]http.Handler{"alpha": tt.instance}) })
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		reader := bufio.NewReader(conn)
		for range 3 {
			fmt.Fprintf(conn, "POST /instances/alpha/proxy/api HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t-alice\r\nContent-Length: %d\r\n\r\n", tt.length)
			_, _ = io.WriteString(conn, strings.Repeat("x", tt.sent))
			response, err := http.ReadResponse(reader, nil)
			if err != nil {
				t.Fatalf("%v: %s", err, tt.why)
			}
			_, _ = io.Copy(io.Discard, response.Body)
			response.Body.Close()
			if response.StatusCode != tt.status || response.Close != tt.closes {
				t.Errorf("HTTP %d, and the connection closes: %t, want %d and %t: %s", response.StatusCode, response.Close, tt.status, tt.closes, tt.why)
			}
			if response.Close {
				break
			}
		}
		_ = conn.Close()
	}
}
