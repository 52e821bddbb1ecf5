package suite

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// sharedQuery asks for what differs from person to person: names, counts, what is hidden.
const sharedQuery = `{
  instances { totalCount nodes { name viewerCan { update proxy } } }
  clusters { totalCount nodes { name } }
  workloads(first: 500) { totalCount nodes { namespace name instance { name } } facets(fields: [NAMESPACE]) { totalValues values { value count } } }
  pods(filter: {namespaces: ["shop", "ops", "billing"]}) { totalCount facets(fields: [NAMESPACE]) { totalValues values { value count } } }
  alpha: instance(name: "alpha") { state propagationPolicies { totalCount } memberClusters { totalCount nodes { name } } }
  beta: instance(name: "beta") { name }
}`

// TestSharedAnswersByPerson has people with different roles send the same query at once:
// each is answered as if they were alone.
func TestSharedAnswersByPerson(t *testing.T) {
	on := open(t)
	people := map[string]*gql.Client{
		"admin": on.kairship, "alice": on.as(t, "alice"), "bob": on.as(t, "bob"), "mallory": on.as(t, "mallory"),
		"one in shop": newPerson(t, on, viewerIn("alpha", "shop")).Client, "another in shop": newPerson(t, on, viewerIn("alpha", "shop")).Client,
		"one in ops": newPerson(t, on, viewerIn("alpha", "ops")).Client, "a viewer": newPerson(t, on, viewerOf("alpha")).Client,
	}
	alone := map[string]string{}
	different := map[string]bool{}
	for name, c := range people {
		alone[name] = string(c.Must(t, gql.Request{Query: sharedQuery}).Data)
		different[alone[name]] = true
	}
	if len(different) != len(people)-1 {
		t.Errorf("%d people have %d different answers: two of them may see the same", len(people), len(different))
	}
	type answer struct {
		name, data string
		err        error
	}
	const rounds = 20
	answers := make(chan answer, rounds*len(people))
	for range rounds {
		for name, c := range people {
			go func() {
				c := *c
				c.Shared = true
				r, err := c.Do(t.Context(), gql.Request{Query: sharedQuery})
				if err == nil && len(r.Errors) > 0 {
					err = fmt.Errorf("%v", r.Errors)
				}
				if err != nil {
					answers <- answer{name: name, err: err}
					return
				}
				answers <- answer{name: name, data: string(r.Data)}
			}()
		}
	}
	for range cap(answers) {
		a := <-answers
		if a.err != nil {
			t.Fatal(a.err)
		}
		if d := cmp.Diff(alone[a.name], a.data); d != "" {
			t.Fatalf("%s (-alone +shared):\n%s", a.name, d)
		}
	}
}

// TestSharedAnswersEndWithTheRole: once a role is known to be gone, nothing that others
// may still read is answered, although it was answered a moment ago.
func TestSharedAnswersEndWithTheRole(t *testing.T) {
	on := open(t)
	stays, leaves := newPerson(t, on, viewerOf("alpha")), newPerson(t, on, viewerOf("alpha"))
	shared := func(of *person) *gql.Client { c := *of.Client; c.Shared = true; return &c }
	ask := gql.Request{Query: anyQuery}
	if err := on.fleet.Client(t, "global").Delete(t.Context(), leaves.binding); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, revoked, "the role has ended", func(ctx context.Context) error {
		if r, err := shared(stays).Do(ctx, ask); err != nil || !sees(r) {
			return poll.Stop(fmt.Errorf("who keeps the role lost it: %w", err))
		}
		alone, err := leaves.Do(ctx, ask)
		if err != nil {
			return err
		}
		r, err := shared(leaves).Do(ctx, ask)
		switch {
		case err != nil:
			return err
		case !sees(alone) && sees(r):
			return poll.Stop(fmt.Errorf("it has ended, and they are answered what others may read: %s", r.Body))
		case sees(r):
			return errors.New("it works")
		}
		return nil
	})
}
