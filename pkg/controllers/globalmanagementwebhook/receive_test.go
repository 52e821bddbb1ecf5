package globalmanagementwebhook

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/internal/poll"
	gm "github.com/kairship-io/kairship/pkg/globalmanagement"
)

// dribble begins a request with headers that look right, and sends its body byte by
// byte for as long as it is read. Answered gets the status in the end.
func dribble(t *testing.T, pool *x509.CertPool, address, path string) (connection *tls.Conn, answered <-chan int) {
	t.Helper()
	connection, err := tls.Dial("tcp", address, &tls.Config{RootCAs: pool})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	if _, err := fmt.Fprintf(connection, "POST %s HTTP/1.1\r\nHost: %s\r\n%s: %d\r\n%s: sha256=%064d\r\nContent-Length: 60000\r\n\r\n",
		path, address, gm.TimestampHeader, time.Now().UnixMilli(), gm.SignatureHeader, 0); err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			if _, err := connection.Write([]byte(" ")); err != nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	}()
	status := make(chan int, 1)
	go func() {
		defer close(status)
		if response, err := http.ReadResponse(bufio.NewReader(connection), nil); err == nil {
			_ = response.Body.Close()
			status <- response.StatusCode
		}
	}()
	return connection, status
}

// TestSlowBodiesBlockNoOtherSender fills all reading with bodies that never end.
func TestSlowBodiesBlockNoOtherSender(t *testing.T) {
	w := newWorld(t, 1)
	h := w.replicas[0]
	const most = 32
	h.eventBodies.most = most
	dir := t.TempDir()
	pool := certificate(t, dir, "only")
	address, stop := run(t, dir, h)
	began := time.Now()
	var slow []<-chan int
	var open []*tls.Conn
	for range most {
		_, answered := dribble(t, pool, address, gm.EventsPath)
		slow = append(slow, answered)
	}
	for range maxResyncBodies {
		connection, _ := dribble(t, pool, address, gm.ResyncPath)
		open = append(open, connection)
	}
	poll.Until(t, 4*time.Second, "all reading is taken, which the test needs", func(context.Context) error {
		if events, resyncs := h.eventBodies.number(), h.resyncBodies.number(); events < most || resyncs < maxResyncBodies {
			return fmt.Errorf("%d events and %d resyncs are read", events, resyncs)
		}
		return nil
	})

	client := trusting(pool)
	for i := int64(1); i <= most/2; i++ {
		body, err := json.Marshal(gm.Event{EventID: fmt.Sprint(i), Type: gm.Bound, Binding: binding(i)})
		if err != nil {
			t.Fatal(err)
		}
		if status := w.post(client, "https://"+address+gm.EventsPath, body); status != http.StatusOK {
			t.Errorf("event %d is answered with %d", i, status)
		}
	}
	body, err := json.Marshal(gm.Resync{AsOf: 1, Bindings: []gm.Binding{}})
	if err != nil {
		t.Fatal(err)
	}
	if status := w.post(client, "https://"+address+gm.ResyncPath, body); status != http.StatusOK {
		t.Errorf("the resync is answered with %d", status)
	}
	if len(h.events)+len(h.resyncs) > 0 {
		t.Errorf("strangers hold %d and %d slots", len(h.events), len(h.resyncs))
	}

	for i, answered := range slow {
		select {
		case status := <-answered:
			if status != http.StatusServiceUnavailable {
				t.Errorf("slow event %d is answered with %d", i, status)
			}
		case <-time.After(time.Until(began.Add(eventArrives + 10*time.Second))):
			t.Fatalf("slow event %d is still waited for", i)
		}
	}
	for _, connection := range open {
		_ = connection.Close()
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// post sends a signed body.
func (w *world) post(client *http.Client, url string, body []byte) int {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	timestamp, signature := gm.Sign(secret, time.Now(), body)
	request.Header.Set(gm.TimestampHeader, timestamp)
	request.Header.Set(gm.SignatureHeader, signature)
	response, err := client.Do(request)
	if err != nil {
		w.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// unread is a body that must not be read.
type unread struct{ *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.Error("the body is read")
	return 0, errors.New("unread")
}

// TestWhatIsSeenToBeWrongIsNotRead looks at the headers alone.
func TestWhatIsSeenToBeWrongIsNotRead(t *testing.T) {
	now := fmt.Sprint(noon.UnixMilli())
	formed := "sha256=" + strings.Repeat("0", 64)
	for _, c := range []struct {
		reason               string
		timestamp, signature []string
		status               int
	}{
		{"no timestamp", nil, []string{formed}, 401},
		{"two timestamps", []string{now, now}, []string{formed}, 401},
		{"no number", []string{"noon"}, []string{formed}, 401},
		{"a negative one", []string{"-1"}, []string{formed}, 401},
		{"far too many digits", []string{now + "0"}, []string{formed}, 401},
		{"an old one", []string{fmt.Sprint(noon.Add(-gm.DefaultTolerance - time.Millisecond).UnixMilli())}, []string{formed}, 410},
		{"one of the future", []string{fmt.Sprint(noon.Add(gm.DefaultTolerance + time.Millisecond).UnixMilli())}, []string{formed}, 410},
		{"no signature", []string{now}, nil, 401},
		{"two signatures", []string{now}, []string{formed, formed}, 401},
		{"a short one", []string{now}, []string{formed[1:]}, 401},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := &world{T: t, clock: noon}
			for _, path := range []string{gm.EventsPath, gm.ResyncPath} {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, unread{t})
				r.Header[gm.TimestampHeader], r.Header[gm.SignatureHeader] = c.timestamp, c.signature
				recorder := httptest.NewRecorder()
				w.replica(nil).ServeHTTP(recorder, r)
				if recorder.Code != c.status {
					t.Errorf("%s is answered with %d, want %d: %s", path, recorder.Code, c.status, recorder.Body)
				}
			}
		})
	}
}

// TestReaders checks which reader is cut off when there are too many.
func TestReaders(t *testing.T) {
	for _, c := range []struct {
		reason string
		// there are the clients of the present readers, in the order of their arrival; those in
		// upper case have sent the whole body.
		there, added string
		cut          string
		enters       bool
	}{
		{"there is room", "ab", "a", "", true},
		{"who came first", "abc", "d", "0", true},
		{"of who has the most", "abb", "c", "1", true},
		{"the newcomer counted", "abc", "b", "1", true},
		{"not who has sent everything", "Abc", "d", "1", true},
		{"not even of who has the most", "BBa", "b", "2", true},
		{"nobody", "AAA", "b", "", false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			from := func(sender string) netip.Prefix {
				return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, strings.ToLower(sender)[0]}), 32)
			}
			var cut []string
			all := &readers{most: 3}
			for i, sender := range strings.Split(c.there, "") {
				one := all.enter(from(sender), func() { cut = append(cut, fmt.Sprint(i)) })
				if strings.ToUpper(sender) == sender {
					all.arrive(one)
				}
			}
			one := all.enter(from(c.added), func() { t.Error("the newcomer is cut off") })
			if (one != nil) != c.enters {
				t.Errorf("it enters: %v", one != nil)
			}
			if diff := cmp.Diff(c.cut, strings.Join(cut, " ")); diff != "" {
				t.Errorf("cut off (-want +got):\n%s", diff)
			}
			if all.number() != 3 {
				t.Errorf("there are %d", all.number())
			}
			if one != nil {
				all.leave(one)
				all.leave(one)
				if all.number() != 2 {
					t.Errorf("%d are left", all.number())
				}
			}
		})
	}
}

// number returns the number of readers.
func (r *readers) number() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.all)
}
