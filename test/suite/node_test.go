package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
	"github.com/kairship-io/kairship/test/internal/schema"
)

// nodeRoutes lead to an object of each type that has an ID, among the sample
// applications; X stands for the selection on it.
var nodeRoutes = map[string]string{
	"Instance":                 `instance(name: "alpha") X`,
	"Cluster":                  `cluster(name: "m1") X`,
	"MemberCluster":            `instance(name: "alpha") { memberCluster(name: "m1") X }`,
	"Namespace":                `instance(name: "alpha") { namespace(name: "shop") X }`,
	"Deployment":               `instance(name: "alpha") { workload(kind: DEPLOYMENT, namespace: "shop", name: "frontend") X }`,
	"StatefulSet":              `instance(name: "alpha") { workload(kind: STATEFUL_SET, namespace: "shop", name: "cart") X }`,
	"DaemonSet":                `instance(name: "alpha") { workload(kind: DAEMON_SET, namespace: "ops", name: "agent") X }`,
	"Job":                      `instance(name: "alpha") { workload(kind: JOB, namespace: "ops", name: "migrate") X }`,
	"CronJob":                  `instance(name: "alpha") { workload(kind: CRON_JOB, namespace: "ops", name: "report") X }`,
	"CustomWorkload":           `instance(name: "alpha") { workload(kind: CUSTOM, customKind: "Transcoder.media.example.com", namespace: "media", name: "thumbnails") X }`,
	"ResourceBinding":          `instance(name: "alpha") { workload(kind: DEPLOYMENT, namespace: "shop", name: "frontend") { binding X } }`,
	"PropagationPolicy":        `instance(name: "alpha") { propagationPolicy(namespace: "shop", name: "frontend") X }`,
	"ClusterPropagationPolicy": `instance(name: "alpha") { workload(kind: DAEMON_SET, namespace: "ops", name: "agent") { policy X } }`,
	"OverridePolicy":           `instance(name: "alpha") { overridePolicy(namespace: "shop", name: "frontend-image") X }`,
	"ClusterOverridePolicy":    `instance(name: "alpha") { clusterOverridePolicy(name: "suite-ID-web") X }`,
	"FederatedHPA":             `instance(name: "alpha") { federatedHPA(namespace: "shop", name: "stuck") X }`,
	"CronFederatedHPA":         `instance(name: "alpha") { cronFederatedHPA(namespace: "shop", name: "frontend-nights") X }`,
	"MultiClusterService":      `instance(name: "alpha") { multiClusterService(namespace: "shop", name: "frontend") X }`,
	"FederatedResourceQuota":   `instance(name: "alpha") { federatedResourceQuota(namespace: "shop", name: "shop") X }`,
	"WorkloadRebalancer":       `instance(name: "alpha") { workloadRebalancer(name: "orphan") X }`,
	"Resource":                 `instance(name: "alpha") { resource(group: "apps", version: "v1", resource: "deployments", namespace: "shop", name: "frontend") X }`,
}

// TestEveryIDLeadsBack reads an object of every type with an ID, and reads it
// again by its ID: both must be the same object, field by field.
func TestEveryIDLeadsBack(t *testing.T) {
	on := open(t)
	w := theWorld(t)
	for _, def := range theSchema.GetPossibleTypes(theSchema.Types["Node"]) {
		if def.Kind != ast.Object {
			continue
		}
		t.Run(def.Name, func(t *testing.T) {
			r, ok := nodeRoutes[def.Name]
			if !ok {
				t.Fatalf("no test knows the way to an object of type %s: add it here", def.Name)
			}
			r = strings.ReplaceAll(r, "suite-ID-", "suite-"+w.id+"-")
			fields := schema.Selection(theSchema, def.Name, 1)
			poll.Until(t, soon, "both are the same", func(ctx context.Context) error {
				first, err := innermost(ctx, on, "{ "+strings.Replace(r, "X", "{ __typename id ... on "+def.Name+" "+fields+" }", 1)+" }")
				if err != nil {
					return err
				}
				if first["__typename"] != def.Name {
					return fmt.Errorf("the way leads to a %v", first["__typename"])
				}
				again, err := innermost(ctx, on, fmt.Sprintf("{ node(id: %q) { __typename id ... on %s %s } }", first["id"], def.Name, fields))
				if err != nil {
					return err
				}
				if diff := cmp.Diff(first, again); diff != "" {
					return fmt.Errorf("-by its name +by its ID:\n%s", diff)
				}
				return nil
			})
		})
	}
}

// innermost is the object of an answer that has a __typename.
func innermost(ctx context.Context, on *target, query string) (map[string]any, error) {
	data, _, err := gql.Query[map[string]any](ctx, on.kairship, query, nil)
	if err != nil {
		return nil, err
	}
	for {
		if _, ok := data["__typename"]; ok {
			return data, nil
		}
		for _, inner := range data {
			var ok bool
			if data, ok = inner.(map[string]any); !ok {
				return nil, errors.New("there is no such object")
			}
		}
	}
}

// TestNoTwoObjectsHaveOneID reads the IDs of everything that can be listed.
func TestNoTwoObjectsHaveOneID(t *testing.T) {
	on := open(t)
	w := theWorld(t)
	seen := map[string]string{}
	n := 0
	for _, list := range schema.ObjectLists(theSchema) {
		if theSchema.Types[list.Node].Fields.ForName("id") == nil || (list.Parent != "Query" && list.Parent != "Instance" && list.Parent != "MemberCluster") || list.Key() == "Instance.workloads" {
			continue
		}
		r := w.routeTo(t, list)
		variables := with(kindIn(list), "first", 500)
		selection := strings.Replace(naming(list.Node), "{ ", "{ id __typename ", 1)
		c, err := pageOf(t.Context(), on.kairship, r.query(list, "{ nodes "+selection+" }"), append(slices.Clone(r.path), list.Field.Name), variables)
		if err != nil {
			t.Fatal(err)
		}
		for _, raw := range c.Nodes {
			var o struct {
				ID       string `json:"id"`
				Typename string `json:"__typename"`
			}
			if err := json.Unmarshal(raw, &o); err != nil {
				t.Fatal(err)
			}
			n++
			name := o.Typename + " " + nameOf(raw)
			if other, ok := seen[o.ID]; ok && other != name {
				t.Errorf("%s and %s have the same ID", name, other)
			}
			seen[o.ID] = name
		}
	}
	if n < 300 {
		t.Errorf("only %d objects were looked at", n)
	}
}
