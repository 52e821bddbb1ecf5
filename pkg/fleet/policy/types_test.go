package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
	"github.com/kairship-io/kairship/pkg/fleet/policy"
	"github.com/kairship-io/kairship/pkg/index"
)

// kind makes a policy of one of the four kinds and reports about it.
type kind struct {
	of        index.Type
	namespace string
	make      func(o *index.Object) (any, error)
}

var kinds = []kind{
	{index.PropagationPolicies, "shop", func(o *index.Object) (any, error) {
		return policy.NewPropagation("alpha", o, freshness.Freshness{})
	}},
	{index.ClusterPropagationPolicies, "", func(o *index.Object) (any, error) {
		return policy.NewPropagation("alpha", o, freshness.Freshness{})
	}},
	{index.OverridePolicies, "shop", func(o *index.Object) (any, error) { return policy.NewOverride("alpha", o, freshness.Freshness{}) }},
	{index.ClusterOverridePolicies, "", func(o *index.Object) (any, error) { return policy.NewOverride("alpha", o, freshness.Freshness{}) }},
}

// Each kind becomes a type of its own, with its own ID, and says all it says.
func TestPolicies(t *testing.T) {
	for _, k := range kinds {
		for _, detail := range []index.Detail{index.Whole, index.Metadata} {
			row := fleettest.Row(k.of, "k-alpha", k.namespace, "p")
			row.Body = map[string]any{"spec": map[string]any{
				"resourceSelectors": []any{map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
			}}
			got, err := k.make(fleettest.Object(t, row, detail))
			if err != nil {
				t.Fatal(err)
			}
			var common *policy.Policy
			var selectors []policyv1alpha1.ResourceSelector
			known := false
			switch p := got.(type) {
			case policy.PropagationPolicyLike:
				common, known = p.Common(), p.PropagationSpec() != nil
				if known {
					selectors = p.PropagationSpec().ResourceSelectors
				}
			case policy.OverridePolicyLike:
				common, known = p.Common(), p.OverrideSpec() != nil
				if known {
					selectors = p.OverrideSpec().ResourceSelectors
				}
			}
			name := strings.TrimPrefix(fmt.Sprintf("%T", got), "*policy.")
			if name != k.of.Kind {
				t.Errorf("%s became a %s", k.of.Kind, name)
			}
			id, err := nodeid.Parse(common.ID())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(nodeid.ID{Type: k.of.Kind, Parts: []string{"alpha", k.namespace, "p"}}, id); diff != "" {
				t.Errorf("%s: ID (-want +got):\n%s", k.of.Kind, diff)
			}
			if namespace := common.NamespaceOrNil(); (namespace == nil) != (k.namespace == "") {
				t.Errorf("%s: namespace %v", k.of.Kind, namespace)
			}
			if known != (detail == index.Whole) {
				t.Errorf("%s, detail %d: says something: %v", k.of.Kind, detail, known)
			}
			want := []policyv1alpha1.ResourceSelector{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}}
			if diff := cmp.Diff(want, selectors); known && diff != "" {
				t.Errorf("%s: spec (-want +got):\n%s", k.of.Kind, diff)
			}
		}
	}
}

// What can't be read is an error for the log, which says where it is.
func TestPoliciesThatCannotBeRead(t *testing.T) {
	for _, k := range kinds {
		row := fleettest.Row(k.of, "k-alpha", k.namespace, "p")
		row.Body = map[string]any{"spec": "nothing of the sort"}
		_, err := k.make(fleettest.Object(t, row, index.Whole))
		if err == nil || apierror.CodeOf(err) != apierror.CodeInternal {
			t.Errorf("%s: got %v", k.of.Kind, err)
			continue
		}
		if want := "reading " + k.of.Kind + " " + k.namespace + "/p of instance alpha: "; !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %q, want %q first", k.of.Kind, err, want)
		}
	}
}
