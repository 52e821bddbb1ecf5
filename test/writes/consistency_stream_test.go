package writes

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kairship-io/kairship/test/internal/gql"
)

const followConfigMaps = `subscription($filter: ResourceChangeFilter, $after: String) {
  resourceChanged(version: "v1", resource: "configmaps", filter: $filter, after: $after) { type cursor resource { name manifest } }
}`

// deliveredTo is what a subscription sends about ConfigMaps until it is synced, by name, and
// where it is then.
func deliveredTo(t testing.TB, as *gql.Client, namespace, part, after string) (delivered map[string]string, cursor string, err error) {
	variables := map[string]any{"filter": map[string]any{"instances": []string{"alpha"}, "namespaces": []string{namespace}, "nameContains": part}}
	if after != "" {
		variables["after"] = after
	}
	s, refused, err := as.Subscribe(t.Context(), gql.Request{Query: followConfigMaps, Variables: variables})
	if err != nil || refused != nil {
		return nil, "", fmt.Errorf("no stream: %w, %v", err, refused)
	}
	defer s.Close()
	delivered = map[string]string{}
	for {
		e := s.Next(30 * time.Second)
		if e == nil || e.Lost != nil || e.Complete || len(e.Errors) > 0 {
			return nil, "", fmt.Errorf("not synced: %+v", e)
		}
		var data struct {
			ResourceChanged struct {
				Type     string `json:"type"`
				Cursor   string `json:"cursor"`
				Resource *struct {
					Name     string `json:"name"`
					Manifest struct {
						Data map[string]string `json:"data"`
					} `json:"manifest"`
				} `json:"resource"`
			} `json:"resourceChanged"`
		}
		if err := json.Unmarshal(e.Data, &data); err != nil {
			return nil, "", err
		}
		c := data.ResourceChanged
		switch {
		case c.Type == "SYNCED":
			return delivered, c.Cursor, nil
		case c.Resource == nil:
			return nil, "", fmt.Errorf("there came %s", e.Data)
		default:
			delivered[c.Resource.Name] = c.Type + " " + c.Resource.Manifest.Data["key"]
		}
	}
}

// Every write is in what a subscription tells before SYNCED that begins right after it,
// from another connection, with the write's token: in what there is, and in what has
// changed since a cursor. Many write at a time, so that the watch has much to say.
func TestStreamsShowYourWrites(t *testing.T) {
	const writers, rounds = 10, 20
	namespace := namespaceIn(t)
	var late atomic.Int64
	var group errgroup.Group
	for w := range writers {
		group.Go(func() error {
			alice, follower, hasty := person(t, "alice"), reader(t, "alice", ""), reader(t, "alice", "")
			name := fmt.Sprintf("w%02d", w)
			_, cursor, err := deliveredTo(t, follower, namespace, name, "")
			if err != nil {
				return err
			}
			for round := range rounds {
				value := fmt.Sprint(round)
				mutation, input := "applyManifests", map[string]any{"instance": "alpha", "manifests": configMap(namespace, name, value)}
				what, since := "ADDED "+value, "MODIFIED "+value
				switch round % 5 {
				case 0:
					since = what
				case 4:
					mutation, input = "deleteResource", map[string]any{"instance": "alpha", "version": "v1", "resource": "configmaps", "namespace": namespace, "name": name}
					what, since = "", fmt.Sprintf("DELETED %d", round-1)
				}
				if follower.Consistency, err = write1(t, alice, mutation, input); err != nil {
					return err
				}
				// For comparison: what is told to who does not say what they did.
				if delivered, _, err := deliveredTo(t, hasty, namespace, name, ""); err != nil {
					return err
				} else if delivered[name] != what {
					late.Add(1)
				}
				delivered, _, err := deliveredTo(t, follower, namespace, name, "")
				if err != nil {
					return err
				}
				if delivered[name] != what {
					t.Errorf("writer %d, round %d: told %q, want %q", w, round, delivered[name], what)
				}
				if delivered, cursor, err = deliveredTo(t, follower, namespace, name, cursor); err != nil {
					return err
				}
				if delivered[name] != since {
					t.Errorf("writer %d, round %d: since the cursor told %q, want %q", w, round, delivered[name], since)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("without the token %d of %d subscriptions were synced before the write was heard of", late.Load(), writers*rounds)
}

// The tokens of a subscription are the person's own. One that has expired is left
// out: clients send the same request whenever they connect again.
func TestTokensOfStreams(t *testing.T) {
	namespace := namespaceIn(t)
	alices, err := write1(t, person(t, "alice"), "applyManifests", map[string]any{"instance": "alpha", "manifests": configMap(namespace, "a", "1")})
	if err != nil {
		t.Fatal(err)
	}
	expired := tokenOfAge(t, "alice", 24*time.Hour)
	for _, tt := range []struct {
		who, token string
		refused    bool
		why        string
	}{
		{"alice", alices, false, "it is alice's"},
		{"alice", expired, false, "it has expired"},
		{"alice", alices + "," + expired, false, "one of two has expired"},
		{"alice", "nonsense", true, "it is none"},
		{"bob", alices, true, "it is another's"},
		{"bob", expired, true, "it is another's, and has expired"},
		{"mallory", alices, true, "it is another's, and mallory may nothing"},
		{"admin", alices, true, "it is another's, whatever the role"},
	} {
		s, refused, err := reader(t, tt.who, tt.token).Subscribe(t.Context(), gql.Request{Query: followConfigMaps})
		if err != nil || refused != nil {
			t.Fatalf("%s: %v, %v", tt.why, err, refused)
		}
		e := s.Next(30 * time.Second)
		s.Close()
		switch {
		case e == nil || e.Lost != nil || e.Complete:
			t.Errorf("%s: lost %v, complete, or silent", tt.why, e)
		case !tt.refused && len(e.Errors) > 0:
			t.Errorf("%s: refused with %v", tt.why, e.Errors)
		case tt.refused && (len(e.Errors) != 1 || e.Errors[0].Extensions.Code != "INVALID" || e.Errors[0].Extensions.Argument != "consistencyToken"):
			t.Errorf("%s: %.100s %v, want INVALID at consistencyToken", tt.why, e.Data, e.Errors)
		}
	}
}
