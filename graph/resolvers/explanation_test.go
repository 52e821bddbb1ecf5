package resolvers

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/pkg/fleet/explanation"
	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
)

// TestExplanationNamesWhatTheCallerMaySee checks that an explanation names and compares the policies that
// its caller may read, and no others.
func TestExplanationNamesWhatTheCallerMaySee(t *testing.T) {
	people := rolesIn{"admin": "*", "facts": "facts"}
	rows := slices.Collect(maps.Values(capturedRows(t, "override-replicas")))
	orphan := fleettest.Row(index.Deployments, "k-alpha", "facts", "orphan")
	orphan.Labels = map[string]string{"app": "orphan"}
	rows = append(rows, orphan)
	for _, p := range []struct {
		of              index.Type
		namespace, name string
	}{
		{index.PropagationPolicies, "facts", "near"}, {index.PropagationPolicies, "secret-space", "secret-other"}, {index.ClusterPropagationPolicies, "", "secret-wide"},
	} {
		r := fleettest.Row(p.of, "k-alpha", p.namespace, p.name)
		r.Body = map[string]any{"spec": map[string]any{"resourceSelectors": []any{
			map[string]any{"apiVersion": "apps/v1", "kind": "StatefulSet", "labelSelector": map[string]any{"matchLabels": map[string]string{"app": "orphan"}}},
		}}}
		rows = append(rows, r)
	}
	explained := func(person string) map[string]*explanation.Explanation {
		service, ctx := workloadsOf(t, people, person, rows...)
		c, err := service.ListInstance(ctx, "alpha", workload.ListArgs{}, workload.Needs{}.Explained())
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]*explanation.Explanation{}
		for _, w := range c.Nodes {
			x, err := service.Explainable(ctx, w.Base(), person == "admin")
			if err != nil {
				t.Fatal(err)
			}
			all[w.Base().Name()] = explanation.Explain(x)
		}
		return all
	}
	for person, want := range map[string]struct {
		near, overrides []string
	}{
		"admin": {[]string{"near", "secret-wide"}, []string{"m2 facts-mirror", "m2 override-replicas"}},
		"facts": {[]string{"near"}, []string{"m2 ", "m2 override-replicas"}},
	} {
		all := explained(person)
		if len(all) != 2 {
			t.Fatalf("%s: there are %d explanations", person, len(all))
		}
		var near, overrides []string
		for _, r := range all["orphan"].Steps[0].Reasons {
			if r.Policy != nil {
				near = append(near, r.Policy.Common().Name())
			}
		}
		for _, r := range all["override-replicas"].Steps[2].Reasons {
			if r.Code == explanation.OverrideApplied {
				name := ""
				if r.Override != nil {
					name = r.Override.Common().Name()
				}
				overrides = append(overrides, *r.ClusterName+" "+name)
			}
		}
		slices.Sort(near)
		if !slices.Equal(near, want.near) || !slices.Equal(overrides, want.overrides) {
			t.Errorf("%s: near misses %v, overrides %v, want %v and %v", person, near, overrides, want.near, want.overrides)
		}
		for name, e := range all {
			text := fmt.Sprintf("%+v", e)
			if strings.Contains(text, "secret-other") || (person == "facts" && (strings.Contains(text, "secret-") || strings.Contains(text, "facts-mirror"))) {
				t.Errorf("%s: %s: %s", person, name, text)
			}
		}
	}
}
