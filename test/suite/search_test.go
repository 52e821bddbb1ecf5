package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// searchHit is a hit of a search.
type searchHit struct {
	Type, Kind      string
	NodeID          *string
	Instance        *struct{ Name string }
	ClusterName     *string
	Namespace       *string
	Name, MatchedBy string
}

// String names what was found, and by what.
func (h *searchHit) String() string {
	parts := []string{h.Type}
	if h.Instance != nil {
		parts = append(parts, h.Instance.Name)
	}
	for _, part := range []*string{h.ClusterName, h.Namespace} {
		if part != nil {
			parts = append(parts, *part)
		}
	}
	return strings.Join(append(parts, h.Name), "/") + " by " + h.MatchedBy
}

// hitsOf searches, and names the hits.
func hitsOf(ctx context.Context, c *gql.Client, arguments string) (hits []searchHit, names []string, more bool, err error) {
	data, _, err := gql.Query[struct {
		Search struct {
			Hits    []searchHit
			HasMore bool
		}
	}](ctx, c, "{ search("+arguments+") { hits { type kind nodeId instance { name } clusterName namespace name matchedBy matchedText } hasMore freshness { stale } } }", nil)
	names = []string{}
	for i := range data.Search.Hits {
		names = append(names, data.Search.Hits[i].String())
	}
	return data.Search.Hits, names, data.Search.HasMore, err
}

// TestSearch finds objects of every type by what they can be found by, and every ID leads to its object.
func TestSearch(t *testing.T) {
	on := open(t)
	for _, tt := range []struct {
		arguments string
		first     []string
	}{
		{`text: "ALPHA", types: [INSTANCE]`, []string{"INSTANCE/alpha/alpha by NAME"}},
		{`text: "m3"`, []string{"CLUSTER/beta/m3 by NAME", "MEMBER_CLUSTER/beta/m3 by NAME"}},
		{`text: "ledger", first: 2`, []string{"WORKLOAD/beta/billing/ledger by NAME", "RESOURCE/beta/m3/billing/ledger by NAME"}},
		{`text: "billing", types: [POLICY]`, []string{"POLICY/beta/billing/billing by NAME"}},
		{`text: "ledger-", types: [POD]`, []string{"POD/beta/m3/billing/ledger-0 by NAME", "POD/beta/m3/billing/ledger-1 by NAME", "POD/beta/m3/billing/ledger-2 by NAME"}},
		{`text: "ops/agent:5.1.0", types: [WORKLOAD]`, []string{"WORKLOAD/alpha/ops/agent by IMAGE"}},
		{`text: "billing ledger", types: [WORKLOAD]`, []string{"WORKLOAD/beta/billing/ledger by TEXT"}},
		{`text: "m3-node-1", types: [NODE]`, []string{"NODE/beta/m3/m3-node-1 by NAME"}},
		{`text: "billing", types: [NAMESPACE]`, []string{"NAMESPACE/beta/billing by NAME", "NAMESPACE/beta/m3/billing by NAME"}},
		{`text: "ledger", types: [RESOURCE]`, []string{"RESOURCE/beta/m3/billing/ledger by NAME"}}, // The StatefulSet in the member.
		{`text: "ledger", types: []`, nil},
		{`text: "no-such-thing"`, nil},
		{`text: "%"`, nil},
	} {
		poll.Until(t, propagationTimeout, "it is found", func(ctx context.Context) error {
			hits, names, more, err := hitsOf(ctx, on.kairship, tt.arguments)
			if err != nil {
				return err
			}
			if len(names) < len(tt.first) || len(tt.first) == 0 && (len(names) > 0 || more) {
				return fmt.Errorf("%s: found %q", tt.arguments, names)
			}
			if diff := gocmp.Diff(tt.first, names[:len(tt.first):len(tt.first)]); diff != "" && len(tt.first) > 0 {
				return fmt.Errorf("%s (-want first +got):\n%s\nof %q", tt.arguments, diff, names)
			}
			for i := range hits {
				if (hits[i].NodeID == nil) != (hits[i].Type == "POD") {
					return fmt.Errorf("%s has the ID %v", names[i], hits[i].NodeID)
				}
				if hits[i].NodeID == nil {
					continue
				}
				type answer struct{ Node *struct{ ID string } }
				data, _, err := gql.Query[answer](ctx, on.kairship, "query($id: ID!) { node(id: $id) { id } }", map[string]any{"id": *hits[i].NodeID})
				if err != nil || data.Node == nil {
					return fmt.Errorf("the ID of %s leads nowhere: %w", names[i], err)
				}
			}
			return nil
		})
	}
	r := on.kairship.Must(t, gql.Request{Query: `{ search(text: "e", first: 1) { hits { name } hasMore } }`})
	if !strings.Contains(string(r.Body), `"hasMore":true`) {
		t.Errorf("there is more: %s", r.Body)
	}
	for _, arguments := range []string{`text: " "`, `text: "e", first: 0`, `text: "e", first: 101`} {
		if r := on.kairship.Must(t, gql.Request{Query: "{ search(" + arguments + ") { hits { name } } }"}); summaryOf(t, r) != "INVALID" {
			t.Errorf("%s: got %s", arguments, r.Body)
		}
	}
}

// TestSearchByUID finds a workload by its UID.
func TestSearchByUID(t *testing.T) {
	on := open(t)
	type answer struct {
		Pods struct{ Nodes []struct{ UID, Name string } }
	}
	data, _ := gql.MustQuery[answer](t, on.kairship, `{ pods(first: 1, filter: {name: ["ledger-0"]}) { nodes { uid name } } }`, nil)
	_, names, more, err := hitsOf(t.Context(), on.kairship, fmt.Sprintf("text: %q", data.Pods.Nodes[0].UID))
	if want := []string{"POD/beta/m3/billing/ledger-0 by UID"}; err != nil || more || !slices.Equal(names, want) {
		t.Errorf("got %q, %v", names, err)
	}
}

// TestSearchCosts: however many hits there are, each source is asked once.
func TestSearchCosts(t *testing.T) {
	on := open(t)
	for _, tt := range []struct {
		arguments string
		want      int
	}{{`text: "web", first: 1`, 5}, {`text: "e", first: 100`, 5}, {`text: "no-such-thing"`, 5}, {`text: "alpha", types: [INSTANCE, CLUSTER]`, 0}, {`text: "web", types: [WORKLOAD]`, 1}} {
		query := "{ search(" + tt.arguments + ") { hits { type nodeId instance { name state } name } hasMore freshness { stale } } }"
		if n := coldCost(t, on.kairship, query, nil); n != tt.want {
			t.Errorf("%s costs %d requests, want %d", tt.arguments, n, tt.want)
		}
	}
}

// TestSearchOfOneNamespace asks as a viewer of one namespace of alpha: they find what is in it, in the members that its workloads were sent to too, and nothing else.
func TestSearchOfOneNamespace(t *testing.T) {
	on := open(t)
	viewer := newPerson(t, on, viewerIn("alpha", "shop"))
	poll.Until(t, propagationTimeout, "the namespace is found", func(ctx context.Context) error {
		_, names, _, err := hitsOf(ctx, viewer.Client, `text: "frontend", first: 100`)
		if err != nil {
			return err
		}
		for _, want := range []string{"WORKLOAD/alpha/shop/frontend by NAME", "POLICY/alpha/shop/frontend by NAME", "RESOURCE/alpha/m1/shop/frontend by NAME"} {
			if !slices.Contains(names, want) {
				return fmt.Errorf("%s is not among %q", want, names)
			}
		}
		for _, text := range []string{"frontend", "shop", "e", "registry.example.com", "alpha", "m1", "m3"} {
			hits, names, _, err := hitsOf(ctx, viewer.Client, fmt.Sprintf("text: %q, first: 100", text))
			if err != nil {
				return err
			}
			for i := range hits {
				h := &hits[i]
				inShop := h.Namespace != nil && *h.Namespace == "shop" || h.Type == "NAMESPACE" && h.Name == "shop" || h.Type == "INSTANCE" || h.Type == "CLUSTER"
				if !inShop || h.Instance == nil || h.Instance.Name != "alpha" {
					return poll.Stop(fmt.Errorf("%q finds %s", text, names[i]))
				}
			}
		}
		for _, text := range []string{"agent", "ledger", "m3", "ops", "billing", "beta", "m1-node-1", "report"} {
			if _, names, more, err := hitsOf(ctx, viewer.Client, fmt.Sprintf("text: %q", text)); err != nil || more || len(names) > 0 {
				return fmt.Errorf("%q finds %q, %v", text, names, err)
			}
		}
		return nil
	})
}
