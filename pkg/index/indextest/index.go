package indextest

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	_ "modernc.org/sqlite" // The driver "sqlite".
)

// Database is what stands behind an index.
type Database string

// The databases. SQLite answers requests; of the others, the index has only what identifies them.
const (
	SQLite   Database = "sqlite"
	Postgres Database = "postgres"
	Other    Database = "other"
)

// The table as Clusterpedia migrates it, with the indexes that uniqueness needs.
const createTable = `CREATE TABLE resources (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	"group" TEXT NOT NULL, version TEXT NOT NULL, resource TEXT NOT NULL, kind TEXT NOT NULL,
	cluster TEXT NOT NULL, namespace TEXT NOT NULL, name TEXT NOT NULL,
	owner_uid TEXT NOT NULL DEFAULT '', uid TEXT NOT NULL, resource_version TEXT NOT NULL,
	object JSON NOT NULL, events JSON, event_resource_versions JSON,
	created_at DATETIME NOT NULL, synced_at DATETIME NOT NULL, deleted_at DATETIME,
	UNIQUE ("group", version, resource, cluster, namespace, name))`

// Index is an index for tests. It is safe for concurrent use.
type Index struct {
	// URL is where it answers.
	URL string

	t      testing.TB
	db     *sql.DB
	server *httptest.Server

	mu       sync.Mutex
	noSQL    bool
	database Database
	requests []url.Values
	before   func(url.Values)
	handler  http.HandlerFunc
}

// New starts an index that holds rows. It ends with the test.
func New(t testing.TB, rows ...Row) *Index {
	t.Helper()
	// Moments are written as Clusterpedia writes them.
	db, err := sql.Open("sqlite", "file::memory:?_time_format=sqlite")
	if err != nil {
		t.Fatal(err)
	}
	// Each connection would be a memory of its own.
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), createTable); err != nil {
		t.Fatal(err)
	}
	x := &Index{t: t, db: db, database: SQLite}
	x.server = httptest.NewServer(x)
	x.URL = x.server.URL
	t.Cleanup(func() {
		x.Close()
		_ = db.Close()
	})
	x.Put(rows...)
	return x
}

// Put stores rows, in the place of those of the same names.
func (x *Index) Put(rows ...Row) {
	x.t.Helper()
	tx, err := x.db.BeginTx(x.t.Context(), nil)
	if err != nil {
		x.t.Fatal(err)
	}
	for _, r := range rows {
		object, err := r.object()
		if err != nil {
			x.t.Fatal(err)
		}
		// An upsert keeps the row's id, as Clusterpedia's update does.
		_, err = tx.ExecContext(x.t.Context(), `INSERT INTO resources
			("group", version, resource, kind, cluster, namespace, name, owner_uid, uid, resource_version, object, created_at, synced_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '1', ?, ?, ?)
			ON CONFLICT DO UPDATE SET owner_uid = excluded.owner_uid, uid = excluded.uid, object = excluded.object, created_at = excluded.created_at`,
			r.Group, r.Version, r.Resource, r.Kind, r.Cluster, r.Namespace, r.Name, r.Owner, r.uid(), string(object), r.CreatedAt, r.CreatedAt)
		if err != nil {
			x.t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		x.t.Fatal(err)
	}
}

// Delete removes the rows of these names.
func (x *Index) Delete(rows ...Row) {
	x.t.Helper()
	for _, r := range rows {
		_, err := x.db.ExecContext(x.t.Context(), `DELETE FROM resources
			WHERE "group" = ? AND version = ? AND resource = ? AND cluster = ? AND namespace = ? AND name = ?`,
			r.Group, r.Version, r.Resource, r.Cluster, r.Namespace, r.Name)
		if err != nil {
			x.t.Fatal(err)
		}
	}
}

// Close ends the index: nothing listens at its URL any more.
func (x *Index) Close() { x.server.Close() }

// AcceptSQL switches the feature gate AllowParameterizedSQLQuery. It is on at first.
func (x *Index) AcceptSQL(on bool) { x.set(func() { x.noSQL = !on }) }

// Behind changes the database.
func (x *Index) Behind(d Database) { x.set(func() { x.database = d }) }

// Before has f called before each request is answered; nil ends that.
func (x *Index) Before(f func(url.Values)) { x.set(func() { x.before = f }) }

// Answer has h answer instead of the index; nil ends that.
func (x *Index) Answer(h http.HandlerFunc) { x.set(func() { x.handler = h }) }

func (x *Index) set(f func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	f()
}

// Requests are the parameters of the requests so far, those that look for what
// the index can do left out.
func (x *Index) Requests() []url.Values {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.requests)
}

// Forget forgets the requests so far.
func (x *Index) Forget() { x.set(func() { x.requests = nil }) }

// ServeHTTP answers a request.
func (x *Index) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	x.mu.Lock()
	if !isProbe(q) {
		x.requests = append(x.requests, q)
	}
	before, handler, takesSQL, database := x.before, x.handler, !x.noSQL, x.database
	x.mu.Unlock()
	if before != nil {
		before(q)
	}
	if handler != nil {
		handler(w, r)
		return
	}
	_, path, _ := strings.Cut(r.URL.Path, "/apis/clusterpedia.io/v1beta1")
	of, err := x.kindAt(r.Context(), path)
	if err == nil && of == nil && path != "/collectionresources/any" {
		http.NotFound(w, r)
		return
	}
	var c *query
	if err == nil {
		c, err = parse(q, of, takesSQL, database)
	}
	if err == nil {
		err = x.reply(w, r, c)
	}
	if err != nil {
		fail(w, err)
	}
}

// isProbe reports whether a request probes the capabilities of the index: no others request one
// object of any kind.
func isProbe(q url.Values) bool { return q.Get("groups") == "*" && q.Get("limit") == "1" }

// reply reads what was asked for and writes it as a CollectionResource.
func (x *Index) reply(w http.ResponseWriter, r *http.Request, c *query) error {
	// One transaction, so that a list and its count are of the same moment.
	tx, err := x.db.BeginTx(r.Context(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	body := map[string]any{"kind": "CollectionResource", "apiVersion": "clusterpedia.io/v1beta1", "resourceTypes": []any{}}
	meta := body
	if c.of != nil {
		meta = map[string]any{}
		body = map[string]any{"kind": "List", "metadata": meta}
	}
	items, err := c.items(r.Context(), tx)
	if err != nil {
		return err
	}
	if c.of.typed() {
		for i := range items {
			if items[i], err = withoutType(items[i]); err != nil {
				return err
			}
		}
	}
	body["items"] = items
	if c.withCount {
		count, err := c.count(r.Context(), tx)
		if err != nil {
			return err
		}
		meta["remainingItemCount"] = count - len(items)
	}
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(body)
}

// statusError is a refusal with a status of its own.
type statusError struct {
	status  int
	message string
}

func (e *statusError) Error() string { return e.message }

func refuse(status int, format string, args ...any) error {
	return &statusError{status, fmt.Sprintf(format, args...)}
}

// fail answers as API servers do. What the database says is a 500.
func fail(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if e, ok := err.(*statusError); ok { //nolint:errorlint // It is never wrapped.
		status = e.status
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"kind":"Status","status":"Failure","code":%d,"message":%s}`, status, strconv.Quote(err.Error())) //nolint:gosec // A fake for tests; it answers JSON.
}
