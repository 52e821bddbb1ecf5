package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
)

// overTLS is a server with HTTP/2, as an apiserver is one.
func overTLS(t *testing.T, handler http.HandlerFunc) *rest.Config {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}} // A test's own.
}

// from asks the server and tells from which connection that came.
func from(t *testing.T, config *rest.Config) string {
	t.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Get(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil || !strings.HasPrefix(string(content), "HTTP/2.0 ") {
		t.Fatalf("got %q and %v", content, err)
	}
	return string(content)
}

// TestApart finds everybody on one connection, and who is to be apart on another one.
func TestApart(t *testing.T) {
	config := overTLS(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto+" "+r.RemoteAddr) })
	controllers := from(t, config)
	if other := from(t, rest.CopyConfig(config)); other != controllers {
		t.Errorf("two clients have two connections, %s and %s: there is nothing to be apart from", controllers, other)
	}
	watches, lease := from(t, apart(config)), from(t, apart(config))
	if watches == controllers || lease == controllers || watches == lease {
		t.Errorf("the controllers are on %s, the watches on %s and the Lease on %s", controllers, watches, lease)
	}
}

// closing is a body that tells whether it was closed.
type closing struct {
	io.Reader
	closed atomic.Bool
}

func (c *closing) Close() error {
	c.closed.Store(true)
	return nil
}

// TestAtOnce sends more than may be on their way together.
func TestAtOnce(t *testing.T) {
	const number, all = 2, 5
	begun, let := make(chan struct{}, all), make(chan struct{})
	var now, most atomic.Int32
	config := overTLS(t, func(w http.ResponseWriter, _ *http.Request) {
		if together := now.Add(1); together > most.Load() {
			most.Store(together)
		}
		defer now.Add(-1)
		begun <- struct{}{}
		<-let
		w.WriteHeader(http.StatusNoContent)
	})
	client, err := atOnce(config, number)
	if err != nil {
		t.Fatal(err)
	}
	var sent sync.WaitGroup
	for range all {
		sent.Go(func() {
			response, err := client.Get(config.Host)
			if err != nil {
				t.Error(err)
				return
			}
			response.Body.Close()
		})
	}
	for range number {
		<-begun
	}
	ctx, leave := context.WithCancel(t.Context())
	leave()
	body := &closing{Reader: strings.NewReader("{}")}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, config.Host, body)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Do(request); !errors.Is(err, context.Canceled) || !body.closed.Load() { //nolint:bodyclose // There is none.
		t.Errorf("who does not wait any more got %v, and the body is closed: %v", err, body.closed.Load())
	}
	if got := len(begun); got > 0 {
		t.Errorf("%d were let through besides", got)
	}
	close(let)
	sent.Wait()
	if most.Load() != number {
		t.Errorf("%d were on their way at once, want %d", most.Load(), number)
	}
}
