package suite

import (
	"context"
	"fmt"
	"testing"

	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// everyQuestion has questions about all that can be read, with the answers, as summaryOf tells them, of alice, who
// is an editor of alpha, of an editor of its namespace shop alone, and of mallory, who has no role.
var everyQuestion = []struct{ query, alice, shopper, mallory string }{
	// Kinds that are not served, and kinds that are not collected.
	{`instance(name: "alpha") { resources(group: "nope.io", version: "v1", resource: "widgets") { totalCount } }`, "INVALID", "INVALID", "null"},
	{`instance(name: "alpha") { resource(group: "nope.io", version: "v1", resource: "widgets", name: "a") { name } }`, "INVALID", "INVALID", "null"},
	{`instance(name: "alpha") { resources(version: "v1", resource: "secrets", namespace: "shop") { freshness { source } } }`, "LIVE", "LIVE", "null"},
	{`instance(name: "alpha") { resources(version: "v1", resource: "secrets", namespace: "ops") { totalCount } }`, "0", "0", "null"},

	// What is collected, and Karmada's own kinds.
	{`instance(name: "alpha") { resources(version: "v1", resource: "configmaps", namespace: "shop") { freshness { source } } }`, "INDEX", "INDEX", "null"},
	{`instance(name: "alpha") { federatedHPAs(filter: {namespaces: ["none-such"]}) { totalCount } }`, "0", "0", "null"},

	// Any kind is a workload.
	{`workloads(filter: {kinds: [CUSTOM], namespaces: ["media"]}) { totalCount nodes { name } }`, "1: thumbnails", "0:", "0:"},
	{`instance(name: "alpha") { workload(kind: CUSTOM, customKind: "Transcoder.media.example.com", namespace: "media", name: "thumbnails") { health } }`, "HEALTHY", "null", "null"},
	{`instance(name: "alpha") { resource(group: "apps", version: "v1", resource: "deployments", namespace: "shop", name: "frontend") { policy { name } } }`, "frontend", "frontend", "null"},
	{`instance(name: "alpha") { resource(group: "apps", version: "v1", resource: "daemonsets", namespace: "ops", name: "agent") { policy { name } } }`, "node-agents", "null", "null"},

	// What is in the members.
	{`instance(name: "alpha") { memberCluster(name: "m1") { clusterNodes(filter: {name: ["m1-node-1"]}) { totalCount nodes { name } } } }`, "1: m1-node-1", "null", "null"},
	{`instance(name: "alpha") { resources(cluster: "m1", group: "apps", version: "v1", resource: "deployments", filter: {name: ["frontend"]}) { totalCount nodes { name } } }`, "1: frontend", "1: frontend", "null"},
	{`instance(name: "alpha") { resources(cluster: "m1", group: "apps", version: "v1", resource: "daemonsets", filter: {name: ["agent"]}) { totalCount nodes { name } } }`, "1: agent", "0:", "null"},
	{`instance(name: "alpha") { resources(cluster: "m1", version: "v1", resource: "namespaces", filter: {name: ["shop", "ops"]}) { totalCount nodes { name } } }`, "2: ops shop", "1: shop", "null"},
	{`instance(name: "alpha") { resources(cluster: "m1", version: "v1", resource: "secrets", namespace: "shop") { totalCount } }`, "INVALID", "INVALID", "null"},
	{`pods(filter: {namespaces: ["shop"]}) { facets(fields: [NAMESPACE]) { values { value } } }`, "shop", "shop", ""},
	{`pods(filter: {namespaces: ["ops"]}) { facets(fields: [NAMESPACE]) { values { value } } }`, "ops", "", ""},
	{`instance(name: "alpha") { workload(kind: DEPLOYMENT, namespace: "shop", name: "frontend") { usage { __typename } } }`, "WorkloadUsage", "WorkloadUsage", "null"},

	// Logs are read as the caller, and an editor of the instance may not reach its members.
	{`instance(name: "alpha") { workload(kind: DEPLOYMENT, namespace: "shop", name: "frontend") { logs(tail: 1) { lines { line } } } }`, "FORBIDDEN", "FORBIDDEN", "null"},

	// Search, lists over all instances, and images.
	{`search(text: "stuck", types: [WORKLOAD, POLICY]) { hits { name } }`, "stuck stuck", "stuck stuck", ""},
	{`search(text: "node-agents", types: [POLICY]) { hits { name } }`, "node-agents", "", ""},
	{`search(text: "m1-node-1", types: [NODE]) { hits { name } }`, "m1-node-1", "", ""},
	{`resources(group: "apps", version: "v1", resource: "deployments", filter: {namespaces: ["shop", "billing"]}) { totalCount nodes { name } }`, "3: frontend orphan stuck", "3: frontend orphan stuck", "0:"},
	{`images(filter: {repository: "ops/agent"}) { totalCount nodes { name: repository } }`, "1: ops/agent", "0:", "0:"},
	{`images(filter: {repository: "shop/cart"}) { totalCount nodes { name: repository } }`, "1: shop/cart", "1: shop/cart", "0:"},
	{`workloads(filter: {images: ["registry.example.com/shop/cart:2.3.0", "registry.example.com/ops/agent"]}) { totalCount nodes { name } }`, "2: agent cart", "1: cart", "0:"},

	// Filters and facets of policies and clusters.
	{`instance(name: "alpha") { propagationPolicies(filter: {namespaces: ["shop", "ops"], selects: {kind: "Deployment"}}) { totalCount nodes { name } } }`, "2: frontend stuck", "2: frontend stuck", "null"},
	{`instance(name: "alpha") { clusterPropagationPolicies(filter: {selects: {kind: "DaemonSet", name: "agent"}}) { totalCount nodes { name } } }`, "1: node-agents", "0:", "null"},
	{`instance(name: "alpha") { memberClusters(filter: {ready: true}) { facets(fields: [READY]) { values { count } } } }`, "2", "", "null"},
}

// TestEachQuestionAsEachPerson asks every question as an editor of an instance, as an editor of one namespace of
// it by an InstanceRoleBinding, and as a user without a role.
func TestEachQuestionAsEachPerson(t *testing.T) {
	on := open(t)
	shopper := newPerson(t, on, nil)
	bindingIn(t, on, shopper, kairshipv1alpha1.RoleEditor, "alpha", "shop")
	poll.Until(t, propagationTimeout, "the instance lets the editor list Secrets", func(ctx context.Context) error {
		r, err := shopper.Do(ctx, gql.Request{Query: `{ instance(name: "alpha") { resources(version: "v1", resource: "secrets", namespace: "shop") { totalCount } } }`})
		if err == nil && len(r.Errors) > 0 {
			err = fmt.Errorf("got %s", r.Body)
		}
		return err
	})
	for _, q := range everyQuestion {
		for _, of := range []struct {
			person string
			as     *gql.Client
			want   string
		}{{"alice", on.as(t, "alice"), q.alice}, {"the editor of shop", shopper.Client, q.shopper}, {"mallory", on.as(t, "mallory"), q.mallory}} {
			r := of.as.Must(t, gql.Request{Query: "{ " + q.query + " }"})
			if got := summaryOf(t, r); got != of.want {
				t.Errorf("%s asks %s\n got  %q\n want %q: %s", of.person, q.query, got, of.want, r.Body)
			}
			if of.person == "mallory" && secretsOf["alpha"].Match(r.Data) {
				t.Errorf("mallory asks %s and learns of alpha: %s", q.query, r.Body)
			}
		}
	}
}
