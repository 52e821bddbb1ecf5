package live

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// lean is a client of a subscription that does next to nothing with what it reads.
// The clients of the benchmark share the machine with what is measured, and a
// thousand that decode JSON would be most of it.
type lean struct {
	conn   net.Conn
	synced chan struct{}
	// into is where the versions that come are noted; nil for nowhere.
	into *arrivals
}

// openLean sends a subscription, and reads until it is ended by closing the connection.
func openLean(b *testing.B, address, token string, r gql.Request, into *arrivals) *lean {
	b.Helper()
	body, err := json.Marshal(r)
	if err != nil {
		b.Fatal(err)
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	_, err = fmt.Fprintf(conn, "POST /graphql HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nAccept: text/event-stream\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", address, token, len(body), body)
	if err != nil {
		b.Fatal(err)
	}
	c := &lean{conn: conn, synced: make(chan struct{}), into: into}
	go c.read()
	return c
}

var (
	leanSynced  = []byte(`"type":"SYNCED"`)
	leanVersion = []byte(`"resourceVersion":"`)
	leanEnd     = []byte("\n\n")
)

func (c *lean) read() {
	var buffer [2048]byte
	rest, synced := 0, false
	for {
		n, err := c.conn.Read(buffer[rest:])
		at := time.Now()
		if err != nil {
			return
		}
		text := buffer[:rest+n]
		for {
			event, after, whole := bytes.Cut(text, leanEnd)
			if !whole {
				break
			}
			if text = after; !synced && bytes.Contains(event, leanSynced) {
				synced = true
				close(c.synced)
			}
			if _, version, found := bytes.Cut(event, leanVersion); found && c.into != nil {
				digits, _, _ := bytes.Cut(version, []byte(`"`))
				c.into.came(number(string(digits)), at)
			}
		}
		rest = copy(buffer[:], text)
	}
}

// usage is what a process of Kairship's API server has in use.
type usage struct {
	// memory is what it needs: the heap that is reachable, and stacks. resident is what it
	// occupies, with what waits to be collected.
	memory, resident int64
	goroutines       int64
	cpu              time.Duration
}

// usageOf asks a process, behind a garbage collection.
func usageOf(b *testing.B, p *fleet.Process, profiles string) usage {
	b.Helper()
	var u usage
	u.cpu, u.resident = fleet.UsageOf(b, p.PID())
	for line := range strings.Lines(profile(b, profiles, "heap?gc=1&debug=1")) {
		name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "# "), " = ")
		if name != "HeapAlloc" && name != "Stack" {
			continue
		}
		inUse, _, _ := strings.Cut(value, " / ")
		n, err := strconv.ParseInt(inUse, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		u.memory += n
	}
	first, _, _ := strings.Cut(profile(b, profiles, "goroutine?debug=1"), "\n")
	if _, err := fmt.Sscanf(first, "goroutine profile: total %d", &u.goroutines); err != nil {
		b.Fatal(err)
	}
	return u
}

func profile(b *testing.B, address, name string) string {
	b.Helper()
	resp, err := http.Get("http://" + address + "/debug/pprof/" + name)
	if err != nil {
		b.Fatal(err)
	}
	raw, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		b.Fatal(err)
	}
	return string(raw)
}

// freeAddress is one on the loopback interface without a listener just now.
func freeAddress(b *testing.B) string {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}
