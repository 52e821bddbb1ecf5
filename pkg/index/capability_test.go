package index_test

import (
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
	"github.com/kairship-io/kairship/pkg/upstream"
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

// takesSQL asks a client what it thinks of its index.
func takesSQL(t *testing.T, c *index.Client) bool {
	t.Helper()
	can, err := c.CanFilterPlacement(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return can
}

func TestWhatTheIndexCanDoIsFoundOut(t *testing.T) {
	for _, tt := range []struct {
		name     string
		database indextest.Database
		gate     bool
		want     bool
		field    string
		requests int64
		why      string
	}{
		{"SQLite", indextest.SQLite, true, true, "CAST(JSON_EXTRACT(object, ?) AS TEXT)", 2, "the gate, then SQLite's own function"},
		{"PostgreSQL", indextest.Postgres, true, true, "(object #>> CAST(? AS text[]))", 3, "SQLite's function is not there"},
		{"another database", indextest.Other, true, false, "", 3, "its SQL is not known"},
		{"gate off", indextest.SQLite, false, false, "", 1, "without the gate no SQL is even looked at"},
		{"gate off, PostgreSQL", indextest.Postgres, false, false, "", 1, "without the gate no SQL is even looked at"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x, c, now, all := watched(t)
			x.Behind(tt.database)
			x.AcceptSQL(tt.gate)
			if got := takesSQL(t, c); got != tt.want {
				t.Errorf("takes SQL: %v, want %v: %s", got, tt.want, tt.why)
			}
			if got := all.Load(); got != tt.requests {
				t.Errorf("it took %d requests to find out, want %d: %s", got, tt.requests, tt.why)
			}
			now.Advance(time.Minute - time.Second)
			takesSQL(t, c)
			if got := all.Load(); got != tt.requests {
				t.Errorf("within a minute it was looked for again: %d requests", got)
			}
			now.Advance(time.Second)
			takesSQL(t, c)
			if got := all.Load(); got != 2*tt.requests {
				t.Errorf("after a minute there were %d requests, want %d", got, 2*tt.requests)
			}
			// The dialect shows in what is sent. SQLite can't run PostgreSQL's.
			_, _ = c.List(t.Context(), index.ListQuery{
				Types: workloadTypes, Clusters: []string{"k-alpha"}, Limit: 5, Fields: []index.FieldEquals{{Path: []string{"type"}, Value: "x"}},
			})
			sent := x.Requests()
			if got := sent[len(sent)-1].Get("whereSQLStatement"); !strings.Contains(got, tt.field) || (tt.field == "") != (got == "") {
				t.Errorf("sent %q, want %q in it", got, tt.field)
			}
		})
	}
}

// Finding out belongs to the process and not to the operation that happens to do it.
func TestFindingOutIsNotCounted(t *testing.T) {
	_, c, _, all := watched(t)
	ctx, recorder := upstream.With(t.Context())
	if _, err := c.List(ctx, index.ListQuery{Types: workloadTypes, Clusters: []string{"k-alpha"}, Limit: 5}); err != nil {
		t.Fatal(err)
	}
	if all.Load() != 3 || recorder.Requests(upstream.Index) != 1 {
		t.Errorf("%d requests of which %d are counted, want 3 and 1", all.Load(), recorder.Requests(upstream.Index))
	}
}

func TestTheGateIsSwitchedOn(t *testing.T) {
	x, c, now, _ := watched(t, row(index.Deployments, "k-alpha", "shop", "web"))
	x.AcceptSQL(false)
	if takesSQL(t, c) {
		t.Fatal("the gate is off")
	}
	x.AcceptSQL(true)
	if takesSQL(t, c) {
		t.Error("within a minute nobody looks")
	}
	now.Advance(time.Minute)
	if !takesSQL(t, c) {
		t.Error("after a minute it was not noticed")
	}
}

// An index whose gate is switched off passes over the SQL it is sent and answers
// with everything there is. Nobody may be shown that for a moment.
func TestTheGateIsSwitchedOff(t *testing.T) {
	alpha, beta := row(index.Deployments, "k-alpha", "shop", "web"), row(index.Deployments, "k-beta", "shop", "api")
	member, ops := row(index.Deployments, "m1", "shop", "web"), row(index.Deployments, "k-alpha", "ops", "agent")
	wanted := index.ListQuery{Types: []index.Type{index.Deployments}, Limit: 10, WithCount: true}
	selector, err := index.ParseSelector("app=web")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		// read reads something, and tells what was read.
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
		}, []string{describeRow(ops), describeRow(beta), describeRow(member), "not counted", "more: false"}, "a user may see some namespaces only"},
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
			return []string{found(objects)[key(beta)]}, err
		}, []string{describeRow(beta)}, "an object that is there is not missing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x, c, now, all := watched(t, alpha, beta, member, ops)
			if !takesSQL(t, c) {
				t.Fatal("the gate is on")
			}
			x.AcceptSQL(false)
			for range 2 { // At once, and when it was noticed.
				got, err := tt.read(c)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
					t.Errorf("read %q, want %q: %s", got, tt.want, tt.why)
				}
			}
			if takesSQL(t, c) {
				t.Error("it was not noticed")
			}
			before := all.Load()
			now.Advance(time.Minute)
			x.AcceptSQL(true)
			if !takesSQL(t, c) || all.Load() != before+2 {
				t.Error("it was not noticed that the gate is on again")
			}
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

// An index that says it takes SQL and passes over it all the same is not believed.
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
	broken := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }
	x.Answer(broken)
	for range 2 {
		if _, err := c.CanFilterPlacement(t.Context()); apierror.CodeOf(err) != apierror.CodeIndexUnavailable {
			t.Errorf("got %v, want %s", err, apierror.CodeIndexUnavailable)
		}
	}
	if all.Load() != 2 {
		t.Errorf("%d requests, want one each time: a failure is not remembered", all.Load())
	}
	x.Answer(nil)
	if !takesSQL(t, c) {
		t.Fatal("it was not found out after the failure")
	}
	now.Advance(time.Minute)
	x.Answer(broken)
	if !takesSQL(t, c) {
		t.Error("what was known was forgotten")
	}
	if _, err := c.List(t.Context(), index.ListQuery{Types: workloadTypes, Clusters: []string{"k-alpha"}, Limit: 5}); apierror.CodeOf(err) != apierror.CodeIndexUnavailable {
		t.Errorf("the request itself tells that the index is away: got %v", err)
	}
}

// While one caller looks again, nobody waits for it.
func TestFindingOutAgainHoldsNobodyUp(t *testing.T) {
	x, c, now, _ := watched(t)
	if !takesSQL(t, c) {
		t.Fatal("the gate is on")
	}
	now.Advance(time.Minute)
	looking, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	x.Before(func(q url.Values) {
		if q.Get("whereSQLJSONParams") == "not base64" {
			once.Do(func() { close(looking); <-goOn })
		}
	})
	done := make(chan bool)
	go func() { done <- takesSQL(t, c) }()
	<-looking
	if !takesSQL(t, c) { // Would wait for ever if it waited.
		t.Error("what was known was forgotten")
	}
	close(goOn)
	if !<-done {
		t.Error("the one who looked found nothing")
	}
}
