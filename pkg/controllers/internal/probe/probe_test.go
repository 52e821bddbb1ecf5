package probe_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers/internal/connections"
	"github.com/kairship-io/kairship/pkg/controllers/internal/probe"
)

const token = "the-token"

// answers are what the other side says, by path; what is missing is 404.
type answers map[string]answer

type answer struct {
	status int
	body   string
}

// cluster is one where everything works.
func cluster(changes answers) answers {
	all := answers{
		"/version":                       {200, `{"gitVersion":"v1.35.4"}`},
		"/readyz":                        {200, "ok"},
		"/api/v1/namespaces/kube-system": {200, `{"metadata":{"uid":"1234"}}`},
	}
	maps.Copy(all, changes)
	return all
}

func (a answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	said, found := a[r.URL.Path]
	if r.Header.Get("Authorization") != "Bearer "+token {
		said, found = answer{status: 401}, true
	}
	if !found {
		said = answer{status: 404}
	}
	w.WriteHeader(said.status)
	fmt.Fprint(w, said.body)
}

// start serves until the test ends, and is how to connect to it.
func start(t *testing.T, handler http.Handler) connection.Connection {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return connection.Connection{
		Endpoint: server.URL, Token: token,
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
}

// conclusion is the part of the result that a test compares: messages vary with the port.
type conclusion struct {
	Reachable, Ready string // status/reason
	Version          string
}

func judge(seen probe.Observation) (conclusion, string) {
	reachable, ready := probe.Judge(seen)
	word := func(c metav1.Condition) string { return string(c.Status) + "/" + c.Reason }
	return conclusion{word(reachable), word(ready), seen.Version}, reachable.Message + " " + ready.Message
}

func TestLook(t *testing.T) {
	const answering = "True/Answering"
	unreachable := func(reason string) conclusion { return conclusion{"False/" + reason, "False/Unreachable", ""} }
	for _, c := range []struct {
		reason  string
		handler http.Handler
		change  func(*connection.Connection)
		want    conclusion
		says    string
	}{
		{reason: "everything works", handler: cluster(nil), want: conclusion{answering, "True/Available", "v1.35.4"}, says: "answers"},
		{
			reason: "a wrong token is refused", handler: cluster(nil), change: func(c *connection.Connection) { c.Token = "other" },
			want: unreachable(v1alpha1.ReasonRefused), says: "does not accept the credentials (HTTP 401)",
		},
		{
			reason: "403 is a refusal too", handler: cluster(answers{"/version": {403, ""}}),
			want: unreachable(v1alpha1.ReasonRefused), says: "HTTP 403",
		},
		{
			reason: "an unknown CA is not trusted", handler: cluster(nil), change: func(c *connection.Connection) { c.CAData = nil },
			want: unreachable(v1alpha1.ReasonNotTrusted), says: "unknown authority",
		},
		{
			reason: "a certificate for another host is not trusted", handler: cluster(nil), change: func(c *connection.Connection) { c.ServerName = "kube.invalid" },
			want: unreachable(v1alpha1.ReasonNotTrusted), says: "is not for the host kube.invalid",
		},
		{
			reason: "there is no listener", handler: cluster(nil), change: func(c *connection.Connection) { c.Endpoint = "https://" + closedPort(t) },
			want: unreachable(v1alpha1.ReasonNotAnswering), says: "does not answer within",
		},
		{
			reason: "the answer does not come in time", handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				<-r.Context().Done()
				panic(http.ErrAbortHandler) // Returning would answer, perhaps just in time.
			}),
			want: unreachable(v1alpha1.ReasonNotAnswering), says: "does not answer within 300ms",
		},
		{
			reason: "the connection breaks", handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
			want: unreachable(v1alpha1.ReasonNotAnswering), says: "does not answer within",
		},
		{
			reason: "a gateway without a backend is no answer", handler: cluster(answers{"/version": {503, ""}}),
			want: unreachable(v1alpha1.ReasonNotAnswering), says: "HTTP 503",
		},
		{
			reason: "a web site is no apiserver", handler: cluster(answers{"/version": {200, "<html>"}}),
			want: unreachable(v1alpha1.ReasonNotAnswering), says: "not a Kubernetes apiserver",
		},
		{
			reason: "a version may not be a novel", handler: cluster(answers{"/version": {200, `{"gitVersion":"` + strings.Repeat("v", 100) + `"}`}}),
			want: unreachable(v1alpha1.ReasonNotAnswering), says: "not a Kubernetes apiserver",
		},
		{
			reason: "an apiserver that is not ready says why", handler: cluster(answers{"/readyz": {500, "[+]ping ok\n[-]etcd failed: reason withheld\n[-]poststarthook/x failed\n"}}),
			want: conclusion{answering, "False/Unhealthy", "v1.35.4"}, says: "failing checks: etcd, poststarthook/x.",
		},
		{
			reason: "who may not ask for the health goes without it", handler: cluster(answers{"/readyz": {403, ""}}),
			want: conclusion{answering, "True/Available", "v1.35.4"}, says: "ready",
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			to := start(t, c.handler)
			if c.change != nil {
				c.change(&to)
			}
			timeout := 10 * time.Second
			if strings.Contains(c.says, "300ms") {
				timeout = 300 * time.Millisecond
			}
			prober := newProber(timeout)
			got, message := judge(prober.Look(t.Context(), connections.Instance("alpha"), to, probe.Whole, nil))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s\n%s", diff, message)
			}
			if !strings.Contains(message, c.says) {
				t.Errorf("the message does not say %q: %s", c.says, message)
			}
			if _, again := judge(prober.Look(t.Context(), connections.Instance("alpha"), to, probe.Whole, nil)); again != message {
				t.Errorf("the same state has another message at the second look:\n%s\n%s", message, again)
			}
		})
	}
}

// TestWordsForWhatATestServerDoesNotDo covers errors that take a network, or a
// server that asks for client certificates.
func TestWordsForWhatATestServerDoesNotDo(t *testing.T) {
	for _, c := range []struct {
		reason string
		err    error
		want   string // of condition Reachable
		says   string
	}{
		{
			"a name that is not known", &url.Error{Op: "Get", Err: &net.OpError{Op: "dial", Err: &net.DNSError{Name: "m1.example.com", IsNotFound: true}}},
			v1alpha1.ReasonNotAnswering, "does not answer within",
		},
		{
			"a client certificate that did not pass", &url.Error{Op: "Get", Err: &net.OpError{Op: "remote error", Err: errors.New("tls: expired certificate")}},
			v1alpha1.ReasonRefused, "does not accept the client certificate (tls: expired certificate)",
		},
		{
			"a serving certificate that is over", &url.Error{Op: "Get", Err: &tls.CertificateVerificationError{Err: x509.CertificateInvalidError{
				Reason: x509.Expired, Detail: "current time 12:34:56 is after",
				Cert: &x509.Certificate{NotBefore: time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC), NotAfter: time.Date(2021, 1, 2, 3, 4, 5, 0, time.UTC)},
			}}},
			v1alpha1.ReasonNotTrusted, "is valid only from 2020-01-02 to 2021-01-02",
		},
	} {
		reachable, _ := probe.Judge(probe.Observation{Endpoint: "https://m1.example.com", Err: c.err})
		if reachable.Reason != c.want || !strings.Contains(reachable.Message, c.says) {
			t.Errorf("%s: got %s: %s", c.reason, reachable.Reason, reachable.Message)
		}
	}
}

// closedPort is an address of this machine without a listener.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func newProber(timeout time.Duration) *probe.Prober {
	return &probe.Prober{Timeout: timeout, Connections: &connections.Pool{}}
}

func TestKubeSystemID(t *testing.T) {
	for _, c := range []struct {
		reason string
		answer answer
		want   string
	}{
		{"it is the UID of kube-system", answer{200, `{"metadata":{"uid":"1234"}}`}, "1234"},
		{"not everybody may read it", answer{403, ""}, ""},
		{"an answer that is none says nothing", answer{200, "<html>"}, ""},
		{"an ID may not be a novel", answer{200, `{"metadata":{"uid":"` + strings.Repeat("1", 100) + `"}}`}, ""},
	} {
		got := "never asked"
		to := start(t, cluster(answers{"/api/v1/namespaces/kube-system": c.answer}))
		seen := newProber(10*time.Second).Look(t.Context(), connections.Cluster("m1"), to, probe.Whole, func(ctx context.Context, ask probe.Asker) {
			got, _ = probe.KubeSystemID(ctx, ask)
		})
		if conclusion, message := judge(seen); got != c.want || conclusion.Ready != "True/Available" {
			t.Errorf("%s: got %q, want %q; %+v: %s", c.reason, got, c.want, conclusion, message)
		}
	}
}

// TestAGlanceAsksOnce counts what a look costs an apiserver.
func TestAGlanceAsksOnce(t *testing.T) {
	for _, c := range []struct {
		reason string
		depth  probe.Depth
		answer answers
		want   []string
	}{
		{"a glance at what is well is one request", probe.Glance, nil, []string{"/readyz"}},
		{"a whole look asks for everything", probe.Whole, nil, []string{"/readyz", "/version", "/more"}},
		{"a glance at what is not well becomes a whole look", probe.Glance, answers{"/readyz": {500, "[-]etcd failed"}}, []string{"/readyz", "/version"}},
		{"who may not ask for the health asks for the version", probe.Glance, answers{"/readyz": {403, ""}}, []string{"/readyz", "/version", "/more"}},
		{"refused credentials are not tried again", probe.Whole, answers{"/readyz": {401, ""}}, []string{"/readyz"}},
	} {
		var asked []string
		handler := cluster(c.answer)
		to := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.URL.Path)
			handler.ServeHTTP(w, r)
		}))
		newProber(10*time.Second).Look(t.Context(), connections.Instance("alpha"), to, c.depth, func(ctx context.Context, ask probe.Asker) {
			_, _ = ask.Get(ctx, "/more")
		})
		if diff := cmp.Diff(c.want, asked); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}

func TestProberKeepsAConnectionUntilTheCredentialsChange(t *testing.T) {
	var opened atomic.Int32
	server := httptest.NewUnstartedServer(cluster(nil))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.StartTLS()
	defer server.Close()
	to := connection.Connection{
		Endpoint: server.URL, Token: token,
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
	prober := newProber(10 * time.Second)
	key := connections.Instance("alpha")
	look := func() { prober.Look(t.Context(), key, to, probe.Whole, nil) }

	look()
	look()
	if got := opened.Load(); got != 1 {
		t.Errorf("two looks opened %d connections, want 1", got)
	}
	to.Token = "rotated"
	look()
	if got := opened.Load(); got != 2 {
		t.Errorf("after a rotation there were %d connections, want 2: the old one carries the old credentials", got)
	}
	prober.Connections.Forget(key)
	look()
	if got := opened.Load(); got != 3 {
		t.Errorf("after Forget there were %d connections, want 3", got)
	}
}

func TestFind(t *testing.T) {
	now := metav1.Now()
	living := &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: "alpha"}}
	dying := &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: "alpha", DeletionTimestamp: &now}}
	ours := errors.New("the global cluster does not answer")
	looked := 0
	look := func() probe.Observation {
		looked++
		return probe.Observation{Version: "v1"}
	}
	for _, c := range []struct {
		reason string
		object *v1alpha1.Instance
		err    error
		want   string // of condition Reachable
		looks  int
		fails  error
	}{
		{"with credentials it is looked at", living, nil, "True/Answering", 1, nil},
		{"what is being deleted is not looked at", dying, nil, "Unknown/Deleting", 0, nil},
		{"what is being deleted needs no credentials", dying, connection.ErrMissing, "Unknown/Deleting", 0, nil},
		{"missing credentials are told", living, fmt.Errorf("x: %w", connection.ErrMissing), "Unknown/CredentialsMissing", 0, nil},
		{"invalid credentials are told", living, fmt.Errorf("x: %w", connection.ErrInvalid), "Unknown/CredentialsInvalid", 0, nil},
		{"our own failure says nothing about the instance", living, ours, "", 0, ours},
	} {
		t.Run(c.reason, func(t *testing.T) {
			looked = 0
			found, err := probe.Find(t.Context(), c.object, connection.Connection{}, c.err, look)
			if !errors.Is(err, c.fails) || (err == nil) != (c.fails == nil) {
				t.Fatalf("got error %v, want %v", err, c.fails)
			}
			if looked != c.looks {
				t.Errorf("looked %d times, want %d", looked, c.looks)
			}
			if err != nil {
				return
			}
			reachable, _ := found.Judge()
			if got := string(reachable.Status) + "/" + reachable.Reason; got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}

	t.Run("a stop of the process says nothing about the instance", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := probe.Find(ctx, living, connection.Connection{}, nil, look); !errors.Is(err, context.Canceled) {
			t.Errorf("got error %v, want that of the context", err)
		}
	})
}

func TestNextStaysWithinTenPercent(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 1000 {
		next := probe.Next(10 * time.Second)
		if next < 9*time.Second || next > 11*time.Second {
			t.Fatalf("got %s, want 9s to 11s", next)
		}
		seen[next] = true
	}
	if len(seen) < 100 {
		t.Errorf("1000 intervals have only %d values: there is no jitter", len(seen))
	}
}
