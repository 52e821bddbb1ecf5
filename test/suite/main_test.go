// Package suite tests Kairship against a running fleet: it asks questions as a
// client would, and compares the answers with what the clusters themselves say.
package suite

import (
	"os"
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
		log: f.Logs + "/kairship-apiserver.log",
	}
}
