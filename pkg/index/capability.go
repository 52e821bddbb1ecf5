package index

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/kairship-io/kairship/pkg/upstream"
)

// capabilityTTL is how long a finding holds. An administrator may switch the
// gate or move the index to another database at any time; a minute later the
// new state is found out.
const capabilityTTL = time.Minute

// capabilityCache remembers what the index can do.
type capabilityCache struct {
	mu      sync.Mutex
	dialect *dialect
	known   bool
	until   time.Time
}

// probes find the dialect: each calls a function that the other database lacks
// and is false in its own, so that the answer is empty.
var probes = []struct {
	dialect   *dialect
	statement sqlText
}{
	{sqliteDialect, "sqlite_version() IS NULL"},
	{postgresDialect, "pg_backend_pid() IS NULL"},
}

// sql tells which SQL the index accepts; nil when it accepts none.
//
// The answer is looked for without a lock held across a request: at worst a few
// requests find it out side by side, once a minute.
func (c *Client) sql(ctx context.Context) (*dialect, error) {
	now := c.now()
	c.capabilities.mu.Lock()
	d, known, fresh := c.capabilities.dialect, c.capabilities.known, now.Before(c.capabilities.until)
	if known && !fresh {
		// One caller looks again; the others go on with what was known.
		c.capabilities.until = now.Add(capabilityTTL)
	}
	c.capabilities.mu.Unlock()
	if known && fresh {
		return d, nil
	}
	found, err := c.findDialect(ctx)
	if err != nil {
		if known {
			return d, nil
		}
		return nil, err
	}
	c.capabilities.mu.Lock()
	defer c.capabilities.mu.Unlock()
	c.capabilities.dialect, c.capabilities.known, c.capabilities.until = found, true, now.Add(capabilityTTL)
	return found, nil
}

// errPassedOver means that the index did not look at the SQL that it was sent.
var errPassedOver = errors.New("the index passed over a condition")

// passedOver is the error of an answer that holds what was not asked for.
func passedOver() error {
	return unavailable(errPassedOver, "The index answered with objects that were not asked for")
}

// ask asks in the SQL that the index accepts, or without where it accepts none.
//
// An index whose gate is switched off passes over the SQL that it is sent, and
// answers with everything there is, other instances' objects among it. So answers
// are looked through, and where one holds too much, it is found out anew what the
// index accepts, and it is asked again.
func ask[T any](ctx context.Context, c *Client, how func(*dialect) (T, error)) (T, error) {
	var answer T
	d, err := c.sql(ctx)
	if err != nil {
		return answer, err
	}
	if answer, err = how(d); !errors.Is(err, errPassedOver) {
		return answer, err
	}
	c.capabilities.forget()
	if d, err = c.sql(ctx); err != nil {
		return answer, err
	}
	return how(d)
}

func (c *capabilityCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = false
}

// findDialect asks the index. Parameters that can't be decoded are refused with
// 422 where they are read, and not noticed where the gate is off. The probes
// are not counted as requests of the operation that happens to trigger them:
// they belong to the process.
func (c *Client) findDialect(ctx context.Context) (*dialect, error) {
	ctx = upstream.Without(ctx)
	base := url.Values{"groups": {"*"}, "limit": {"1"}, "onlyMetadata": {"true"}}

	gate := cloneValues(base)
	gate.Set("whereSQLStatement", "1 = 0")
	gate.Set("whereSQLJSONParams", "not base64")
	_, err := c.get(ctx, gate)
	if err == nil {
		return nil, nil //nolint:nilnil // No dialect is a finding: the gate is off.
	}
	if statusOf(err) != http.StatusUnprocessableEntity {
		return nil, err
	}
	for _, p := range probes {
		params := cloneValues(base)
		params.Set("whereSQLStatement", string(p.statement))
		_, err := c.get(ctx, params)
		if err == nil {
			return p.dialect, nil
		}
		if statusOf(err) == 0 {
			return nil, err
		}
	}
	return nil, nil //nolint:nilnil // Neither SQLite nor PostgreSQL.
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

// Ping tells whether the index answers.
func (c *Client) Ping(ctx context.Context) error {
	_, err := c.get(ctx, url.Values{"groups": {"*"}, "limit": {"1"}, "onlyMetadata": {"true"}})
	return err
}
