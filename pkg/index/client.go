package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/clusterpedia-io/client-go/constants"

	"github.com/kairship-io/kairship/internal/excerpt"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/quota"
	"github.com/kairship-io/kairship/pkg/requeststats"
	"github.com/kairship-io/kairship/pkg/tracing"
)

// maxResponseBytes bounds one answer of the index, so that a runaway answer
// costs an error and not the process.
const maxResponseBytes = 256 << 20

// maxParamBytes bounds the parameters of one request. API servers refuse
// headers and request lines over 1 MiB in all; a larger batch is split.
const maxParamBytes = 256 << 10

// Config configures a Client.
type Config struct {
	// REST reaches the API server that serves Clusterpedia's API, usually the
	// global cluster's. It is copied.
	REST *rest.Config
	// Timeout bounds one request to the index; 5 s where zero.
	Timeout time.Duration
	// QPS and Burst bound the requests of this process to the index. The
	// defaults, 5000 and 10000, are a fuse rather than a throttle: client-go's own
	// default would be 5, shared by all users.
	QPS   float32
	Burst int
	// Now is the clock; time.Now where nil.
	Now func() time.Time
	// Registerer takes the metrics; nil for none.
	Registerer prometheus.Registerer
}

// Client reads the index. It is safe for concurrent use.
type Client struct {
	http    *http.Client
	root    string
	timeout time.Duration
	limiter flowcontrol.RateLimiter
	now     func() time.Time
	// maxResponse is maxResponseBytes, but for tests.
	maxResponse int64

	metrics      *metrics
	capabilities capabilityCache
	uncollected  uncollected
}

// everyKind is the path of the collection of all kinds, below the index's root.
const everyKind = "/collectionresources/any"

// New makes a Client. It sends nothing.
func New(cfg Config) (*Client, error) {
	rc := rest.CopyConfig(cfg.REST)
	httpClient, err := rest.HTTPClientFor(rc)
	if err != nil {
		return nil, fmt.Errorf("making the HTTP client for the index: %w", err)
	}
	host, _, err := rest.DefaultServerUrlFor(rc)
	if err != nil {
		return nil, fmt.Errorf("reading the address of the index: %w", err)
	}
	c := &Client{
		http:    httpClient,
		root:    strings.TrimSuffix(host.String(), "/") + constants.ClusterPediaOriginAPIPath,
		timeout: cfg.Timeout,
		now:     cfg.Now,
		metrics: newMetrics(cfg.Registerer),

		maxResponse: maxResponseBytes,
	}
	if c.timeout == 0 {
		c.timeout = 5 * time.Second
	}
	if c.now == nil {
		c.now = time.Now
	}
	qps, burst := cfg.QPS, cfg.Burst
	if qps == 0 {
		qps = 5000
	}
	if burst == 0 {
		burst = 10000
	}
	c.limiter = flowcontrol.NewTokenBucketRateLimiter(qps, burst)
	return c, nil
}

// list sends one request and decodes what comes back.
func (c *Client) list(ctx context.Context, params url.Values) ([]*Object, *int64, error) {
	body, err := c.get(ctx, params)
	if err != nil {
		return nil, nil, err
	}
	detail := Whole
	if params.Get("onlyMetadata") != "" {
		detail = Metadata
	}
	return decodeAnswer(body, detail, Type{})
}

// get asks for objects of any kind.
func (c *Client) get(ctx context.Context, params url.Values) ([]byte, error) {
	return c.getFrom(ctx, everyKind, params)
}

// getFrom sends one request. Every failure comes back as INDEX_UNAVAILABLE, or as
// TIMEOUT when it was the caller's own deadline that passed; statusError keeps the
// status for those that decide by it.
func (c *Client) getFrom(ctx context.Context, path string, params url.Values) ([]byte, error) {
	callerCtx := ctx
	failed := func(err error, message string) error {
		if refusal := quota.From(callerCtx).Refusal(); refusal != nil {
			return refusal
		}
		if callerCtx.Err() != nil {
			return pastDeadline(callerCtx)
		}
		return unavailable(withoutURL(err), "%s", message)
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	done, err := quota.Acquire(ctx, quota.ToIndex)
	if err != nil {
		return nil, failed(err, "The index is overloaded, or you ask for much at once: the request waited too long for its turn")
	}
	defer done()
	if err := c.limiter.Wait(ctx); err != nil {
		return nil, failed(err, "The index is overloaded: the request waited too long for its turn")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.root+path+"?"+params.Encode(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("making an index request: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	sent, observed := requeststats.From(ctx).Send(requeststats.Target{Kind: requeststats.Index}), c.metrics.begin()
	_, span := tracing.Request(ctx, http.MethodGet, tracing.ToIndex, req.Header)
	span.Text("url.template", constants.ClusterPediaOriginAPIPath+path)
	body, err := c.exchange(req, failed)
	sent(err)
	observed(ctx, len(body), err)
	if err != nil {
		span.Fail(codeOf(ctx, err))
	}
	span.End()
	return body, err
}

// exchange sends a request and reads its answer.
func (c *Client) exchange(req *http.Request, failed func(error, string) error) ([]byte, error) {
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, failed(err, "The index does not answer")
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := readBody(io.LimitReader(quota.Body(req.Context(), resp.Body), c.maxResponse+1))
	switch {
	case err != nil:
		return nil, failed(err, "The index broke off its answer")
	case int64(len(body)) > c.maxResponse:
		return nil, unavailable(nil, "The index gave an answer of over %d MiB; ask for less at a time", c.maxResponse>>20)
	case resp.StatusCode != http.StatusOK:
		return nil, unavailable(&statusError{status: resp.StatusCode, body: body}, "The index refused the request with HTTP status %d", resp.StatusCode)
	}
	return body, nil
}

// buffers are where answers grow. Their sizes are not known beforehand, and most
// of what is allocated for a growing one is thrown away.
var buffers = sync.Pool{New: func() any { return &bytes.Buffer{} }}

// readBody reads an answer.
func readBody(from io.Reader) ([]byte, error) {
	b := buffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // There is nothing else in the pool.
	b.Reset()
	_, err := b.ReadFrom(from)
	const keep = 4 << 20
	if b.Cap() > keep {
		return b.Bytes(), err
	}
	body := bytes.Clone(b.Bytes())
	buffers.Put(b)
	return body, err
}

// statusError is an answer of the index that is not a list.
type statusError struct {
	status int
	body   []byte
}

func (e *statusError) Error() string {
	const most = 512
	return "HTTP status " + strconv.Itoa(e.status) + ": " + excerpt.Of(string(e.body), most)
}

// pastDeadline returns the error for a caller whose context has ended.
func pastDeadline(ctx context.Context) error {
	return apierror.Wrap(ctx.Err(), apierror.CodeTimeout, "The index did not answer before the request's deadline")
}

func unavailable(cause error, format string, args ...any) error {
	return apierror.Wrap(cause, apierror.CodeIndexUnavailable, format, args...)
}

// withoutURL takes the URL out of a transport error: it holds the parameters.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}
