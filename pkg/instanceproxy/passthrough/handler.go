package passthrough

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
	"github.com/kairship-io/kairship/pkg/quota"
)

// pathPrefix begins the paths that are served.
const pathPrefix = "/instances/"

// DefaultTimeout is how long a request may take that has an end of its own. API servers
// end such requests after the same time.
const DefaultTimeout = time.Minute

// DefaultSessionTimeout is how long a session in a container may last.
const DefaultSessionTimeout = 4 * time.Hour

// defaultRecheck is the time between two decisions about a request that lasts.
const defaultRecheck = 5 * time.Second

// Permissions returns what users may do; authz.Resolver does.
type Permissions interface {
	Visibility(ctx context.Context, u authz.User, instances ...string) (*authz.Visibility, error)
}

// Config is what a Handler needs. Index, Registerer, Recheck, GiveUp, Stopping and the
// timeouts may be zero.
type Config struct {
	Clients       instanceproxy.Clients
	Authenticator authz.Authenticator
	Permissions   Permissions
	// Reviews are the access reviews of the global cluster. They are asked about
	// callers that impersonate.
	Reviews authorizationclient.SubjectAccessReviewInterface
	Audit   *audit.Log
	Logger  *slog.Logger
	// History keeps what users write; nil for none.
	History History
	// Quotas limit the requests of one user, in total with those of GraphQL.
	Quotas *quota.Users
	// Timeout is how long a request may take that has an end of its own; zero means
	// DefaultTimeout. IndexTimeout is the same for one that the index answers; zero means
	// Timeout.
	Timeout, IndexTimeout time.Duration
	// SessionTimeout is how long a session in a container may last; zero means
	// DefaultSessionTimeout.
	SessionTimeout time.Duration
	// Index answers reads that ask for it; nil where there is none.
	Index Index
	// Registerer takes the metrics of the passthrough; nil for none.
	Registerer prometheus.Registerer
	// Recheck is the time between two decisions about a request that lasts; zero
	// means defaultRecheck.
	Recheck time.Duration
	// GiveUp is how long a request that lasts may go on without an answer about it; zero
	// means authz.DefaultGiveUpAfter.
	GiveUp time.Duration
	// Stopping ends what would last, when the process is about to end: clients go on
	// with another replica. nil means never.
	Stopping context.Context //nolint:containedctx // It is the process's, not a request's.
}

// Handler is the passthrough.
type Handler struct {
	Config
	origins    *http.CrossOriginProtection
	buffers    bufferPool
	auditQueue auditQueue
	recording  *recording
	metrics    *metrics
}

var _ http.Handler = (*Handler)(nil)

// New makes a Handler.
func New(config Config) (*Handler, error) {
	if config.Clients == nil || config.Authenticator == nil || config.Permissions == nil || config.Reviews == nil || config.Quotas == nil || config.Audit == nil || config.Logger == nil {
		return nil, errors.New("passthrough: Config misses something")
	}
	if config.Recheck <= 0 {
		config.Recheck = defaultRecheck
	}
	config.GiveUp = cmp.Or(config.GiveUp, authz.DefaultGiveUpAfter)
	config.Timeout = cmp.Or(config.Timeout, DefaultTimeout)
	config.SessionTimeout = cmp.Or(config.SessionTimeout, DefaultSessionTimeout)
	config.IndexTimeout = cmp.Or(config.IndexTimeout, config.Timeout)
	if config.Stopping == nil {
		config.Stopping = context.Background()
	}
	return &Handler{
		Config: config, origins: http.NewCrossOriginProtection(), auditQueue: auditQueue{log: config.Audit}, recording: newRecording(config.History), metrics: newMetrics(config.Registerer),
	}, nil
}

// Flush waits until the audit's lines about all requests that are over are
// written. It is called before the process ends.
func (h *Handler) Flush() {
	h.auditQueue.flush()
	h.recording.pending.Wait()
}

// PathOf is the path of an instance's API, without a slash at its end.
func PathOf(instance string) string { return pathPrefix + instance + "/proxy" }

// Serves reports whether a request is the passthrough's. It stands before any
// http.ServeMux, which would redirect paths that it finds unclean.
func Serves(r *http.Request) bool {
	_, _, ok := split(r.URL.EscapedPath())
	return ok
}

// Route is the pattern of the paths that are served.
const Route = "/instances/{instance}/proxy/{path...}"

// Lasts reports whether a request is long-running, such as a watch.
func Lasts(r *http.Request) bool {
	_, rest, ok := split(r.URL.EscapedPath())
	return ok && what(r.Method, rest).lasts(r)
}

// split finds the instance and the rest of an escaped path.
func split(escaped string) (instance, rest string, ok bool) {
	below, ok := strings.CutPrefix(escaped, pathPrefix)
	if !ok {
		return "", "", false
	}
	instance, below, ok = strings.Cut(below, "/")
	if !ok {
		return "", "", false
	}
	rest, ok = strings.CutPrefix(below, "proxy")
	if !ok || (rest != "" && rest[0] != '/') {
		return "", "", false
	}
	if rest == "" {
		rest = "/"
	}
	return instance, rest, true
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(noSniff, "nosniff")
	instance, rest, ok := split(r.URL.EscapedPath())
	target, err := parseTarget(rest, r.URL.RawQuery)
	if !ok || err != nil {
		writeError(w, r, "", apierror.Invalid("", "the path is not one of an instance's API: it must not hold \".\", \"..\" or malformed escapes"))
		return
	}
	begun := time.Now()
	ctx, record := audit.With(r.Context())
	recorder := &statusRecorder{ResponseWriter: w}
	c := call{handler: h, instance: instance, target: target, what: what(r.Method, target.Path)}
	defer func() { //nolint:contextcheck // The request carries it. The line is written for a connection that broke, too.
		h.metrics.done(c.what, c.what.lasts(r), recorder.code(), time.Since(begun))
		if c.caller.Name == "" {
			h.Logger.LogAttrs(r.Context(), slog.LevelInfo, "passthrough request", slog.Int("status", recorder.code()),
				slog.String("outcome", outcomeOf(recorder.code())), slog.Float64("durationMs", float64(time.Since(begun).Microseconds())/1000))
		} else {
			h.auditQueue.add(entry{r.Context(), record, audit.Operation{
				User: c.caller.Name, Via: "passthrough", Name: c.operation(recorder.code()), Type: r.Method,
				Status: recorder.code(), Duration: time.Since(begun), Outcome: outcomeOf(recorder.code()),
				Exec: c.exec, Stream: c.end(),
			}})
			h.recording.add(r.Context(), c.written(r, recorder.code()))
		}
	}()
	defer func() { c.entered.Charge(recorder.spent()); c.entered.End() }()
	c.serve(recorder, r.WithContext(ctx))
}

// proxy sends an admitted request on, and its answer back.
func (c *call) proxy(w http.ResponseWriter, r *http.Request, client instanceproxy.Client) {
	body := inboundOf(r)
	forward := &httputil.ReverseProxy{
		Transport: client.Transport(),
		// An answer without a length, as a watch's or a log's is, is flushed with every
		// write; one that is known to end goes out in one piece.
		FlushInterval: 0,
		BufferPool:    &c.handler.buffers,
		ErrorLog:      slog.NewLogLogger(c.handler.Logger.Handler(), slog.LevelDebug),
		Rewrite: func(p *httputil.ProxyRequest) {
			out := *c.target
			p.Out.URL = &out
			p.Out.Host = ""
			// Their names alone would be passed on, as the caller chose them, and one that
			// can't be sent would have the request fail on the way out.
			p.Out.Trailer = nil
			// It is Kairship's, and means nothing to the instance; but an API server
			// takes no WebSocket for a watch without one.
			if browser := p.In.Header.Get("Origin") != ""; browser && c.what.upgrade(p.In) {
				p.Out.Header.Set("Origin", "https://"+c.instance)
			} else {
				p.Out.Header.Del("Origin")
			}
			for name := range p.Out.Header {
				if strings.HasPrefix(name, "Kairship-") {
					p.Out.Header.Del(name)
				}
			}
		},
		ModifyResponse: func(response *http.Response) error {
			if response.StatusCode == http.StatusSwitchingProtocols {
				c.exec = c.execOf(r)
				c.begun(r, audit.From(r.Context()))
			} else {
				body.closeBehind(response.Header)
			}
			if err := c.newNamespace(r.Context(), response, client); err != nil {
				return err
			}
			return c.confine(response)
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			body.closeBehind(w.Header())
			c.fail(w, r, err)
		},
	}
	// An instance may answer before it has read everything, with a refusal for
	// example. HTTP/1 would have the body read to its end first.
	_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 always is, and says it can't.
	forward.ServeHTTP(w, r)
}

// bufferPool keeps the buffers that answers are copied with.
type bufferPool struct{ pool sync.Pool }

const bufferSize = 64 << 10

// Get implements httputil.BufferPool.
func (b *bufferPool) Get() []byte {
	if kept, ok := b.pool.Get().(*[]byte); ok {
		return *kept
	}
	return make([]byte, bufferSize)
}

// Put implements httputil.BufferPool.
func (b *bufferPool) Put(buffer []byte) { b.pool.Put(&buffer) }

// statusRecorder remembers the status for the log.
type statusRecorder struct {
	http.ResponseWriter
	status int
	// written is how many bytes the answer has so far.
	written int64
}

func (s *statusRecorder) code() int {
	if s.status == 0 {
		return http.StatusOK
	}
	return s.status
}

// WriteHeader implements http.ResponseWriter.
func (s *statusRecorder) WriteHeader(status int) {
	if s.status == 0 && (status >= http.StatusOK || status == http.StatusSwitchingProtocols) {
		s.status = status
	}
	s.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (s *statusRecorder) Write(p []byte) (int, error) {
	n, err := s.ResponseWriter.Write(p)
	s.written += int64(n)
	return n, err
}

// Unwrap gives http.ResponseController the connection.
func (s *statusRecorder) Unwrap() http.ResponseWriter { return s.ResponseWriter }
