package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
	"github.com/kairship-io/kairship/test/internal/gql"
	"github.com/kairship-io/kairship/test/internal/schema"
)

// twins are two questions that a person must not be able to tell apart by the
// answers: one about what is hidden from them, one about what is not there.
var twins = []struct{ person, hidden, missing string }{
	{"alice", `instance(name: "beta") { name workloads { totalCount } }`, `instance(name: "gone") { name workloads { totalCount } }`},
	{"mallory", `instance(name: "alpha") { name }`, `instance(name: "alpho") { name }`},
	{"alice", `cluster(name: "m3") { name conditions { type } }`, `cluster(name: "m9") { name conditions { type } }`},
	{"bob", `cluster(name: "k-alpha") { name }`, `cluster(name: "k-alpho") { name }`},
	{"bob", `instances(filter: {name: ["alpha"]}) { totalCount nodes { name } freshness { stale message } }`, `instances(filter: {name: ["alpho"]}) { totalCount nodes { name } freshness { stale message } }`},
	{"bob", `clusters(filter: {instances: ["alpha"]}) { totalCount nodes { name } }`, `clusters(filter: {instances: ["alpho"]}) { totalCount nodes { name } }`},
	{"bob", `clusters(filter: {name: ["m1"], kubernetesVersion: ["v1."]}) { totalCount facets(fields: [KUBERNETES_VERSION, READY, ZONE]) { values { value count } totalValues } }`, `clusters(filter: {name: ["m7"], kubernetesVersion: ["v1."]}) { totalCount facets(fields: [KUBERNETES_VERSION, READY, ZONE]) { values { value count } totalValues } }`},
	{"bob", `instance(name: "beta") { propagationPolicies(filter: {cluster: ["m1"]}) { totalCount nodes { name } facets(fields: [NAMESPACE]) { totalValues } } }`, `instance(name: "beta") { propagationPolicies(filter: {cluster: ["m7"]}) { totalCount nodes { name } facets(fields: [NAMESPACE]) { totalValues } } }`},
	{"bob", `clusters(filter: {name: ["m1", "m2"]}) { totalCount nodes { name } }`, `clusters(filter: {name: ["m7", "m8"]}) { totalCount nodes { name } }`},
	{"bob", `workloads(filter: {instances: ["alpha"]}) { totalCount nodes { name } freshness { stale message } }`, `workloads(filter: {instances: ["alpho"]}) { totalCount nodes { name } freshness { stale message } }`},
	{"bob", `workloads(filter: {namespaces: ["shop"]}) { totalCount nodes { name } }`, `workloads(filter: {namespaces: ["shap"]}) { totalCount nodes { name } }`},
	{"bob", `workloads(filter: {instances: ["alpha"], health: [UNSCHEDULED, HEALTHY]}) { totalCount nodes { name } freshness { stale message } }`, `workloads(filter: {instances: ["alpho"], health: [UNSCHEDULED, HEALTHY]}) { totalCount nodes { name } freshness { stale message } }`},
	{"bob", `workloads(filter: {instances: ["alpha"]}) { facets(fields: [NAMESPACE, HEALTH, LABEL, IMAGE]) { values { value count } totalValues } }`, `workloads(filter: {instances: ["alpho"]}) { facets(fields: [NAMESPACE, HEALTH, LABEL, IMAGE]) { values { value count } totalValues } }`},
	{"bob", `workloads(filter: {namespaces: ["shop"], health: [UNSCHEDULED]}) { totalCount nodes { name } }`, `workloads(filter: {namespaces: ["shap"], health: [UNSCHEDULED]}) { totalCount nodes { name } }`},
	{"bob", `workloads(filter: {cluster: ["m1"]}) { nodes { name } }`, `workloads(filter: {cluster: ["m7"]}) { nodes { name } }`},
	{"bob", `workloads(filter: {images: ["registry.example.com/shop/frontend"]}) { totalCount nodes { name } facets(fields: [IMAGE, HEALTH]) { totalValues } }`, `workloads(filter: {images: ["registry.example.com/shop/frontand"]}) { totalCount nodes { name } facets(fields: [IMAGE, HEALTH]) { totalValues } }`},
	{"bob", `workloads(filter: {text: "frontend"}) { totalCount nodes { name } facets(fields: [LABEL]) { totalValues } }`, `workloads(filter: {text: "frontand"}) { totalCount nodes { name } facets(fields: [LABEL]) { totalValues } }`},
	{"bob", `workloads(filter: {policy: {namespace: "shop", name: "frontend"}}) { nodes { name } }`, `workloads(filter: {policy: {namespace: "shop", name: "frontand"}}) { nodes { name } }`},
	{"bob", `pods(filter: {instances: ["alpha"]}) { totalCount nodes { name } freshness { stale message } facets(fields: [NAMESPACE, NODE, LABEL, IMAGE]) { values { value count } totalValues } }`, `pods(filter: {instances: ["alpho"]}) { totalCount nodes { name } freshness { stale message } facets(fields: [NAMESPACE, NODE, LABEL, IMAGE]) { values { value count } totalValues } }`},
	{"bob", `pods(filter: {namespaces: ["shop"]}) { totalCount nodes { name } facets(fields: [CLUSTER]) { totalValues } }`, `pods(filter: {namespaces: ["shap"]}) { totalCount nodes { name } facets(fields: [CLUSTER]) { totalValues } }`},
	{"bob", `pods(filter: {cluster: ["m1"]}) { totalCount nodes { name } freshness { stale message } }`, `pods(filter: {cluster: ["m7"]}) { totalCount nodes { name } freshness { stale message } }`},
	{"bob", `pods(filter: {node: ["m1-node-1"]}) { totalCount nodes { name } }`, `pods(filter: {node: ["m7-node-1"]}) { totalCount nodes { name } }`},
	{"bob", `pods(filter: {images: ["registry.example.com/shop/frontend"]}) { totalCount nodes { name } }`, `pods(filter: {images: ["registry.example.com/shop/frontand"]}) { totalCount nodes { name } }`},
	{"bob", `pods(filter: {text: "frontend"}) { totalCount nodes { name } }`, `pods(filter: {text: "frontand"}) { totalCount nodes { name } }`},
	{"bob", `images(filter: {instances: ["alpha"]}) { totalCount nodes { reference podCount workloadCount workloads { name } clusters { clusterName } } freshness { stale message } }`, `images(filter: {instances: ["alpho"]}) { totalCount nodes { reference podCount workloadCount workloads { name } clusters { clusterName } } freshness { stale message } }`},
	{"bob", `images(filter: {namespaces: ["shop"]}) { totalCount nodes { reference podCount workloadCount workloads { name } clusters { clusterName } } freshness { stale message } }`, `images(filter: {namespaces: ["shap"]}) { totalCount nodes { reference podCount workloadCount workloads { name } clusters { clusterName } } freshness { stale message } }`},
	{"bob", `images(filter: {cluster: ["m1"]}) { totalCount nodes { reference podCount workloadCount workloads { name } clusters { clusterName } } freshness { stale message } }`, `images(filter: {cluster: ["m7"]}) { totalCount nodes { reference podCount workloadCount workloads { name } clusters { clusterName } } freshness { stale message } }`},
	{"bob", `images(filter: {repository: "registry.example.com/shop/frontend"}) { totalCount nodes { reference podCount workloadCount workloads { name } clusters { clusterName } } freshness { stale message } }`, `images(filter: {repository: "registry.example.com/shop/frontand"}) { totalCount nodes { reference podCount workloadCount workloads { name } clusters { clusterName } } freshness { stale message } }`},
	{"bob", `images(filter: {text: "frontend"}) { totalCount nodes { reference podCount workloadCount workloads { name } clusters { clusterName } } freshness { stale message } }`, `images(filter: {text: "frontand"}) { totalCount nodes { reference podCount workloadCount workloads { name } clusters { clusterName } } freshness { stale message } }`},
	{"bob", `search(text: "frontend") { hits { type kind instance { name } clusterName namespace name matchedBy } hasMore freshness { stale message } }`, `search(text: "frontand") { hits { type kind instance { name } clusterName namespace name matchedBy } hasMore freshness { stale message } }`},
	{"bob", `search(text: "shop") { hits { type kind instance { name } clusterName namespace name matchedBy } hasMore freshness { stale message } }`, `search(text: "shap") { hits { type kind instance { name } clusterName namespace name matchedBy } hasMore freshness { stale message } }`},
	{"bob", `search(text: "alpha") { hits { type kind instance { name } clusterName namespace name matchedBy } hasMore freshness { stale message } }`, `search(text: "alpho") { hits { type kind instance { name } clusterName namespace name matchedBy } hasMore freshness { stale message } }`},
	{"bob", `search(text: "m1") { hits { type kind instance { name } clusterName namespace name matchedBy } hasMore freshness { stale message } }`, `search(text: "m7") { hits { type kind instance { name } clusterName namespace name matchedBy } hasMore freshness { stale message } }`},
	{"mallory", `search(text: "billing") { hits { type kind instance { name } clusterName namespace name matchedBy } hasMore freshness { stale message } }`, `search(text: "bulling") { hits { type kind instance { name } clusterName namespace name matchedBy } hasMore freshness { stale message } }`},
	{"alice", `instance(name: "beta") { name pods { totalCount } }`, `instance(name: "gone") { name pods { totalCount } }`},
	{"bob", `viewer { can(instance: "alpha") { view create update delete proxy manageAccess } }`, `viewer { can(instance: "alpho") { view create update delete proxy manageAccess } }`},
	{"bob", node("Instance", "alpha"), node("Instance", "alpho")},
	{"bob", node("Cluster", "m1"), node("Cluster", "m7")},
	{"bob", node("Workload", "alpha", "DEPLOYMENT", "shop", "frontend"), node("Workload", "alpho", "DEPLOYMENT", "shop", "frontend")},
	{"bob", node("Workload", "alpha", "DEPLOYMENT", "shop", "frontend"), node("Workload", "alpha", "DEPLOYMENT", "shop", "frontand")},
	{"bob", node("Workload", "alpha", "NO_KIND", "shop", "frontend"), node("Workload", "alpho", "NO_KIND", "shop", "frontend")},
	{"bob", entities("__typename", namedBy("Instance", []string{"alpha"})), entities("__typename", namedBy("Instance", []string{"alpho"}))},
	{"bob", entities("__typename", namedBy("Cluster", []string{"m1"})), entities("__typename", namedBy("Cluster", []string{"m7"}))},
	{"bob", entities("... on Workload { id health yaml }", namedBy("Deployment", []string{"alpha", "DEPLOYMENT", "shop", "frontend"})), entities("... on Workload { id health yaml }", namedBy("Deployment", []string{"alpho", "DEPLOYMENT", "shop", "frontend"}))},
	{"bob", entities("... on Policy { id yaml }", namedBy("PropagationPolicy", []string{"alpha", "shop", "frontend"})), entities("... on Policy { id yaml }", namedBy("PropagationPolicy", []string{"alpha", "shop", "frontand"}))},
	{"bob", entities("__typename", namedBy("MemberCluster", []string{"alpha", "m1"})), entities("__typename", namedBy("MemberCluster", []string{"alpho", "m1"}))},
	{"bob", entities("__typename", namedBy("Namespace", []string{"alpha", "shop"})), entities("__typename", namedBy("Namespace", []string{"alpho", "shop"}))},
	{"bob", node("Resource", "alpha", "apps", "v1", "deployments", "shop", "frontend"), node("Resource", "alpho", "apps", "v1", "deployments", "shop", "frontend")},
	{"bob", node("ResourceInMember", "alpha", "m1", "apps", "v1", "deployments", "shop", "frontend"), node("ResourceInMember", "alpho", "m1", "apps", "v1", "deployments", "shop", "frontend")},
	{"bob", `instance(name: "alpha") { resources(cluster: "m1", version: "v1", resource: "nodes") { totalCount } }`, `instance(name: "alpho") { resources(cluster: "m1", version: "v1", resource: "nodes") { totalCount } }`},
	{"bob", `instance(name: "beta") { resources(cluster: "m1", version: "v1", resource: "nodes") { totalCount freshness { stale } } }`, `instance(name: "beta") { resources(cluster: "m7", version: "v1", resource: "nodes") { totalCount freshness { stale } } }`},
	{"bob", node("Resource", "alpha", "", "v1", "secrets", "shop", "x"), node("Resource", "alpho", "", "v1", "secrets", "shop", "x")},
	{"bob", node("Resource", "alpha", "nope.io", "v1", "secrets", "shop", "x"), node("Resource", "alpho", "nope.io", "v1", "secrets", "shop", "x")},
	{"bob", `instance(name: "alpha") { resources(group: "nope.io", version: "v1", resource: "secrets") { totalCount } }`, `instance(name: "alpho") { resources(group: "nope.io", version: "v1", resource: "secrets") { totalCount } }`},
}

func node(typ string, parts ...string) string {
	return fmt.Sprintf("node(id: %q) { __typename id }", nodeid.New(typ, parts...))
}

// changing are the parts of an answer that are others each time.
var changing = regexp.MustCompile(`"traceId":"[0-9a-f]+"|"[a-z]+Millis":[0-9.]+`)

// TestHiddenLooksLikeMissing compares the answers byte by byte, and what they
// cost: a question that takes another request is told apart by a clock.
func TestHiddenLooksLikeMissing(t *testing.T) {
	on, u, _ := openCounted(t)
	for _, tt := range twins {
		c := on.as(t, tt.person)
		poll.Until(t, soon, "both look the same", func(context.Context) error {
			var bodies [2]string
			var asked [2]map[string]int
			_ = c.Must(t, gql.Request{Query: "{ viewer { username } }"}) // From now on the person is known.
			for i, query := range []string{tt.hidden, tt.missing} {
				asked[i] = u.during(func() {
					r := c.Must(t, gql.Request{Query: "{ " + query + " }", Accept: gql.Response})
					bodies[i] = fmt.Sprintf("HTTP %d %s", r.Status, changing.ReplaceAll(r.Body, nil))
				})
			}
			if diff := cmp.Diff(bodies[0], bodies[1]); diff != "" {
				return fmt.Errorf("%s can tell them apart:\n%s\n%s\n-hidden +missing:\n%s", tt.person, tt.hidden, tt.missing, diff)
			}
			// What is remembered may end between the two.
			if diff := cmp.Diff(asked[0], asked[1]); diff != "" {
				return fmt.Errorf("%s can tell them apart by a clock:\n%s\n%s\n-hidden +missing:\n%s", tt.person, tt.hidden, tt.missing, diff)
			}
			return nil
		})
	}
}

// TestNothingOfOthersIsShown selects everything that there is of every list, as
// those who may not see an instance, and looks for its words in the answers.
func TestNothingOfOthersIsShown(t *testing.T) {
	on := open(t)
	for person := range hiddenFrom {
		t.Run(person, func(t *testing.T) {
			c := on.as(t, person)
			asked := 0
			ask := func(query string) map[string]any {
				t.Helper()
				r := c.Must(t, gql.Request{Query: query})
				asked++
				var data map[string]any
				if err := json.Unmarshal(r.Data, &data); err != nil {
					t.Fatalf("%s\n%v: %s", query, err, r.Body)
				}
				if diff := cmp.Diff(withoutProxy(data, ""), refusals(r.Errors)); diff != "" {
					t.Errorf("%s\n-may not be reached +is refused:\n%s", query, diff)
				}
				on.dropOwnEvents(t, data)
				rest, err := json.Marshal([]any{data, r.Errors})
				if err != nil {
					t.Fatal(err)
				}
				if words := shownOf(person, string(rest)); len(words) > 0 {
					t.Errorf("%s\nshows %q:\n%.2000s", query, words, rest)
				}
				return data
			}
			for _, list := range schema.Lists(theSchema) {
				everything := fmt.Sprintf("{ totalCount nodes %s pageInfo { hasNextPage endCursor } freshness { stale message } }", schema.Selection(theSchema, list.Node, everyField))
				// Pages of as many as one operation may ask for all of.
				first := 60
				if list.Node == "Image" {
					first = 10 // Each has workloads.
				}
				for after := ""; ; {
					page := fmt.Sprintf("%s(first: %d%s%s) %s", list.Field.Name, first, after, required(list), everything)
					var shown any
					switch list.Parent {
					case "Query":
						shown = ask("{ " + page + " }")[list.Field.Name]
					case "Instance":
						instances := ask("{ instances(first: 2) { totalCount nodes { name " + page + " } } }")["instances"].(map[string]any)
						nodes := instances["nodes"].([]any)
						if len(nodes) > 1 {
							t.Fatalf("%s sees %v instances, and a cursor is one of one", person, instances["totalCount"])
						}
						for _, instance := range nodes {
							shown = instance.(map[string]any)[list.Field.Name]
						}
					}
					whole, _ := shown.(map[string]any)
					info, _ := whole["pageInfo"].(map[string]any)
					if info["hasNextPage"] != true {
						break
					}
					after = fmt.Sprintf(", after: %q", info["endCursor"])
				}
			}
			if asked < 10 {
				t.Errorf("only %d questions were asked", asked)
			}
			// A cursor that another user was given is one of another list.
			cursor := firstCursor(t, on, `workloads(first: 1, filter: {namespaces: ["ops", "billing"]})`)
			r := c.Must(t, gql.Request{Query: fmt.Sprintf(`{ workloads(after: %q, filter: {namespaces: ["ops", "billing"]}) { totalCount nodes { name } } }`, cursor)})
			if summaryOf(t, r) != "STALE_CURSOR" || len(shownOf(person, string(r.Body))) > 0 {
				t.Errorf("the administrator's cursor: %s", r.Body)
			}
		})
	}
}

// refusals are errors by their paths.
func refusals(errs []gql.Error) map[string]string {
	codes := map[string]string{}
	for _, e := range errs {
		codes[e.PathText()] = e.Extensions.Code
	}
	return codes
}

// withoutProxy finds what an answer refuses to those who may not reach an instance, or its members,
// through a proxy: there is no kubeconfig and no log, and that is said. Every other field of what is seen at all
// is answered.
func withoutProxy(data any, path string) map[string]string {
	refused := map[string]string{}
	join := func(step any) string { return strings.TrimPrefix(fmt.Sprint(path, ".", step), ".") }
	switch data := data.(type) {
	case map[string]any:
		may, _ := data["viewerCan"].(map[string]any)
		if _, asked := data["kubeconfig"]; asked && may["proxy"] != true {
			refused[join("kubeconfig")] = "FORBIDDEN"
		}
		if logs, asked := data["logs"].(map[string]any); asked && len(logs["omitted"].([]any)) > 0 {
			refused[join("logs")] = "FORBIDDEN"
		}
		if _, asked := data["manifest"]; asked && data["__typename"] == "CustomWorkload" {
			// Its kind is not collected, and no role has a right to it in the instance. It has no logs.
			refused[join("logs")], refused[join("manifest")], refused[join("yaml")] = "INVALID", "FORBIDDEN", "FORBIDDEN"
		}
		for field, value := range data {
			maps.Copy(refused, withoutProxy(value, join(field)))
		}
	case []any:
		for i, value := range data {
			maps.Copy(refused, withoutProxy(value, join(i)))
		}
	}
	return refused
}

// firstCursor is the end of a page that the administrator reads.
func firstCursor(t *testing.T, on *target, list string) string {
	t.Helper()
	data, _ := gql.MustQuery[map[string]connection](t, on.kairship, "{ "+list+" { pageInfo { endCursor } } }", nil)
	for _, c := range data {
		if c.PageInfo.EndCursor != nil {
			return *c.PageInfo.EndCursor
		}
	}
	t.Fatalf("%s has no end", list)
	return ""
}

// TestErrorsOfOthersAreNotShown sends what is wrong: the answers speak of what was
// sent and of the schema alone.
func TestErrorsOfOthersAreNotShown(t *testing.T) {
	on := open(t)
	for person := range hiddenFrom {
		for _, query := range []string{
			`{ instance(name: "x") { nome } }`, `{ instances(first: 0) { nodes { name } } }`, `{ instances(after: "x") { nodes { name } } }`,
			`{ workloads(filter: {labelSelector: "a==="}) { nodes { name } } }`, `{ workloads(filter: {kinds: [DEPLOY]}) { nodes { name } } }`,
			`{ workloads(filter: {nameContains: ""}) { nodes { name } } }`, `{ clusters(orderBy: {field: NOME}) { nodes { name } } }`,
			`{ node(id: "x") { id } }`, `{ instances { nodes { resources(version: "V!", resource: "configmaps") { totalCount } } } }`,
			`{ instances { nodes { workloads(filter: {instances: ["x"]}) { totalCount } } } }`, `{ worklods { totalCount } }`,
		} {
			r := on.as(t, person).Must(t, gql.Request{Query: query, Accept: gql.Response})
			if words := shownOf(person, string(r.Body)); len(words) > 0 {
				t.Errorf("%s, as %s, shows %q:\n%s", query, person, words, r.Body)
			}
		}
	}
}

// TestOneNamespaceAlone asks as a viewer of one namespace of alpha.
func TestOneNamespaceAlone(t *testing.T) {
	on := open(t)
	p := newPerson(t, on, viewerIn("alpha", "shop"))
	for _, tt := range []struct{ query, want string }{
		{`instances { totalCount nodes { name } }`, "1: alpha"},
		{`workloads { totalCount nodes { name } }`, "4: cart frontend orphan stuck"},
		{`workloads(filter: {namespaces: ["ops", "shop"], kinds: [DAEMON_SET, DEPLOYMENT]}) { totalCount nodes { name } }`, "3: frontend orphan stuck"},
		{`workloads(filter: {namespaces: ["ops"]}) { totalCount nodes { name } }`, "0:"},
		{`workloads(filter: {health: [HEALTHY, PROGRESSING, DEGRADED, UNSCHEDULED, UNPROPAGATED, UNMANAGED, UNKNOWN]}) { totalCount nodes { name } }`, "4: cart frontend orphan stuck"},
		{`workloads(filter: {namespaces: ["ops", "shop"], health: [UNSCHEDULED]}) { totalCount nodes { name } }`, "1: stuck"},
		{`workloads(filter: {namespaces: ["ops"], health: [HEALTHY]}) { totalCount nodes { name } }`, "0:"},
		{`workloads { facets(fields: [NAMESPACE, INSTANCE]) { values { value } } }`, "shop alpha"},
		{`workloads { facets(fields: [NAMESPACE]) { values { count } } }`, "4"},
		{`workloads(filter: {namespaces: ["ops"]}) { facets(fields: [KIND, HEALTH, LABEL, IMAGE, CLUSTER]) { totalValues } }`, "0 0 0 0 0"},
		{`workloads(filter: {images: ["registry.example.com/ops/agent", "registry.example.com/shop/cart"]}) { totalCount nodes { name } }`, "1: cart"},
		{`workloads(filter: {text: "registry.example.com/ops"}) { totalCount nodes { name } }`, "0:"},
		{`workloads(filter: {text: "registry.example.com"}) { totalCount nodes { name } }`, "4: cart frontend orphan stuck"},
		{`instance(name: "alpha") { workloads { totalCount nodes { name } } }`, "4: cart frontend orphan stuck"},
		{`instance(name: "alpha") { namespaces { totalCount nodes { name } } }`, "1: shop"},
		{`instance(name: "alpha") { namespace(name: "ops") { name } }`, "null"},
		{`instance(name: "alpha") { propagationPolicies { totalCount nodes { name } } }`, "3: cart frontend stuck"},
		{`instance(name: "alpha") { propagationPolicies(filter: {selects: {kind: "Deployment"}}) { totalCount nodes { name } } }`, "2: frontend stuck"},
		{`instance(name: "alpha") { propagationPolicies(filter: {selects: {kind: "CronJob"}}) { totalCount nodes { name } } }`, "0:"},
		{`instance(name: "alpha") { propagationPolicies(filter: {cluster: ["m1"]}) { totalCount nodes { name } } }`, "0:"},
		{`instance(name: "alpha") { propagationPolicies { facets(fields: [NAMESPACE, SELECTED_KIND]) { values { value } } } }`, "shop Deployment StatefulSet"},
		{`instance(name: "alpha") { clusterPropagationPolicies(filter: {selects: {kind: "DaemonSet"}}) { totalCount nodes { name } } }`, "0:"},
		{`instance(name: "alpha") { clusterPropagationPolicies { facets(fields: [SELECTED_KIND]) { totalValues } } }`, "0"},
		{`instance(name: "alpha") { memberClusters(filter: {ready: true}) { totalCount nodes { name } } }`, "0:"},
		{`instance(name: "alpha") { memberClusters { facets(fields: [READY, KUBERNETES_VERSION]) { totalValues } } }`, "0 0"},
		{`instance(name: "alpha") { clusterPropagationPolicies { totalCount nodes { name } } }`, "0:"},
		{`instance(name: "alpha") { memberClusters { totalCount nodes { name } } }`, "0:"},
		{`instance(name: "alpha") { memberCluster(name: "m1") { name } }`, "null"},
		{`instance(name: "alpha") { summary { nodes { total } } }`, "null"},
		{`cluster(name: "m1") { name }`, "m1"},
		{`cluster(name: "m1") { summary { nodes { total } } }`, "null"},
		{`cluster(name: "m3") { summary { nodes { total } } }`, "null"},
		{`instance(name: "alpha") { workload(kind: DAEMON_SET, namespace: "ops", name: "agent") { name } }`, "null"},
		{`instance(name: "alpha") { workload(kind: DEPLOYMENT, namespace: "shop", name: "frontend") { name } }`, "frontend"},
		{`instance(name: "alpha") { resources(group: "apps", version: "v1", resource: "daemonsets") { totalCount nodes { name } } }`, "0:"},
		{`instance(name: "alpha") { resources(group: "work.karmada.io", version: "v1alpha1", resource: "works") { totalCount nodes { name } } }`, "0:"},
		{`instance(name: "alpha") { resources(version: "v1", resource: "secrets", namespace: "ops") { totalCount nodes { name } } }`, "0:"},
		{`instance(name: "alpha") { resources(version: "v1", resource: "persistentvolumes") { totalCount nodes { name } } }`, "0:"},
		{node("Resource", "alpha", "", "v1", "secrets", "ops", "x"), "null"},
		{`instance(name: "alpha") { events(filter: {namespaces: ["ops"]}) { totalCount nodes { reason } } }`, "0:"},
		{node("Workload", "alpha", "DAEMON_SET", "ops", "agent"), "null"},
		{node("Workload", "alpha", "DEPLOYMENT", "shop", "frontend"), "found"},
		{node("Namespace", "alpha", "ops"), "null"},
		{node("ClusterPropagationPolicy", "alpha", "", "node-agents"), "null"},
		{
			entities("__typename", namedBy("DaemonSet", []string{"alpha", "DAEMON_SET", "ops", "agent"}), namedBy("Deployment", []string{"alpha", "DEPLOYMENT", "shop", "frontend"}), namedBy("Deployment", []string{"beta", "DEPLOYMENT", "billing", "api"})),
			"null Deployment null",
		},
		{entities("__typename", namedBy("Namespace", []string{"alpha", "ops"}), namedBy("Namespace", []string{"alpha", "shop"}), namedBy("Instance", []string{"alpha"}), namedBy("Instance", []string{"beta"})), "null Namespace Instance null"},
		{entities("__typename", namedBy("PropagationPolicy", []string{"alpha", "shop", "frontend"}), namedBy("ClusterPropagationPolicy", []string{"alpha", "", "node-agents"}), namedBy("MemberCluster", []string{"alpha", "m1"})), "PropagationPolicy null null"},
		{entities("... on Instance { workloads { nodes { name } } }", namedBy("Instance", []string{"alpha"})), "cart frontend orphan stuck"},
		{`viewer { can(instance: "alpha", namespace: "shop") { view } }`, "true"},
		{`viewer { can(instance: "alpha", namespace: "shop") { update } }`, "false"},
		{`viewer { can(instance: "alpha", namespace: "ops") { view } }`, "false"},
		{`viewer { can(instance: "alpha", namespace: "") { view } }`, "false"},
	} {
		r := p.Must(t, gql.Request{Query: "{ " + tt.query + " }"})
		got := summaryOf(t, r)
		if got != tt.want {
			t.Errorf("%s\n got  %s\n want %s", tt.query, got, tt.want)
		}
	}
	// What a workload is, it is for everybody who may see it.
	const whole = `{ instance(name: "alpha") { workload(kind: DEPLOYMENT, namespace: "shop", name: "frontend") {
		health replicas { desired ready } policy { name } overridePolicies { name } binding { name }
		placements { clusterName desired ready health overrides { policyName } object { images pods { name } } } } } }`
	want, _ := gql.MustQuery[any](t, on.kairship, whole, nil)
	got, _ := gql.MustQuery[any](t, p.Client, whole, nil)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("frontend differs (-admin +viewer of the namespace):\n%s", diff)
	}
}

// TestValuesOfSecretsNeedMoreThanAViewer looks for a Secret and for the Work that holds it.
func TestValuesOfSecretsNeedMoreThanAViewer(t *testing.T) {
	on := open(t)
	viewer := newPerson(t, on, viewerOf("alpha"))
	w := &world{fleet: on.fleet, id: newID()}
	t.Cleanup(w.remove)
	ns := "suite-" + w.id + "-secrets"
	value := "value-" + newID() + newID()
	meta := w.meta(ns, "confidential")
	meta.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: `{"stringData":{"password":"` + value + `"}}`}
	w.create(t, created{"alpha", &corev1.Namespace{ObjectMeta: w.meta("", ns)}})
	w.create(t, created{"alpha", &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"password": []byte(value)}}},
		created{"alpha", &policyv1alpha1.PropagationPolicy{ObjectMeta: w.meta(ns, "all"), Spec: policyv1alpha1.PropagationSpec{
			ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "v1", Kind: "Secret", Name: "confidential"}},
			Placement:         policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1"}}},
		}}})
	const query = `{ instance(name: "alpha") { resources(group: "work.karmada.io", version: "v1alpha1", resource: "works", first: 500) {
		totalCount nodes { name annotations { key value } manifest yaml } } } }`
	const secrets = `{ instance(name: "alpha") { resources(version: "v1", resource: "secrets", first: 500) { nodes { name annotations { key value } manifest yaml } } } }`
	holds := func(c *gql.Client, query string) bool {
		body := string(c.Must(t, gql.Request{Query: query}).Body)
		return strings.Contains(body, value) || strings.Contains(body, base64Of(value))
	}
	poll.Until(t, propagationTimeout, "an admin reads the Secret in a Work", func(context.Context) error {
		if !holds(on.as(t, "admin"), query) {
			return errors.New("no Work has it")
		}
		return nil
	})
	for _, q := range []string{query, secrets} {
		if holds(viewer.Client, q) {
			t.Errorf("a viewer reads the value of a Secret: %s", q)
		}
	}
	if holds(on.as(t, "alice"), query) {
		t.Error("an editor reads the value of a Secret in a Work")
	}
	type answer struct {
		Instance struct{ Resources struct{ TotalCount int } }
	}
	seen, _ := gql.MustQuery[answer](t, viewer.Client, query, nil)
	if seen.Instance.Resources.TotalCount == 0 {
		t.Error("a viewer sees no Works at all, so nothing was looked at")
	}
}

// TestARoleThatIsTakenAwayEndsInTime keeps asking, so that everything that is
// remembered is fresh, and asks once more when it has to be over.
func TestARoleThatIsTakenAwayEndsInTime(t *testing.T) {
	on := open(t)
	p := newPerson(t, on, viewerOf("alpha"))
	if err := on.fleet.Client(t, "global").Delete(t.Context(), p.binding); err != nil {
		t.Fatal(err)
	}
	deleted := time.Now()
	var last time.Duration
	for time.Since(deleted) < revoked {
		if sees(p.Must(t, gql.Request{Query: anyQuery})) {
			last = time.Since(deleted)
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Logf("the role worked for %s more", last.Round(10*time.Millisecond))
	for _, query := range []string{anyQuery, "{ workloads { nodes { name } } }", `{ ` + node("Workload", "alpha", "DEPLOYMENT", "shop", "frontend") + ` }`} {
		r := p.Must(t, gql.Request{Query: query})
		if sees(r) || strings.Contains(string(r.Body), `"id"`) || len(r.Errors) > 0 {
			t.Errorf("%s after the role was taken away: %s", revoked, r.Body)
		}
	}
}

// TestABindingThatGoesTakesTheRoleAlong gives a role by an InstanceRoleBinding and
// takes it away: the person sees nothing after it, and the instance's own RBAC is removed.
func TestABindingThatGoesTakesTheRoleAlong(t *testing.T) {
	on := open(t)
	p := newPerson(t, on, nil)
	b := bindingOf(t, on, p, kairshipv1alpha1.RoleViewer, "alpha")
	poll.Until(t, revoked, "the person sees alpha", func(ctx context.Context) error {
		r, err := p.Do(ctx, gql.Request{Query: anyQuery})
		if err == nil && !sees(r) {
			err = fmt.Errorf("HTTP %d: %s", r.Status, r.Body)
		}
		return err
	})
	inInstance := func(ctx context.Context) int {
		var bindings rbacv1.ClusterRoleBindingList
		if err := on.fleet.Client(t, "alpha").List(ctx, &bindings); err != nil {
			t.Fatal(err)
		}
		n := 0
		for i := range bindings.Items {
			for _, s := range bindings.Items[i].Subjects {
				if s.Name == p.user {
					n++
				}
			}
		}
		return n
	}
	if inInstance(t.Context()) == 0 {
		t.Error("nothing in alpha names the person")
	}
	if err := on.fleet.Client(t, "global").Delete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	for deleted := time.Now(); time.Since(deleted) < revoked; time.Sleep(20 * time.Millisecond) {
		_ = p.Must(t, gql.Request{Query: anyQuery}) // So that everything that is remembered is fresh.
	}
	if r := p.Must(t, gql.Request{Query: anyQuery}); sees(r) || len(r.Errors) > 0 {
		t.Errorf("%s after the binding was deleted: %s", revoked, r.Body)
	}
	poll.Until(t, propagationTimeout, "the role in alpha is removed", func(ctx context.Context) error {
		if n := inInstance(ctx); n > 0 {
			return fmt.Errorf("%d bindings in alpha name the person", n)
		}
		return nil
	})
}

func base64Of(text string) string {
	raw, _ := json.Marshal([]byte(text)) // It is how JSON writes bytes.
	return strings.Trim(string(raw), `"`)
}
