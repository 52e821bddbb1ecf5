package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
	"github.com/kairship-io/kairship/pkg/fleet/resource"
	"github.com/kairship-io/kairship/test/internal/gql"
	"github.com/kairship-io/kairship/test/internal/schema"
)

// memberResourceCases are those of the Deployments in m1.
func (w *world) memberResourceCases(list schema.List) []filterCase {
	cases := append(w.here(w.naming(w.inHere, "web", "we")), w.here(labelCases("tier=web", "tier notin (web)", "karmada.io/managed=true"))...)
	cases = append(cases, w.namespaceCases()...)
	cases = append(cases,
		filterCase{argument: "namespace", value: w.a, match: func(i item) bool { return i.within(w.a) }, why: "one namespace"},
		filterCase{argument: "namespace", value: "none-such", match: nothing, why: "no such namespace"},
		filterCase{argument: "namespace", value: "", match: nothing, why: "every Deployment has a namespace"},
		filterCase{argument: "namespace", value: nil, match: everything, why: "null is no filter"},
		filterCase{argument: "group", value: "apps", match: everything, why: "the group of Deployments"},
		filterCase{argument: "group", value: "", match: nothing, refused: "resource", why: "no group has a kind of another"},
		filterCase{argument: "version", value: "v1", match: everything, why: "the version that is collected"},
		filterCase{argument: "version", value: "v1beta1", match: nothing, refused: "resource", why: "a version that is not collected"},
		filterCase{argument: "resource", value: "deployments", match: everything, why: "the plural name of the kind"},
		filterCase{argument: "resource", value: "scales", match: nothing, refused: "resource", why: "a kind that is not collected"},
	)
	cases = append(cases, ownerCases()...)
	for n := range cases {
		more := kindIn(list)
		maps.Copy(more, cases[n].more)
		cases[n].more = more
	}
	return cases
}

// memberKinds are the kinds whose objects TestResourcesShowWhatTheMemberHas compares.
var memberKinds = []struct {
	group, resource string
	objects         func() client.ObjectList
}{
	{"", "nodes", func() client.ObjectList { return &corev1.NodeList{} }},
	{"", "services", func() client.ObjectList { return &corev1.ServiceList{} }},
	{"", "namespaces", func() client.ObjectList { return &corev1.NamespaceList{} }},
	{"apps", "deployments", func() client.ObjectList { return &appsv1.DeploymentList{} }},
	{"apps", "statefulsets", func() client.ObjectList { return &appsv1.StatefulSetList{} }},
	{"apps", "daemonsets", func() client.ObjectList { return &appsv1.DaemonSetList{} }},
	{"apps", "replicasets", func() client.ObjectList { return &appsv1.ReplicaSetList{} }},
	{"batch", "jobs", func() client.ObjectList { return &batchv1.JobList{} }},
	{"batch", "cronjobs", func() client.ObjectList { return &batchv1.CronJobList{} }},
}

// resourcesIn asks for objects of a kind in a member of alpha.
func resourcesIn(member, group, plural, more, selection string) string {
	return fmt.Sprintf(`instance(name: "alpha") { resources(cluster: %q, group: %q, version: "v1", resource: %q%s) %s }`, member, group, plural, more, selection)
}

// resourceNames are the names of the objects in an answer to resourcesIn, with the count.
func resourceNames(ctx context.Context, c *gql.Client, query string) (names []string, count int, err error) {
	data, _, err := gql.Query[struct {
		Instance *struct {
			Resources struct {
				TotalCount int
				Nodes      []struct{ Namespace, Name string }
			}
		}
	}](ctx, c, "{ "+query+" }", nil)
	if err != nil || data.Instance == nil {
		return nil, 0, err
	}
	names = []string{}
	for _, n := range data.Instance.Resources.Nodes {
		names = append(names, n.Namespace+"/"+n.Name)
	}
	slices.Sort(names)
	return names, data.Instance.Resources.TotalCount, nil
}

// TestResourcesShowWhatTheMemberHas compares each kind with m1 itself, as the administrator and as a
// viewer of one namespace of alpha. The viewer sees what is in the namespace, and its Namespace.
func TestResourcesShowWhatTheMemberHas(t *testing.T) {
	on := open(t)
	viewer := newPerson(t, on, viewerIn("alpha", "shop"))
	w := &world{fleet: on.fleet}
	for _, kind := range memberKinds {
		poll.Until(t, propagationTimeout, kind.resource+" are shown", func(ctx context.Context) error {
			all, err := listItems(ctx, w.fleet.Client(t, "m1"), kind.objects(), "")
			if err != nil {
				return err
			}
			whole, shop := []string{}, []string{}
			for _, i := range all {
				name := i.GetNamespace() + "/" + i.GetName()
				whole = append(whole, name)
				if i.GetNamespace() == "shop" || kind.resource == "namespaces" && i.GetName() == "shop" {
					shop = append(shop, name)
				}
			}
			for _, of := range []struct {
				person string
				as     *gql.Client
				want   []string
			}{{"the administrator", on.kairship, whole}, {"the viewer", viewer.Client, shop}} {
				slices.Sort(of.want)
				got, count, err := resourceNames(ctx, of.as, resourcesIn("m1", kind.group, kind.resource, ", first: 500", "{ totalCount nodes { namespace name } }"))
				if err != nil {
					return err
				}
				if diff := gocmp.Diff(of.want[:min(500, len(of.want))], got); diff != "" || count != len(of.want) {
					return fmt.Errorf("%s sees %d of %d, m1 says -, Kairship says +:\n%s", of.person, count, len(of.want), diff)
				}
			}
			if kind.resource == "deployments" && len(shop) == 0 || kind.resource == "daemonsets" && len(whole) == 0 {
				return fmt.Errorf("the namespace has %d of %d: the test proves nothing", len(shop), len(whole))
			}
			return nil
		})
	}
}

// TestResourcesInMembersAreConfined asks as each wrong user, by every way that leads to objects in
// members. The hidden objects have the same answer as those that do not exist.
func TestResourcesInMembersAreConfined(t *testing.T) {
	on := open(t)
	viewer := newPerson(t, on, viewerIn("alpha", "shop"))
	const counted = "{ totalCount nodes { name } }"
	frontend := func(member string) string {
		return fmt.Sprintf(`node(id: %q) { ... on Resource { name } }`, nodeid.New(resource.InMember, "alpha", member, "apps", "v1", "deployments", "shop", "frontend"))
	}
	agent := fmt.Sprintf(`node(id: %q) { id }`, nodeid.New(resource.InMember, "alpha", "m1", "apps", "v1", "daemonsets", "ops", "agent"))
	node := fmt.Sprintf(`node(id: %q) { id }`, nodeid.New(resource.InMember, "alpha", "m1", "", "v1", "nodes", "", "m1-node-1"))
	nodesOf := func(instance, member string) string {
		return fmt.Sprintf(`instance(name: %q) { memberCluster(name: %q) { clusterNodes(filter: {name: ["m1-node-1"]}) { totalCount nodes { name } } } }`, instance, member)
	}
	everywhere := func(group, plural, arguments string) string {
		return fmt.Sprintf(`resources(inMembers: true, group: %q, version: "v1", resource: %q%s) %s`, group, plural, arguments, counted)
	}
	const (
		frontendName   = `, filter: {name: ["frontend"]}`
		frontendInShop = `, filter: {name: ["frontend"], namespaces: ["shop"]}`
		anyNode        = `, filter: {name: ["m1-node-1", "m2-node-1", "m3-node-1"]}`
	)
	poll.Until(t, propagationTimeout, "the viewer sees the Deployment", func(ctx context.Context) error {
		names, _, err := resourceNames(ctx, viewer.Client, resourcesIn("m1", "apps", "deployments", frontendName, counted))
		if err == nil && len(names) != 1 {
			err = fmt.Errorf("got %v", names)
		}
		return err
	})
	for _, tt := range []struct {
		person string
		as     *gql.Client
		query  string
		want   string
	}{
		{"alice", on.as(t, "alice"), resourcesIn("m1", "apps", "deployments", frontendName, counted), "1: frontend"},
		{"alice", on.as(t, "alice"), frontend("m1"), "frontend"},
		{"alice", on.as(t, "alice"), resourcesIn("m3", "", "nodes", "", counted), "<nil>:"},
		{"alice", on.as(t, "alice"), resourcesIn("m9", "", "nodes", "", counted), "<nil>:"},
		{"alice", on.as(t, "alice"), frontend("m3"), "null"},
		{"alice", on.as(t, "alice"), nodesOf("alpha", "m1"), "1: m1-node-1"},
		{"bob", on.as(t, "bob"), nodesOf("alpha", "m1"), "null"},
		{"bob", on.as(t, "bob"), nodesOf("beta", "m1"), "null"},
		{"mallory", on.as(t, "mallory"), nodesOf("alpha", "m1"), "null"},
		{"the viewer", viewer.Client, nodesOf("alpha", "m1"), "null"},
		{"bob", on.as(t, "bob"), resourcesIn("m1", "apps", "deployments", frontendName, counted), "null"},
		{"bob", on.as(t, "bob"), `instance(name: "beta") { resources(cluster: "m1", group: "apps", version: "v1", resource: "deployments") { totalCount nodes { name } } }`, "<nil>:"},
		{"bob", on.as(t, "bob"), frontend("m1"), "null"},
		{"mallory", on.as(t, "mallory"), resourcesIn("m1", "", "nodes", "", counted), "null"},
		{"mallory", on.as(t, "mallory"), frontend("m1"), "null"},
		{"alice", on.as(t, "alice"), listInMember("alpha", "m1", `workloads(kinds: [DAEMON_SET], filter: {name: ["agent"]})`), "1: agent"},
		{"bob", on.as(t, "bob"), listInMember("alpha", "m1", `workloads`), "null"},
		{"bob", on.as(t, "bob"), listInMember("beta", "m1", `workloads`), "null"},
		{"mallory", on.as(t, "mallory"), listInMember("alpha", "m1", `services`), "null"},
		{"mallory", on.as(t, "mallory"), listInMember("alpha", "m1", `clusterPods`), "null"},
		{"the viewer", viewer.Client, listInMember("alpha", "m1", `workloads`), "null"},
		{"the viewer", viewer.Client, listInMember("alpha", "m1", `events`), "null"},
		{"the viewer", viewer.Client, listInMember("alpha", "m1", `clusterPods`), "null"},
		{"the viewer", viewer.Client, frontend("m1"), "frontend"},
		{"the viewer", viewer.Client, agent, "null"},
		{"the viewer", viewer.Client, node, "null"},
		{"the viewer", viewer.Client, resourcesIn("m1", "", "nodes", "", counted), "0:"},
		{"the viewer", viewer.Client, resourcesIn("m1", "", "namespaces", "", counted), "1: shop"},
		{"the viewer", viewer.Client, resourcesIn("m1", "", "namespaces", `, filter: {name: ["ops"]}`, counted), "0:"},
		{"the viewer", viewer.Client, resourcesIn("m1", "apps", "daemonsets", `, namespace: "ops"`, counted), "0:"},
		{"alice", on.as(t, "alice"), everywhere("apps", "deployments", frontendInShop), "2: frontend frontend"},
		{"alice", on.as(t, "alice"), everywhere("", "nodes", anyNode), "2: m1-node-1 m2-node-1"},
		{"bob", on.as(t, "bob"), everywhere("apps", "deployments", frontendInShop), "0:"},
		{"bob", on.as(t, "bob"), everywhere("", "nodes", anyNode), "1: m3-node-1"},
		{"the viewer", viewer.Client, everywhere("apps", "deployments", frontendInShop), "2: frontend frontend"},
		{"the viewer", viewer.Client, everywhere("apps", "daemonsets", `, filter: {namespaces: ["ops"]}`), "0:"},
		{"the viewer", viewer.Client, everywhere("", "nodes", anyNode), "0:"},
		{"mallory", on.as(t, "mallory"), everywhere("apps", "deployments", frontendInShop), "0:"},
		{"mallory", on.as(t, "mallory"), everywhere("", "nodes", anyNode+`, instances: ["alpha"]`), "0:"},
		{"admin", on.kairship, everywhere("", "nodes", anyNode+`, instances: ["beta"]`), "1: m3-node-1"},
		{"alice", on.as(t, "alice"), everywhere("", "secrets", ""), "INVALID"},
		{"mallory", on.as(t, "mallory"), everywhere("", "secrets", ""), "0:"},
		{"the viewer", viewer.Client, `instance(name: "alpha") { memberClusters { nodes { resources(version: "v1", resource: "nodes") { totalCount } } } }`, ""},
	} {
		if got := summaryOf(t, tt.as.Must(t, gql.Request{Query: "{ " + tt.query + " }"})); got != tt.want {
			t.Errorf("%s asks %s: got %q, want %q", tt.person, tt.query, got, tt.want)
		}
	}
	for _, plural := range []string{"secrets", "configmaps"} {
		r := on.kairship.Must(t, gql.Request{Query: "{ " + resourcesIn("m1", "", plural, "", counted) + " }"})
		if len(r.Errors) != 1 || r.Errors[0].Extensions.Code != "INVALID" || !strings.Contains(r.Errors[0].Message, "pods, nodes, services") {
			t.Errorf("%s: got %s", plural, r.Body)
		}
	}
}

// TestResourcesThatNoWorkloadWasSentTo: a namespace of a member that has the name of one of the instance,
// but no workload of it, is for users of the whole instance. What is in it has no managedBy.
func TestResourcesThatNoWorkloadWasSentTo(t *testing.T) {
	on := open(t)
	w := &world{fleet: on.fleet, id: newID()}
	t.Cleanup(w.remove)
	ns := "suite-" + w.id + "-apart"
	apart := &corev1.Namespace{ObjectMeta: w.meta("", ns)}
	apart.Labels[policyv1alpha1.NamespaceSkipAutoPropagationLabel] = "true"
	w.create(t, created{"alpha", apart}, created{"m1", &corev1.Namespace{ObjectMeta: w.meta("", ns)}})
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "alone"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	w.create(t, created{"m1", service})
	viewer := newPerson(t, on, viewerIn("alpha", ns))
	services := resourcesIn("m1", "", "services", fmt.Sprintf(", namespace: %q", ns), "{ totalCount nodes { name managedBy { workName } service { type ports { port protocol targetPort } } ingress { className } runs { images } } }")
	namespaces := resourcesIn("m1", "", "namespaces", fmt.Sprintf(", filter: {name: [%q]}", ns), "{ totalCount nodes { name } }")
	poll.Until(t, propagationTimeout, "users of the instance see the Service", func(ctx context.Context) error {
		for person, c := range map[string]*gql.Client{"admin": on.kairship, "alice": on.as(t, "alice")} {
			for query, want := range map[string]string{services: `[{"name":"alone","managedBy":null,"service":{"type":"ClusterIP","ports":[{"port":80,"protocol":"TCP","targetPort":"80"}]},"ingress":null,"runs":null}]`, namespaces: fmt.Sprintf(`[{"name":%q}]`, ns)} {
				r, err := c.Do(ctx, gql.Request{Query: "{ " + query + " }"})
				if err != nil {
					return err
				}
				if !strings.Contains(string(r.Body), want) {
					return fmt.Errorf("%s sees %s", person, r.Body)
				}
			}
		}
		return nil
	})
	for _, query := range []string{services, namespaces} {
		if got := summaryOf(t, viewer.Must(t, gql.Request{Query: "{ " + query + " }"})); got != "0:" {
			t.Errorf("a viewer of the namespace asks %s and sees %s", query, got)
		}
	}
}

// TestResourcesSayWhoPutThemThere: what Karmada put into a member names its Work, and what was made of
// it does not.
func TestResourcesSayWhoPutThemThere(t *testing.T) {
	on := open(t)
	type shown struct {
		ID, ClusterName, Kind, Name string
		Instance                    struct{ Name string }
		ManagedBy                   *struct{ WorkNamespace, WorkName string }
	}
	type answer struct {
		Instance struct {
			MemberCluster struct {
				Deployments, ReplicaSets struct{ Nodes []shown }
			}
		}
	}
	const query = `{ instance(name: "alpha") { memberCluster(name: "m1") {
		deployments: resources(group: "apps", version: "v1", resource: "deployments", filter: {namespaces: ["shop"], name: ["frontend"]}) { nodes { ...one } }
		replicaSets: resources(group: "apps", version: "v1", resource: "replicasets", namespace: "shop", filter: {nameContains: "frontend-"}) { nodes { ...one } }
	} } } fragment one on Resource { id clusterName kind name instance { name } managedBy { workNamespace workName } }`
	poll.Until(t, propagationTimeout, "the Deployment and its ReplicaSet are shown", func(ctx context.Context) error {
		data, _, err := gql.Query[answer](ctx, on.kairship, query, nil)
		if err != nil {
			return err
		}
		m := data.Instance.MemberCluster
		if len(m.Deployments.Nodes) != 1 || len(m.ReplicaSets.Nodes) == 0 {
			return fmt.Errorf("got %+v", m)
		}
		d := m.Deployments.Nodes[0]
		if d.ClusterName != "m1" || d.Instance.Name != "alpha" || d.ManagedBy == nil || d.ManagedBy.WorkNamespace != "karmada-es-m1" || d.ManagedBy.WorkName == "" {
			return fmt.Errorf("the Deployment is %+v", d)
		}
		if r := m.ReplicaSets.Nodes[0]; r.ManagedBy != nil {
			return fmt.Errorf("a ReplicaSet that a controller of m1 made is managed by %+v", r.ManagedBy)
		}
		again, _, err := gql.Query[struct{ Node *shown }](ctx, on.kairship, `query($id: ID!) { node(id: $id) { ... on Resource { id clusterName kind name instance { name } managedBy { workNamespace workName } } } }`, map[string]any{"id": d.ID})
		if err != nil {
			return err
		}
		if diff := gocmp.Diff(&d, again.Node); diff != "" {
			return fmt.Errorf("its ID leads to (-want +got):\n%s", diff)
		}
		work, _, err := gql.Query[json.RawMessage](ctx, on.kairship, `query($name: String!) { instance(name: "alpha") { resource(group: "work.karmada.io", version: "v1alpha1", resource: "works", namespace: "karmada-es-m1", name: $name) { clusterName } } }`, map[string]any{"name": d.ManagedBy.WorkName})
		if err != nil || !strings.Contains(string(work), `"clusterName":null`) {
			return fmt.Errorf("its Work is %s, %w", work, err)
		}
		return nil
	})
}
