package resolvers

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/fleet/policy"
	"github.com/kairship-io/kairship/pkg/fleet/resource"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
)

// What one workload needs is said by what is selected on it.
func TestWhatOneWorkloadNeeds(t *testing.T) {
	for _, tt := range []struct {
		selection string
		want      workload.Needs
	}{
		{`name`, least()},
		{`health ... on Deployment { images }`, more(known, status)},
		{`placements { object { pods { name } yaml } }`, more(status, pods, wholeObjects)},
	} {
		var got workload.Needs
		answered(t, world().with(intercept{"Instance.workload": func(ctx context.Context, _ *graphql.FieldContext) (any, error) {
			got = workloadNeeds(ctx)
			return nil, nil
		}}), `{ instance(name: "alpha") { workload(kind: DEPLOYMENT, namespace: "shop", name: "web") { `+tt.selection+` } } }`, "")
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.selection, diff)
		}
	}
}

// What objects of any kind need is said by what is selected on them.
func TestWhatResourcesNeed(t *testing.T) {
	for _, tt := range []struct {
		selection string
		detail    index.Detail
		count     bool
	}{
		{`nodes { name labels { key } }`, index.Metadata, false},
		{`nodes { manifest } totalCount`, index.Whole, true},
		{`edges { node { text: yaml } }`, index.Whole, false},
		{`nodes { manifest @include(if: false) }`, index.Metadata, false},
		{`pageInfo { hasNextPage }`, index.Metadata, false},
	} {
		answered(t, world().with(intercept{"Instance.resources": func(ctx context.Context, _ *graphql.FieldContext) (any, error) {
			if detail, count := itemDetail(ctx), wantsCount(ctx); detail != tt.detail || count != tt.count {
				t.Errorf("%s: detail %d, count %v; want %d, %v", tt.selection, detail, count, tt.detail, tt.count)
			}
			return page.Unread[*resource.Resource](""), nil
		}}), `{ instance(name: "alpha") { resources(version: "v1", resource: "configmaps") { `+tt.selection+` } } }`, "")
	}
}

// A field asks for no more of an object than was read ahead for it; it would be
// read twice.
func TestWhatIsReadAheadSuffices(t *testing.T) {
	for _, selection := range []string{
		`policy { name }`,
		`policy { ... on PropagationPolicy { spec { preemption } } }`,
		`a: policy { name } b: policy { ...P }`,
		`a: policy { name } b: policy { ... @include(if: false) { ... on PropagationPolicy { spec { preemption } } } }`,
		`... on Deployment { policy { ...P } } ... on Job { policy { name } }`,
		`placements { object { name } p: object { pods { name } } }`,
		`placements { object { ... on MemberObject { manifest } } }`,
		`x: placements { object { yaml } } y: placements { object { name } }`,
	} {
		var ahead workload.Needs
		var asked atomic.Int64 // Fields are resolved side by side.
		answers := world()
		deployments := answers["Query.workloads"]
		answers = answers.with(intercept{
			"Query.workloads": func(ctx context.Context, fc *graphql.FieldContext) (any, error) {
				ahead = connectionNeeds(ctx)
				return deployments(ctx, fc)
			},
			"Deployment.policy": func(ctx context.Context, _ *graphql.FieldContext) (any, error) {
				asked.Add(1)
				if here := detailOf(policyDetail).here(ctx); !ahead.Policy || here < ahead.PolicyDetail {
					t.Errorf("%s: policy: asks for detail %d, read ahead %v: %d", selection, here, ahead.Policy, ahead.PolicyDetail)
				}
				return nil, nil
			},
			"Placement.object": func(ctx context.Context, _ *graphql.FieldContext) (any, error) {
				asked.Add(1)
				if here := detailOf(objectDetail).here(ctx); here < ahead.ObjectDetail {
					t.Errorf("%s: object: asks for detail %d, read ahead %d", selection, here, ahead.ObjectDetail)
				}
				return nil, nil
			},
		})
		query := `{ workloads { nodes { ` + selection + ` } } }`
		if strings.Contains(selection, "...P") {
			query += ` fragment P on PropagationPolicyLike { name ... on PropagationPolicy { spec { preemption } } }`
		}
		answered(t, answers, query, "")
		if asked.Load() == 0 {
			t.Errorf("%s: nothing was asked", selection)
		}
	}
}

// A policy of which only metadata was read answers for the fields that metadata is
// said to suffice for, and for no others: they are in its spec.
func TestPolicyMetadataSuffices(t *testing.T) {
	schema := loadSchema(t)
	metadataOnly := func(of index.Type, namespace string) *index.Object {
		return fleettest.Object(t, fleettest.Row(of, "k-alpha", namespace, "p"), index.Metadata)
	}
	fresh := freshness.Freshness{Source: freshness.SourceIndex}
	policies := map[string]func() (any, error){
		"PropagationPolicy": func() (any, error) {
			return policy.NewPropagation("alpha", metadataOnly(index.PropagationPolicies, "shop"), fresh)
		},
		"ClusterPropagationPolicy": func() (any, error) {
			return policy.NewPropagation("alpha", metadataOnly(index.ClusterPropagationPolicies, ""), fresh)
		},
		"OverridePolicy": func() (any, error) {
			return policy.NewOverride("alpha", metadataOnly(index.OverridePolicies, "shop"), fresh)
		},
		"ClusterOverridePolicy": func() (any, error) {
			return policy.NewOverride("alpha", metadataOnly(index.ClusterOverridePolicies, ""), fresh)
		},
	}
	for name, makeOne := range policies {
		p, err := makeOne()
		if err != nil {
			t.Fatal(err)
		}
		answers := world().with(intercept{
			"Query.node": value(p), name + ".instance": world()["Query.instance"], name + ".workloads": value(page.Unread[workload.Any]("")),
			name + ".viewerCan": value(&authz.ViewerCan{}),
		})
		for _, field := range schema.Types[name].Fields {
			if strings.HasPrefix(field.Name, "__") {
				continue
			}
			query := `{ node(id: "x") { ... on ` + name + ` { ` + field.Name + subselection(schema, field.Type) + ` } } }`
			resp := run(t, &Resolver{}, answers, query, "")
			suffices := slices.Contains(policyMetadata, field.Name)
			if failed := len(resp.Errors) > 0; failed == suffices {
				t.Errorf("%s.%s: metadata is said to suffice: %v, and the answer is %s %v", name, field.Name, suffices, resp.Data, resp.Errors)
			}
		}
	}
}

// subselection selects the first scalar below a field, in as many steps as it takes.
func subselection(schema *ast.Schema, of *ast.Type) string {
	def := schema.Types[of.Name()]
	if def.IsLeafType() {
		return ""
	}
	for _, f := range def.Fields {
		if schema.Types[f.Type.Name()].IsLeafType() && len(f.Arguments) == 0 && !strings.HasPrefix(f.Name, "__") {
			return " { " + f.Name + " }"
		}
	}
	for _, f := range def.Fields {
		if !strings.HasPrefix(f.Name, "__") && f.Type.Name() != of.Name() {
			return " { " + f.Name + subselection(schema, f.Type) + " }"
		}
	}
	return " { __typename }"
}
