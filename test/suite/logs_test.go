package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// logs is what the fields of that name return.
type logs struct {
	Lines []struct {
		Time                                      time.Time
		ClusterName, PodName, ContainerName, Line string
		Truncated                                 bool
	}
	Omitted   []struct{ ClusterName, PodName, ContainerName, Message string }
	Freshness struct{ Source string }
}

// in are the clusters of some lines that say something, in order.
func (l logs) in(text string) string {
	var clusters []string
	for _, line := range l.Lines {
		if strings.Contains(line.Line, text) {
			clusters = append(clusters, line.ClusterName)
		}
	}
	slices.Sort(clusters)
	return strings.Join(clusters, " ")
}

const logFields = `lines { time clusterName podName containerName line truncated } omitted { clusterName podName containerName message } freshness { source }`

// TestLogs reads what the simulated containers of shop/frontend have written, one on m1 and three on m2:
// two lines each, of which all first ones are older than the second ones.
func TestLogs(t *testing.T) {
	on := open(t)
	ask := func(t *testing.T, as *gql.Client, arguments string) (logs, *gql.Result) {
		t.Helper()
		result := as.Must(t, gql.Request{Query: `{ instance(name: "alpha") { workload(kind: DEPLOYMENT, namespace: "shop", name: "frontend") { logs` + arguments + ` { ` + logFields + ` } } } }`})
		var got struct {
			Instance struct{ Workload struct{ Logs logs } }
		}
		if result.HasData {
			if err := json.Unmarshal(result.Data, &got); err != nil {
				t.Fatal(err)
			}
		}
		return got.Instance.Workload.Logs, result
	}
	poll.Until(t, propagationTimeout, "the lines of four containers", func(context.Context) error {
		got, _ := ask(t, on.kairship, "")
		if len(got.Lines) != 8 || len(got.Omitted) > 0 || got.Freshness.Source != "INDEX" {
			return fmt.Errorf("%+v", got)
		}
		for i, line := range got.Lines {
			if wrote := i < 4; wrote != strings.HasPrefix(line.Line, "This container is simulated") || wrote != (line.Time.Second() == 0) {
				return fmt.Errorf("line %d is %+v", i, line)
			}
		}
		return nil
	})
	one, _ := ask(t, on.kairship, "")
	name := one.Lines[0].ContainerName
	for _, tt := range []struct{ arguments, first, second string }{
		{`(tail: 1)`, "", "m1 m2 m2 m2"},
		{`(clusters: ["m1"])`, "m1", "m1"},
		{`(clusters: [])`, "", ""},
		{`(clusters: ["m3", "none-such"])`, "", ""},
		{`(container: "` + name + `", clusters: ["m1"], tail: 2)`, "m1", "m1"},
		{`(since: "2026-01-01T00:00:00.5Z", tail: 1000)`, "", "m1 m2 m2 m2"},
	} {
		if got, result := ask(t, on.kairship, tt.arguments); got.in("This container") != tt.first || got.in("All simulated") != tt.second {
			t.Errorf("%s: %s", tt.arguments, result.Body)
		}
	}
	if got, result := ask(t, on.kairship, `(previous: true)`); len(got.Lines) > 0 || len(got.Omitted) != 4 || len(result.Errors) > 0 || got.Omitted[0].Message != "the container had no run before this one" {
		t.Errorf("no container has restarted: %s", result.Body)
	}
	for _, wrong := range []string{`(tail: 0)`, `(tail: 1001)`, `(container: "none-such")`} {
		if _, result := ask(t, on.kairship, wrong); len(result.Errors) != 1 || result.Errors[0].Extensions.Code != "INVALID" || !strings.Contains(wrong, result.Errors[0].Extensions.Argument) {
			t.Errorf("%s: %s", wrong, result.Body)
		}
	}
	// An editor reads the workload, and may not reach the members.
	got, result := ask(t, on.as(t, "alice"), "")
	if len(got.Lines) > 0 || len(got.Omitted) != 4 || len(result.Errors) != 2 {
		t.Errorf("an editor: %s", result.Body)
	}
	for _, e := range result.Errors {
		if e.Extensions.Code != "FORBIDDEN" || e.Extensions.Instance != "alpha" || !strings.Contains(e.Message, "clusters/proxy") || e.PathText() != "instance.workload.logs" {
			t.Errorf("an editor: %s", e)
		}
	}
	for _, who := range []string{"bob", "mallory"} {
		if _, result := ask(t, on.as(t, who), ""); string(result.Data) != `{"instance":null}` || len(result.Errors) > 0 {
			t.Errorf("%s: %s", who, result.Body)
		}
	}
}

// TestLogsOfPods reads logs below lists of pods, and of every kind of workload.
func TestLogsOfPods(t *testing.T) {
	on := open(t)
	type answer struct {
		Pods struct {
			Nodes []struct {
				ClusterName, Name string
				Logs              logs
			}
		}
	}
	const query = `{ pods(filter: { namespaces: ["shop"], cluster: ["m1"] }) { nodes { clusterName name logs(tail: 1) { ` + logFields + ` } } } }`
	poll.Until(t, propagationTimeout, "each pod has its own line", func(ctx context.Context) error {
		got, _, err := gql.Query[answer](ctx, on.kairship, query, nil)
		if err != nil {
			return err
		}
		if len(got.Pods.Nodes) < 2 {
			return errors.New("there are no pods")
		}
		for _, p := range got.Pods.Nodes {
			if len(p.Logs.Lines) != 1 || p.Logs.Lines[0].PodName != p.Name || p.Logs.Lines[0].ClusterName != p.ClusterName {
				return fmt.Errorf("%+v", p)
			}
		}
		return nil
	})
	for _, who := range []string{"bob", "mallory"} {
		if result := on.as(t, who).Must(t, gql.Request{Query: query}); string(result.Data) != `{"pods":{"nodes":[]}}` {
			t.Errorf("%s: %s", who, result.Body)
		}
	}
	type workloads struct {
		Workloads struct {
			Nodes []struct {
				Kind string
				Logs logs
			}
		}
	}
	poll.Until(t, propagationTimeout, "every kind of workload has lines", func(ctx context.Context) error {
		all, _, err := gql.Query[workloads](ctx, on.kairship,
			`{ workloads(filter: { instances: ["alpha"], namespaces: ["shop", "ops"] }) { nodes { kind logs(tail: 1) { `+logFields+` } } } }`, nil)
		if err != nil {
			return err
		}
		kinds := map[string]bool{}
		for _, w := range all.Workloads.Nodes {
			kinds[w.Kind] = kinds[w.Kind] || len(w.Logs.Lines) > 0
		}
		for _, kind := range []string{"DEPLOYMENT", "STATEFUL_SET", "DAEMON_SET", "JOB"} {
			if !kinds[kind] {
				err = errors.Join(err, fmt.Errorf("no lines of any %s", kind))
			}
		}
		return err
	})
}
