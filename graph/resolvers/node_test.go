package resolvers

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
)

// valid are parts that an ID of each type may have; the first is the instance.
var valid = map[string][]string{
	"Instance": {"alpha"}, "Cluster": {"m1"}, "MemberCluster": {"alpha", "m1"}, "Namespace": {"alpha", "shop"},
	"Workload": {"alpha", "DEPLOYMENT", "shop", "web"}, "ResourceBinding": {"alpha", "shop", "web"},
	"Resource":          {"alpha", "", "v1", "configmaps", "shop", "web"},
	"ResourceInMember":  {"alpha", "of-alpha", "", "v1", "services", "shop", "web"},
	"PropagationPolicy": {"alpha", "shop", "p"}, "ClusterPropagationPolicy": {"alpha", "", "p"},
	"OverridePolicy": {"alpha", "shop", "p"}, "ClusterOverridePolicy": {"alpha", "", "p"},
	"FederatedHPA": {"alpha", "shop", "p"}, "CronFederatedHPA": {"alpha", "shop", "p"}, "MultiClusterService": {"alpha", "shop", "p"},
	"FederatedResourceQuota": {"alpha", "shop", "p"}, "WorkloadRebalancer": {"alpha", "", "p"},
}

func TestNodesOfEveryTypeAreLookedFor(t *testing.T) {
	if got, want := slices.Sorted(maps.Keys(finders)), slices.Sorted(maps.Keys(valid)); !slices.Equal(got, want) {
		t.Fatalf("finders %v, tested %v", got, want)
	}
	for typ, parts := range valid {
		for _, tt := range []struct {
			name string
			id   string
			// code is of the error; empty where the answer is null.
			code  apierror.Code
			asks  bool
			exist bool
			why   string
		}{
			{name: "right", id: nodeid.New(typ, parts...), asks: typ != "Instance" && typ != "Cluster", exist: typ == "Instance", why: "it is looked for"},
			{name: "a part too few", id: nodeid.New(typ, parts[:len(parts)-1]...), code: apierror.CodeInvalid, why: "no object has such a name"},
			{name: "a part too many", id: nodeid.New(typ, append(slices.Clone(parts), "x")...), code: apierror.CodeInvalid, why: "no object has such a name"},
			{name: "no parts", id: nodeid.New(typ), code: apierror.CodeInvalid, why: "no object has such a name"},
			{name: "another instance", id: nodeid.New(typ, append([]string{"gone"}, parts[1:]...)...), why: "an object of a deleted instance no longer exists"},
		} {
			r := &reader{}
			resp := run(t, fleetOf(t, r), nil, `query($id: ID!) { node(id: $id) { id } }`, `{"id": "`+tt.id+`"}`)
			switch {
			case tt.code == "" && len(resp.Errors) > 0:
				t.Errorf("%s, %s: %v: %s", typ, tt.name, resp.Errors, tt.why)
			case tt.code != "" && (len(resp.Errors) != 1 || apierror.CodeOf(resp.Errors[0]) != tt.code):
				t.Errorf("%s, %s: got %s %v, want %s: %s", typ, tt.name, resp.Data, resp.Errors, tt.code, tt.why)
			case tt.code == "" && strings.Contains(string(resp.Data), tt.id) != tt.exist:
				t.Errorf("%s, %s: got %s: %s", typ, tt.name, resp.Data, tt.why)
			}
			if asked := r.objects+len(r.asked) > 0; asked != tt.asks {
				t.Errorf("%s, %s: the index was asked: %v, want %v: %s", typ, tt.name, asked, tt.asks, tt.why)
			}
		}
	}
}

func TestNodesThatCannotBe(t *testing.T) {
	for _, tt := range []struct{ name, id, why string }{
		{"garbage", "garbage", "it is no ID"},
		{"nothing", "", "it is no ID"},
		{"a type without IDs", nodeid.New("Viewer", "admin"), "nothing of this type can be looked for"},
		{"the GraphQL type of a workload", nodeid.New("Deployment", "alpha", "DEPLOYMENT", "shop", "web"), "workloads have one kind of ID"},
		{"a kind that is no workload", nodeid.New("Workload", "alpha", "REPLICA_SET", "shop", "web"), "there is no such kind"},
		{"a kind as Kubernetes calls it", nodeid.New("Workload", "alpha", "Deployment", "shop", "web"), "there is no such kind"},
		{"a kind that is not collected of members", nodeid.New("ResourceInMember", "alpha", "of-alpha", "", "v1", "secrets", "shop", "x"), "Secrets in members are not shown"},
		{"a kind of object that can't be", nodeid.New("Resource", "alpha", "*", "v1", "secrets", "shop", "x"), "no group is called so"},
	} {
		r := &reader{}
		resp := run(t, fleetOf(t, r), nil, `query($id: ID!) { node(id: $id) { id } }`, `{"id": "`+tt.id+`"}`)
		if len(resp.Errors) != 1 || apierror.CodeOf(resp.Errors[0]) != apierror.CodeInvalid || !strings.HasPrefix(resp.Errors[0].Message, "id: ") {
			t.Errorf("%s: got %s %v; want id to be refused: %s", tt.name, resp.Data, resp.Errors, tt.why)
		}
		if r.objects+len(r.asked)+r.lists > 0 {
			t.Errorf("%s: the index was asked", tt.name)
		}
	}
}

// A nil pointer in an interface would be an object of nothing.
func TestFound(t *testing.T) {
	if n, err := found[*nothing](nil, nil); n != nil || err != nil {
		t.Errorf("got %v, %v", n, err)
	}
	if n, err := found(&nothing{}, apierror.New(apierror.CodeTimeout, "late")); n != nil || err == nil {
		t.Errorf("got %v, %v", n, err)
	}
	here := &nothing{}
	if n, err := found(here, nil); n != here || err != nil {
		t.Errorf("got %v, %v", n, err)
	}
}

type nothing struct{}

func (*nothing) IsNode() {}
