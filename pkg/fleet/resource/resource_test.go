package resource

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
)

func TestKindsThatCanBe(t *testing.T) {
	for _, tt := range []struct {
		kind     Kind
		argument string
		why      string
	}{
		{Kind{"", "v1", "configmaps"}, "", "the core group has no name"},
		{Kind{"apps", "v1", "deployments"}, "", "a group of Kubernetes"},
		{Kind{"policy.karmada.io", "v1alpha1", "propagationpolicies"}, "", "a group with dots"},
		{Kind{"Apps", "v1", "deployments"}, "group", "groups are in lower case"},
		{Kind{"apps/v1", "v1", "deployments"}, "group", "that is an apiVersion"},
		{Kind{"apps,batch", "v1", "deployments"}, "group", "a comma would ask for more"},
		{Kind{"*", "v1", "deployments"}, "group", "that would be all groups"},
		{Kind{"apps", "", "deployments"}, "version", "a version has to be named"},
		{Kind{"apps", "1", "deployments"}, "version", "versions begin with a letter"},
		{Kind{"apps", "v1/x", "deployments"}, "version", "no version has a slash"},
		{Kind{"apps", "v1", ""}, "resource", "a kind has to be named"},
		{Kind{"apps", "v1", "Deployment"}, "resource", "that is the kind, not its plural"},
		{Kind{"apps", "v1", "deployments/status"}, "resource", "parts of objects are not collected"},
		{Kind{"apps", "v1", "deployments,/v1/secrets"}, "resource", "a comma would ask for more"},
	} {
		err := tt.kind.Validate()
		if tt.argument == "" {
			if err != nil {
				t.Errorf("%v: %v: %s", tt.kind, err, tt.why)
			}
			continue
		}
		var e *apierror.Error
		if !errors.As(err, &e) || e.Code != apierror.CodeInvalid || e.Argument != tt.argument || !strings.Contains(e.Message, "give for example") {
			t.Errorf("%v: got %v, want %s to be refused: %s", tt.kind, err, tt.argument, tt.why)
		}
	}
}

// A kind that can't be is refused before the index is asked.
func TestWhatCannotBeIsNotAskedFor(t *testing.T) {
	s := NewService(&listing.Lister{}, nil, Members{}, nil) // Would panic if it were asked.
	if _, err := s.List(t.Context(), "alpha", Kind{Version: "v1"}, page.Args{}, nil, nil, false, index.Whole); !apierror.Is(err, apierror.CodeInvalid) {
		t.Errorf("list: got %v", err)
	}
	if _, err := s.Get(t.Context(), "alpha", Kind{Resource: "configmaps"}, nil, "x"); !apierror.Is(err, apierror.CodeInvalid) {
		t.Errorf("get: got %v", err)
	}
	s.Prefetch(t.Context(), []string{"alpha"}, Kind{}, page.Args{}, nil, nil, false, index.Whole, nil)
}

func TestIDs(t *testing.T) {
	configMaps := index.Type{Version: "v1", Resource: "configmaps", Kind: "ConfigMap"}
	for _, tt := range []struct {
		of        index.Type
		namespace string
		want      nodeid.ID
		nowhere   bool
	}{
		{configMaps, "shop", nodeid.ID{Type: TypeName, Parts: []string{"alpha", "", "v1", "configmaps", "shop", "x"}}, false},
		{index.ClusterPropagationPolicies, "", nodeid.ID{Type: TypeName, Parts: []string{"alpha", "policy.karmada.io", "v1alpha1", "clusterpropagationpolicies", "", "x"}}, true},
	} {
		o := fleettest.Object(t, fleettest.Row(tt.of, "k-alpha", tt.namespace, "x"), index.Metadata)
		r := New("alpha", Kind{tt.of.Group, tt.of.Version, tt.of.Resource}, o, freshness.Freshness{})
		got, err := nodeid.Parse(r.ID())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if namespace := r.NamespaceOrNil(); (namespace == nil) != tt.nowhere {
			t.Errorf("%s: namespace %v", tt.of.Kind, namespace)
		}
	}
}
