package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// graphqlClient asks Kairship.
type graphqlClient struct {
	url   string
	token string
	http  *http.Client
	// shared takes answers that were made for other clients too. Elsewhere what is measured is
	// how fast answers are made.
	shared bool
}

func newGraphQLClient(url, token string, clients int) *graphqlClient {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = clients, clients
	return &graphqlClient{url: strings.TrimSuffix(url, "/") + "/graphql", token: token, http: &http.Client{Transport: transport, Timeout: 30 * time.Second}}
}

// The queries. listed is the same in all of them: what the page is a page of.
const (
	listed = `first: $first, after: $after, filter: {kinds: [DEPLOYMENT], namespaces: $namespaces}, orderBy: {field: NAMESPACE}`

	queryJob = `query Job($first: Int, $after: String, $namespaces: [String!]) {
  instance(name: "` + instanceName + `") { workloads(` + listed + `) { nodes {
    namespace name replicas { desired ready } health
    policy { name }
    binding { clusters { name } }
    placements { clusterName desired ready health object { name uid images } }
  } } }
}`

	queryPage = `query Page($first: Int, $after: String, $namespaces: [String!]) {
  instance(name: "` + instanceName + `") { workloads(` + listed + `) { nodes {
    namespace name createdAt resourceVersion labels { key value }
  } } }
}`

	queryCursors = `query Cursors($first: Int, $after: String, $namespaces: [String!]) {
  instance(name: "` + instanceName + `") { workloads(` + listed + `) {
    edges { cursor node { namespace name } } pageInfo { hasNextPage }
  } }
}`

	queryGet = `query Get($namespace: String!, $name: String!) {
  instance(name: "` + instanceName + `") { workload(kind: DEPLOYMENT, namespace: $namespace, name: $name) {
    namespace name createdAt resourceVersion images labels { key value }
  } }
}`
)

// gqlWorkload is a workload as any of the queries returns it.
type gqlWorkload struct {
	Namespace       string     `json:"namespace"`
	Name            string     `json:"name"`
	CreatedAt       string     `json:"createdAt"`
	ResourceVersion string     `json:"resourceVersion"`
	Images          []string   `json:"images"`
	Labels          []gqlLabel `json:"labels"`
	Replicas        struct {
		Desired int `json:"desired"`
		Ready   int `json:"ready"`
	} `json:"replicas"`
	Health     string         `json:"health"`
	Policy     *gqlNamed      `json:"policy"`
	Binding    *gqlBinding    `json:"binding"`
	Placements []gqlPlacement `json:"placements"`
}

type gqlLabel struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

type gqlNamed struct {
	Name string `json:"name"`
}

type gqlBinding struct {
	Clusters []gqlNamed `json:"clusters"`
}

type gqlPlacement struct {
	ClusterName string     `json:"clusterName"`
	Desired     *int       `json:"desired"`
	Ready       *int       `json:"ready"`
	Health      string     `json:"health"`
	Object      *gqlObject `json:"object"`
}

type gqlObject struct {
	Name   string   `json:"name"`
	UID    string   `json:"uid"`
	Images []string `json:"images"`
}

type gqlData struct {
	Instance struct {
		Workload  *gqlWorkload `json:"workload"`
		Workloads struct {
			Nodes    []gqlWorkload `json:"nodes"`
			Edges    []gqlEdge     `json:"edges"`
			PageInfo struct {
				HasNextPage bool `json:"hasNextPage"`
			} `json:"pageInfo"`
		} `json:"workloads"`
	} `json:"instance"`
}

type gqlEdge struct {
	Cursor string      `json:"cursor"`
	Node   gqlWorkload `json:"node"`
}

// do sends one operation. With a plan it also returns how many requests to the
// index the operation cost.
func (c *graphqlClient) do(ctx context.Context, query string, variables map[string]any, plan bool) (*gqlData, int, error) {
	data := &gqlData{}
	requests, err := c.ask(ctx, query, variables, plan, data)
	if err != nil {
		return nil, 0, err
	}
	return data, requests, nil
}

// ask sends one operation and decodes its data.
func (c *graphqlClient) ask(ctx context.Context, query string, variables map[string]any, plan bool, into any) (requests int, err error) {
	body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+c.token)
	if !c.shared {
		req.Header.Set("Cache-Control", "no-cache")
	}
	if plan {
		req.Header.Set("Kairship-Query-Plan", "1")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	var result struct {
		Data       json.RawMessage `json:"data"`
		Errors     json.RawMessage `json:"errors"`
		Extensions struct {
			Plan struct {
				IndexRequests int `json:"indexRequests"`
			} `json:"plan"`
		} `json:"extensions"`
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return 0, fmt.Errorf("%s answered %s with something else than JSON: %w", c.url, resp.Status, err)
	}
	if len(result.Errors) > 0 || len(result.Data) == 0 {
		return 0, fmt.Errorf("%s answered %s with errors: %s", c.url, resp.Status, result.Errors)
	}
	return result.Extensions.Plan.IndexRequests, json.Unmarshal(result.Data, into)
}

func pageVariables(p pick) map[string]any {
	v := map[string]any{"first": pageSize, "namespaces": namespaces}
	if p.cursor != "" {
		v["after"] = p.cursor
	}
	return v
}

// sameJob is job, as one of many dashboards that show the same.
func (c *graphqlClient) sameJob(ctx context.Context, p pick, plan bool) (answer, int, error) {
	same := *c
	same.shared = true
	return same.job(ctx, p, plan)
}

// job asks for a page with all that hangs on it.
func (c *graphqlClient) job(ctx context.Context, p pick, plan bool) (answer, int, error) {
	data, requests, err := c.do(ctx, queryJob, pageVariables(p), plan)
	if err != nil {
		return nil, 0, err
	}
	nodes := data.Instance.Workloads.Nodes
	rows := make(answer, len(nodes))
	for i := range nodes {
		rows[i] = nodes[i].row()
	}
	return rows, requests, nil
}

func (w *gqlWorkload) row() row {
	r := row{Namespace: w.Namespace, Name: w.Name, Desired: w.Replicas.Desired, Ready: w.Replicas.Ready}
	if w.Policy != nil {
		r.Policy = w.Policy.Name
	}
	if w.Binding != nil {
		for _, target := range w.Binding.Clusters {
			r.Clusters = append(r.Clusters, target.Name)
		}
	}
	for _, p := range w.Placements {
		out := placement{Cluster: p.ClusterName, Desired: valueOf(p.Desired), Ready: valueOf(p.Ready), Healthy: p.Health == "HEALTHY"}
		if p.Object != nil {
			out.Object = memberObject{Name: p.Object.Name, UID: p.Object.UID, Images: p.Object.Images}
		}
		r.Placements = append(r.Placements, out)
	}
	return r
}

func valueOf(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// page asks for a page of metadata.
func (c *graphqlClient) page(ctx context.Context, p pick, plan bool) ([]string, int, error) {
	data, requests, err := c.do(ctx, queryPage, pageVariables(p), plan)
	if err != nil {
		return nil, 0, err
	}
	names := make([]string, len(data.Instance.Workloads.Nodes))
	for i, w := range data.Instance.Workloads.Nodes {
		names[i] = w.Namespace + "/" + w.Name + "@" + w.ResourceVersion
	}
	return names, requests, nil
}

// get asks for one workload.
func (c *graphqlClient) get(ctx context.Context, p pick, plan bool) ([]string, int, error) {
	data, requests, err := c.do(ctx, queryGet, map[string]any{"namespace": p.namespace, "name": p.name}, plan)
	if err != nil {
		return nil, 0, err
	}
	w := data.Instance.Workload
	if w == nil {
		return nil, 0, fmt.Errorf("there is no %s/%s in Kairship", p.namespace, p.name)
	}
	return append([]string{w.Namespace + "/" + w.Name + "@" + w.ResourceVersion}, w.Images...), requests, nil
}

// picks reads where every page can start: the whole list once, with its cursors.
func (c *graphqlClient) picks(ctx context.Context) ([]pick, error) {
	const most = 500
	var picks []pick
	cursor := ""
	for {
		variables := pageVariables(pick{cursor: cursor})
		variables["first"] = most
		data, _, err := c.do(ctx, queryCursors, variables, false)
		if err != nil {
			return nil, err
		}
		for _, edge := range data.Instance.Workloads.Edges {
			picks = append(picks, pick{offset: len(picks), cursor: cursor, namespace: edge.Node.Namespace, name: edge.Node.Name})
			cursor = edge.Cursor
		}
		if !data.Instance.Workloads.PageInfo.HasNextPage {
			return picks, nil
		}
	}
}
