package live

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
	"github.com/kairship-io/kairship/test/internal/schema"
)

// filterCase tries one argument of a subscription: what it leaves over, and at least
// one that it leaves out.
type filterCase struct {
	argument string
	// arguments are written as follow wants them, for the subscription.
	arguments string
	filter    map[string]any
	// want are the names that are left over; out is one of those that are not.
	want []string
	out  string
}

// noun is how a noun is followed and listed.
type noun struct {
	field, filterType string
	// also are arguments that say what is followed.
	also string
	// list is the query of the same noun, with the variable $filter; "%s" stands for
	// an instance, where each is listed separately.
	list string
	// instances are those of the lists, where each is listed separately.
	instances []string
	// own takes the names that the test knows out of all.
	own   []string
	cases []filterCase
}

func of(argument string, filter map[string]any, out string, want ...string) filterCase {
	return filterCase{argument: argument, filter: filter, want: want, out: out}
}

type m = map[string]any

func nouns(ns string) []noun {
	return []noun{
		{
			field: "instanceChanged", filterType: "InstanceFilter", list: `instances(filter: $filter) { nodes { name } }`,
			own: []string{"alpha", "beta"},
			cases: []filterCase{
				of("filter.name", m{"name": []string{"beta", "none-such"}}, "alpha", "beta"),
				of("filter.nameContains", m{"nameContains": "lph"}, "beta", "alpha"),
				of("filter.labelSelector", m{"labelSelector": "kairship.io/none-such"}, "alpha"),
				of("filter.mode", m{"mode": []string{"MANAGED"}}, "alpha"),
				of("filter.mode", m{"mode": []string{"EXTERNAL"}}, "", "alpha", "beta"),
				of("filter.state", m{"state": []string{"UNAVAILABLE", "TERMINATING"}}, "alpha"),
				of("filter.state", m{"state": []string{"RUNNING"}}, "", "alpha", "beta"),
			},
		},
		{
			field: "clusterChanged", filterType: "ClusterFilter", list: `clusters(filter: $filter, first: 500) { nodes { name } }`,
			own: []string{"k-alpha", "k-beta", "m1", "m2", "m3"},
			cases: []filterCase{
				of("filter.name", m{"name": []string{"m2", "m3"}}, "m1", "m2", "m3"),
				of("filter.nameContains", m{"nameContains": "2"}, "m1", "m2"),
				of("filter.labelSelector", m{"labelSelector": "kairship.io/none-such"}, "m1"),
				of("filter.type", m{"type": []string{"VIRTUAL"}, "includeHidden": true}, "m1", "k-alpha", "k-beta"),
				of("filter.instances", m{"instances": []string{"beta"}}, "m1", "m3"),
				of("filter.provider", m{"provider": []string{"kwok"}}, "", "m1", "m2", "m3"),
				of("filter.provider", m{"provider": []string{"", "none-such"}}, "m1"),
				of("filter.region", m{"region": []string{"north"}}, "m2", "m1", "m3"),
				of("filter.zone", m{"zone": []string{"north-2", "none-such"}}, "m1", "m3"),
				of("filter.kubernetesVersion", m{"kubernetesVersion": []string{"v1."}}, "", "m1", "m2", "m3"),
				of("filter.kubernetesVersion", m{"kubernetesVersion": []string{"v9"}}, "m1"),
				of("filter.ready", m{"ready": true}, "", "m1", "m2", "m3"),
				of("filter.ready", m{"ready": false}, "m1"),
				of("filter.includeHidden", m{"includeHidden": true}, "", "k-alpha", "k-beta", "m1", "m2", "m3"),
				of("filter.includeHidden", m{}, "k-alpha", "m1", "m2", "m3"),
			},
		},
		{
			field: "memberClusterChanged", filterType: "MemberClusterChangeFilter",
			list:      `instance(name: "%s") { memberClusters(filter: $filter, first: 500) { nodes { name } } }`,
			instances: []string{"alpha", "beta"}, own: []string{"m1", "m2", "m3"},
			cases: []filterCase{
				of("filter.instances", m{"instances": []string{"beta", "none-such"}}, "m1", "m3"),
				of("filter.name", m{"name": []string{"m1", "m3"}}, "m2", "m1", "m3"),
				of("filter.nameContains", m{"nameContains": "2"}, "m1", "m2"),
				of("filter.labelSelector", m{"labelSelector": "kairship.io/none-such"}, "m1"),
			},
		},
		{
			field: "workloadChanged", filterType: "WorkloadFilter", list: `workloads(filter: $filter, first: 500) { nodes { name } }`,
			own: []string{"api", "ledger", "frontend", "cart", "agent", "report", "migrate", "stuck", "orphan"},
			cases: []filterCase{
				of("filter.instances", m{"instances": []string{"beta"}}, "cart", "api", "ledger"),
				of("filter.kinds", m{"kinds": []string{"DAEMON_SET", "CRON_JOB"}}, "cart", "agent", "report"),
				of("filter.namespaces", m{"namespaces": []string{"ops", "billing"}}, "cart", "agent", "api", "ledger", "migrate", "report"),
				of("filter.name", m{"name": []string{"api", "cart"}}, "ledger", "api", "cart"),
				of("filter.nameContains", m{"nameContains": "ronten"}, "cart", "frontend"),
				of("filter.labelSelector", m{"labelSelector": "app=frontend"}, "cart", "frontend"),
				of("filter.cluster", m{"cluster": []string{"m3"}}, "cart", "api", "ledger"),
				of("filter.policy.name", m{"policy": m{"name": "node-agents"}}, "cart", "agent"),
				of("filter.policy.namespace", m{"policy": m{"namespace": "shop", "name": "cart"}}, "frontend", "cart"),
				of("filter.health", m{"health": []string{"UNSCHEDULED", "UNPROPAGATED"}, "namespaces": []string{"shop"}}, "cart", "orphan", "stuck"),
				of("filter.images", m{"images": []string{"none-such", "registry.example.com/shop/frontend"}}, "cart", "frontend"),
				of("filter.text", m{"text": "STOREFRONT shop/front"}, "cart", "frontend"),
			},
		},
		{
			field: "policyChanged", filterType: "PolicyChangeFilter",
			list: `instance(name: "%s") { propagationPolicies(filter: $filter, first: 500) { nodes { name } }
				clusterPropagationPolicies(filter: $filter, first: 500) { nodes { name } }
				overridePolicies(filter: $filter, first: 500) { nodes { name } } clusterOverridePolicies(filter: $filter, first: 500) { nodes { name } } }`,
			instances: []string{"alpha", "beta"}, own: []string{"frontend", "cart", "stuck", "node-agents", "frontend-image", "billing", "batch"},
			cases: []filterCase{
				of("filter.instances", m{"instances": []string{"beta"}}, "cart", "billing"),
				{argument: "filter.kinds", filter: m{"kinds": []string{"CLUSTER_PROPAGATION_POLICY", "OVERRIDE_POLICY"}}, out: "cart", want: []string{"frontend-image", "node-agents"}},
				of("filter.namespaces", m{"namespaces": []string{"billing"}}, "cart", "billing"),
				of("filter.name", m{"name": []string{"cart", "billing"}}, "stuck", "billing", "cart"),
				of("filter.nameContains", m{"nameContains": "ima"}, "cart", "frontend-image"),
				of("filter.labelSelector", m{"labelSelector": "kairship.io/none-such"}, "cart"),
			},
		},
		{
			field: "karmadaResourceChanged", filterType: "KarmadaResourceChangeFilter",
			list: `instance(name: "%s") { federatedHPAs(filter: $filter, first: 500) { nodes { name } } cronFederatedHPAs(filter: $filter, first: 500) { nodes { name } }
				multiClusterServices(filter: $filter, first: 500) { nodes { name } } federatedResourceQuotas(filter: $filter, first: 500) { nodes { name } }
				workloadRebalancers(filter: $filter, first: 500) { nodes { name } } }`,
			instances: []string{"alpha", "beta"}, own: []string{"stuck", "frontend-nights", "frontend", "shop", "orphan"},
			cases: []filterCase{
				of("filter.instances", m{"instances": []string{"beta"}}, "stuck"),
				{argument: "filter.kinds", filter: m{"kinds": []string{"FEDERATED_HPA", "WORKLOAD_REBALANCER"}}, out: "shop", want: []string{"orphan", "stuck"}},
				of("filter.namespaces", m{"namespaces": []string{"shop"}}, "orphan", "frontend", "frontend-nights", "shop", "stuck"),
				of("filter.name", m{"name": []string{"shop", "orphan"}}, "stuck", "orphan", "shop"),
				of("filter.nameContains", m{"nameContains": "night"}, "stuck", "frontend-nights"),
				of("filter.labelSelector", m{"labelSelector": "kairship.io/none-such"}, "stuck"),
			},
		},
		{
			field: "resourceChanged", filterType: "ResourceChangeFilter", also: `version="v1", resource="configmaps", `,
			list:      `instance(name: "%s") { resources(version: "v1", resource: "configmaps", filter: $filter, first: 500) { nodes { name } } }`,
			instances: []string{"alpha", "beta"}, own: []string{"live-a", "live-b"},
			cases: []filterCase{
				of("filter.instances", m{"instances": []string{"beta"}, "namespaces": []string{ns}}, "live-a"),
				of("filter.namespaces", m{"namespaces": []string{ns}}, "", "live-a", "live-b"),
				of("filter.namespaces", m{"namespaces": []string{"none-such"}}, "live-a"),
				of("filter.name", m{"name": []string{"live-b"}}, "live-a", "live-b"),
				of("filter.nameContains", m{"nameContains": "ive-a"}, "live-b", "live-a"),
				of("filter.labelSelector", m{"labelSelector": "live in (b,c)"}, "live-a", "live-b"),
				{argument: "group", arguments: `group="apps", version="v1", resource="deployments", filter: ResourceChangeFilter`, filter: m{"namespaces": []string{ns}}, out: "live-a"},
				{argument: "version", arguments: `group="apps", version="v1", resource="statefulsets", filter: ResourceChangeFilter`, filter: m{"namespaces": []string{ns}}, out: "live-a"},
				{argument: "resource", arguments: `version="v1", resource="secrets", filter: ResourceChangeFilter`, filter: m{"namespaces": []string{ns}}, out: "live-a"},
			},
		},
	}
}

// TestFilters holds what a subscription tells until SYNCED against the list with the
// same filter, and against what was written by hand.
func TestFilters(t *testing.T) {
	admin := person(t, "admin")
	ns := namespaceIn(t, "alpha")
	witness := follow(t, admin, "resourceChanged", `version="v1", resource="configmaps", filter: ResourceChangeFilter`, "name", m{"filter": m{"namespaces": []string{ns}}})
	witness.snapshot()
	for _, name := range []string{"a", "b"} {
		create(t, "alpha", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "live-" + name, Labels: map[string]string{"live": name}}})
		witness.expect("ADDED", "live-"+name) // From here on everybody is told of it.
	}
	witness.Close()
	poll.Until(t, within, "the index has both", func(ctx context.Context) error {
		got, _, err := gql.Query[struct {
			Instance struct{ Resources struct{ TotalCount int } }
		}](ctx, admin, `query($ns: String!) { instance(name: "alpha") { resources(version: "v1", resource: "configmaps", namespace: $ns, filter: {nameContains: "live-"}) { totalCount } } }`, m{"ns": ns})
		if err == nil && got.Instance.Resources.TotalCount != 2 {
			err = fmt.Errorf("it has %d", got.Instance.Resources.TotalCount)
		}
		return err
	})
	tried := map[string]bool{"Subscription.operationProgress(operation)": true} // TestOperation…
	for _, argument := range []string{"instance", "namespace", "pod", "kind", "name", "clusters", "container", "tail", "since", "previous"} {
		tried["Subscription.podLogs("+argument+")"] = true // TestPodLogs…
	}
	for _, argument := range []string{"instances", "users", "ways", "outcomes", "kinds", "namespaces", "names", "from", "to"} {
		tried["Subscription.activityAdded(filter."+argument+")"] = true // TestActivity in test/suite, and TestFilterMatches
	}
	for _, n := range nouns(ns) {
		tried["Subscription."+n.field+"(after)"] = true // TestResume, and TestEverythingResumes
		for _, c := range append(n.cases, filterCase{argument: "none", want: nil, out: ""}) {
			tried["Subscription."+n.field+"("+c.argument+")"] = true
			t.Run(n.field+" "+c.argument, func(t *testing.T) {
				arguments := c.arguments
				if arguments == "" {
					arguments = n.also + "filter: " + n.filterType
				}
				s := follow(t, admin, n.field, arguments, selectionOf(n.field), m{"filter": c.filter})
				delivered := slices.DeleteFunc(names(s.snapshot(), "name"), func(name string) bool { return !slices.Contains(n.own, name) })
				s.Close()
				if c.argument != "none" && (!slices.Equal(delivered, c.want) && len(delivered)+len(c.want) > 0 || slices.Contains(delivered, c.out)) {
					t.Errorf("told of %v, want %v", delivered, c.want)
				}
				if c.arguments != "" {
					return // It is about another kind than the list.
				}
				if listed := listedBy(t, admin, n, c.filter); !slices.Equal(delivered, listed) && len(delivered)+len(listed) > 0 {
					t.Errorf("told of %v, and the list has %v", delivered, listed)
				}
			})
		}
	}
	for _, filter := range []m{{"customKinds": []string{"Transcoder.media.example.com"}}, {"kinds": []string{"DEPLOYMENT", "CUSTOM"}}} {
		refusedStream(t, admin, "workloadChanged", "filter: WorkloadFilter", m{"filter": filter}, "INVALID", "filter.kinds", "custom workloads are not followed")
	}
	refusedStream(t, admin, "workloadChanged", "filter: WorkloadFilter", m{"filter": m{"drifted": true}}, "INVALID", "filter.drifted", "drift is not followed")
	tried["Subscription.workloadChanged(filter.customKinds)"], tried["Subscription.workloadChanged(filter.drifted)"] = true, true
	for _, argument := range schema.Arguments(schema.Load()) {
		if strings.HasPrefix(argument, "Subscription.") && !tried[argument] {
			t.Errorf("nothing tries %s", argument)
		}
	}
}

func selectionOf(field string) string {
	if field == "policyChanged" || field == "karmadaResourceChanged" {
		return "__typename name"
	}
	return "name"
}

// listedBy are the names that a noun's list has.
func listedBy(t *testing.T, as *gql.Client, n noun, filter map[string]any) []string {
	t.Helper()
	filter = maps.Clone(filter)
	wanted, limited := filter["instances"].([]string)
	kinds, ofKinds := filter["kinds"].([]string)
	listFilter := n.filterType
	instances := []string{""}
	if n.instances != nil {
		instances = n.instances
		delete(filter, "instances")
		listFilter = strings.Replace(listFilter, "ChangeFilter", "Filter", 1)
		if listFilter == "PolicyFilter" || listFilter == "KarmadaResourceFilter" {
			delete(filter, "kinds")
		}
	}
	found := map[string]bool{}
	for _, name := range instances {
		if limited && name != "" && !slices.Contains(wanted, name) {
			continue
		}
		list := n.list
		if name != "" {
			list = fmt.Sprintf(list, name)
		}
		data, _ := gql.MustQuery[map[string]json.RawMessage](t, as, "query($filter: "+listFilter+") { "+list+" }", m{"filter": filter})
		for _, raw := range data {
			var lists map[string]json.RawMessage
			if err := json.Unmarshal(raw, &lists); err != nil {
				t.Fatal(err)
			}
			for key, raw := range lists {
				if ofKinds && (n.field == "policyChanged" || n.field == "karmadaResourceChanged") && !slices.Contains(kinds, kindOfList[key]) {
					continue
				}
				if key == "nodes" {
					raw, _ = json.Marshal(m{"nodes": raw})
				}
				var page struct {
					Nodes []struct {
						Name string `json:"name"`
					} `json:"nodes"`
				}
				if err := json.Unmarshal(raw, &page); err != nil {
					t.Fatal(err)
				}
				for _, node := range page.Nodes {
					if slices.Contains(n.own, node.Name) {
						found[node.Name] = true
					}
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

var kindOfList = map[string]string{
	"propagationPolicies": "PROPAGATION_POLICY", "clusterPropagationPolicies": "CLUSTER_PROPAGATION_POLICY",
	"overridePolicies": "OVERRIDE_POLICY", "clusterOverridePolicies": "CLUSTER_OVERRIDE_POLICY",
	"federatedHPAs": "FEDERATED_HPA", "cronFederatedHPAs": "CRON_FEDERATED_HPA", "multiClusterServices": "MULTI_CLUSTER_SERVICE",
	"federatedResourceQuotas": "FEDERATED_RESOURCE_QUOTA", "workloadRebalancers": "WORKLOAD_REBALANCER",
}

// TestEverythingResumes: a cursor of every subscription is good for it, and for no
// other one, other filter or other person.
func TestEverythingResumes(t *testing.T) {
	admin := person(t, "admin")
	for _, n := range nouns("default") {
		t.Run(n.field, func(t *testing.T) {
			arguments := n.also + "filter: " + n.filterType + ", after: String"
			s := follow(t, admin, n.field, arguments, selectionOf(n.field), m{"filter": m{"nameContains": "a"}})
			s.snapshot()
			s.Close()
			// The cursor of SYNCED: begin once more, to have it.
			first := follow(t, admin, n.field, arguments, selectionOf(n.field), m{"filter": m{"nameContains": "a"}})
			var cursor string
			for cursor == "" {
				c := first.next(within)
				if c == nil {
					t.Fatal("no SYNCED")
				}
				if c.Type == "SYNCED" {
					cursor = c.Cursor
				}
			}
			first.Close()
			again := follow(t, admin, n.field, arguments, selectionOf(n.field), m{"filter": m{"nameContains": "a"}, "after": cursor})
			if c := again.next(within); c == nil || (c.Type != "SYNCED" && c.Type != "MODIFIED") {
				t.Errorf("after the last cursor came %v", c)
			}
			again.Close()
			for what, variables := range map[string]m{
				"another filter": {"filter": m{"nameContains": "b"}, "after": cursor},
				"no cursor":      {"filter": m{"nameContains": "a"}, "after": "none-such"},
			} {
				refusedStream(t, admin, n.field, arguments, variables, "INVALID", "after", what)
			}
			refusedStream(t, person(t, "alice"), n.field, arguments, m{"filter": m{"nameContains": "a"}, "after": cursor}, "INVALID", "after", "another person")
		})
	}
}

// refusedStream begins a subscription that has to be refused.
func refusedStream(t *testing.T, as *gql.Client, field, arguments string, variables m, code, argument, what string) {
	t.Helper()
	query := fmt.Sprintf("subscription%s { %s%s { type } }", declared(arguments), field, used(arguments))
	s, refused, err := as.Subscribe(t.Context(), gql.Request{Query: query, Variables: variables})
	if err != nil {
		t.Fatal(err)
	}
	var errs []gql.Error
	switch {
	case refused != nil:
		errs = refused.Errors
	default:
		defer s.Close()
		e := s.Next(within)
		if e == nil {
			t.Errorf("%s: nothing came", what)
			return
		}
		errs = e.Errors
	}
	if len(errs) == 0 || errs[0].Extensions.Code != code || errs[0].Extensions.Argument != argument {
		t.Errorf("%s: got %v, want %s of %s", what, errs, code, argument)
	}
}
