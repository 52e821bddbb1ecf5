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
	memory
	// resident is what it occupies, with what waits to be collected.
	resident   int64
	goroutines int64
	cpu        time.Duration
}

// memory is that of a process as Go counts it.
type memory struct {
	// reachable is the heap that is not garbage, if there was a collection just before; heap is with
	// garbage, and sys is what Go got from the kernel for everything.
	reachable, heap, stacks, sys int64
}

// needed is the memory that the process can't do without.
func (m memory) needed() int64 { return m.reachable + m.stacks }

// memoryOf reads the memory of a process; with "gc=1&", behind a garbage collection.
func memoryOf(b *testing.B, profiles, options string) memory {
	b.Helper()
	var m memory
	fields := map[string]*int64{"HeapAlloc": &m.reachable, "HeapInuse": &m.heap, "Stack": &m.stacks, "Sys": &m.sys}
	for line := range strings.Lines(profile(b, profiles, "heap?"+options+"debug=1")) {
		name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "# "), " = ")
		field := fields[name]
		if field == nil {
			continue
		}
		inUse, _, _ := strings.Cut(value, " / ")
		var err error
		if *field, err = strconv.ParseInt(inUse, 10, 64); err != nil {
			b.Fatal(err)
		}
	}
	return m
}

// mostMemory samples the memory of a process until the channel is closed, and returns the largest
// heap together with stacks, with the stacks of that moment, and what Go got for everything.
func mostMemory(b *testing.B, profiles string, stop <-chan struct{}) memory {
	b.Helper()
	var most memory
	for tick := time.NewTicker(500 * time.Millisecond); ; {
		select {
		case <-stop:
			tick.Stop()
			return most
		case <-tick.C:
			now := memoryOf(b, profiles, "")
			sys := max(most.sys, now.sys)
			if now.heap+now.stacks > most.heap+most.stacks {
				most = now
			}
			most.sys = sys
		}
	}
}

// queryTimes sends a small query again and again until the channel is closed, and returns how long
// each took.
func queryTimes(b *testing.B, address, token string, stop <-chan struct{}) []time.Duration {
	b.Helper()
	var took []time.Duration
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		select {
		case <-stop:
			tick.Stop()
			return took
		case <-tick.C:
		}
		r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "http://"+address+"/graphql", strings.NewReader(`{"query":"{ __typename }"}`))
		if err != nil {
			b.Error(err)
			return nil
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		begun := time.Now()
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			b.Error(err)
			return nil
		}
		_, err = io.Copy(io.Discard, resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			b.Error(err)
			return nil
		}
		took = append(took, time.Since(begun))
	}
}

// usageOf asks a process, behind a garbage collection.
func usageOf(b *testing.B, p *fleet.Process, profiles string) usage {
	b.Helper()
	var u usage
	u.cpu, u.resident = fleet.UsageOf(b, p.PID())
	u.memory = memoryOf(b, profiles, "gc=1&")
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
