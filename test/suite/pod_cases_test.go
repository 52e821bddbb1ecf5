package suite

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	policyv1alpha1 "github.com/karmada-io/karmada/pkg/apis/policy/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
	"github.com/kairship-io/kairship/test/internal/schema"
)

// membersOf are the member clusters of the instances that have some.
var membersOf = map[string][]string{"alpha": {"m1", "m2"}, "beta": {"m3"}}

// podItems reads the pods of the members themselves.
func (w *world) podItems(ctx context.Context, t testing.TB, list schema.List) ([]item, error) {
	instances := []string{"alpha"}
	if list.Parent == "Query" {
		instances = append(instances, "beta")
	}
	var all []item
	for _, instance := range instances {
		for _, member := range membersOf[instance] {
			if list.Parent == "MemberCluster" && member != "m1" {
				continue
			}
			found, err := listItems(ctx, w.fleet.Client(t, member), &corev1.PodList{}, instance+"/"+member+"/")
			if err != nil {
				return nil, err
			}
			for i := range found {
				found[i].instance, found[i].clusters = instance, []string{member}
			}
			all = append(all, found...)
		}
	}
	return all, nil
}

func podOf(i item) *corev1.Pod { return i.Object.(*corev1.Pod) }

func phaseOf(i item) string { return strings.ToUpper(string(podOf(i).Status.Phase)) }

func readyPod(i item) bool {
	return slices.ContainsFunc(podOf(i).Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// restartsOf is how often the containers of a pod were restarted.
func restartsOf(i item) int {
	n := 0
	for _, c := range podOf(i).Status.ContainerStatuses {
		n += int(c.RestartCount)
	}
	return n
}

func podImages(i item) []string {
	images := []string{}
	for _, list := range [][]corev1.Container{podOf(i).Spec.Containers, podOf(i).Spec.InitContainers} {
		for _, c := range list {
			if !slices.Contains(images, c.Image) {
				images = append(images, c.Image)
			}
		}
	}
	return images
}

func (w *world) podCases(list schema.List) []filterCase {
	in := func(clusters ...string) func(item) bool {
		return func(i item) bool { return slices.Contains(clusters, i.clusters[0]) }
	}
	on := func(nodes ...string) func(item) bool {
		return func(i item) bool { return slices.Contains(nodes, podOf(i).Spec.NodeName) }
	}
	running := func(image string) func(item) bool {
		return func(i item) bool { return slices.Contains(podImages(i), image) }
	}
	repository := strings.TrimSuffix(image, ":1.0.0")
	ofRepository := func(i item) bool {
		return slices.ContainsFunc(podImages(i), func(image string) bool { return strings.HasPrefix(image, repository+":") })
	}
	saying := func(words ...string) func(item) bool {
		return func(i item) bool {
			text := i.GetName() + "\n" + i.GetNamespace() + "\n" + strings.ReplaceAll(labels.FormatLabels(i.GetLabels()), ",", "\n") + "\n" + strings.Join(podImages(i), "\n")
			return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(strings.ToLower(text), word) })
		}
	}
	cases := []filterCase{
		{argument: "filter.cluster", value: []string{"m1"}, match: in("m1"), why: "one member"},
		{argument: "filter.cluster", value: []string{"m2"}, match: in("m2"), why: "another member"},
		{argument: "filter.cluster", value: []string{"m1", "m2", "none-such"}, match: in("m1", "m2"), why: "values are joined by OR"},
		{argument: "filter.cluster", value: []string{"none-such"}, match: nothing, why: "no such member"},
		{argument: "filter.cluster", value: []string{}, match: nothing, why: "no member at all"},
		{argument: "filter.cluster", value: nil, match: everything, why: "null is no filter"},

		{argument: "filter.phase", value: []string{"RUNNING", "PENDING"}, match: func(i item) bool { return phaseOf(i) == "RUNNING" || phaseOf(i) == "PENDING" }, why: "values are joined by OR"},
		{argument: "filter.phase", value: []string{}, match: nothing, why: "no phase at all"},

		{argument: "filter.ready", value: true, match: readyPod, why: "those that are ready"},
		{argument: "filter.ready", value: false, match: func(i item) bool { return !readyPod(i) }, why: "those that are not"},
		{argument: "filter.ready", value: nil, match: everything, why: "null is no filter"},

		{argument: "filter.node", value: []string{"m1-node-1"}, match: on("m1-node-1"), why: "one node"},
		// Both of m1: where its pods run is up to the scheduler.
		{argument: "filter.node", value: []string{"m1-node-1", "m1-node-2", "m2-node-1"}, match: on("m1-node-1", "m1-node-2", "m2-node-1"), why: "values are joined by OR"},
		{argument: "filter.node", value: []string{"none-such"}, match: nothing, why: "no such node"},
		{argument: "filter.node", value: []string{}, match: nothing, why: "no node at all"},

		{argument: "filter.images", value: []string{image}, match: running(image), why: "a whole image"},
		{argument: "filter.images", value: []string{"none-such", repository}, match: ofRepository, why: "an image of any tag, and values are joined by OR"},
		{argument: "filter.images", value: []string{image + "-alpha", "suite/main:1.0.0"}, match: nothing, why: "a part of an image is another image"},
		{argument: "filter.images", value: []string{"none-such*", repository + ":*"}, match: ofRepository, why: "images that begin so"},
		{argument: "filter.images", value: []string{"sha256:" + strings.Repeat("0", 64), "*" + image}, match: nothing, why: "no such digest, and a * is at the end"},
		{argument: "filter.images", value: []string{}, match: nothing, why: "no image at all"},

		{argument: "filter.text", value: "web", match: saying("web"), why: "a word, wherever it is"},
		{argument: "filter.text", value: " WEB  app=web ", match: saying("web", "app=web"), why: "words are joined by AND, in capitals or small letters"},
		{argument: "filter.text", value: "suite/main:1", match: saying("suite/main:1"), why: "a part of an image"},
		{argument: "filter.text", value: w.a, match: saying(w.a), why: "a namespace"},
		{argument: "filter.text", value: "%", match: saying("%"), why: "no wildcard of SQL"},
		{argument: "filter.text", value: "' OR true --", match: saying("'"), why: "no end of a text in SQL"},
	}
	for _, phase := range schema.Values(theSchema, "PodPhase") {
		cases = append(cases, filterCase{argument: "filter.phase", value: []string{phase}, match: func(i item) bool { return phaseOf(i) == phase }, why: "one phase"})
	}
	cases = append(cases, w.naming(everything, "mix-set-0", "x-")...)
	cases = append(cases, labelCases("app=web", "app in (web,slow),pod-template-hash", "pod-template-hash", "!pod-template-hash", "app notin (web)")...)
	cases = append(cases, w.instancesCases(list)...)
	cases = w.here(cases)
	combined := func(i item) bool {
		return i.within(w.a) && i.labelled("app=web") && i.clusters[0] == "m1" && readyPod(i) && phaseOf(i) == "RUNNING" && ofRepository(i)
	}
	return append(append(cases, w.namespaceCases()...), filterCase{
		argument: "filter.ready", value: true, match: combined, why: "fields are joined by AND",
		more: map[string]any{"filter": map[string]any{
			"namespaces": []string{w.a}, "labelSelector": "app=web", "cluster": []string{"m1"}, "phase": []string{"RUNNING"}, "images": []string{repository},
		}},
	})
}

// podFacetFields have the values that a pod counts under.
var podFacetFields = map[string]func(item) []string{
	"PHASE":     func(i item) []string { return []string{phaseOf(i)} },
	"READY":     func(i item) []string { return []string{strconv.FormatBool(readyPod(i))} },
	"INSTANCE":  func(i item) []string { return []string{i.instance} },
	"CLUSTER":   func(i item) []string { return i.clusters },
	"NAMESPACE": func(i item) []string { return []string{i.GetNamespace()} },
	"NODE": func(i item) []string {
		if podOf(i).Spec.NodeName == "" {
			return nil
		}
		return []string{podOf(i).Spec.NodeName}
	},
	"LABEL": facetFields["LABEL"],
	"IMAGE": podImages,
}

var podFacetNames = []string{"PHASE", "READY", "INSTANCE", "CLUSTER", "NAMESPACE", "NODE", "LABEL", "IMAGE"}

const allPodFacets = `facets(fields: [PHASE, READY, INSTANCE, CLUSTER, NAMESPACE, NODE, LABEL, IMAGE], first: 100) { field values { value count } totalValues }`

// TestFacetsCountThePods: under every filter of every list of pods, the facets count what the clusters
// say that is in the list, on whatever page.
func TestFacetsCountThePods(t *testing.T) {
	on := open(t)
	w := theWorld(t)
	w.settled(t, on)
	for _, list := range schema.Lists(theSchema) {
		if list.Node != "Pod" {
			continue
		}
		r := w.filterRoute(t, list)
		query := r.query(list, "{ "+allPodFacets+" nodes { __typename } pageInfo { hasNextPage } }")
		for _, c := range w.casesOf(list) {
			t.Run(fmt.Sprintf("%s/%s=%v", list.Key(), c.argument, w.short(fmt.Sprint(c.value))), func(t *testing.T) {
				variables := maps.Clone(c.more)
				if variables == nil {
					variables = map[string]any{}
				}
				set(variables, c.argument, c.value)
				variables["first"] = 1
				poll.Until(t, soon, "the facets count what the clusters say", func(ctx context.Context) error {
					all, err := w.items(ctx, t, list)
					if err != nil {
						return err
					}
					values := map[string][]string{}
					for field, of := range podFacetFields {
						values[field] = []string{}
						for _, i := range all {
							if c.match(i) {
								values[field] = append(values[field], of(i)...)
							}
						}
					}
					got, err := pageOf(ctx, on.kairship, query, append(slices.Clone(r.path), list.Field.Name), variables)
					if err != nil {
						return err
					}
					if diff := gocmp.Diff(facetsOf(podFacetNames, values), got.Facets); diff != "" {
						return fmt.Errorf("the clusters say -, Kairship says +:\n%s", diff)
					}
					return nil
				})
			})
		}
	}
}

// TestPodsShowWhatTheMembersSay compares every field of pods that a row has with the pods themselves.
func TestPodsShowWhatTheMembersSay(t *testing.T) {
	on := open(t)
	w := theWorld(t)
	w.settled(t, on)
	type shown struct {
		Instance                          struct{ Name string }
		ClusterName, Namespace, Name, UID string
		MemberCluster                     *struct{ Name string }
		Labels                            []struct{ Key, Value string }
		Phase                             string
		Ready                             bool
		Restarts                          int
		NodeName, PodIP                   *string
		Images                            []string
		Manifest                          *struct{ Metadata struct{ UID string } }
	}
	type answer struct{ Pods struct{ Nodes []shown } }
	const query = `query($ns: [String!]) { pods(first: 500, filter: {namespaces: $ns}) { nodes {
		instance { name } clusterName memberCluster { name } namespace name uid labels { key value } phase ready restarts nodeName podIP images manifest } } }`
	list := schema.List{Parent: "Query", Field: theSchema.Query.Fields.ForName("pods"), Node: "Pod"}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	poll.Until(t, soon, "pods are shown as they are", func(ctx context.Context) error {
		all, err := w.items(ctx, t, list)
		if err != nil {
			return err
		}
		want, got := map[string]string{}, map[string]string{}
		for _, i := range all {
			if w.inHere(i) {
				p := podOf(i)
				want[i.name] = fmt.Sprint(p.UID, labels.FormatLabels(p.Labels), phaseOf(i), readyPod(i), restartsOf(i), p.Spec.NodeName, p.Status.PodIP, podImages(i), p.UID, i.clusters[0])
			}
		}
		data, _, err := gql.Query[answer](ctx, on.kairship, query, map[string]any{"ns": w.suiteNamespaces()})
		if err != nil {
			return err
		}
		for _, n := range data.Pods.Nodes {
			set := labels.Set{}
			for _, l := range n.Labels {
				set[l.Key] = l.Value
			}
			if n.Manifest == nil || n.MemberCluster == nil {
				return fmt.Errorf("%s has no manifest or no member cluster", n.Name)
			}
			got[strings.Join([]string{n.Instance.Name, n.ClusterName, n.Namespace, n.Name}, "/")] = fmt.Sprint(
				n.UID, labels.FormatLabels(set), n.Phase, n.Ready, n.Restarts, text(n.NodeName), text(n.PodIP), n.Images, n.Manifest.Metadata.UID, n.MemberCluster.Name)
		}
		if diff := gocmp.Diff(want, got); diff != "" || len(want) == 0 {
			return fmt.Errorf("%d pods, the members say -, Kairship says +:\n%s", len(want), diff)
		}
		return nil
	})
}

// TestPodsCostOneStatement: a page of pods costs one request, whatever of the rows is selected, and
// what the rows do not have one more for all pods.
func TestPodsCostOneStatement(t *testing.T) {
	on := open(t)
	w := theWorld(t)
	w.propagated(t, on)
	const query = `query($first: Int!, $ns: [String!]) { pods(first: $first, filter: {namespaces: $ns}) { totalCount nodes {
		instance { name state } clusterName namespace name uid labels { key value } phase ready restarts nodeName podIP message images createdAt %s } %s } }`
	for _, first := range []int{1, fifty} {
		variables := map[string]any{"first": first, "ns": w.many}
		for _, tt := range []struct {
			what, item, list string
			want             int
		}{
			{"the rows", "", "", 1},
			{"their member clusters", "memberCluster { name ready }", "", 2},
			{"their manifests", "manifest", "", 2},
			{"their containers", "conditions { type } containers { name state } requests { cpu } limits { memory }", "", 2},
			{"one facet", "", "facets(fields: [PHASE]) { values { value count } }", 2},
			{"all facets", "", allPodFacets + " more: facets(fields: [PHASE, NODE]) { totalValues }", 2},
		} {
			if n := coldCost(t, on.kairship, fmt.Sprintf(query, tt.item, tt.list), variables); n != tt.want {
				t.Errorf("a page of %d with %s costs %d requests, want %d", first, tt.what, n, tt.want)
			}
		}
	}
}

// TestPodsOfInstancesCostOneStatement: the pages of all instances are read together.
func TestPodsOfInstancesCostOneStatement(t *testing.T) {
	on := open(t)
	theWorld(t).propagated(t, on)
	for _, names := range [][]string{{"alpha"}, {"alpha", "beta"}} {
		const query = `query($names: [String!]) { instances(filter: {name: $names}) { nodes { pods(first: 2) { totalCount nodes { name phase } } } } }`
		if n := coldCost(t, on.kairship, query, map[string]any{"names": names}); n != 1 {
			t.Errorf("the pods of %v cost %d requests, want 1", names, n)
		}
	}
}

// TestPodsOfOneNamespace asks as a viewer of one namespace of alpha: they see its pods
// in the members that its workloads were sent to, and no others.
func TestPodsOfOneNamespace(t *testing.T) {
	on := open(t)
	viewer := newPerson(t, on, viewerIn("alpha", "shop"))
	list := schema.List{Parent: "Query", Field: theSchema.Query.Fields.ForName("pods"), Node: "Pod"}
	w := &world{fleet: on.fleet}
	type answer struct {
		Pods struct {
			Nodes []struct{ ClusterName, Namespace, Name string }
		}
	}
	poll.Until(t, propagationTimeout, "the pods of shop are shown", func(ctx context.Context) error {
		all, err := w.items(ctx, t, list)
		if err != nil {
			return err
		}
		want, got := []string{}, []string{}
		for _, i := range all {
			if i.instance == "alpha" && i.within("shop") {
				want = append(want, i.clusters[0]+"/shop/"+i.GetName())
			}
		}
		data, _, err := gql.Query[answer](ctx, viewer.Client, `{ pods(first: 500) { nodes { clusterName namespace name } } }`, nil)
		if err != nil {
			return err
		}
		for _, n := range data.Pods.Nodes {
			got = append(got, n.ClusterName+"/"+n.Namespace+"/"+n.Name)
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := gocmp.Diff(want, got); diff != "" || len(want) == 0 {
			return fmt.Errorf("%d pods, the members say -, Kairship says +:\n%s", len(want), diff)
		}
		return nil
	})
	for _, tt := range []struct{ query, want string }{
		{`pods { facets(fields: [NAMESPACE, INSTANCE]) { values { value } } }`, "shop alpha"},
		{`pods(filter: {namespaces: ["ops"]}) { totalCount nodes { name } }`, "0:"},
		{`pods(filter: {namespaces: ["ops"]}) { facets(fields: [PHASE, CLUSTER, NODE, LABEL, IMAGE]) { totalValues } }`, "0 0 0 0 0"},
		{`pods(filter: {images: ["registry.example.com/ops/agent"]}) { totalCount nodes { name } }`, "0:"},
		{`pods(filter: {text: "registry.example.com/ops"}) { totalCount nodes { name } }`, "0:"},
		{`pods(filter: {cluster: ["m3"]}) { totalCount nodes { name } }`, "0:"},
		{`instance(name: "alpha") { pods { facets(fields: [NAMESPACE]) { values { value } } } }`, "shop"},
		{`instance(name: "alpha") { pods(filter: {namespaces: ["ops"]}) { totalCount nodes { name } } }`, "0:"},
		{`instance(name: "beta") { pods { totalCount } }`, "null"},
	} {
		if got := summaryOf(t, viewer.Must(t, gql.Request{Query: "{ " + tt.query + " }"})); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.query, got, tt.want)
		}
	}
}

// TestPodsThatNoWorkloadWasSentTo: a namespace of a member that has the name of one of the instance, but
// no workload of it, is for users of the whole instance.
func TestPodsThatNoWorkloadWasSentTo(t *testing.T) {
	on := open(t)
	w := &world{fleet: on.fleet, id: newID()}
	t.Cleanup(w.remove)
	ns := "suite-" + w.id + "-apart"
	apart := &corev1.Namespace{ObjectMeta: w.meta("", ns)}
	apart.Labels[policyv1alpha1.NamespaceSkipAutoPropagationLabel] = "true"
	w.create(t, created{"alpha", apart}, created{"m1", &corev1.Namespace{ObjectMeta: w.meta("", ns)}})
	poll.Until(t, propagationTimeout, "the pod is created", func(ctx context.Context) error {
		// The namespace gets its ServiceAccount a moment later.
		p := &corev1.Pod{ObjectMeta: w.meta(ns, "alone"), Spec: pods(nil).Spec}
		return client.IgnoreAlreadyExists(w.fleet.Client(t, "m1").Create(ctx, p))
	})
	query := gql.Request{Query: fmt.Sprintf(`{ pods(filter: {namespaces: [%q]}) { totalCount nodes { name } } }`, ns)}
	viewer := newPerson(t, on, viewerIn("alpha", ns))
	poll.Until(t, propagationTimeout, "users of the instance see the pod", func(ctx context.Context) error {
		for person, c := range map[string]*gql.Client{"admin": on.kairship, "alice": on.as(t, "alice")} {
			r, err := c.Do(ctx, query)
			if err != nil {
				return err
			}
			if got := summaryOf(t, r); got != "1: alone" {
				return fmt.Errorf("%s sees %s", person, got)
			}
		}
		return nil
	})
	for person, c := range map[string]*gql.Client{"a viewer of the namespace": viewer.Client, "bob": on.as(t, "bob"), "mallory": on.as(t, "mallory")} {
		if got := summaryOf(t, c.Must(t, query)); got != "0:" {
			t.Errorf("%s sees %s", person, got)
		}
	}
}
