package resource

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
)

// joined are the member clusters of instances that the user sees.
type joined map[string][]string

func (j joined) Joined(context.Context) (map[string][]string, error) { return j, nil }

func memberService(t *testing.T, i *indexed) *Service {
	t.Helper()
	clock := func() time.Time { return time.Unix(1000, 0) }
	inventory := fleettest.Inventory(t)
	tracker := &freshness.Tracker{Inventory: inventory, Now: clock, Collector: freshness.NewHeartbeat(clock), Global: freshness.NewHeartbeat(clock)}
	return NewService(&listing.Lister{Reader: i, Freshness: tracker, Now: clock}, nil, Members{Clusters: joined{"alpha": {"m1", "m2"}, "beta": {"m3"}}, Watched: inventory}, nil)
}

var (
	services = Kind{Version: "v1", Resource: "services"}
	inM1     = object.Name{Instance: "alpha", Name: "m1"}
)

// TestKindsOfMembers lists each kind that is collected of members, and refuses others before anything
// is asked for.
func TestKindsOfMembers(t *testing.T) {
	for _, of := range []Kind{
		services, {"", "v1", "pods"}, {"", "v1", "nodes"}, {"", "v1", "namespaces"}, {"", "v1", "events"},
		{"apps", "v1", "deployments"}, {"apps", "v1", "statefulsets"}, {"apps", "v1", "daemonsets"}, {"apps", "v1", "replicasets"}, {"apps", "v1", "controllerrevisions"},
		{"batch", "v1", "jobs"}, {"batch", "v1", "cronjobs"}, {"", "v1", "persistentvolumeclaims"}, {"autoscaling", "v2", "horizontalpodautoscalers"},
		{"networking.k8s.io", "v1", "ingresses"}, {"networking.k8s.io", "v1", "ingressclasses"},
	} {
		i := &indexed{}
		if _, err := memberService(t, i).ListInMember(t.Context(), inM1, []index.Type{of.Type()}, page.Args{}, nil, nil, false, index.Metadata); err != nil || i.asked != 1 {
			t.Errorf("%v: %v after %d requests", of, err, i.asked)
		}
	}
	for _, of := range []Kind{
		{"", "v1", "secrets"}, {"", "v1", "configmaps"}, {"apps", "v1beta1", "deployments"}, {"", "v1", "deployments"}, {"", "v1", "Services"}, {"apps/v1", "v1", "deployments"}, {},
	} {
		i := &indexed{}
		s := memberService(t, i)
		_, err := s.ListInMember(t.Context(), inM1, []index.Type{of.Type()}, page.Args{}, nil, nil, false, index.Metadata)
		s.PrefetchInMembers(t.Context(), []object.Name{inM1}, []index.Type{of.Type()}, page.Args{}, nil, nil, false, index.Metadata)
		if !apierror.Is(err, apierror.CodeInvalid) || i.asked+len(i.ahead) > 0 {
			t.Errorf("%v: got %v after %d requests", of, err, i.asked+len(i.ahead))
		}
		if of.Validate() == nil && !strings.Contains(err.Error(), "pods, nodes, services, namespaces, events, persistentvolumeclaims of v1; deployments") {
			t.Errorf("%v: %q does not name the kinds", of, err)
		}
	}
}

// TestOnlyMembersOfTheInstance asks for clusters that are not the instance's, or not the caller's: the
// index is not asked, and the answer does not show whether another instance has one of that name.
func TestOnlyMembersOfTheInstance(t *testing.T) {
	for _, name := range []string{"m3", "m9", "k-alpha", "k-beta", ""} {
		i := &indexed{items: []*index.Object{fleettest.Object(t, fleettest.Row(index.Deployments, "m3", "shop", "web"), index.Metadata)}}
		s, in := memberService(t, i), object.Name{Instance: "alpha", Name: name}
		c, err := s.ListInMember(t.Context(), in, []index.Type{services.Type()}, page.Args{}, nil, nil, true, index.Metadata)
		if err != nil {
			t.Fatal(err)
		}
		s.PrefetchInMembers(t.Context(), []object.Name{in}, []index.Type{services.Type()}, page.Args{}, nil, nil, true, index.Metadata)
		want := "objects of " + name + " are not collected: the inventory has no such cluster in this instance"
		if i.asked+len(i.ahead) > 0 || len(c.Nodes) > 0 || c.TotalCount != nil || !c.Freshness.Stale || c.Freshness.ObservedAt != nil || *c.Freshness.Message != want {
			t.Errorf("%q: %d requests, %+v", name, i.asked+len(i.ahead), c)
		}
		if one, err := s.GetInMember(t.Context(), in, services, "shop", "web"); one != nil || err != nil {
			t.Errorf("%q: got %+v, %v", name, one, err)
		}
	}
	_, err := memberService(t, &indexed{}).ListInMember(t.Context(), object.Name{Instance: "alpha", Name: "m9"}, []index.Type{services.Type()}, page.Args{First: new(0)}, nil, nil, false, index.Metadata)
	if e, ok := errors.AsType[*apierror.Error](err); !ok || e.Argument != "first" {
		t.Errorf("arguments are checked in any case: %v", err)
	}
}

// TestMembersAreReadTogether prefetches with one call what is asked of several members.
func TestMembersAreReadTogether(t *testing.T) {
	i := &indexed{}
	memberService(t, i).PrefetchInMembers(t.Context(), []object.Name{inM1, {Instance: "alpha", Name: "m9"}, {Instance: "beta", Name: "m3"}}, []index.Type{services.Type()}, page.Args{}, nil, nil, false, index.Metadata)
	if !slices.Equal(i.ahead, []index.Part{{Cluster: "m1"}, {Cluster: "m3"}}) {
		t.Errorf("%v was read ahead", i.ahead)
	}
}

// TestInMember: an object says where it is, and its ID does too. A cursor of one member is refused by
// another.
func TestInMember(t *testing.T) {
	i := &indexed{items: []*index.Object{fleettest.Object(t, fleettest.Row(index.Deployments, "m1", "shop", "web"), index.Metadata)}}
	s, deployments := memberService(t, i), Kind{"apps", "v1", "deployments"}
	c, err := s.ListInMember(t.Context(), inM1, []index.Type{deployments.Type()}, page.Args{}, nil, nil, true, index.Metadata)
	if err != nil || len(c.Nodes) != 1 {
		t.Fatalf("%+v, %v", c, err)
	}
	r := c.Nodes[0]
	id, err := nodeid.Parse(r.ID())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(nodeid.ID{Type: InMember, Parts: []string{"alpha", "m1", "apps", "v1", "deployments", "shop", "web"}}, id); diff != "" || *r.ClusterName() != "m1" || r.InstanceName() != "alpha" {
		t.Errorf("%+v is in %s of %s (-want +got):\n%s", r, *r.ClusterName(), r.InstanceName(), diff)
	}
	if !c.Freshness.Stale || !strings.Contains(*c.Freshness.Message, "m1") && !strings.Contains(*c.Freshness.Message, "collector") {
		t.Errorf("what is not collected is %+v", c.Freshness)
	}
	if _, err := s.ListInMember(t.Context(), object.Name{Instance: "alpha", Name: "m2"}, []index.Type{deployments.Type()}, page.Args{After: c.PageInfo.EndCursor}, nil, nil, true, index.Metadata); err == nil || !strings.Contains(err.Error(), "another list") {
		t.Errorf("the cursor of another member: %v", err)
	}
	if one := New("alpha", deployments, i.items[0], freshness.Freshness{}); one.ClusterName() != nil || one.ManagedBy() != nil {
		t.Errorf("an object of the instance is in %v, managed by %v", one.ClusterName(), one.ManagedBy())
	}
}

func TestManagedBy(t *testing.T) {
	managed := map[string]string{"karmada.io/managed": "true"}
	work := func(namespace, name string) map[string]string {
		return map[string]string{"work.karmada.io/namespace": namespace, "work.karmada.io/name": name}
	}
	for _, tt := range []struct {
		labels, annotations map[string]string
		want                *ManagedBy
		why                 string
	}{
		{managed, work("karmada-es-m1", "web-5f"), &ManagedBy{"karmada-es-m1", "web-5f"}, "Karmada put it there"},
		{nil, nil, nil, "another user did"},
		{nil, work("karmada-es-m1", "web-5f"), nil, "Karmada gives the label too"},
		{managed, nil, nil, "no Work is named"},
		{managed, work("karmada-es-m1", ""), nil, "no Work is named"},
		{managed, work("karmada-es-m2", "web-5f"), nil, "it was put there under another name of the cluster, by another instance"},
	} {
		row := fleettest.Row(index.Deployments, "m1", "shop", "web")
		row.Labels, row.Annotations = tt.labels, tt.annotations
		r := New("alpha", Kind{"apps", "v1", "deployments"}, fleettest.Object(t, row, index.Metadata), freshness.Freshness{})
		r.member = "m1"
		if diff := cmp.Diff(tt.want, r.ManagedBy()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.why, diff)
		}
	}
}
