package live

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/live"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// watches is how many watches on a resource an instance's API server says it serves.
func watches(t testing.TB, instance, resource string) int {
	t.Helper()
	raw, err := fleet.Open(t).Kubernetes(t, instance).Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for line := range strings.SplitSeq(string(raw), "\n") {
		if !strings.HasPrefix(line, "apiserver_longrunning_requests{") || !strings.Contains(line, `resource="`+resource+`"`) || !strings.Contains(line, `verb="WATCH"`) {
			continue
		}
		n, err := strconv.Atoi(line[strings.LastIndexByte(line, ' ')+1:])
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// TestOneWatchForAThousand asks the instance itself how many watches subscribers cost.
func TestOneWatchForAThousand(t *testing.T) {
	// Nothing else begins or ends to watch these while the test runs.
	limits := schema.GroupVersionResource{Version: "v1", Resource: "limitranges"}
	before := watches(t, "alpha", limits.Resource)
	hub := newHub(t, 500*time.Millisecond)
	var streams []*live.Stream
	for range 1000 {
		streams = append(streams, subscribe(t, hub, limits))
	}
	if n := watches(t, "alpha", limits.Resource); n != before+1 {
		t.Errorf("1,000 subscribers cost %d watches, want 1", n-before)
	}
	for _, s := range streams {
		s.Close()
	}
	poll.Until(t, within, "the watch ends", func(context.Context) error {
		if n := watches(t, "alpha", limits.Resource); n != before {
			return fmt.Errorf("%d watches are left", n-before)
		}
		return nil
	})
}

// TestOneWatchForAllClients does the same through GraphQL, with fewer connections.
func TestOneWatchForAllClients(t *testing.T) {
	t.Parallel() // The watch goes on for half a minute.
	const clients, resource = 200, "podtemplates"
	before := watches(t, "alpha", resource)
	api := person(t, "alice")
	var streams []*gql.Stream
	for range clients {
		streams = append(streams, api.MustSubscribe(t, gql.Request{
			Query: `subscription { resourceChanged(version: "v1", resource: "podtemplates", filter: {instances: ["alpha"]}) { type cursor } }`,
		}))
	}
	for _, s := range streams {
		if e := s.Next(within); e == nil || !strings.Contains(string(e.Data), "SYNCED") {
			t.Fatalf("instead of SYNCED came %+v", e)
		}
	}
	if n := watches(t, "alpha", resource); n != before+1 {
		t.Errorf("%d clients cost %d watches, want 1", clients, n-before)
	}
	for _, s := range streams {
		s.Close()
	}
	poll.Until(t, live.DefaultIdleTimeout+within, "the watch ends", func(context.Context) error {
		if n := watches(t, "alpha", resource); n != before {
			return fmt.Errorf("%d watches are left", n-before)
		}
		return nil
	})
}
