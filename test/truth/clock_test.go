package truth

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

// sampleEvery is the pause between two samples of the clock.
const sampleEvery = 20 * time.Millisecond

// sample records that etcd was at a revision at some moment between two.
type sample struct {
	sent, received time.Time
	revision       int64
}

// clock translates moments into revisions of etcd.
type clock struct {
	// etcd is its URL.
	etcd string

	mu      sync.Mutex
	samples []sample
}

// newClock makes the clock of a fleet and takes its first sample.
func newClock(t *testing.T, f *fleet.Fleet) *clock {
	t.Helper()
	c := &clock{}
	for _, arg := range f.Args(t, "etcd") {
		if url, ok := strings.CutPrefix(arg, "--listen-client-urls="); ok {
			c.etcd = url
		}
	}
	if err := c.sample(t.Context()); err != nil {
		t.Fatalf("the revision of etcd: %v", err)
	}
	return c
}

// run takes samples until the context ends.
func (c *clock) run(ctx context.Context) {
	for ctx.Err() == nil {
		_ = c.sample(ctx) // A sample that is missing widens an interval.
		time.Sleep(sampleEvery)
	}
}

// sample asks etcd for its revision, by a linearizable read of no key.
func (c *clock) sample(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.etcd+"/v3/kv/range", bytes.NewReader([]byte(`{"key":"AA=="}`)))
	if err != nil {
		return err
	}
	s := sample{sent: time.Now()}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	var answer struct {
		Header struct {
			Revision string `json:"revision"`
		} `json:"header"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return fmt.Errorf("HTTP %d: %w", resp.StatusCode, err)
	}
	s.received = time.Now()
	if s.revision, err = strconv.ParseInt(answer.Header.Revision, 10, 64); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.samples = append(c.samples, s)
	return nil
}

// passed reports whether a sample was sent after a moment.
func (c *clock) passed(moment time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.samples) > 0 && c.samples[len(c.samples)-1].sent.After(moment)
}

// from is a revision that etcd had reached by a moment: the newest one that is known.
func (c *clock) from(moment time.Time) int64 {
	n, found := slices.BinarySearchFunc(c.samples, moment, func(s sample, m time.Time) int { return s.received.Compare(m) })
	if !found {
		n--
	}
	return c.samples[max(n, 0)].revision
}

// until is a revision that etcd had not passed at a moment: the oldest one that is known.
func (c *clock) until(moment time.Time) int64 {
	n, _ := slices.BinarySearchFunc(c.samples, moment, func(s sample, m time.Time) int { return s.sent.Compare(m) })
	return c.samples[min(n, len(c.samples)-1)].revision
}

// widest is the longest time between two samples.
func (c *clock) widest() time.Duration {
	var widest time.Duration
	for i := 1; i < len(c.samples); i++ {
		widest = max(widest, c.samples[i].received.Sub(c.samples[i-1].sent))
	}
	return widest
}

func TestClock(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(1000, 0).Add(time.Duration(ms) * time.Millisecond) }
	c := &clock{samples: []sample{{at(0), at(5), 100}, {at(20), at(24), 110}, {at(40), at(41), 110}, {at(60), at(70), 130}}}
	for _, tt := range []struct {
		ms          int
		from, until int64
		why         string
	}{
		{5, 100, 110, "the first answer came at this moment; the next request was sent later"},
		{22, 100, 110, "the answer that was on its way may be of later"},
		{24, 110, 110, "it has come, and the next sample is the same"},
		{41, 110, 130, "what happened between this and the next sample is inside"},
		{65, 110, 130, "a request that was sent earlier may be answered with an earlier revision; there is no later one"},
		{70, 130, 130, "the last sample"},
		{-10, 100, 100, "before the first one, nothing of the run had happened"},
	} {
		if from, until := c.from(at(tt.ms)), c.until(at(tt.ms)); from != tt.from || until != tt.until {
			t.Errorf("at %d ms: %s: from %d until %d, want %d and %d", tt.ms, tt.why, from, until, tt.from, tt.until)
		}
	}
	if got := c.widest(); got != 30*time.Millisecond {
		t.Errorf("the widest gap is %s", got)
	}
}
