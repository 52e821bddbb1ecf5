package main

import (
	"context"
	"fmt"
)

// question is what is asked of an index of a million objects.
type question struct {
	name, title, query string
	// target is what the median latency should be at most, in milliseconds; 0 for nothing.
	target float64
	// grows reports that the question is also asked of a small index, to compare.
	grows bool
	// variables are those of each operation, each as likely as the others.
	variables []map[string]any
	check     func(*scaleData) error
	client    *graphqlClient
}

// ask asks the question with the n-th variables.
func (q *question) ask(ctx context.Context, n int) (*scaleData, error) {
	data := &scaleData{}
	_, err := q.client.ask(ctx, q.query, q.variables[n], false, data)
	return data, err
}

// scaleData is what the questions are answered with.
type scaleData struct {
	Workloads struct {
		TotalCount *int            `json:"totalCount"`
		Nodes      []scaleWorkload `json:"nodes"`
		Edges      []struct {
			Cursor string `json:"cursor"`
		} `json:"edges"`
		Facets []struct {
			TotalValues int `json:"totalValues"`
			Values      []struct {
				Value string `json:"value"`
				Count int    `json:"count"`
			} `json:"values"`
		} `json:"facets"`
	} `json:"workloads"`
	Pods struct {
		TotalCount *int `json:"totalCount"`
		Nodes      []struct {
			Name string `json:"name"`
		} `json:"nodes"`
		Facets []struct {
			TotalValues int `json:"totalValues"`
		} `json:"facets"`
	} `json:"pods"`
	Images struct {
		TotalCount *int `json:"totalCount"`
	} `json:"images"`
	Search struct {
		Hits []gqlNamed `json:"hits"`
	} `json:"search"`
	Instance struct {
		Workload *scaleWorkload `json:"workload"`
	} `json:"instance"`
}

type scaleWorkload struct {
	Name       string `json:"name"`
	Namespace  string `json:"namespace"`
	Health     string `json:"health"`
	Placements []struct {
		Object *struct {
			Name string     `json:"name"`
			Pods []gqlNamed `json:"pods"`
		} `json:"object"`
	} `json:"placements"`
}

const (
	scaleJob     = `namespace name replicas { desired ready } health policy { name } placements { clusterName desired ready health }`
	scaleObjects = `namespace name replicas { desired ready } health policy { name } binding { clusters { name } }
    placements { clusterName desired ready health object { name uid images } }`
	scalePods   = `namespace name health replicas { desired ready } placements { clusterName health object { name pods { name phase ready restarts } } }`
	scalePage   = `namespace name createdAt resourceVersion labels { key value }`
	scaleSingle = `namespace name createdAt resourceVersion images labels { key value }`

	scalePodRow = `clusterName namespace name phase ready restarts nodeName images createdAt`

	scaleCursors = `query Cursors($after: String) { workloads(first: 500, after: $after) { edges { cursor } } }`
)

// scaleList is a list of workloads of all instances, in an order unless it is empty.
func scaleList(arguments, fields string) string {
	return "query List($after: String, $filter: WorkloadFilter) { workloads(first: 50, after: $after, filter: $filter" + arguments + ") { " + fields + " } }"
}

// scalePodList is a list of pods of all instances.
func scalePodList(first int, fields string) string {
	return fmt.Sprintf("query Pods($filter: PodFilter) { pods(first: %d, filter: $filter) { %s } }", first, fields)
}

func scaleGet(fields string) string {
	return "query Get($instance: String!, $namespace: String!, $name: String!) { instance(name: $instance) { workload(kind: DEPLOYMENT, namespace: $namespace, name: $name) { " + fields + " } } }"
}

// places reads cursors of pages, from the beginning of the list of everything.
func places(ctx context.Context, client *graphqlClient) (all []map[string]any, err error) {
	const calls = 20
	after := map[string]any{}
	for range calls {
		data := &scaleData{}
		if _, err := client.ask(ctx, scaleCursors, after, false, data); err != nil {
			return nil, fmt.Errorf("reading the cursors of pages: %w", err)
		}
		edges := data.Workloads.Edges
		for i := pageSize - 1; i < len(edges)-pageSize; i += pageSize {
			all = append(all, map[string]any{"after": edges[i].Cursor})
		}
		if len(edges) < 10*pageSize {
			break
		}
		after = map[string]any{"after": edges[len(edges)-1].Cursor}
	}
	return all, nil
}

// filters are variables with filters of several values.
func filters(n int, filter func(k int) map[string]any) (all []map[string]any) {
	for k := range n {
		all = append(all, map[string]any{"filter": filter(k)})
	}
	return all
}

// counted expects that so many workloads match, on all pages.
func counted(want int) func(*scaleData) error {
	return func(d *scaleData) error {
		if d.Workloads.TotalCount == nil || *d.Workloads.TotalCount != want {
			return fmt.Errorf("totalCount is %v, want %d", valueOf(d.Workloads.TotalCount), want)
		}
		return nil
	}
}

// atLeast expects that so many workloads match, and the fleet's own.
func atLeast(want int) func(*scaleData) error {
	return func(d *scaleData) error {
		if valueOf(d.Workloads.TotalCount) < want {
			return fmt.Errorf("totalCount is %v, want %d and more", valueOf(d.Workloads.TotalCount), want)
		}
		return nil
	}
}

// full expects a full page, with a number of pods for each workload.
func full(pods int) func(*scaleData) error {
	return func(d *scaleData) error {
		if len(d.Workloads.Nodes) != pageSize {
			return fmt.Errorf("a page has %d workloads, want %d", len(d.Workloads.Nodes), pageSize)
		}
		for i := range d.Workloads.Nodes {
			if err := d.Workloads.Nodes[i].has(pods); err != nil {
				return err
			}
		}
		return nil
	}
}

func single(pods int) func(*scaleData) error {
	return func(d *scaleData) error {
		if d.Instance.Workload == nil {
			return fmt.Errorf("the workload is not found")
		}
		return d.Instance.Workload.has(pods)
	}
}

func (w *scaleWorkload) has(pods int) error {
	n := 0
	for _, p := range w.Placements {
		if p.Object != nil {
			n += len(p.Object.Pods)
		}
	}
	if n != pods {
		return fmt.Errorf("%s/%s has %d pods, want %d", w.Namespace, w.Name, n, pods)
	}
	return nil
}

// questions are all there are, of a fleet of which the first so many workloads are written.
func questions(ctx context.Context, client *graphqlClient, f scaleFleet, written int) ([]*question, error) {
	pages, err := places(ctx, client)
	if err != nil {
		return nil, err
	}
	var gets []map[string]any
	for i := 0; i < written; i += max(1, written/500) {
		gets = append(gets, map[string]any{"instance": scaleInstance(instanceOf(i)), "namespace": scaleNamespace(namespaceOf(i)), "name": scaleName(i)})
	}
	team := f.count(func(i int) bool { return teamOf(i) == 0 })
	inFirst := f.count(func(i int) bool { return instanceOf(i) == 0 })
	degraded := f.count(f.degraded)
	labels := filters(scaleTeams, func(k int) map[string]any { return map[string]any{"labelSelector": "team=" + scaleTeam(k)} })
	clusters := filters(scaleInstances, func(k int) map[string]any {
		return map[string]any{"cluster": []string{scaleMembers(scaleInstance(k))[0]}}
	})
	// Each word is in the names of ten workloads.
	words := filters(min(200, f.workloads/10), func(k int) map[string]any {
		return map[string]any{"text": fmt.Sprintf("app-%05d", k*(f.workloads/10)/min(200, f.workloads/10))}
	})
	searches := make([]map[string]any, len(words))
	for i, of := range words {
		searches[i] = map[string]any{"text": of["filter"].(map[string]any)["text"]}
	}
	worst := filters(1, func(int) map[string]any { return map[string]any{"health": []string{"DEGRADED"}} })
	everything := []map[string]any{{}}
	named := "totalCount nodes { namespace name health }"
	all := []*question{
		{name: "job", title: "50 workloads with replicas, health, policy and placements", target: 15, grows: true, variables: pages, query: scaleList("", "nodes { "+scaleJob+" }"), check: full(0)},
		{name: "job-objects", title: "the same with the binding and the members' objects", target: 15, variables: pages, query: scaleList("", "nodes { "+scaleObjects+" }"), check: full(0)},
		{name: "job-pods", title: "50 workloads with the pods in the members", target: 20, variables: pages, query: scaleList("", "nodes { "+scalePods+" }"), check: full(2)},
		{name: "page", title: "the metadata of 50", grows: true, variables: pages, query: scaleList("", "nodes { "+scalePage+" }"), check: full(0)},
		{name: "get", title: "one workload", grows: true, variables: gets, query: scaleGet(scaleSingle), check: single(0)},
		{name: "get-pods", title: "one workload with the pods in the members", target: 5, variables: gets, query: scaleGet(scalePods), check: single(2)},
		{name: "label", title: fmt.Sprintf("50 with a label that %d have, and totalCount", team), target: 50, variables: labels, query: scaleList("", named), check: counted(team)},
		{name: "total", title: "totalCount of everything", target: 8, variables: everything, query: `{ workloads(first: 1) { totalCount } }`, check: atLeast(f.workloads)},
		{name: "cluster", title: fmt.Sprintf("50 of %d in a member cluster, and totalCount", inFirst), target: 50, variables: clusters, query: scaleList("", named), check: counted(inFirst)},
		{name: "degraded", title: fmt.Sprintf("50 of %d that are DEGRADED, and totalCount", degraded), target: 15, variables: worst, query: scaleList("", named), check: counted(degraded)},
		{name: "facets", title: "how many of everything are in each instance and state of health", target: 10, variables: everything, query: `{ workloads(first: 1) { facets(fields: [INSTANCE, HEALTH], first: 100) { totalValues values { value count } } } }`, check: func(d *scaleData) error {
			if len(d.Workloads.Facets) != 2 || d.Workloads.Facets[0].TotalValues < scaleInstances {
				return fmt.Errorf("the facets are %+v", d.Workloads.Facets)
			}
			return nil
		}},
		{name: "pods", title: fmt.Sprintf("50 of %d pods in a member cluster, and totalCount", inFirst), variables: clusters, query: scalePodList(pageSize, "totalCount nodes { "+scalePodRow+" }"), check: func(d *scaleData) error {
			if valueOf(d.Pods.TotalCount) != inFirst || len(d.Pods.Nodes) != min(pageSize, inFirst) {
				return fmt.Errorf("a page has %d pods, and totalCount is %d, want %d", len(d.Pods.Nodes), valueOf(d.Pods.TotalCount), inFirst)
			}
			return nil
		}},
		{name: "pod-facets", title: "how many of all pods are in each instance, phase and cluster", variables: everything, query: scalePodList(1, "facets(fields: [INSTANCE, PHASE, CLUSTER], first: 100) { totalValues values { value count } }"), check: func(d *scaleData) error {
			if len(d.Pods.Facets) != 3 || d.Pods.Facets[0].TotalValues < scaleInstances {
				return fmt.Errorf("the facets are %+v", d.Pods.Facets)
			}
			return nil
		}},
		{name: "text", title: "the 10 whose name has a text", target: 30, variables: words, query: scaleList("", "nodes { namespace name }"), check: func(d *scaleData) error {
			if len(d.Workloads.Nodes) != 10 {
				return fmt.Errorf("%d workloads are found, want 10", len(d.Workloads.Nodes))
			}
			return nil
		}},
		{name: "search", title: "the best 20 of all kinds by a part of a name", variables: searches, query: `query Search($text: String!) { search(text: $text) { hits { type name namespace clusterName } } }`, check: func(d *scaleData) error {
			if len(d.Search.Hits) < 10 {
				return fmt.Errorf("%d hits are found, want 10 or more", len(d.Search.Hits))
			}
			return nil
		}},
		{name: "images", title: "50 images, those with the most pods first, and totalCount", variables: everything, query: `{ images(first: 50, orderBy: {field: PODS, direction: DESC}) { totalCount nodes { reference podCount } } }`, check: func(d *scaleData) error {
			if valueOf(d.Images.TotalCount) < f.workloads/100 {
				return fmt.Errorf("totalCount is %d", valueOf(d.Images.TotalCount))
			}
			return nil
		}},
		{name: "by-health", title: "50, the worst health first", variables: everything, query: scaleList(", orderBy: {field: HEALTH, direction: DESC}", "nodes { namespace name health }"), check: func(d *scaleData) error {
			if len(d.Workloads.Nodes) == 0 || d.Workloads.Nodes[0].Health != "DEGRADED" {
				return fmt.Errorf("the first is not DEGRADED")
			}
			return nil
		}},
		{name: "by-ready", title: "50, those with the fewest ready replicas first", variables: everything, query: scaleList(", orderBy: {field: READY, direction: ASC}", "nodes { namespace name replicas { ready } }"), check: func(d *scaleData) error {
			if len(d.Workloads.Nodes) != pageSize {
				return fmt.Errorf("a page has %d workloads, want %d", len(d.Workloads.Nodes), pageSize)
			}
			return nil
		}},
	}
	for _, q := range all {
		q.client = client
	}
	return all, nil
}
