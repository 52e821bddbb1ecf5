package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kairship-io/kairship/graph/server"
	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
	instances "github.com/kairship-io/kairship/pkg/instanceproxy/fake"
	"github.com/kairship-io/kairship/pkg/instanceproxy/passthrough"
	"github.com/kairship-io/kairship/pkg/quota"
)

// haste is how many times sooner than they are meant deadlines come in these tests.
const haste = 40

// hasty is a listener whose connections have no time.
type hasty struct{ net.Listener }

func (l hasty) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return hastyConn{conn}, err
}

type hastyConn struct{ net.Conn }

func (c hastyConn) SetReadDeadline(at time.Time) error {
	if left := time.Until(at); left > 0 {
		at = time.Now().Add(left / haste)
	}
	return c.Conn.SetReadDeadline(at)
}

// serveHastily serves until the test ends, and returns the address.
func serveHastily(t *testing.T, srv *http.Server) string {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go srv.Serve(hasty{l}) //nolint:errcheck // It is closed.
	t.Cleanup(func() { srv.Close() })
	return l.Addr().String()
}

// people authenticates alice, who may do everything, and no other user.
type people struct{}

func (people) Authenticate(_ context.Context, c authz.Credentials) (authz.User, error) {
	if c != authz.TokenCredentials("alice") {
		return authz.User{}, apierror.New(apierror.CodeUnauthenticated, "who are you")
	}
	return authz.User{Name: "alice"}, nil
}

func (people) CanServe(context.Context, authz.User) error { return nil }

func (people) Rules(context.Context, authz.User) (*authorizationv1.SubjectRulesReviewStatus, error) {
	return &authorizationv1.SubjectRulesReviewStatus{ResourceRules: []authorizationv1.ResourceRule{
		{APIGroups: []string{"kairship.io"}, Resources: []string{"*"}, Verbs: []string{"*"}},
	}}, nil
}

// newPeople serves everything to alice, before an instance alpha.
func newPeople(t *testing.T, instance http.HandlerFunc) *http.Server {
	t.Helper()
	api, err := server.New(server.Config{
		Schema: emptySchema(), Authenticator: people{}, Authorizer: people{}, GraphiQL: true, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	reviews := fake.NewClientset().AuthorizationV1().SubjectAccessReviews()
	native, err := passthrough.New(passthrough.Config{
		Clients:       instances.New(t, map[string]http.Handler{"alpha": instance}),
		Authenticator: people{},
		Permissions:   authz.NewResolver(people{}, reviews, nil, nil),
		Reviews:       reviews,
		Audit:         &audit.Log{Logger: slog.New(slog.DiscardHandler), Exists: func(context.Context, string) bool { return true }},
		Logger:        slog.New(slog.DiscardHandler),
		Quotas:        quota.New(quota.Limits{}, nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	return newServer(endpoint{}, &service{Handler: beside(native, api, people{}), graphql: api}, slog.New(slog.DiscardHandler))
}

// send begins a request.
func send(t *testing.T, address, request string) net.Conn {
	t.Helper()
	var d net.Dialer
	conn, err := d.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	return conn
}

// patience is well above what a body may take with haste, and below what it may take without.
const patience = 5 * time.Second

// TestIdleConnectionsAreClosed sends a byte of a body and, now and then, one more, to
// addresses that want no body, to some that are not there, and to an instance that is
// not for everybody. The connection does not stay.
func TestIdleConnectionsAreClosed(t *testing.T) {
	everything := newPeople(t, func(http.ResponseWriter, *http.Request) { t.Error("an instance was asked") })
	for name, srv := range map[string]*http.Server{
		"api": everything, "metrics": newMetricsServer(http.NewServeMux(), slog.New(slog.DiscardHandler)), "pprof": newPprofServer(),
	} {
		address := serveHastily(t, srv)
		for _, line := range []string{
			"POST /nothing", "POST /", "POST /healthz", "GET /healthz", "POST /readyz", "GET /readyz", "POST /graphiql", "GET /graphiql", "DELETE /graphiql/assets/x",
			"POST /graphql", "PUT /graphql", "GET /graphql", "OPTIONS /graphql", "POST /graphql/session", "DELETE /graphql/session", "PUT /graphql/session",
			"POST /instances/alpha/proxy/api/v1/namespaces/a/pods", "GET /instances/alpha/proxy/api", "POST /instances/alpha/proxy/a/../b", "POST /instances/alpha",
			"POST /metrics", "POST /debug/pprof/symbol", "POST /debug/pprof/",
		} {
			for _, framing := range []string{"Content-Length: 1000\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"} {
				t.Run(name+" "+line+" "+framing[:1], func(t *testing.T) {
					t.Parallel()
					conn := send(t, address, line+" HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+framing)
					more := framing[strings.LastIndex(framing, "\r\n\r\n")+4:]
					go func() {
						for err := error(nil); err == nil; _, err = io.WriteString(conn, more) {
							time.Sleep(50 * time.Millisecond)
						}
					}()
					conn.SetReadDeadline(time.Now().Add(patience)) //nolint:errcheck // The read tells.
					answer, err := io.ReadAll(conn)
					if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
						t.Errorf("the connection is still there, after %q", answer)
					}
				})
			}
		}
	}
}

// TestStoppingWaitsForNoBody stops a server while a client does not send its body.
func TestStoppingWaitsForNoBody(t *testing.T) {
	srv := newPeople(t, func(http.ResponseWriter, *http.Request) {})
	var serving atomic.Int64
	srv.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateActive {
			serving.Add(1)
		}
	}
	address := serveHastily(t, srv)
	paths := []string{"/nothing", "/instances/alpha/proxy/api"}
	for _, path := range paths {
		send(t, address, "POST "+path+" HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
	}
	poll.True(t, patience, "they are being served", func() bool { return int(serving.Load()) == len(paths) })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := srv.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// TestAdmittedBodiesTakeAsLongAsTheyTake has an admitted client send an instance a
// body, slowly, and read an answer that is slow too.
func TestAdmittedBodiesTakeAsLongAsTheyTake(t *testing.T) {
	const long = 3 * 10 * time.Second / haste
	address := serveHastily(t, newPeople(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" {
			conn, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = conn.Close() }()
			io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+r.Header.Get("Upgrade")+"\r\n\r\n") //nolint:errcheck // The other side tells.
			io.CopyN(conn, rw, 3)                                                                                                           //nolint:errcheck // The other side tells.
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("the instance reads %q, %v", body, err)
		}
		w.Write(body) //nolint:errcheck // The other side tells.
		_ = http.NewResponseController(w).Flush()
		select {
		case <-time.After(long):
		case <-r.Context().Done():
			t.Error("the request was cancelled")
		}
		fmt.Fprint(w, "!")
	}))
	const head = " /instances/alpha/proxy/api/v1/namespaces/a/pods HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\n"
	for _, tt := range []struct {
		name, request string
		later         []string
		want          string
		// upgrade has the parts sent once the protocol is another one.
		upgrade bool
	}{
		{"a length that is known", "POST" + head + "Content-Length: 3\r\n\r\na", []string{"b", "c"}, "abc!", false},
		{"chunks", "POST" + head + "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n", []string{"1\r\nb\r\n", "1\r\nc\r\n0\r\n\r\n"}, "abc!", false},
		{"no body", "GET" + head + "\r\n", nil, "!", false},
		{"an upgrade", "POST" + head + "Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n", []string{"a", "b", "c"}, "abc", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			conn := send(t, address, tt.request)
			reader := bufio.NewReader(conn)
			answer := func() *http.Response {
				conn.SetReadDeadline(time.Now().Add(patience)) //nolint:errcheck // The read tells.
				response, err := http.ReadResponse(reader, nil)
				if err != nil {
					t.Fatal(err)
				}
				return response
			}
			var response *http.Response
			if tt.upgrade {
				response = answer()
			}
			for _, part := range tt.later {
				time.Sleep(long / 2)
				if _, err := io.WriteString(conn, part); err != nil {
					t.Fatal(err)
				}
			}
			if !tt.upgrade {
				response = answer()
			}
			defer response.Body.Close()
			var answered io.Reader = response.Body
			if tt.upgrade {
				answered = reader
			}
			if body, err := io.ReadAll(answered); err != nil || string(body) != tt.want {
				t.Errorf("HTTP %d %q, %v; want %q", response.StatusCode, body, err, tt.want)
			}
		})
	}
}
