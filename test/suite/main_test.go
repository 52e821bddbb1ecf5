// Package suite tests Kairship against a running fleet: it asks questions as a
// client would, and compares the answers with what the clusters themselves say.
package suite

import (
	"os"
	"sync"
	"testing"

	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

func TestMain(m *testing.M) { os.Exit(fleet.Main(m)) }

// target is a Kairship that is tested.
type target struct {
	fleet *fleet.Fleet
	// kairship is asked as the administrator.
	kairship *gql.Client
	// url is the server's address.
	url string
	// log is the file that it logs to.
	log string
	// plain says that its index takes no SQL from callers.
	plain bool
}

// as is the same server, asked by another person.
func (on *target) as(t testing.TB, person string) *gql.Client {
	t.Helper()
	return gql.New(on.url, on.fleet.Token(t, person))
}

// open is the fleet's own Kairship.
func open(t testing.TB) *target {
	t.Helper()
	f := fleet.Open(t)
	return &target{
		fleet: f, kairship: gql.New(f.KairshipURL, f.Token(t, "admin")), url: f.KairshipURL,
		log: f.Logs + "/kairship-apiserver.log", plain: !f.ParameterizedSQL,
	}
}

var (
	plainMu     sync.Mutex
	plainTarget *target
)

// openPlain is a Kairship of the suite's own, whose index has the gate for SQL
// from callers off. Both read the same database as the fleet's own.
func openPlain(t testing.TB) *target {
	t.Helper()
	f := fleet.Open(t)
	plainMu.Lock()
	defer plainMu.Unlock()
	if plainTarget == nil {
		g := f.NewGateway(t)
		g.SendIndexTo(f.PlainIndex(t))
		p := f.Kairship(t, g)
		url := "http://" + p.Address
		plainTarget = &target{fleet: f, kairship: gql.New(url, f.Token(t, "admin")), url: url, log: p.Log, plain: true}
	}
	return plainTarget
}

// inBothModes runs a test with an index that takes SQL from callers and with
// one that does not, beside each other: the answers must be the same.
func inBothModes(t *testing.T, test func(t *testing.T, on *target)) {
	t.Helper()
	inEachMode(t, func(t *testing.T, on *target) {
		t.Parallel()
		test(t, on)
	})
}

// inEachMode runs a test in one mode after the other.
func inEachMode(t *testing.T, test func(t *testing.T, on *target)) {
	t.Helper()
	withSQL, without := open(t), openPlain(t)
	t.Run("with SQL", func(t *testing.T) { test(t, withSQL) })
	t.Run("without SQL", func(t *testing.T) { test(t, without) })
}
