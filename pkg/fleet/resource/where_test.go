package resource

import (
	"context"
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
	"github.com/kairship-io/kairship/pkg/fleet/uncollected"
	"github.com/kairship-io/kairship/pkg/index"
)

// indexed is an index with these objects.
type indexed struct {
	index.Reader

	items []*index.Object
	asked int
	ahead []index.Part
	// clusters are those that the last list was of.
	clusters []string
}

func (i *indexed) PageOf(context.Context, index.Part, index.ListQuery) (*index.Page, error) {
	i.asked++
	return &index.Page{Items: i.items}, nil
}

func (i *indexed) List(_ context.Context, q index.ListQuery) (*index.Page, error) {
	i.asked++
	i.clusters = q.Clusters
	return &index.Page{Items: i.items}, nil
}

func (i *indexed) PrefetchPages(_ context.Context, parts []index.Part, _ index.ListQuery, _ func(map[index.Part]*index.Page)) {
	i.ahead = append(i.ahead, parts...)
}

// live is an instance, as far as the service sees it.
type live struct {
	state          map[string]collection.State
	refuses, fails error
	asked          int
}

func (l *live) Collected(_ context.Context, instance string, _ schema.GroupVersionResource) (collection.State, error) {
	return l.state[instance], nil
}

func (l *live) Check(context.Context, string, schema.GroupVersionResource) error { return l.refuses }

func (l *live) ResourceOf(_ context.Context, _ string, of schema.GroupVersionKind) (schema.GroupVersionResource, error) {
	return of.GroupVersion().WithResource(strings.ToLower(of.Kind) + "s"), l.refuses
}

func (l *live) ListOne(context.Context, listing.Request) (*listing.Result, error) {
	l.asked++
	if l.fails != nil {
		return nil, l.fails
	}
	return &listing.Result{Freshness: freshness.LiveAt(time.Unix(0, 0))}, nil
}

func TestWhereItIsRead(t *testing.T) {
	down := apierror.New(apierror.CodeInstanceUnavailable, "it does not answer")
	unknown := apierror.Wrap(uncollected.ErrNotServed, apierror.CodeInvalid, "no such kind")
	for _, tt := range []struct {
		why            string
		state          collection.State
		refuses, fails error
		had            int
		index, live    int
		code           apierror.Code
		source         freshness.Source
		stale          bool
	}{
		{"what is collected costs the instance nothing, also when it would refuse", collection.Whole, unknown, down, 0, 1, 0, "", freshness.SourceIndex, true},
		{"what is not collected is read from the instance", collection.None, nil, nil, 1, 0, 1, "", freshness.SourceLive, false},
		{"what is not served is refused", collection.None, unknown, nil, 1, 0, 0, apierror.CodeInvalid, "", false},
		{"an instance that is down is an error", collection.None, nil, down, 1, 0, 1, apierror.CodeInstanceUnavailable, "", false},
		{"what the index has of a kind that arrives is as old as it says", collection.Arriving, nil, down, 1, 1, 0, "", freshness.SourceIndex, true},
		{"that it has nothing yet is no answer: the instance is asked", collection.Arriving, nil, nil, 0, 1, 1, "", freshness.SourceLive, false},
		{"and is an error when it is down", collection.Arriving, nil, down, 0, 1, 1, apierror.CodeInstanceUnavailable, "", false},
		{"or does not serve the kind any more", collection.Arriving, unknown, nil, 0, 1, 0, apierror.CodeInvalid, "", false},
	} {
		i, l := &indexed{}, &live{state: map[string]collection.State{"alpha": tt.state}, refuses: tt.refuses, fails: tt.fails}
		for range tt.had {
			i.items = append(i.items, fleettest.Object(t, fleettest.Row(index.Pods, "k-alpha", "shop", "x"), index.Metadata))
		}
		c, err := service(t, i, l).List(t.Context(), "alpha", Kind{Version: "v1", Resource: "pods"}, page.Args{}, nil, nil, true, index.Metadata)
		if i.asked != tt.index || l.asked != tt.live {
			t.Errorf("%s: the index was asked %d times and the instance %d times", tt.why, i.asked, l.asked)
		}
		if tt.code != "" {
			if !apierror.Is(err, tt.code) {
				t.Errorf("%s: got %v", tt.why, err)
			}
			continue
		}
		if err != nil || c.Freshness.Source != tt.source || c.Freshness.Stale != tt.stale {
			t.Errorf("%s: got %+v, %v", tt.why, c, err)
		}
	}
}

// A kind that is named as in manifests is refused with its plural, and nothing is read.
func TestKindsAsManifestsNameThem(t *testing.T) {
	unserved := apierror.Invalid("resource", "did you mean deployments?")
	for _, tt := range []struct {
		of    Kind
		check error
		want  string
	}{
		{Kind{"apps", "v1", "Deployment"}, unserved, "did you mean"},
		{Kind{"apps", "v1", "Deployment"}, nil, "give for example"},
		{Kind{"apps", "v1", "Deployment"}, apierror.New(apierror.CodeInstanceUnavailable, "away"), "give for example"},
		{Kind{"apps", "v1", "../Secrets"}, unserved, "give for example"},
		{Kind{"Apps", "v1", "Deployment"}, unserved, "give for example"},
	} {
		i, l := &indexed{}, &live{refuses: tt.check}
		_, err := service(t, i, l).List(t.Context(), "alpha", tt.of, page.Args{}, nil, nil, true, index.Metadata)
		if !apierror.Is(err, apierror.CodeInvalid) || !strings.Contains(err.Error(), tt.want) || i.asked+l.asked > 0 {
			t.Errorf("%v: got %v after %d requests, want %q", tt.of, err, i.asked+l.asked, tt.want)
		}
	}
}

// Only the index is read ahead.
func TestOnlyWhatIsCollectedIsReadAhead(t *testing.T) {
	i := &indexed{}
	l := &live{state: map[string]collection.State{"alpha": collection.Whole, "beta": collection.None, "gamma": collection.Arriving}}
	s := service(t, i, l)
	s.Prefetch(t.Context(), []string{"alpha", "beta", "gamma"}, Kind{Version: "v1", Resource: "pods"}, page.Args{}, nil, nil, false, index.Metadata, nil)
	if len(i.ahead) != 2 || i.ahead[0].Cluster != "k-alpha" || i.ahead[1].Cluster != "k-gamma" || l.asked != 0 {
		t.Errorf("%v was read ahead, and instances were asked %d times", i.ahead, l.asked)
	}
	for name, want := range map[string]bool{"alpha": true, "beta": false, "gamma": true} {
		if has, err := s.Indexed(t.Context(), name, Kind{Version: "v1", Resource: "pods"}); err != nil || has != want {
			t.Errorf("%s: %v, %v", name, has, err)
		}
	}
}

func service(t *testing.T, i *indexed, l *live) *Service {
	t.Helper()
	clock := func() time.Time { return time.Unix(1000, 0) }
	tracker := &freshness.Tracker{Inventory: fleettest.Inventory(t), Now: clock, Collector: freshness.NewHeartbeat(clock), Global: freshness.NewHeartbeat(clock)}
	return NewService(&listing.Lister{Reader: i, Freshness: tracker, Now: clock}, l, Members{}, nil)
}
