package instanceproxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"golang.org/x/sync/singleflight"

	"github.com/kairship-io/kairship/pkg/connection"
)

// link is how an instance is reached with one set of credentials: its TCP
// connections, its breaker, and what is in flight.
type link struct {
	endpoint    *url.URL
	token       string
	fingerprint string
	expire      time.Time

	// multiplexed speaks HTTP/2 where the instance does; upgrading speaks HTTP/1.1,
	// which SPDY and WebSocket need.
	multiplexed, upgrading *http.Transport
	breaker                *breaker

	// born is when the link was made.
	born time.Time
	// heeds is set once the instance was seen to heed impersonation.
	heeds  atomic.Bool
	checks singleflight.Group
	// refusedAt is when the instance first refused these credentials, in nanoseconds
	// since 1970; zero while it accepts them.
	refusedAt atomic.Int64

	// life ends what is in flight; fresh ends with the link's replacement.
	life      context.Context //nolint:containedctx // It is the link's own lifetime, not a request's.
	end       context.CancelFunc
	fresh     context.Context //nolint:containedctx // The same.
	endFresh  context.CancelFunc
	drainStop func() bool

	mu       sync.Mutex
	inFlight int
	retired  bool
}

func newLink(c connection.Connection, o Options, breakerChanged func(open bool)) (*link, error) {
	endpoint, err := url.Parse(c.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("%w: the endpoint is no URL", connection.ErrInvalid)
	}
	config := c.RESTConfig()
	multiplexedTLS, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", connection.ErrInvalid, err)
	}
	if multiplexedTLS == nil { // A token, and an authority that this machine trusts.
		multiplexedTLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	upgradingTLS := multiplexedTLS.Clone()
	upgradingTLS.NextProtos = []string{"http/1.1"}
	l := &link{endpoint: endpoint, token: c.Token, fingerprint: c.Fingerprint(), expire: c.ExpireTime(), born: time.Now()}
	l.multiplexed = newTransport(o, config.Proxy, multiplexedTLS)
	l.multiplexed.ForceAttemptHTTP2 = true
	l.multiplexed.HTTP2 = &http.HTTP2Config{SendPingTimeout: o.PingAfter, PingTimeout: o.PingAfter}
	l.upgrading = newTransport(o, config.Proxy, upgradingTLS)
	l.upgrading.Protocols = new(http.Protocols)
	l.upgrading.Protocols.SetHTTP1(true)
	l.life, l.end = context.WithCancel(context.Background())
	l.fresh, l.endFresh = context.WithCancel(l.life)
	l.breaker = newBreaker(l.fresh, o.Failures, o.RetryInterval, l.probe, breakerChanged)
	return l, nil
}

func newTransport(o Options, proxy func(*http.Request) (*url.URL, error), config *tls.Config) *http.Transport {
	return &http.Transport{
		Proxy:                 proxy,
		DialContext:           o.Addresses.Dialer(o.DialTimeout, 15*time.Second).DialContext,
		TLSClientConfig:       config,
		TLSHandshakeTimeout:   o.DialTimeout,
		ResponseHeaderTimeout: o.HeaderTimeout,
		IdleConnTimeout:       90 * time.Second,
		MaxIdleConnsPerHost:   100,
		// Bodies pass through as they are: compressing is between the two ends.
		DisableCompression: true,
		WriteBufferSize:    32 << 10,
		ReadBufferSize:     32 << 10,
	}
}

// enter counts a request in; false when the link was replaced.
func (l *link) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.retired {
		return false
	}
	l.inFlight++
	return true
}

// hold counts one more in, for a caller that was counted in already.
func (l *link) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight++
}

// leave ends the count of a request, and closes a replaced link after its last one.
func (l *link) leave() {
	l.mu.Lock()
	l.inFlight--
	last := l.retired && l.inFlight == 0
	l.mu.Unlock()
	if last {
		l.close()
	}
}

// retire has what is in flight end normally, within a time.
func (l *link) retire(within time.Duration) {
	l.mu.Lock()
	already, idle := l.retired, l.inFlight == 0
	l.retired = true
	if !already && !idle {
		l.drainStop = time.AfterFunc(within, l.close).Stop
	}
	l.mu.Unlock()
	l.endFresh()
	if idle {
		l.close()
		return
	}
	l.closeIdle()
}

// close ends what is in flight.
func (l *link) close() {
	l.mu.Lock()
	l.retired = true
	if l.drainStop != nil {
		l.drainStop()
	}
	l.mu.Unlock()
	l.end()
	l.closeIdle()
}

func (l *link) closeIdle() {
	l.multiplexed.CloseIdleConnections()
	l.upgrading.CloseIdleConnections()
}

// address puts a request's path and query below the endpoint.
func (l *link) address(u *url.URL) *url.URL {
	to := *u
	to.Scheme, to.Host, to.User = l.endpoint.Scheme, l.endpoint.Host, nil
	if base := l.endpoint.EscapedPath(); base != "" {
		to.RawPath = base + u.EscapedPath()
		to.Path = l.endpoint.Path + u.Path
	}
	return &to
}

// send sends a request with the credentials of the link, as a user or, without
// identity, as Kairship. The request is not changed.
func (l *link) send(ctx context.Context, r *http.Request, identity http.Header) (*http.Response, error) {
	out := r.WithContext(ctx) // It shares what is not changed here: a deep copy costs as much as the rest.
	out.URL = l.address(r.URL)
	out.Host = ""
	out.Header = make(http.Header, len(r.Header)+len(identity)+1)
	maps.Copy(out.Header, r.Header)
	setIdentity(out.Header, l.token, identity)
	if isUpgrade(r.Header) {
		return l.upgrading.RoundTrip(out)
	}
	return l.multiplexed.RoundTrip(out)
}

// isUpgrade reports whether a request asks for a stream of its own.
func isUpgrade(h http.Header) bool {
	for _, value := range h.Values("Connection") {
		for token := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.TrimSpace(token), "upgrade") {
				return true
			}
		}
	}
	return false
}

// probe asks for the version. Any answer is a sign of life.
func (l *link) probe(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://instance/version", http.NoBody)
	if err != nil {
		return err
	}
	response, err := l.send(ctx, r, nil) //nolint:bodyclose // discard closes it.
	if err != nil {
		return err
	}
	discard(response.Body)
	return nil
}

// errNotHeeded means that the instance takes everybody for Kairship.
var errNotHeeded = errors.New("impersonation is not heeded: whatever stands between Kairship and the instance must pass the Impersonate headers on")

// statusError is an answer that is not what was asked for.
type statusError struct {
	what string
	code int
}

func (e *statusError) Error() string { return fmt.Sprintf("%s: HTTP %d", e.what, e.code) }

// check makes sure, once for the link, that the instance heeds impersonation.
// Callers that need the answer at once share one question.
func (l *link) check(ctx context.Context) error {
	if l.heeds.Load() {
		return nil
	}
	return l.shared(ctx, "heeds", func(ctx context.Context) error {
		for {
			if l.heeds.Load() {
				return nil
			}
			name, err := l.whoAmI(ctx, checkUserHeader())
			switch {
			case err == nil && name == checkUser:
				l.heeds.Store(true)
				return nil
			case err == nil:
				return errNotHeeded
			case !isRefused(err) || time.Since(l.born) > credentialsDelay:
				return err
			}
			// An apiserver learns of new accounts and their roles by watching, too.
			sleep(ctx, credentialsDelay/50)
		}
	})
}

// credentialsDelay is how long credentials that were just replaced may take until
// every replica of the instance's apiserver knows them.
const credentialsDelay = 5 * time.Second

// accepts asks whether the instance still knows Kairship by these credentials,
// and lets it speak for users when that is what they were used for.
func (l *link) accepts(ctx context.Context, identity http.Header) error {
	key, as := "own", http.Header(nil)
	if identity != nil {
		key, as = "check", checkUserHeader()
	}
	return l.shared(ctx, key, func(ctx context.Context) error {
		_, err := l.whoAmI(ctx, as)
		return err
	})
}

func (l *link) shared(ctx context.Context, key string, ask func(context.Context) error) error {
	result := l.checks.DoChan(key, func() (any, error) { //nolint:contextcheck // Others wait for the answer too.
		ctx, cancel := context.WithTimeout(l.life, 2*probeTimeout)
		defer cancel()
		return nil, ask(ctx)
	})
	select {
	case <-ctx.Done():
		return ctx.Err()
	case r := <-result:
		return r.Err
	}
}

// whoAmI returns the name of the user as whom the instance authenticates the sender.
func (l *link) whoAmI(ctx context.Context, identity http.Header) (string, error) {
	body, err := json.Marshal(&authenticationv1.SelfSubjectReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authentication.k8s.io/v1", Kind: "SelfSubjectReview"},
	})
	if err != nil {
		return "", err
	}
	const address = "https://instance/apis/authentication.k8s.io/v1/selfsubjectreviews"
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	response, err := l.send(ctx, r, identity) //nolint:bodyclose // discard closes it.
	if err != nil {
		return "", err
	}
	defer discard(response.Body)
	if response.StatusCode != http.StatusCreated && response.StatusCode != http.StatusOK {
		return "", &statusError{what: "asking the instance who we are", code: response.StatusCode}
	}
	var review authenticationv1.SelfSubjectReview
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&review); err != nil {
		return "", fmt.Errorf("asking the instance who we are: %w", err)
	}
	return review.Status.UserInfo.Username, nil
}

// discard reads what is left of a short answer, so that the connection can be
// used again.
func discard(body io.ReadCloser) {
	io.Copy(io.Discard, io.LimitReader(body, 64<<10)) //nolint:errcheck // It is thrown away.
	body.Close()
}
