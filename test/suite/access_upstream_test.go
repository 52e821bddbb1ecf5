package suite

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// upstream counts what a Kairship of the suite's own asks of the global cluster.
type upstream struct {
	mu     sync.Mutex
	counts map[string]int
}

// What is counted.
const (
	asksReview    = "reviews of permissions"
	asksToken     = "reviews of tokens" //nolint:gosec // It names a count.
	asksIndex     = "requests to the index"
	asksInstances = "lists and watches of instances"
)

func (u *upstream) note(r *http.Request) {
	path := r.URL.Path
	var what string
	switch {
	case strings.HasSuffix(path, "/selfsubjectrulesreviews"), strings.HasSuffix(path, "/subjectaccessreviews"):
		what = asksReview
	case strings.HasSuffix(path, "/tokenreviews"):
		what = asksToken
	case strings.HasPrefix(path, "/apis/clusterpedia.io/"):
		what = asksIndex
	case strings.HasPrefix(path, "/apis/kairship.io/v1alpha1/instances"):
		what = asksInstances
	default:
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.counts[what]++
}

// during counts what is asked while something happens.
func (u *upstream) during(do func()) map[string]int {
	u.mu.Lock()
	u.counts = map[string]int{}
	u.mu.Unlock()
	do()
	u.mu.Lock()
	defer u.mu.Unlock()
	return maps.Clone(u.counts)
}

// openCounted is a Kairship of the suite's own behind a proxy that counts, and
// what it asked while it started.
func openCounted(t *testing.T) (on *target, u *upstream, started map[string]int) {
	t.Helper()
	f := fleet.Open(t)
	to, err := url.Parse(f.NewGateway(t).URL)
	if err != nil {
		t.Fatal(err)
	}
	u = &upstream{counts: map[string]int{}}
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1, // Watches.
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.note(r)
		proxy.ServeHTTP(w, r)
	}))
	fleet.AtEnd(func() {
		server.CloseClientConnections()
		server.Close()
	})
	started = u.during(func() {
		p := f.Kairship(t, &fleet.Gateway{URL: server.URL})
		address := "http://" + p.Address
		on = &target{fleet: f, kairship: gql.New(address, f.Token(t, "admin")), url: address, log: p.Log}
	})
	return on, u, started
}
