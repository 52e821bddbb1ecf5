package index_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/index/indextest"
	"github.com/kairship-io/kairship/pkg/requeststats"
)

// watched is an index with a client whose clock a test moves, and a count of all
// requests, those included that find out what the index can do.
func watched(t *testing.T, rows ...indextest.Row) (*indextest.Index, *index.Client, *clock, *atomic.Int64) {
	t.Helper()
	x := indextest.New(t, rows...)
	now := &clock{now: epoch}
	var all atomic.Int64
	x.Before(func(url.Values) { all.Add(1) })
	return x, clientWith(t, index.Config{REST: &rest.Config{Host: x.URL}, Now: now.Now}), now, &all
}

// The messages of an index that accepts no SQL.
const (
	gateIsOff       = "the feature gate AllowParameterizedSQLQuery of clusterpedia-apiserver is off"
	anotherDatabase = "the database of Clusterpedia is neither PostgreSQL nor SQLite"
)

// refused checks that an error is the refusal of an index that accepts no SQL.
func refused(t *testing.T, err error, message string) {
	t.Helper()
	if apierror.CodeOf(err) != apierror.CodeIndexUnavailable || !strings.Contains(err.Error(), message) {
		t.Errorf("got %v, want %s: %s", err, apierror.CodeIndexUnavailable, message)
	}
}

var anyDeployment = index.ListQuery{Types: workloadTypes, Clusters: []string{"k-alpha"}, Limit: 5}

func TestWhatTheIndexCanDoIsFoundOut(t *testing.T) {
	for _, tt := range []struct {
		name     string
		database indextest.Database
		gate     bool
		// field is how a field is written; empty where nothing may be asked.
		field   string
		refused string
		looks   int64
		why     string
	}{
		{"SQLite", indextest.SQLite, true, "CAST(JSON_EXTRACT(object, ?) AS TEXT)", "", 2, "the gate, then SQLite's own function"},
		{"PostgreSQL", indextest.Postgres, true, "(object #>> CAST(? AS text[]))", "", 3, "SQLite's function is not there"},
		{"another database", indextest.Other, true, "", anotherDatabase, 4, "neither function is there, and the database answers"},
		{"gate off", indextest.SQLite, false, "", gateIsOff, 1, "without the gate no SQL is even looked at"},
		{"gate off, PostgreSQL", indextest.Postgres, false, "", gateIsOff, 1, "without the gate no SQL is even looked at"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x, c, now, all := watched(t)
			x.Behind(tt.database)
			x.AcceptSQL(tt.gate)
			list := func() int64 {
				before := all.Load()
				q := anyDeployment
				q.Fields = []index.FieldEquals{{Path: []string{"type"}, Value: "x"}}
				_, err := c.List(t.Context(), q)
				if tt.refused != "" {
					refused(t, err, tt.refused)
				}
				return all.Load() - before
			}
			asked, again := int64(1), int64(1)
			if tt.refused != "" {
				asked, again = 0, tt.looks
			}
			if got := list(); got != tt.looks+asked {
				t.Errorf("it took %d requests, want %d: %s", got, tt.looks+asked, tt.why)
			}
			now.Advance(time.Minute - time.Second)
			if got := list(); got != again {
				t.Errorf("within a minute it took %d requests, want %d: only that it cannot be read is not remembered", got, again)
			}
			now.Advance(time.Second)
			if got := list(); got != tt.looks+asked {
				t.Errorf("after a minute it took %d requests, want %d", got, tt.looks+asked)
			}
			sent := x.Requests()
			if tt.refused != "" {
				if len(sent) > 0 {
					t.Errorf("it was asked %v", sent)
				}
				return
			}
			// The dialect shows in what is sent. SQLite can't run PostgreSQL's.
			if got := sent[len(sent)-1].Get("whereSQLStatement"); !strings.Contains(got, tt.field) {
				t.Errorf("sent %q, want %q in it", got, tt.field)
			}
		})
	}
}

// A database that is away fails the probes too, and is not taken for another one.
func TestADatabaseThatIsAway(t *testing.T) {
	x, c, _, _ := watched(t)
	x.Answer(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("whereSQLJSONParams") == "not base64" {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
	})
	refused(t, c.Ping(t.Context()), "HTTP status 500")
}

func TestAnIndexThatCannotBeRead(t *testing.T) {
	for _, tt := range []struct {
		name    string
		disable func(*indextest.Index)
		message string
	}{
		{"gate off", func(x *indextest.Index) { x.AcceptSQL(false) }, gateIsOff},
		{"another database", func(x *indextest.Index) { x.Behind(indextest.Other) }, anotherDatabase},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x, c, _, _ := watched(t, row(index.Deployments, "k-alpha", "shop", secret))
			tt.disable(x)
			for question, ask := range questions {
				t.Run(question, func(t *testing.T) { refused(t, ask(t.Context(), c), tt.message) })
			}
			t.Run("Ping", func(t *testing.T) { refused(t, c.Ping(t.Context()), tt.message) })
			if n := len(x.Requests()); n > 0 {
				t.Errorf("%d questions were asked", n)
			}
			x.AcceptSQL(true)
			x.Behind(indextest.SQLite)
			for question, ask := range questions {
				t.Run(question+", mended", func(t *testing.T) {
					if err := ask(t.Context(), c); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
}

// What the index cannot select by is never passed over.
func TestStatesAreNotSelectedByTheIndex(t *testing.T) {
	x, c, _, _ := watched(t, row(index.Deployments, "k-alpha", "shop", "web"))
	for name, q := range map[string]index.ListQuery{
		"cluster": {Projected: &index.Projected{}}, "health": {Projected: &index.Projected{Health: []string{"HEALTHY"}}},
		"where workloads were sent to": {Scopes: []index.Scope{{Cluster: "k-beta", Namespaces: []string{"shop"}, SentBy: "alpha"}}},
	} {
		q.Types, q.Clusters, q.Limit = workloadTypes, []string{"k-alpha"}, 5
		if page, err := c.List(t.Context(), q); err == nil {
			t.Errorf("%s: listed %v", name, describeAll(page.Items))
		}
		if parts, err := c.ListParts(t.Context(), q, []index.Part{{Cluster: "k-alpha"}, {Cluster: "k-beta"}}); err == nil {
			t.Errorf("%s: listed %v", name, parts)
		}
	}
	if n := len(x.Requests()); n > 0 {
		t.Errorf("%d requests", n)
	}
}

// Finding out belongs to the process and not to the operation that happens to do it.
func TestFindingOutIsNotCounted(t *testing.T) {
	_, c, _, all := watched(t)
	ctx, recorder := requeststats.With(t.Context())
	if _, err := c.List(ctx, anyDeployment); err != nil {
		t.Fatal(err)
	}
	if all.Load() != 3 || recorder.Requests(requeststats.Index) != 1 {
		t.Errorf("%d requests of which %d are counted, want 3 and 1", all.Load(), recorder.Requests(requeststats.Index))
	}
}

// An index whose gate is switched off passes over the SQL it is sent and answers
// with everything there is. No caller may see that, not even for a moment.
func TestTheGateIsSwitchedOff(t *testing.T) {
	alpha, beta := row(index.Deployments, "k-alpha", "shop", "web"), row(index.Deployments, "k-beta", "shop", "api")
	member, ops := row(index.Deployments, "m1", "shop", "web"), row(index.Deployments, "k-alpha", "ops", "agent")
	pod, foreign := owned(row(index.Pods, "m1", "shop", "web-0"), "web"), owned(row(index.Pods, "k-other", "shop", "api-0"), "api")
	wanted := index.ListQuery{Types: []index.Type{index.Deployments}, Limit: 10, WithCount: true}
	selector, err := index.ParseSelector("app=web")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		// read reads something, and returns what was read.
		read func(c *index.Client) ([]string, error)
		want []string
		why  string
	}{
		{"a cluster", func(c *index.Client) ([]string, error) {
			q := wanted
			q.Clusters = []string{"k-beta"}
			return listed(t, c, q)
		}, []string{describeRow(beta), "1", "more: false"}, "the objects of other instances are nobody's business"},
		{"a namespace", func(c *index.Client) ([]string, error) {
			q := wanted
			q.Clusters, q.Namespaces = []string{"k-alpha", "k-beta", "m1"}, []string{"ops"}
			return listed(t, c, q)
		}, []string{describeRow(ops), "1", "more: false"}, "a user may see some namespaces only"},
		{"a scope", func(c *index.Client) ([]string, error) {
			q := wanted
			q.Clusters, q.Scopes = []string{"k-beta", "m1"}, []index.Scope{{Cluster: "k-alpha", Namespaces: []string{"ops"}}}
			return listed(t, c, q)
		}, []string{describeRow(ops), describeRow(beta), describeRow(member), "3", "more: false"}, "a user may see some namespaces only"},
		{"a label", func(c *index.Client) ([]string, error) {
			q := wanted
			q.Clusters, q.Selector = []string{"k-alpha", "k-beta", "m1"}, selector
			return listed(t, c, q)
		}, []string{"0", "more: false"}, "a filter that is passed over is noticed"},
		{"part of a name", func(c *index.Client) ([]string, error) {
			q := wanted
			q.Clusters, q.NameContains = []string{"k-alpha", "k-beta", "m1"}, "gen"
			return listed(t, c, q)
		}, []string{describeRow(ops), "1", "more: false"}, "a filter that is passed over is noticed"},
		{"parts", func(c *index.Client) ([]string, error) {
			q := wanted
			q.Namespaces = []string{"ops"}
			pages, err := c.ListParts(t.Context(), q, []index.Part{{Cluster: "k-alpha"}, {Cluster: "k-beta"}})
			if err != nil {
				return nil, err
			}
			return append(summary(pages[index.Part{Cluster: "k-alpha"}]), summary(pages[index.Part{Cluster: "k-beta"}])...), nil
		}, []string{describeRow(ops), "1", "more: false", "0", "more: false"}, "a part's filter counts"},
		{"exact objects", func(c *index.Client) ([]string, error) {
			objects, err := c.GetMany(t.Context(), []index.Key{key(beta), key(row(index.Deployments, "k-beta", "shop", "none"))}, index.Whole)
			if err != nil {
				return nil, err
			}
			return []string{found(objects)[key(beta)]}, nil
		}, []string{describeRow(beta)}, "an object that is there is not missing"},
		{"owned objects", func(c *index.Client) ([]string, error) {
			objects, err := c.Owned(t.Context(), index.OwnedQuery{Type: index.Pods, Owners: []index.Owner{{Cluster: "m1", UID: "web"}}})
			if err != nil {
				return nil, err
			}
			return describeAll(objects[index.Owner{Cluster: "m1", UID: "web"}]), nil
		}, []string{describeRow(pod)}, "what others own is nobody's business"},
		{"readiness", func(c *index.Client) ([]string, error) { return []string{"ready"}, c.Ping(t.Context()) }, []string{"ready"}, "a replica says what is wrong"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x, c, _, all := watched(t, alpha, beta, member, ops, pod, foreign)
			read := func() {
				t.Helper()
				got, err := tt.read(c)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
					t.Errorf("read %q, want %q: %s", got, tt.want, tt.why)
				}
			}
			read()
			x.AcceptSQL(false)
			for range 2 { // At once, and when it was noticed.
				_, err := tt.read(c)
				refused(t, err, gateIsOff)
			}
			before := all.Load()
			refused(t, c.Ping(t.Context()), gateIsOff)
			if got := all.Load() - before; got != 1 {
				t.Errorf("it took %d requests to refuse, want 1: it was not noticed", got)
			}
			x.AcceptSQL(true)
			read()
		})
	}
}

func listed(t *testing.T, c *index.Client, q index.ListQuery) ([]string, error) {
	t.Helper()
	page, err := c.List(t.Context(), q)
	if err != nil {
		return nil, err
	}
	return summary(page), nil
}

// An index that says it takes SQL and passes over it anyway is not believed.
func TestAnIndexThatPassesOverSQL(t *testing.T) {
	x, c, _, _ := watched(t)
	var stranger atomic.Bool
	x.Answer(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Query().Get("whereSQLJSONParams") == "not base64":
			w.WriteHeader(http.StatusUnprocessableEntity)
		case stranger.Load():
			_, _ = w.Write([]byte(`{"items":[{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","annotations":{"shadow.clusterpedia.io/cluster-name":"k-other"}}}]}`))
		default:
			_, _ = w.Write([]byte(`{"items":[]}`))
		}
	})
	q := index.ListQuery{Types: workloadTypes, Clusters: []string{"k-alpha"}, Limit: 5}
	if page, err := c.List(t.Context(), q); err != nil || len(page.Items) != 0 {
		t.Fatal(page, err)
	}
	stranger.Store(true)
	page, err := c.List(t.Context(), q)
	if apierror.CodeOf(err) != apierror.CodeIndexUnavailable {
		t.Errorf("got %v, %v; want %s", page, err, apierror.CodeIndexUnavailable)
	}
}

// What was known goes on to hold while the index can't be asked.
func TestFindingOutFails(t *testing.T) {
	x, c, now, all := watched(t)
	x.Answer(status(503, ""))
	for range 2 {
		_, err := c.List(t.Context(), anyDeployment)
		refused(t, err, "HTTP status 503")
	}
	if all.Load() != 2 {
		t.Errorf("%d requests, want one each time: a failure is not remembered", all.Load())
	}
	x.Answer(nil)
	ping(t, c)
	now.Advance(time.Minute)
	x.Answer(status(503, ""))
	_, err := c.List(t.Context(), anyDeployment)
	refused(t, err, "HTTP status 503")
	x.Answer(nil)
	before := all.Load()
	if _, err := c.List(t.Context(), anyDeployment); err != nil {
		t.Error(err)
	}
	if got := all.Load() - before; got != 1 {
		t.Errorf("it took %d requests, want 1: what was known was forgotten", got)
	}
}

// While one caller looks again, no other waits for it.
func TestFindingOutAgainHoldsNobodyUp(t *testing.T) {
	x, c, now, _ := watched(t)
	ping(t, c)
	now.Advance(time.Minute)
	looking, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	x.Before(func(q url.Values) {
		if q.Get("whereSQLJSONParams") == "not base64" {
			once.Do(func() { close(looking); <-goOn })
		}
	})
	done := make(chan error)
	go func() { done <- c.Ping(t.Context()) }()
	<-looking
	ping(t, c) // Would wait for ever if it waited.
	close(goOn)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// held is an index, its gate off, that answers when it may.
type held struct {
	requests atomic.Int64
	may      chan struct{}
}

// RoundTrip implements http.RoundTripper.
func (h *held) RoundTrip(r *http.Request) (*http.Response, error) {
	h.requests.Add(1)
	<-h.may
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"items":[]}`)), Request: r}, nil
}

// Concurrent callers of an index that cannot be read share one look at a time; a caller that gives
// up does not affect the others.
func TestManyFindOutTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &held{may: make(chan struct{})}
		c := clientWith(t, index.Config{REST: &rest.Config{Host: "http://index", Transport: h}, Timeout: time.Hour})
		first, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			_, err := c.List(first, anyDeployment)
			left <- err
		}()
		synctest.Wait() // It looks.
		const many = 50
		errs := make(chan error, many)
		for range many {
			go func() {
				_, err := c.List(t.Context(), anyDeployment)
				errs <- err
			}()
		}
		synctest.Wait()
		leave()
		if err := <-left; apierror.CodeOf(err) != apierror.CodeTimeout {
			t.Errorf("who left got %v", err)
		}
		close(h.may)
		for range many {
			refused(t, <-errs, gateIsOff)
		}
		if got := h.requests.Load(); got != 1 {
			t.Errorf("%d questions cost %d requests, want 1", many, got)
		}
	})
}
