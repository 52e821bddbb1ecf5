package policy

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// inNamespace is the metadata that all policies have, of one in a namespace.
func inNamespace(namespace string) Policy {
	o := &index.Object{}
	o.Meta.Namespace = namespace
	return common("alpha", o, freshness.Freshness{})
}

func propagating(namespace string, by ...policyv1alpha1.ResourceSelector) Any {
	return &PropagationPolicy{Policy: inNamespace(namespace), Spec: &policyv1alpha1.PropagationSpec{ResourceSelectors: by}}
}

func overriding(namespace string, by ...policyv1alpha1.ResourceSelector) Any {
	return &OverridePolicy{Policy: inNamespace(namespace), Spec: &policyv1alpha1.OverrideSpec{ResourceSelectors: by}}
}

func selector(namespace, name, label string) policyv1alpha1.ResourceSelector {
	s := policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment", Namespace: namespace, Name: name}
	if label != "" {
		s.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": label}}
	}
	return s
}

func TestSelectedBy(t *testing.T) {
	app := func(name string) []object.Pair { return []object.Pair{{Key: "app", Value: name}} }
	all, web, labelled := selector("", "", ""), selector("", "web", ""), selector("", "", "web")
	job := policyv1alpha1.ResourceSelector{APIVersion: "batch/v1", Kind: "Job"}
	for _, tt := range []struct {
		reason string
		object Selects
		by     Any
		want   bool
	}{
		{"all of the kind", Selects{Kind: "Deployment", Name: new("web")}, propagating("shop", all), true},
		{"another kind", Selects{Kind: "StatefulSet"}, propagating("shop", all), false},
		{"one of several selectors", Selects{Kind: "Deployment"}, propagating("shop", job, all), true},
		{"the version", Selects{Kind: "Deployment", APIVersion: new("apps/v1")}, propagating("shop", all), true},
		{"another version", Selects{Kind: "Deployment", APIVersion: new("apps/v1beta1")}, propagating("shop", all), false},
		{"the name", Selects{Kind: "Deployment", Name: new("web")}, propagating("shop", web), true},
		{"another name", Selects{Kind: "Deployment", Name: new("api")}, propagating("shop", web), false},
		{"any name", Selects{Kind: "Deployment"}, propagating("shop", web), true},
		{"the policy's namespace", Selects{Kind: "Deployment", Namespace: new("shop")}, propagating("shop", all), true},
		{"another namespace than the policy's", Selects{Kind: "Deployment", Namespace: new("ops")}, propagating("shop", all), false},
		{"another namespace than the policy's, which its selector names", Selects{Kind: "Deployment", Namespace: new("ops")}, propagating("shop", selector("ops", "", "")), false},
		{"any namespace, and the selector's is not the policy's", Selects{Kind: "Deployment"}, propagating("shop", selector("ops", "", "")), false},
		{"no namespace", Selects{Kind: "Deployment", Namespace: new("")}, propagating("shop", all), false},
		{"a cluster policy selects in every namespace", Selects{Kind: "Deployment", Namespace: new("ops")}, propagating("", all), true},
		{"a cluster policy with a namespace", Selects{Kind: "Deployment", Namespace: new("ops")}, propagating("", selector("shop", "", "")), false},
		{"a cluster policy with a namespace, and any", Selects{Kind: "Deployment"}, propagating("", selector("shop", "", "")), true},
		{"labels are not known", Selects{Kind: "Deployment"}, propagating("shop", labelled), true},
		{"the labels", Selects{Kind: "Deployment", Labels: app("web")}, propagating("shop", labelled), true},
		{"other labels", Selects{Kind: "Deployment", Labels: app("api")}, propagating("shop", labelled), false},
		{"no labels", Selects{Kind: "Deployment", Labels: []object.Pair{}}, propagating("shop", labelled), false},
		{"a name is matched without the labels", Selects{Kind: "Deployment", Name: new("web"), Labels: app("api")}, propagating("shop", selector("", "web", "web")), true},
		{"a propagation policy without selectors selects nothing", Selects{Kind: "Deployment"}, propagating("shop"), false},
		{"an override policy without selectors selects everything", Selects{Kind: "Deployment", Namespace: new("shop")}, overriding("shop"), true},
		{"in its namespace", Selects{Kind: "Deployment", Namespace: new("ops")}, overriding("shop"), false},
		{"an override policy with selectors", Selects{Kind: "Deployment", Name: new("api")}, overriding("shop", web), false},
	} {
		before := selectorsOf(tt.by)
		if got := tt.object.selectedBy(tt.by); got != tt.want {
			t.Errorf("%s: got %v", tt.reason, got)
		}
		if after := selectorsOf(tt.by); len(before) > 0 && (before[0].LabelSelector == nil) != (after[0].LabelSelector == nil) {
			t.Errorf("%s: the policy was changed", tt.reason)
		}
	}
}

func TestReaches(t *testing.T) {
	m1 := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1", Labels: map[string]string{"env": "prod"}}}
	m1.Spec.Provider, m1.Spec.Zones = "acme", []string{"z1", "z2"}
	named, other := policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1"}}, policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m2"}}
	field := func(key string, values ...string) *policyv1alpha1.ClusterAffinity {
		return &policyv1alpha1.ClusterAffinity{FieldSelector: &policyv1alpha1.FieldSelector{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}}}}
	}
	label := func(value string) *policyv1alpha1.ClusterAffinity {
		return &policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": value}}}
	}
	sends := func(p policyv1alpha1.Placement) Any {
		return &ClusterPropagationPolicy{Spec: &policyv1alpha1.PropagationSpec{Placement: p}}
	}
	to := func(a *policyv1alpha1.ClusterAffinity) Any {
		return sends(policyv1alpha1.Placement{ClusterAffinity: a})
	}
	terms := func(first, overflow policyv1alpha1.ClusterAffinity) Any {
		return sends(policyv1alpha1.Placement{ClusterAffinities: []policyv1alpha1.ClusterAffinityTerm{
			{ClusterAffinity: first, OverflowAffinities: []policyv1alpha1.OverflowClusterAffinity{{ClusterAffinity: overflow}}},
		}})
	}
	something := policyv1alpha1.Overriders{ImageOverrider: []policyv1alpha1.ImageOverrider{{Component: policyv1alpha1.Tag, Operator: policyv1alpha1.OverriderOpRemove}}}
	changes := func(spec policyv1alpha1.OverrideSpec) Any { return &ClusterOverridePolicy{Spec: &spec} }
	rule := func(a *policyv1alpha1.ClusterAffinity, o policyv1alpha1.Overriders) policyv1alpha1.OverrideSpec {
		return policyv1alpha1.OverrideSpec{OverrideRules: []policyv1alpha1.RuleWithCluster{{TargetCluster: a, Overriders: o}}}
	}
	for _, tt := range []struct {
		reason string
		policy Any
		want   bool
	}{
		{"no affinity", sends(policyv1alpha1.Placement{}), true},
		{"its name", to(&named), true},
		{"another name", to(&other), false},
		{"excluded", to(&policyv1alpha1.ClusterAffinity{ExcludeClusters: []string{"m1"}}), false},
		{"named and excluded", to(&policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1"}, ExcludeClusters: []string{"m1"}}), false},
		{"another one is excluded", to(&policyv1alpha1.ClusterAffinity{ExcludeClusters: []string{"m2"}}), true},
		{"its label", to(label("prod")), true},
		{"another label", to(label("test")), false},
		{"its provider", to(field("provider", "acme")), true},
		{"another provider", to(field("provider", "other")), false},
		{"one of its zones", to(field("zone", "z2")), true},
		{"another zone", to(field("zone", "z3")), false},
		{"a term", terms(named, other), true},
		{"the overflow of a term", terms(other, named), true},
		{"no term", terms(other, other), false},
		{"overrides without target", changes(rule(nil, something)), true},
		{"overrides for it", changes(rule(&named, something)), true},
		{"overrides for another one", changes(rule(&other, something)), false},
		{"overrides that change nothing", changes(rule(&named, policyv1alpha1.Overriders{})), false},
		{"the older fields", changes(policyv1alpha1.OverrideSpec{TargetCluster: &named, Overriders: something}), true},                  //nolint:staticcheck // Karmada still follows them.
		{"the older fields for another one", changes(policyv1alpha1.OverrideSpec{TargetCluster: &other, Overriders: something}), false}, //nolint:staticcheck // Karmada still follows them.
	} {
		if got := reaches(tt.policy, m1); got != tt.want {
			t.Errorf("%s: got %v", tt.reason, got)
		}
	}
}

// rows is an index.Reader with the policies of alpha, of which it returns pages of at most two, and its
// member clusters as far as the caller may read them.
type rows struct {
	index.Reader
	has    []*index.Object
	member *index.Object
	asked  []index.ListQuery
	named  []index.Key
}

func (r *rows) PageOf(_ context.Context, _ index.Part, q index.ListQuery) (*index.Page, error) {
	r.asked = append(r.asked, q)
	q.Clusters, q.Limit = []string{"k-alpha"}, min(2, q.Limit)
	return q.Pick(r.has), nil
}

func (r *rows) Get(_ context.Context, key index.Key, _ index.Detail) (*index.Object, error) {
	if r.member == nil || key.Cluster != "k-alpha" || key.Type != index.MemberClusters || key.Name != r.member.Meta.Name {
		return nil, key.NotFound()
	}
	return r.member, nil
}

func (r *rows) Prefetch(_ context.Context, keys []index.Key, _ index.Detail, _ func(map[index.Key]*index.Object)) {
	r.named = append(r.named, keys...)
}

func (r *rows) PrefetchPages(_ context.Context, parts []index.Part, q index.ListQuery, then func(map[index.Part]*index.Page)) {
	r.asked = append(r.asked, q)
	q.Clusters = []string{parts[0].Cluster}
	then(map[index.Part]*index.Page{parts[0]: q.Pick(r.has)})
}

func world(t *testing.T) (*rows, *Policies[PropagationPolicy]) {
	t.Helper()
	r := &rows{}
	for _, p := range []struct{ name, kind, to string }{{"a", "Deployment", "m1"}, {"b", "Job", "m1"}, {"c", "Deployment", "m2"}, {"d", "Deployment", ""}, {"e", "Deployment", "m1"}} {
		row := fleettest.Row(index.PropagationPolicies, "k-alpha", "shop", p.name)
		affinity := map[string]any{"labelSelector": map[string]any{"matchLabels": map[string]any{"env": "prod"}}}
		if p.to != "" {
			affinity = map[string]any{"clusterNames": []any{p.to}}
		}
		row.Body = map[string]any{"spec": map[string]any{
			"resourceSelectors": []any{map[string]any{"apiVersion": "x/v1", "kind": p.kind}}, "placement": map[string]any{"clusterAffinity": affinity},
		}}
		r.has = append(r.has, fleettest.Object(t, row, index.Whole))
	}
	member := fleettest.Row(index.MemberClusters, "k-alpha", "", "m1")
	member.Labels = map[string]string{"env": "prod"}
	r.member = fleettest.Object(t, member, index.Whole)
	clock := func() time.Time { return time.Unix(0, 0) }
	tracker := &freshness.Tracker{Inventory: fleettest.Inventory(t), Now: clock, Collector: freshness.NewHeartbeat(clock), Global: freshness.NewHeartbeat(clock)}
	return r, NewService(&listing.Lister{Reader: r, Freshness: tracker, Now: clock}).Propagation
}

// Pages of a list that is selected by specs are full, their count is exact, and all objects are read for it.
func TestListBySpec(t *testing.T) {
	for _, tt := range []struct {
		reason string
		filter Filter
		hidden bool
		want   string
	}{
		{"by what they select", Filter{Selects: &Selects{Kind: "Deployment"}}, false, "a c d e"},
		{"and by name", Filter{Selects: &Selects{Kind: "Deployment"}, Name: []string{"b", "c"}}, false, "c"},
		{"by cluster", Filter{Cluster: []string{"m1"}}, false, "a b d e"},
		{"by both", Filter{Selects: &Selects{Kind: "Deployment"}, Cluster: []string{"m1", "m2"}}, false, "a d e"},
		{"a cluster that is not joined", Filter{Cluster: []string{"m2"}}, false, ""},
		{"a cluster that may not be read", Filter{Cluster: []string{"m1"}}, true, ""},
		{"no cluster", Filter{Cluster: []string{}}, false, ""},
	} {
		r, policies := world(t)
		if tt.hidden {
			r.member = nil
		}
		var got []string
		for args := (page.Args{First: new(2)}); ; {
			c, err := policies.List(t.Context(), "alpha", args, &tt.filter, nil, listing.Needs{Count: true})
			if err != nil {
				t.Fatal(err)
			}
			if want := len(strings.Fields(tt.want)); *c.TotalCount != want || len(c.Nodes) != min(2, want-len(got)) {
				t.Errorf("%s: a page of %d counts %d, want %d", tt.reason, len(c.Nodes), *c.TotalCount, want)
			}
			for _, p := range c.Nodes {
				got = append(got, p.Name())
			}
			if !c.PageInfo.HasNextPage {
				break
			}
			args.After = c.PageInfo.EndCursor
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: got %q, want %q", tt.reason, got, tt.want)
		}
		for _, q := range r.asked {
			if q.WithCount || q.Limit < 1000 {
				t.Errorf("%s: it was read with %+v", tt.reason, q)
			}
		}
	}
}

// A cursor of a list is of no use in one that selects other policies.
func TestCursorsOfOtherSpecs(t *testing.T) {
	_, policies := world(t)
	args := page.Args{First: new(1)}
	c, err := policies.List(t.Context(), "alpha", args, &Filter{Selects: &Selects{Kind: "Deployment"}}, nil, listing.Needs{})
	if err != nil {
		t.Fatal(err)
	}
	args.After = c.PageInfo.EndCursor
	for _, f := range []*Filter{nil, {Selects: &Selects{Kind: "Job"}}, {Selects: &Selects{Kind: "Deployment"}, Cluster: []string{"m1"}}} {
		if _, err := policies.List(t.Context(), "alpha", args, f, nil, listing.Needs{}); !apierror.Is(err, apierror.CodeStaleCursor) {
			t.Errorf("%+v: got %v", f, err)
		}
	}
	if _, err := policies.List(t.Context(), "alpha", page.Args{}, &Filter{Selects: &Selects{}}, nil, listing.Needs{}); !apierror.Is(err, apierror.CodeInvalid) {
		t.Errorf("no kind: got %v", err)
	}
}

// What hangs on a page is read ahead for the policies of the page alone.
func TestPrefetchBySpec(t *testing.T) {
	r, policies := world(t)
	var ahead []string
	policies.Prefetch(t.Context(), []string{"alpha"}, page.Args{First: new(2)}, &Filter{Selects: &Selects{Kind: "Deployment"}, Cluster: []string{"m1"}}, nil, listing.Needs{Count: true}, func(all []*index.Object) {
		for _, o := range all {
			ahead = append(ahead, o.Meta.Name)
		}
	})
	if !slices.Equal(ahead, []string{"a", "d"}) || len(r.named) != 1 || r.named[0] != memberKey("k-alpha", "m1") {
		t.Errorf("read ahead: %v, member clusters %v", ahead, r.named)
	}
	if q := r.asked[0]; q.WithCount || q.Limit != 5000 {
		t.Errorf("it was read with %+v", q)
	}
}

// Facets count the policies of all pages that match, with the request that the page takes.
func TestFacets(t *testing.T) {
	for _, tt := range []struct {
		filter *Filter
		want   []projection.FacetValue
	}{
		{nil, []projection.FacetValue{{Value: "Deployment", Count: 4}, {Value: "Job", Count: 1}}},
		{&Filter{Selects: &Selects{Kind: "Job"}}, []projection.FacetValue{{Value: "Job", Count: 1}}},
	} {
		r, policies := world(t)
		needs := listing.Needs{Facets: listing.Facets{Fields: []projection.FacetField{"NAMESPACE", "SELECTED_KIND"}, Values: 10}}
		c, err := policies.List(t.Context(), "alpha", page.Args{First: new(1)}, tt.filter, nil, needs)
		if err != nil {
			t.Fatal(err)
		}
		facets, err := listing.FacetsBy(c, []FacetField{FacetSelectedKind, FacetNamespace}, nil)
		if err != nil || len(facets) != 2 {
			t.Fatal(facets, err)
		}
		if !slices.Equal(facets[0].Values, tt.want) || facets[1].TotalValues != 1 || facets[1].Values[0].Value != "shop" {
			t.Errorf("%+v: got %+v", tt.filter, facets)
		}
		if len(r.asked) != 3 { // The reader has pages of two.
			t.Errorf("%+v: it costs %d requests", tt.filter, len(r.asked))
		}
	}
}
