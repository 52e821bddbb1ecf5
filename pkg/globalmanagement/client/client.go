package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	gm "github.com/kairship-io/kairship/pkg/globalmanagement"
)

// Interface is what a platform calls. *Client implements it; a test may use
// another implementation.
type Interface interface {
	// Bind, Change and Unbind send an event of that type, whose ID is made from the
	// binding's ID and sequence.
	Bind(ctx context.Context, binding gm.Binding) (gm.Receipt, error)
	Change(ctx context.Context, binding gm.Binding) (gm.Receipt, error)
	Unbind(ctx context.Context, binding gm.Binding) (gm.Receipt, error)
	// Send sends an event.
	Send(ctx context.Context, event gm.Event) (gm.Receipt, error)
	// Resync makes Kairship's bindings equal to the platform's.
	Resync(ctx context.Context, all gm.Resync) (gm.ResyncReport, error)
}

var _ Interface = (*Client)(nil)

// Options are the settings of a Client. URLs and Secret must be given.
type Options struct {
	// URLs of the endpoint, without path: that of a Service in front of all
	// replicas, or those of the replicas. They must be https.
	URLs []string
	// Secret gives the secret to sign with, of at least
	// globalmanagement.MinSecretBytes bytes. It is asked at every attempt, so that
	// a new secret needs no restart. Spaces and line breaks around it are taken
	// off, as Kairship does.
	Secret func(ctx context.Context) ([]byte, error)
	// HTTP makes the requests; it has to trust Kairship's certificate. A client
	// with a timeout of 30 s where nil. A resync has at least ResyncTimeout.
	// Redirects are never followed.
	HTTP *http.Client
	// Attempts is how many requests one call makes at most; 8 where 0.
	Attempts int
	// Backoff is the pause after the first attempt, doubled after each; 100 ms
	// where 0. MaxBackoff bounds it; 10 s where 0.
	Backoff, MaxBackoff time.Duration
	// Now is the clock that requests are signed with; time.Now where nil.
	Now func() time.Time
	// Sleep waits, or returns the context's error; for tests.
	Sleep func(ctx context.Context, pause time.Duration) error
}

// ResyncTimeout is how long Kairship may take to answer a resync, and a little
// more.
const ResyncTimeout = 150 * time.Second

// Client sends bindings to Kairship. It is safe for concurrent use.
type Client struct {
	options Options
	urls    []string
	// events and resyncs make the requests.
	events, resyncs *http.Client
	// calls spreads calls over the URLs; signed is the newest timestamp, in
	// milliseconds, that was signed.
	calls  atomic.Uint64
	signed atomic.Int64
}

// New makes a client. It does not connect. Its error says what is wrong with the
// options.
func New(options Options) (*Client, error) {
	if len(options.URLs) == 0 {
		return nil, errors.New("no URLs: where is Kairship's webhook served?")
	}
	if options.Secret == nil {
		return nil, errors.New("no Secret to sign requests with")
	}
	c := &Client{options: options}
	for _, text := range options.URLs {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil {
			return nil, fmt.Errorf("URL %q must be https://host:port, without path or credentials", text)
		}
		c.urls = append(c.urls, "https://"+u.Host)
	}
	setDefault(&c.options.Attempts, 8)
	setDefault(&c.options.Backoff, 100*time.Millisecond)
	setDefault(&c.options.MaxBackoff, 10*time.Second)
	if c.options.Now == nil {
		c.options.Now = time.Now
	}
	if c.options.Sleep == nil {
		c.options.Sleep = sleep
	}
	own := http.Client{Timeout: 30 * time.Second}
	if options.HTTP != nil {
		own = *options.HTTP
	}
	// A signed request is for the endpoint that was configured, and no other.
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	patient := own
	if own.Timeout != 0 {
		patient.Timeout = max(own.Timeout, ResyncTimeout)
	}
	c.events, c.resyncs = &own, &patient
	return c, nil
}

func setDefault[T int | time.Duration](value *T, to T) {
	if *value <= 0 {
		*value = to
	}
}

func sleep(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Bind reports whether a binding exists from now on.
func (c *Client) Bind(ctx context.Context, binding gm.Binding) (gm.Receipt, error) {
	return c.send(ctx, gm.Bound, binding)
}

// Change reports whether the role or the namespaces of a binding are others from now on.
func (c *Client) Change(ctx context.Context, binding gm.Binding) (gm.Receipt, error) {
	return c.send(ctx, gm.Changed, binding)
}

// Unbind reports whether a binding exists no more. The binding is as it was before,
// with the sequence of its end.
func (c *Client) Unbind(ctx context.Context, binding gm.Binding) (gm.Receipt, error) {
	return c.send(ctx, gm.Unbound, binding)
}

func (c *Client) send(ctx context.Context, what gm.EventType, binding gm.Binding) (gm.Receipt, error) {
	return c.Send(ctx, gm.Event{EventID: EventID(binding), Type: what, Binding: binding})
}

// EventID is the ID of an event that needs none of its own: a binding has one
// event with a sequence.
func EventID(b gm.Binding) string {
	id := fmt.Sprintf("%s/%d", b.BindingID, b.Sequence)
	if utf8.RuneCountInString(id) <= gm.MaxIDLength {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])
}

// Send sends an event, and returns once Kairship has stored it or something
// newer.
func (c *Client) Send(ctx context.Context, event gm.Event) (gm.Receipt, error) {
	var receipt gm.Receipt
	if err := event.Validate(); err != nil {
		return receipt, invalid(err)
	}
	err := c.call(ctx, c.events, gm.EventsPath, gm.MaxEventBytes, event, &receipt)
	return receipt, err
}

// Resync makes Kairship's bindings equal to the platform's. The report is there
// also when the error reports that some bindings could not be stored; single
// bindings that Kairship refused (see the report) are no error.
func (c *Client) Resync(ctx context.Context, all gm.Resync) (gm.ResyncReport, error) {
	var report gm.ResyncReport
	if err := all.Validate(); err != nil {
		return report, invalid(err)
	}
	err := c.call(ctx, c.resyncs, gm.ResyncPath, gm.MaxResyncBytes, all, &report)
	return report, err
}

// invalid is the error of what Kairship would refuse anyway.
func invalid(err error) error {
	refusal := &Error{Code: gm.Malformed, Message: err.Error()}
	if problem, ok := errors.AsType[*gm.FieldError](err); ok {
		refusal.Field = problem.Field
	}
	return refusal
}

// encode makes the body of a request, which is the same at every attempt.
func encode(value any, most int) ([]byte, error) {
	body, err := json.Marshal(value)
	if err != nil {
		return nil, &Error{Code: gm.Malformed, Message: err.Error()}
	}
	if len(body) > most {
		return nil, &Error{Code: gm.TooLarge, Message: fmt.Sprintf("the body would have %d bytes, and at most %d are accepted", len(body), most)}
	}
	return body, nil
}

// timestamp is the time to sign for. It is never the same twice: the same event
// signed twice in one millisecond would be the same request, which is refused as
// a replay.
func (c *Client) timestamp() time.Time {
	for {
		last := c.signed.Load()
		now := max(c.options.Now().UnixMilli(), last+1)
		if c.signed.CompareAndSwap(last, now) {
			return time.UnixMilli(now)
		}
	}
}
