package resource

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/collection"
	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
)

type visible []string

func (v visible) Names(context.Context) ([]string, error) { return slices.Clone(v), nil }

// some are instances of which each answers in its own way what it serves.
type some struct {
	live

	answers map[string]error
}

func (s *some) Check(_ context.Context, instance string, _ schema.GroupVersionResource) error {
	return s.answers[instance]
}

func TestListEverywhere(t *testing.T) {
	down := apierror.New(apierror.CodeInstanceUnavailable, "it does not answer")
	unserved := apierror.Invalid("resource", "no such kind")
	whole, arriving := collection.Whole, collection.Arriving
	for _, tt := range []struct {
		reason string
		state  map[string]collection.State
		says   map[string]error
		only   []string
		// listed are the clusters of the index that are asked; lacking is what is said of others.
		listed, lacking []string
		failed          error
	}{
		{reason: "all are collected", state: map[string]collection.State{"alpha": whole, "beta": whole}, listed: []string{"k-alpha", "k-beta"}},
		{reason: "some are asked for, and one that is not seen", state: map[string]collection.State{"alpha": whole, "beta": whole}, only: []string{"beta", "gamma"}, listed: []string{"k-beta"}},
		{reason: "none is asked for", state: map[string]collection.State{"alpha": whole, "beta": whole}, only: []string{}},
		{reason: "one serves it and is not collected", state: map[string]collection.State{"alpha": whole}, listed: []string{"k-alpha"}, lacking: []string{`of instance "beta", so they are not in this list`}},
		{reason: "one does not serve it", state: map[string]collection.State{"alpha": whole}, says: map[string]error{"beta": unserved}, listed: []string{"k-alpha"}},
		{reason: "one does not answer", state: map[string]collection.State{"alpha": whole}, says: map[string]error{"beta": down}, listed: []string{"k-alpha", "k-beta"}},
		{reason: "one begins to be collected", state: map[string]collection.State{"alpha": whole, "beta": arriving}, listed: []string{"k-alpha", "k-beta"}, lacking: []string{`of instance "beta" are being collected`}},
		{reason: "none serves it", says: map[string]error{"alpha": unserved, "beta": unserved}, failed: unserved},
		{reason: "one does not serve it, the other does not answer", says: map[string]error{"alpha": unserved, "beta": down}, failed: unserved},
		{reason: "one does not serve it, the other is not collected", says: map[string]error{"alpha": unserved}, lacking: []string{`of instance "beta", so they are not in this list`}},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			clock := func() time.Time { return time.Unix(1000, 0) }
			i, inventory := &indexed{items: []*index.Object{fleettest.Object(t, fleettest.Row(index.Deployments, "k-beta", "shop", "web"), index.Metadata)}}, fleettest.Inventory(t)
			tracker := &freshness.Tracker{Inventory: inventory, Now: clock, Collector: freshness.NewHeartbeat(clock), Global: freshness.NewHeartbeat(clock)}
			s := NewService(&listing.Lister{Reader: i, Freshness: tracker, Now: clock}, &some{live{state: tt.state}, tt.says}, Members{}, visible{"alpha", "beta"})
			c, lacking, err := s.ListEverywhere(t.Context(), tt.only, Kind{"apps", "v1", "deployments"}, page.Args{}, nil, nil, true, index.Metadata)
			if !errors.Is(err, tt.failed) {
				t.Fatalf("it failed with %v, want %v", err, tt.failed)
			}
			if !slices.Equal(i.clusters, tt.listed) {
				t.Errorf("the index was asked of %v, want %v", i.clusters, tt.listed)
			}
			if !slices.EqualFunc(lacking, tt.lacking, func(err error, want string) bool { return strings.Contains(err.Error(), want) }) {
				t.Errorf("said of others: %v, want %q", lacking, tt.lacking)
			}
			switch {
			case err != nil:
			case tt.listed != nil && (len(c.Nodes) != 1 || c.Nodes[0].InstanceName() != "beta"):
				t.Errorf("listed: %+v", c.Nodes)
			case tt.listed == nil && tt.lacking != nil && !c.Freshness.Stale:
				t.Errorf("an empty list that was not observed is as of now: %+v", c.Freshness)
			}
		})
	}
}
