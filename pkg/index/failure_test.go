package index_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/index/indextest"
	"github.com/kairship-io/kairship/pkg/requeststats"
)

// secret is a value that is looked for; it must not show in any error.
const secret = "very-secret-name"

// questions are all questions, asked about the secret.
var questions = map[string]func(context.Context, *index.Client) error{
	"List": func(ctx context.Context, c *index.Client) error {
		_, err := c.List(ctx, index.ListQuery{Types: workloadTypes, Clusters: []string{"k-alpha"}, Names: []string{secret}, Limit: 5, WithCount: true})
		return err
	},
	"List of a later page": func(ctx context.Context, c *index.Client) error {
		after := index.Position{Name: secret}
		_, err := c.List(ctx, index.ListQuery{Types: workloadTypes, Clusters: []string{"k-alpha"}, Limit: 5, WithCount: true, After: &after})
		return err
	},
	"ListParts": func(ctx context.Context, c *index.Client) error {
		_, err := c.ListParts(ctx, index.ListQuery{Types: workloadTypes, Names: []string{secret}, Limit: 5}, []index.Part{{Cluster: "k-alpha"}, {Cluster: "k-beta"}})
		return err
	},
	"GetMany": func(ctx context.Context, c *index.Client) error {
		_, err := c.GetMany(ctx, []index.Key{{Cluster: "k-alpha", Type: index.Deployments, Namespace: "shop", Name: secret}}, index.Whole)
		return err
	},
	"Owned": func(ctx context.Context, c *index.Client) error {
		_, err := c.Owned(ctx, index.OwnedQuery{Type: index.Pods, Owners: []index.Owner{{Cluster: "k-alpha", UID: secret}}, Via: []index.Type{index.ReplicaSets}})
		return err
	},
}

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}
}

// begin sends the beginning of an answer and then waits for the reader to give up.
func begin(w http.ResponseWriter, r *http.Request) {
	_, _ = w.Write([]byte(`{"items":[`))
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

func silence(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// line counts what a client sends, and the answers that begin.
type line struct {
	http.RoundTripper
	sent, begun atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (l *line) RoundTrip(r *http.Request) (*http.Response, error) {
	l.sent.Add(1)
	response, err := l.RoundTripper.RoundTrip(r)
	if err == nil {
		l.begun.Add(1)
	}
	return response, err
}

func (l *line) wrap(to http.RoundTripper) http.RoundTripper {
	l.RoundTripper = to
	return l
}

// arrived reports whether all that was sent has come to the index.
func arrived(x *indextest.Index, l *line) bool {
	return l.sent.Load() > 0 && int64(len(x.Requests())) == l.sent.Load()
}

// answered reports whether the answers to all that was sent have begun.
func answered(_ *indextest.Index, l *line) bool {
	return l.sent.Load() > 0 && l.begun.Load() == l.sent.Load()
}

func TestFailures(t *testing.T) {
	for _, tt := range []struct {
		name string
		// answer is how the index answers; nil when nothing listens.
		answer http.HandlerFunc
		// deadline is when the caller wants an answer; zero when it has time.
		deadline, timeout time.Duration
		// before is what has happened when either of them passes.
		before  func(*indextest.Index, *line) bool
		want    apierror.Code
		message string
	}{
		{name: "nothing listens", want: apierror.CodeIndexUnavailable, message: "The index does not answer"},
		{name: "error", answer: status(500, `{"message":"SQL logic error near `+secret+`"}`), want: apierror.CodeIndexUnavailable, message: "The index refused the request with HTTP status 500"},
		{name: "overloaded", answer: status(429, ""), want: apierror.CodeIndexUnavailable, message: "HTTP status 429"},
		{name: "forbidden", answer: status(403, secret), want: apierror.CodeIndexUnavailable, message: "HTTP status 403"},
		{name: "no JSON", answer: status(200, "<html>"+secret), want: apierror.CodeIndexUnavailable, message: "can't be read"},
		{name: "nothing", answer: status(200, ""), want: apierror.CodeIndexUnavailable, message: "can't be read"},
		{name: "half an answer", answer: status(200, `{"items":[{"kind":"`), want: apierror.CodeIndexUnavailable, message: "can't be read"},
		{name: "no list", answer: status(200, `{"items":{"`+secret+`":1}}`), want: apierror.CodeIndexUnavailable, message: "can't be read"},
		{name: "an object of nowhere", answer: status(200, `{"items":[{"apiVersion":"v1","kind":"Pod","metadata":{"name":"`+secret+`"}}]}`), want: apierror.CodeIndexUnavailable, message: "can't be read"},
		{name: "too much", answer: status(200, `{"items":[],"more":"`+strings.Repeat("x", 3<<20)+`"}`), want: apierror.CodeIndexUnavailable, message: "over 2 MiB; ask for less"},
		{name: "silence", answer: silence, timeout: 20 * time.Millisecond, before: arrived, want: apierror.CodeIndexUnavailable, message: "The index does not answer"},
		{name: "silence, and the caller can't wait", answer: silence, deadline: 20 * time.Millisecond, before: arrived, want: apierror.CodeTimeout, message: "before the request's deadline"},
		{name: "a beginning", answer: begin, timeout: 20 * time.Millisecond, before: answered, want: apierror.CodeIndexUnavailable, message: "broke off"},
		{name: "a beginning, and the caller can't wait", answer: begin, deadline: 20 * time.Millisecond, before: answered, want: apierror.CodeTimeout, message: "before the request's deadline"},
	} {
		for question, ask := range questions {
			t.Run(tt.name+"/"+question, func(t *testing.T) {
				var err error
				var recorder *requeststats.Recorder
				// Time runs from before a request is sent. Where it was over too early
				// for what is looked at, there is more of it.
				for deadline, timeout := tt.deadline, tt.timeout; ; deadline, timeout = 2*deadline, 2*timeout {
					if deadline+timeout > 20*time.Second {
						t.Fatal("no request comes as far as it should, however long it has")
					}
					x, l := indextest.New(t), &line{}
					c := clientWith(t, index.Config{REST: &rest.Config{Host: x.URL, WrapTransport: l.wrap}})
					c.LimitAnswers(2 << 20)
					x.Answer(nil)
					ping(t, c)
					l.sent.Store(0)
					l.begun.Store(0)
					x.Answer(tt.answer)
					if tt.answer == nil {
						x.Close()
					}
					if timeout > 0 {
						c.LimitTime(timeout)
					}
					var ctx context.Context
					ctx, recorder = requeststats.With(t.Context())
					cancel := func() {}
					if deadline > 0 {
						ctx, cancel = context.WithTimeout(ctx, deadline)
					}
					err = ask(ctx, c)
					cancel()
					if tt.before == nil || tt.before(x, l) {
						break
					}
				}
				if got := apierror.CodeOf(err); err == nil || got != tt.want {
					t.Fatalf("got %v (%s), want %s", err, got, tt.want)
				}
				if !strings.Contains(err.Error(), tt.message) {
					t.Errorf("got %q, want %q in it", err, tt.message)
				}
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error shows what was asked for: %s", err)
				}
				if recorder.Requests(requeststats.Index) == 0 {
					t.Error("a request that fails is a request")
				}
			})
		}
	}
}

// A transport error holds the URL, and the URL all parameters. Not even the log
// may have them.
func TestTransportErrorsHoldNoParameters(t *testing.T) {
	x := indextest.New(t)
	c := clientOf(t, x)
	ping(t, c)
	x.Close()
	for question, ask := range questions {
		err := ask(t.Context(), c)
		if err == nil {
			t.Fatalf("%s: no error of an index that is away", question)
		}
		for ; err != nil; err = errors.Unwrap(err) {
			if text := err.Error(); strings.Contains(text, secret) || strings.Contains(text, "whereSQL") {
				t.Errorf("%s: %s", question, text)
			}
			if _, ok := err.(*url.Error); ok { //nolint:errorlint // The outermost error is what is looked at.
				t.Errorf("%s: the cause has the URL", question)
			}
		}
	}
}

// A caller that waits for the concurrency limit waits no longer than for an answer.
func TestTooManyRequests(t *testing.T) {
	for _, tt := range []struct {
		name    string
		ctx     func(context.Context) (context.Context, context.CancelFunc)
		want    apierror.Code
		message string
	}{
		{"the turn is far away", func(ctx context.Context) (context.Context, context.CancelFunc) { return ctx, func() {} }, apierror.CodeIndexUnavailable, "overloaded"},
		{"the caller has gone", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx, cancel
		}, apierror.CodeTimeout, "deadline"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := indextest.New(t)
			// Three requests find out that all is well.
			c := clientWith(t, index.Config{REST: &rest.Config{Host: x.URL}, QPS: 0.0001, Burst: 3})
			ping(t, c)
			ctx, cancel := tt.ctx(t.Context())
			defer cancel()
			err := c.Ping(ctx)
			if apierror.CodeOf(err) != tt.want || !strings.Contains(err.Error(), tt.message) {
				t.Errorf("got %v, want %s: %s", err, tt.want, tt.message)
			}
		})
	}
}

func TestACountThatWasNotGiven(t *testing.T) {
	x := indextest.New(t)
	c := clientOf(t, x)
	ping(t, c)
	x.Answer(status(200, `{"items":[]}`))
	err := questions["List of a later page"](t.Context(), c)
	if apierror.CodeOf(err) != apierror.CodeIndexUnavailable || !strings.Contains(err.Error(), "did not count") {
		t.Errorf("got %v", err)
	}
}

func TestPing(t *testing.T) {
	x := indextest.New(t)
	c := clientOf(t, x)
	if err := c.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	x.Answer(status(503, ""))
	if err := c.Ping(t.Context()); apierror.CodeOf(err) != apierror.CodeIndexUnavailable {
		t.Errorf("got %v, want %s", err, apierror.CodeIndexUnavailable)
	}
}

func TestRecorder(t *testing.T) {
	x := indextest.New(t)
	c := clientOf(t, x)
	one, first := requeststats.With(t.Context())
	other, second := requeststats.With(t.Context())
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if err := questions["GetMany"](one, c); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := questions["List of a later page"](other, c); err != nil {
		t.Fatal(err)
	}
	if err := questions["List"](t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if first.Requests(requeststats.Index) != 20 || second.Requests(requeststats.Index) != 2 {
		t.Errorf("operations of 20 and 2 requests have %d and %d", first.Requests(requeststats.Index), second.Requests(requeststats.Index))
	}
	if requeststats.From(one) != first || requeststats.From(t.Context()) != nil {
		t.Error("a context has another recorder than its own")
	}
	if requeststats.From(t.Context()).Requests(requeststats.Index) != 0 {
		t.Error("a missing recorder counts")
	}
}
