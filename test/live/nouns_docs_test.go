package live

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// TestGuide runs every subscription of the guide: each tells what there is and that
// this is all of it, or comes to its end.
func TestGuide(t *testing.T) {
	root, err := fleet.Root()
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile(filepath.Join(root, "docs", "subscriptions.md"))
	if err != nil {
		t.Fatal(err)
	}
	alice := person(t, "alice")
	fields := map[string]bool{}
	for _, block := range regexp.MustCompile("(?s)```graphql\n(.*?)```").FindAllStringSubmatch(string(guide), -1) {
		subscription := block[1]
		name := regexp.MustCompile(`^subscription (\w+)`).FindStringSubmatch(subscription)
		if name == nil {
			t.Fatalf("a block of the guide is no subscription with a name:\n%s", subscription)
		}
		fields[regexp.MustCompile(`\n {2}(\w+)`).FindStringSubmatch(subscription)[1]] = true
		t.Run(name[1], func(t *testing.T) {
			variables := m{}
			if strings.Contains(subscription, "$operation") {
				variables["operation"] = deploy(t, alice, namespaceIn(t, "alpha"), "web", "example.com/app:1", 1, "m1")
			}
			s := alice.MustSubscribe(t, gql.Request{Query: subscription, Variables: variables})
			for {
				e := s.Next(within)
				if e == nil || e.Lost != nil || len(e.Errors) > 0 {
					t.Fatalf("got %+v", e)
				}
				if e.Complete || strings.Contains(string(e.Data), `"type":"SYNCED"`) {
					return
				}
			}
		})
	}
	if len(fields) != 7 {
		t.Errorf("the guide shows %v, and there are 7 subscriptions", fields)
	}
}
