package projection

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // The driver "sqlite".
)

// maxConnections is what one process holds: a Round, a look at the outbox, and one spare.
const maxConnections = 3

// limits bound a connection to PostgreSQL, so that a projector that is frozen, or waits
// for a lock, holds up neither the collector nor another projector. A DSN may set others.
// Nothing is compiled: of statements of milliseconds, that takes most of the time.
var limits = map[string]string{
	"application_name":                    "kairship",
	"statement_timeout":                   "60s",
	"lock_timeout":                        "5s",
	"idle_in_transaction_session_timeout": "30s",
	"jit":                                 "off",
}

// DB is the database of the index.
type DB struct {
	sql      *sql.DB
	postgres bool
	// compiled are statements of SQLite.
	compiled compiled
}

// Open opens the database that a DSN names, for a projector:
// postgres://user:password@host:port/database or file:/path/of/the/index.db. It does not
// connect yet. Its errors do not show the DSN, which holds a password.
func Open(dsn string) (*DB, error) {
	return open(dsn, &access{connections: maxConnections, limits: limits, sqlite: url.Values{
		"mode": {"rw"}, "_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(NORMAL)"},
	}})
}

// OpenReader opens the database in the same way for reading only, with at most so many
// connections. Each new connection to PostgreSQL has the user and password that dsn
// returns then.
func OpenReader(dsn func() (string, error), connections int) (*DB, error) {
	limits := maps.Clone(limits)
	limits["statement_timeout"], limits["default_transaction_read_only"] = "10s", "on"
	text, err := dsn()
	if err != nil {
		return nil, err
	}
	return open(text, &access{connections: connections, limits: limits, renew: dsn, sqlite: url.Values{
		"mode": {"ro"}, "_pragma": {"busy_timeout(10000)", "query_only(1)"},
	}})
}

// OpenRecorder opens the database in the same way for RecordWrite alone, with one connection.
func OpenRecorder(dsn func() (string, error)) (*DB, error) {
	limits := maps.Clone(limits)
	limits["statement_timeout"], limits["default_transaction_read_only"] = "5s", "on"
	text, err := dsn()
	if err != nil {
		return nil, err
	}
	return open(text, &access{connections: 1, limits: limits, renew: dsn, sqlite: url.Values{"mode": {"rw"}, "_pragma": {"busy_timeout(5000)"}}})
}

// errDSN does not show what was read.
var errDSN = errors.New("the DSN of the index's database cannot be read: write postgres://user:password@host:port/database?sslmode=verify-full")

// access is how a program uses the database.
type access struct {
	connections int
	// limits are settings of connections to PostgreSQL, sqlite the options of its driver.
	limits map[string]string
	sqlite url.Values
	// renew returns the DSN for a new connection to PostgreSQL; nil for always the same.
	renew func() (string, error)
}

// credentials gives a connection the user and password that the DSN has now.
func (a *access) credentials(_ context.Context, config *pgx.ConnConfig) error {
	if a.renew == nil {
		return nil
	}
	dsn, err := a.renew()
	if err != nil {
		return err
	}
	now, err := pgx.ParseConfig(strings.TrimSpace(dsn))
	if err != nil {
		return errDSN
	}
	config.User, config.Password = now.User, now.Password
	return nil
}

func open(dsn string, as *access) (*DB, error) {
	dsn = strings.TrimSpace(dsn)
	var db *DB
	switch scheme, _, _ := strings.Cut(dsn, ":"); scheme {
	case "postgres", "postgresql":
		config, err := pgx.ParseConfig(dsn)
		if err != nil {
			return nil, errDSN
		}
		for name, value := range as.limits {
			if _, set := config.RuntimeParams[name]; !set {
				config.RuntimeParams[name] = value
			}
		}
		db = &DB{sql: stdlib.OpenDB(*config, stdlib.OptionBeforeConnect(as.credentials)), postgres: true}
	case "file":
		file, err := sqliteFile(dsn)
		if err != nil {
			return nil, err
		}
		if db, err = openSQLite(file, as.sqlite); err != nil {
			return nil, err
		}
	default:
		return nil, errors.New("the DSN of the index's database must begin with postgres:// or file:, such as file:/path/of/the/index.db")
	}
	db.sql.SetMaxOpenConns(as.connections)
	db.sql.SetMaxIdleConns(as.connections)
	return db, nil
}

// sqliteFile is the path in a DSN of SQLite. Its options are those of the collector's
// driver and mean nothing here.
func sqliteFile(dsn string) (string, error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Host != "" || u.Path == "" && u.Opaque == "" {
		return "", errors.New("the DSN of the index's database names no file: write file:/path/of/the/index.db")
	}
	if u.Path == "" {
		return u.Opaque, nil
	}
	return u.Path, nil
}

// openSQLite opens a file that the collector has made. A projector sets a write-ahead log,
// so that reading does not keep the collector from writing.
func openSQLite(file string, options url.Values) (*DB, error) {
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: file, RawQuery: options.Encode()}).String())
	if err != nil {
		return nil, fmt.Errorf("opening the index's database: %w", err)
	}
	return &DB{sql: db}, nil
}

// Close closes the connections.
func (db *DB) Close() error { return db.sql.Close() }

// session is a connection or a transaction.
type session interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// text is a statement for this database. Statements are written with the schema kairship,
// in which the tables are on PostgreSQL; SQLite has no schemas, and its tables a prefix.
func (db *DB) text(statement string) string {
	if db.postgres {
		return statement
	}
	return strings.ReplaceAll(statement, "kairship.", "kairship_")
}

// exec executes a statement.
func (db *DB) exec(ctx context.Context, s session, statement string, args ...any) error {
	_, err := s.ExecContext(ctx, db.text(statement), args...)
	return err
}

// query calls scan for each row of an answer.
func (db *DB) query(ctx context.Context, s session, scan func(*sql.Rows) error, statement string, args ...any) error {
	rows, err := s.QueryContext(ctx, db.text(statement), args...)
	if err != nil {
		return err
	}
	return each(rows, scan)
}

// immediate does something in a transaction that writes. On SQLite it has the only lock
// from its beginning, so that it never waits for it in the middle.
func (db *DB) immediate(ctx context.Context, do func(session) error) (err error) {
	if db.postgres {
		tx, err := db.sql.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }() // After a commit it does nothing.
		if err := do(tx); err != nil {
			return err
		}
		return tx.Commit()
	}
	return db.onConn(ctx, "BEGIN IMMEDIATE", do)
}

// onConn does something in a transaction of SQLite that a statement begins.
func (db *DB) onConn(ctx context.Context, begin string, do func(session) error) error {
	conn, err := db.sql.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.ExecContext(ctx, begin); err != nil {
		return err
	}
	if err := do(conn); err != nil {
		// Also when the context has ended: a connection must not go back in a transaction.
		_, undo := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return errors.Join(err, undo)
	}
	_, err = conn.ExecContext(context.WithoutCancel(ctx), "COMMIT")
	return err
}

// Overtaken reports whether a Round failed because another projector was faster.
func Overtaken(err error) bool {
	if errors.Is(err, errOvertaken) {
		return true
	}
	refused, ok := errors.AsType[*pgconn.PgError](err)
	const serializationFailure, deadlock = "40001", "40P01"
	return ok && (refused.Code == serializationFailure || refused.Code == deadlock)
}

var errOvertaken = errors.New("another projector works on the projection")
