package projection

import (
	"context"
	"database/sql"
	"sync"
)

// maxCompiled is how many statements stay compiled. A statement has tens of kilobytes in each connection.
const maxCompiled = 128

// compiled are statements of SQLite that stay compiled, by their text. Compiling takes a third of the
// time of a page. Once there are maxCompiled, others are compiled for each use; pgx does all of this for
// PostgreSQL itself.
type compiled struct {
	mu     sync.Mutex
	byText map[string]*sql.Stmt
}

// of returns the compiled statement; nil where there are enough already.
func (c *compiled) of(ctx context.Context, db *sql.DB, text string) (*sql.Stmt, error) {
	c.mu.Lock()
	found, full := c.byText[text], len(c.byText) >= maxCompiled
	c.mu.Unlock()
	if found != nil || full {
		return found, nil
	}
	made, err := db.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if other := c.byText[text]; other != nil {
		return other, made.Close() //nolint:sqlclosecheck // This one is not used.
	}
	if c.byText == nil {
		c.byText = map[string]*sql.Stmt{}
	}
	c.byText[text] = made
	return made, nil
}

// read executes a statement that reads, outside of a transaction.
func (c *compiled) read(ctx context.Context, db *sql.DB, text string, args []any) (*sql.Rows, error) {
	statement, err := c.of(ctx, db, text) //nolint:sqlclosecheck // It stays open for the next.
	if err != nil {
		return nil, err
	}
	if statement == nil {
		return db.QueryContext(ctx, text, args...)
	}
	return statement.QueryContext(ctx, args...)
}

// look calls scan for each row of the answer to a statement that many requests send, outside of a transaction.
func (db *DB) look(ctx context.Context, scan func(*sql.Rows) error, statement string, args ...any) error {
	if db.postgres {
		return db.query(ctx, db.sql, scan, statement, args...)
	}
	rows, err := db.compiled.read(ctx, db.sql, db.text(statement), args)
	if err != nil {
		return err
	}
	return each(rows, scan)
}

// each calls scan for each row.
func each(rows *sql.Rows, scan func(*sql.Rows) error) error {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
