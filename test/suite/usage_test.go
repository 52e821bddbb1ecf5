package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// usage is what the fields of that name return.
type usage struct {
	CPU, Memory, WindowSeconds *float64
	MeasuredAt                 *time.Time
	Reason                     *string

	NodeCount, MeasuredNodeCount, PodCount, MeasuredPodCount int
	Clusters                                                 []struct {
		usage
		ClusterName string
	}
}

const usageFields = ` cpu memory measuredAt windowSeconds reason `

// why is the reason, or empty.
func (u usage) why() string {
	if u.Reason == nil {
		return ""
	}
	return *u.Reason
}

// sum adds up some usages.
func sum(of []usage) (total usage) {
	total.CPU, total.Memory = new(float64), new(float64)
	for _, u := range of {
		if u.CPU == nil {
			continue
		}
		*total.CPU += *u.CPU
		*total.Memory += *u.Memory
		if total.MeasuredAt == nil || u.MeasuredAt.Before(*total.MeasuredAt) {
			total.MeasuredAt = u.MeasuredAt
		}
	}
	return total
}

// same reports an error where two usages that were measured at the same time differ, but for rounding.
func same(of string, got, want usage) error {
	const little = 1e-9
	if got.CPU == nil || want.MeasuredAt == nil || !got.MeasuredAt.Equal(*want.MeasuredAt) || *got.Memory != *want.Memory || max(*got.CPU, *want.CPU)-min(*got.CPU, *want.CPU) > little {
		g, _ := json.Marshal(got)
		w, _ := json.Marshal(want)
		return fmt.Errorf("%s: %s, want %s", of, g, w)
	}
	return nil
}

// measured asks a member itself what its nodes or pods use, by namespace and name.
func measured(ctx context.Context, t *testing.T, on *target, member, resource string) (map[string]usage, error) {
	t.Helper()
	raw, err := on.fleet.Kubernetes(t, member).Discovery().RESTClient().Get().AbsPath("/apis/metrics.k8s.io/v1beta1/" + resource).DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	var list struct {
		Items []struct {
			Metadata   struct{ Namespace, Name string }
			Timestamp  time.Time
			Usage      corev1.ResourceList
			Containers []struct{ Usage corev1.ResourceList }
		}
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	all := map[string]usage{}
	for _, one := range list.Items {
		cpu, memory := one.Usage.Cpu().DeepCopy(), one.Usage.Memory().DeepCopy()
		for _, c := range one.Containers {
			cpu.Add(*c.Usage.Cpu())
			memory.Add(*c.Usage.Memory())
		}
		all[one.Metadata.Namespace+"/"+one.Metadata.Name] = usage{CPU: new(cpu.AsApproximateFloat64()), Memory: new(memory.AsApproximateFloat64()), MeasuredAt: &one.Timestamp}
	}
	return all, nil
}

// TestUsage compares what shop/frontend, its pods, the members and their nodes use with what the members say.
func TestUsage(t *testing.T) {
	on := open(t)
	type answer struct {
		Instance struct {
			Workload struct{ Usage usage }
			Pods     struct {
				Nodes []struct {
					ClusterName, Name string
					Usage             usage
				}
			}
			MemberClusters struct {
				Nodes []struct {
					Name         string
					Usage        usage
					ClusterNodes struct {
						Nodes []struct {
							Name  string
							Usage usage
						}
					}
				}
			}
		}
	}
	const query = `{ instance(name: "alpha") {
		workload(kind: DEPLOYMENT, namespace: "shop", name: "frontend") { usage { ` + usageFields + ` podCount measuredPodCount clusters { clusterName ` + usageFields + ` podCount measuredPodCount } } }
		pods(filter: { namespaces: ["shop"], nameContains: "frontend" }) { nodes { clusterName name usage {` + usageFields + `} } }
		memberClusters(filter: { name: ["m1", "m2"] }) { nodes { name usage {` + usageFields + ` nodeCount measuredNodeCount } clusterNodes(filter: { nameContains: "-node-" }) { nodes { name usage {` + usageFields + `} } } } }
	} }`
	// A member may measure anew between the two questions.
	poll.Until(t, propagationTimeout, "each number is what the members say", func(ctx context.Context) error {
		got, _, err := gql.Query[answer](ctx, on.kairship, query, nil)
		if err != nil {
			return err
		}
		pods, perCluster := []usage{}, map[string][]usage{}
		for _, m := range got.Instance.MemberClusters.Nodes {
			nodes, err := measured(ctx, t, on, m.Name, "nodes")
			if err != nil {
				return err
			}
			// Other tests add nodes that nothing plays.
			if more := m.Usage.NodeCount > 3; m.Usage.MeasuredNodeCount != 3 || more != strings.Contains(m.Usage.why(), "have not been measured") || len(m.ClusterNodes.Nodes) != 3 {
				return fmt.Errorf("%s: %d of %d nodes, %s", m.Name, m.Usage.MeasuredNodeCount, m.Usage.NodeCount, m.Usage.why())
			}
			err = same(m.Name, m.Usage, sum(slices.Collect(maps.Values(nodes))))
			for _, n := range m.ClusterNodes.Nodes {
				err = errors.Join(err, same(n.Name, n.Usage, nodes["/"+n.Name]))
			}
			said, failed := measured(ctx, t, on, m.Name, "pods")
			if err = errors.Join(err, failed); err != nil {
				return err
			}
			for _, p := range got.Instance.Pods.Nodes {
				if p.ClusterName != m.Name {
					continue
				}
				if err := same(p.Name, p.Usage, said["shop/"+p.Name]); err != nil {
					return err
				}
				pods, perCluster[m.Name] = append(pods, p.Usage), append(perCluster[m.Name], p.Usage)
			}
		}
		all := got.Instance.Workload.Usage
		if all.PodCount != 4 || all.MeasuredPodCount != 4 || all.Reason != nil || len(all.Clusters) != 2 {
			return fmt.Errorf("%+v", all)
		}
		err = same("frontend", all, sum(pods))
		for _, c := range all.Clusters {
			err = errors.Join(err, same("frontend in "+c.ClusterName, c.usage, sum(perCluster[c.ClusterName])))
		}
		return err
	})
}

// TestUsageWithout asks where there is none, and as those who may not read it.
func TestUsageWithout(t *testing.T) {
	on := open(t)
	query := func(instance, kind, namespace, name string) string {
		return fmt.Sprintf(`{ instance(name: %q) {
			memberClusters(filter: { name: ["m1", "m2", "m3"] }) { nodes { usage { cpu reason } clusterNodes(filter: { nameContains: "-node-" }) { nodes { usage { cpu reason } } } } }
			workload(kind: %s, namespace: %q, name: %q) { usage { cpu reason measuredPodCount clusters { cpu reason } } placements { object { pods { usage { cpu reason } } } } }
		} pods(filter: { namespaces: [%q] }) { nodes { usage { cpu reason } } } }`, instance, kind, namespace, name, namespace)
	}
	frontend, ledger := query("alpha", "DEPLOYMENT", "shop", "frontend"), query("beta", "STATEFUL_SET", "billing", "ledger")
	hidden := `{"instance":null,"pods":{"nodes":[]}}`
	for _, tt := range []struct {
		person, query string
		usages        int
		reason, why   string
	}{
		{"admin", ledger, 1 + 3 + 2 + 3 + 5, `member cluster "m3" has no metrics API`, "m3 has no metrics-server"},
		{"bob", ledger, 1 + 3 + 2 + 3 + 5, `let you reach its member cluster "m3" (clusters/proxy)`, "a viewer"},
		{"alice", frontend, 2 + 6 + 3 + 4 + 8, "(clusters/proxy)", "an editor"},
		{"alice", ledger, 0, "", "of another instance"},
		{"bob", frontend, 0, "", "of another instance"},
		{"mallory", frontend, 0, "", "no role"},
		{"mallory", ledger, 0, "", "no role"},
	} {
		r := on.as(t, tt.person).Must(t, gql.Request{Query: tt.query})
		if len(r.Errors) > 0 || tt.usages == 0 && string(r.Data) != hidden {
			t.Errorf("%s, %s: %s", tt.person, tt.why, r.Body)
		}
		n := strings.Count(string(r.Data), `"cpu":`)
		if n != tt.usages || strings.Count(string(r.Data), `"cpu":null`) != n || strings.Count(strings.ReplaceAll(string(r.Data), `\"`, `"`), tt.reason) < n {
			t.Errorf("%s, %s: %d usages, want %d of which all are null with %q: %s", tt.person, tt.why, n, tt.usages, tt.reason, r.Body)
		}
	}
}

// instanceRequests is how many requests to instances an answer took.
func instanceRequests(t *testing.T, r *gql.Result) (n int) {
	t.Helper()
	var body struct {
		Extensions struct {
			Plan struct {
				Upstreams []struct {
					Kind     string
					Requests int
				}
			}
		}
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		t.Fatal(err)
	}
	for _, u := range body.Extensions.Plan.Upstreams {
		if u.Kind == "INSTANCE" {
			n += u.Requests
		}
	}
	return n
}

// TestUsageTakesARequestForEachMember counts the requests for one pod, node or workload of two members and for many.
func TestUsageTakesARequestForEachMember(t *testing.T) {
	on := open(t)
	for _, tt := range []struct {
		query string
		want  int
		why   string
	}{
		{`pods(filter: {instances: ["alpha"], namespaces: ["shop"], cluster: ["m2"]}, first: 1) { nodes { usage { cpu } } }`, 1, "a pod"},
		{`pods(filter: {instances: ["alpha"], namespaces: ["shop"]}) { nodes { usage { cpu memory } } }`, 2, "the pods of a namespace"},
		{`pods(filter: {instances: ["alpha"], namespaces: ["shop", "ops"]}, first: 100) { edges { node { usage { cpu } } } }`, 2, "of two namespaces"},
		{`workloads(filter: {instances: ["alpha"], name: ["frontend"]}) { nodes { usage { cpu } } }`, 2, "a workload"},
		{`workloads(filter: {instances: ["alpha"], namespaces: ["shop", "ops"]}) { nodes { usage { cpu } placements { object { pods { usage { cpu } } } } } }`, 2, "all workloads, and each of their pods"},
		{`instance(name: "alpha") { memberClusters(filter: {name: ["m1", "m2"]}) { nodes { usage { cpu } clusterNodes { nodes { usage { cpu } } } } } }`, 2, "members and their nodes"},
		{`pods(filter: {instances: ["alpha"], namespaces: ["shop"]}) { nodes { name } }`, 0, "nothing is read that is not selected"},
	} {
		r := on.kairship.Must(t, gql.Request{Query: "{ " + tt.query + " }"})
		if n := instanceRequests(t, r); n != tt.want || len(r.Errors) > 0 {
			t.Errorf("%s took %d requests, want %d: %s", tt.why, n, tt.want, r.Body)
		}
	}
}
