package index

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// capabilityTTL is how long it is remembered which SQL the index accepts, and which kinds
// have no endpoint of their own.
const capabilityTTL = time.Minute

// capabilityCache caches which SQL the index accepts. A refusal is not cached, so that an index is
// read as soon as it is repaired.
type capabilityCache struct {
	mu      sync.Mutex
	dialect *dialect // Nil where it is not known.
	until   time.Time
	// looking is the look in progress; nil for none.
	looking *look
}

// look finds out which SQL the index accepts, for all callers that wait for it.
type look struct {
	done  chan struct{}
	found *dialect
	err   error
}

// sql returns the SQL that the index accepts. An index that accepts none cannot be read,
// and the error says why.
func (c *Client) sql(ctx context.Context) (*dialect, error) {
	now := c.now()
	c.capabilities.mu.Lock()
	known, fresh := c.capabilities.dialect, now.Before(c.capabilities.until)
	if known != nil && !fresh {
		// One caller looks again; the others go on with what was known.
		c.capabilities.until = now.Add(capabilityTTL)
	}
	c.capabilities.mu.Unlock()
	if known != nil && fresh {
		return known, nil
	}
	l := c.look() //nolint:contextcheck // It serves many callers.
	select {
	case <-ctx.Done():
		return nil, pastDeadline(ctx)
	case <-l.done:
	}
	if known != nil && l.err != nil && !errors.Is(l.err, errNoSQL) {
		return known, nil // The request itself reports that the index does not answer.
	}
	return l.found, l.err
}

// look joins the look in progress, or begins one. It serves many callers, so it ends with none of
// them, and is no part of their operations.
func (c *Client) look() *look {
	c.capabilities.mu.Lock()
	defer c.capabilities.mu.Unlock()
	if c.capabilities.looking == nil {
		l := &look{done: make(chan struct{})}
		c.capabilities.looking = l
		go func() {
			defer close(l.done)
			l.found, l.err = c.findDialect(context.Background())
			c.capabilities.learn(l, c.now().Add(capabilityTTL))
		}()
	}
	return c.capabilities.looking
}

// learn remembers what was found. What was known holds while the index does not answer.
func (c *capabilityCache) learn(l *look, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looking = nil
	if l.err == nil || errors.Is(l.err, errNoSQL) {
		c.dialect, c.until = l.found, until
	}
}

func (c *capabilityCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dialect = nil
}

var (
	// errNoSQL means that the index accepts no SQL of Kairship.
	errNoSQL = errors.New("the index accepts no SQL")
	// errPassedOver means that the index did not look at the SQL that it was sent.
	errPassedOver = errors.New("the index passed over a condition")
)

// passedOver is the error of an answer that holds what was not asked for.
func passedOver() error {
	return unavailable(errPassedOver, "The index answered with objects that were not asked for; try again in a moment")
}

// ask asks in the SQL that the index accepts.
//
// An index whose gate is switched off passes over the SQL that it is sent, and
// answers with everything there is, other instances' objects among it. So answers
// are looked through, and where one holds too much, it is found out anew what the
// index accepts, and it is asked again.
func ask[T any](ctx context.Context, c *Client, how func(*dialect) (T, error)) (T, error) {
	var none T
	d, err := c.sql(ctx)
	if err != nil {
		return none, err
	}
	answer, err := how(d)
	if !errors.Is(err, errPassedOver) {
		return answer, err
	}
	c.capabilities.forget()
	if d, err = c.sql(ctx); err != nil {
		return none, err
	}
	return how(d)
}

// findDialect asks the index which SQL it accepts.
func (c *Client) findDialect(ctx context.Context) (*dialect, error) {
	// Parameters that can't be decoded are refused with 422 where they are read, and not
	// noticed where the gate is off.
	gate := oneObject()
	gate.Set("whereSQLStatement", "1 = 0")
	gate.Set("whereSQLJSONParams", "not base64")
	_, err := c.get(ctx, gate)
	if err == nil {
		return nil, unavailable(errNoSQL, "The index cannot be read: the feature gate AllowParameterizedSQLQuery of clusterpedia-apiserver is off. "+
			"Its operator has to start it with --feature-gates=AllowParameterizedSQLQuery=true")
	}
	if statusOf(err) != http.StatusUnprocessableEntity {
		return nil, err
	}
	for _, d := range []*dialect{sqliteDialect, postgresDialect} {
		// A database that lacks the function makes it a 500.
		if err := c.probe(ctx, d); err == nil {
			return d, nil
		} else if statusOf(err) != http.StatusInternalServerError {
			return nil, err
		}
	}
	// So does one that is away.
	if _, err := c.get(ctx, oneObject()); err != nil {
		return nil, err
	}
	return nil, unavailable(errNoSQL, "The index cannot be read: the database of Clusterpedia is neither PostgreSQL nor SQLite. "+
		"Its operator has to move it to one of these")
}

// probe checks that the index accepts the SQL of a dialect: nothing matches its probe.
func (c *Client) probe(ctx context.Context, d *dialect) error {
	params := oneObject()
	params.Set("whereSQLStatement", string(d.probe))
	objects, _, err := c.list(ctx, params)
	if err == nil && len(objects) > 0 {
		err = passedOver()
	}
	return err
}

// oneObject asks for any object.
func oneObject() url.Values {
	return url.Values{"groups": {"*"}, "limit": {"1"}, "onlyMetadata": {"true"}}
}

// Ping checks that the index answers, and accepts SQL.
func (c *Client) Ping(ctx context.Context) error {
	_, err := ask(ctx, c, func(d *dialect) (struct{}, error) { return struct{}{}, c.probe(ctx, d) })
	return err
}

func statusOf(err error) int {
	if e, ok := errors.AsType[*statusError](err); ok {
		return e.status
	}
	return 0
}

func cloneValues(v url.Values) url.Values {
	out := make(url.Values, len(v))
	for k, vs := range v {
		out[k] = append([]string(nil), vs...)
	}
	return out
}
