package main

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kairship-io/kairship/pkg/apis/apitest"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

func TestMain(m *testing.M) { os.Exit(apitest.Run(m)) }

// overTLS is a server with HTTP/2, as an apiserver is one.
func overTLS(t *testing.T, handler http.HandlerFunc) *rest.Config {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}} // A test's own.
}

// from sends a request to the server, and returns the connection that it came from.
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

// TestApart checks that clients share one connection, except those with ownConnection.
func TestApart(t *testing.T) {
	config := overTLS(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto+" "+r.RemoteAddr) })
	controllers := from(t, config)
	if other := from(t, rest.CopyConfig(config)); other != controllers {
		t.Errorf("two clients have two connections, %s and %s: there is nothing to be apart from", controllers, other)
	}
	watches, lease := from(t, ownConnection(config)), from(t, ownConnection(config))
	if watches == controllers || lease == controllers || watches == lease {
		t.Errorf("the controllers are on %s, the watches on %s and the Lease on %s", controllers, watches, lease)
	}
}

// closing is a body that reports whether it was closed.
type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}

// held are requests that are not answered before they are let go.
type held struct {
	mu        sync.Mutex
	now, most int
	let       chan struct{}
}

func (h *held) RoundTrip(request *http.Request) (*http.Response, error) {
	h.mu.Lock()
	h.now++
	h.most = max(h.most, h.now)
	h.mu.Unlock()
	<-h.let
	h.mu.Lock()
	h.now--
	h.mu.Unlock()
	return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody, Request: request}, nil
}

// TestAtOnce sends more requests than may be sent concurrently.
func TestAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const number, all = 2, 5
		server := &held{let: make(chan struct{})}
		client, err := limitConcurrency(&rest.Config{Host: "http://global.invalid", Transport: server}, number)
		if err != nil {
			t.Fatal(err)
		}
		var sent sync.WaitGroup
		for range all {
			sent.Go(func() {
				response, err := client.Get("http://global.invalid")
				if err != nil {
					t.Error(err)
					return
				}
				response.Body.Close()
			})
		}
		synctest.Wait()
		if server.now != number {
			t.Errorf("%d are on their way, want %d", server.now, number)
		}
		ctx, leave := context.WithCancel(t.Context())
		leave()
		body := &closing{Reader: strings.NewReader("{}")}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://global.invalid", body)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Do(request); !errors.Is(err, context.Canceled) || !body.closed { //nolint:bodyclose // There is none.
			t.Errorf("who does not wait any more got %v, and the body is closed: %v", err, body.closed)
		}
		close(server.let)
		sent.Wait()
		if server.most != number {
			t.Errorf("%d were on their way at once, want %d", server.most, number)
		}
	})
}

// watched passes requests on to the API server, and remembers from which connections
// watches, writes and the Lease came.
type watched struct {
	next http.Handler

	mu        sync.Mutex
	from      map[string]string
	now, most int
}

func (p *watched) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	what := ""
	switch {
	case strings.Contains(r.URL.Path, "/leases"):
		what = "lease"
	case r.URL.Query().Get("watch") == "true":
		what = "watch"
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/instances"):
		what = "write"
	}
	p.mu.Lock()
	if p.from == nil {
		p.from = map[string]string{}
	}
	p.from[what] = r.RemoteAddr
	if what == "write" {
		p.now++
		p.most = max(p.most, p.now)
	}
	p.mu.Unlock()
	if what == "write" {
		time.Sleep(200 * time.Millisecond) // All that are not held back come meanwhile.
		p.mu.Lock()
		p.now-- // Before it is answered, with which the next one may come.
		p.mu.Unlock()
	}
	p.next.ServeHTTP(w, r)
}

// TestConnectionsOfTheManager has the manager watch, write and lead.
func TestConnectionsOfTheManager(t *testing.T) {
	kube := apitest.Config(t)
	to, err := url.Parse(kube.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	if proxy.Transport, err = rest.TransportFor(kube); err != nil {
		t.Fatal(err)
	}
	proxy.FlushInterval = -1
	proxy.ErrorLog = log.New(io.Discard, "", 0) // The watch ends with the test.
	seen := &watched{next: proxy}
	o, err := parse([]string{"--kube-api-concurrency=2", "--leader-election-namespace=default", "--metrics-bind-address=0", "--health-probe-bind-address=0"}, nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	mgr, err := newManager(overTLS(t, seen.ServeHTTP), o, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	defer func() {
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	<-mgr.Elected()
	if _, err := mgr.GetCache().GetInformer(t.Context(), &v1alpha1.Instance{}); err != nil {
		t.Fatal(err)
	}
	var written sync.WaitGroup
	for range 6 {
		written.Go(func() {
			made := &v1alpha1.Instance{
				ObjectMeta: metav1.ObjectMeta{GenerateName: "connections-"},
				Spec: v1alpha1.InstanceSpec{
					Mode:                v1alpha1.InstanceModeExternal,
					KubeconfigSecretRef: &v1alpha1.SecretKeyReference{SecretReference: v1alpha1.SecretReference{Name: "none"}},
				},
			}
			if err := mgr.GetClient().Create(t.Context(), made); err != nil {
				t.Error(err)
			}
		})
	}
	written.Wait()
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if seen.most != 2 {
		t.Errorf("%d writes were on their way at once, want 2", seen.most)
	}
	lease, watch, write := seen.from["lease"], seen.from["watch"], seen.from["write"]
	if lease == "" || watch == "" || write == "" || lease == watch || lease == write || watch == write {
		t.Errorf("the Lease came from %q, a watch from %q and writes from %q, want three connections", lease, watch, write)
	}
}
