package fleet

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kairship-io/kairship/deploy/internal/kube"
	"github.com/kairship-io/kairship/deploy/internal/proc"
	"github.com/kairship-io/kairship/deploy/local/internal/topology"
)

// ProcessStatus is what is seen of one process.
type ProcessStatus struct {
	Name  string
	PID   int
	Ports []int
	// State is ready, not ready (it runs but does not answer its check), dead (it was started and
	// has ended) or stopped.
	State  string
	Uptime time.Duration
	RSS    uint64 // bytes
	Note   string
}

// ClusterStatus is what is seen of one cluster.
type ClusterStatus struct {
	Name, Server, State string
	Nodes, Joined       string
	Index               string
}

// Status looks at everything at once; a part that does not answer costs two seconds at most.
func (f *Fleet) Status(ctx context.Context) ([]ProcessStatus, []ClusterStatus, error) {
	if !f.Exists() {
		return nil, nil, nil
	}
	if f.settings.DB == Postgres {
		_ = f.postgres.find() // without it the database is shown as not ready
	}
	if err := f.connect(); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	all := f.processes()
	processes := make([]ProcessStatus, len(all))
	members := topology.Clusters()
	clusters := make([]ClusterStatus, len(members))
	var wg sync.WaitGroup
	for i, p := range all {
		wg.Go(func() { processes[i] = f.processStatus(ctx, p) })
	}
	for i, c := range members {
		wg.Go(func() { clusters[i] = f.clusterStatus(ctx, c) })
	}
	wg.Wait()
	return processes, clusters, nil
}

func (f *Fleet) processStatus(ctx context.Context, p process) ProcessStatus {
	status := ProcessStatus{Name: p.name, State: "stopped"}
	for _, purpose := range p.ports {
		status.Ports = append(status.Ports, f.ports.Of(purpose))
	}
	record, recorded, err := f.records.Load(p.name)
	if err != nil {
		status.Note = err.Error()
		return status
	}
	if !recorded {
		return status
	}
	status.PID = record.PID
	if !proc.Alive(record) {
		status.State = "dead"
		status.Note = "`up` starts it again"
		return status
	}
	status.State = "ready"
	if err := f.probe(ctx, p.ready); err != nil {
		status.State, status.Note = "not ready", err.Error()
	}
	if usage, err := proc.UsageOf(record); err == nil {
		status.RSS, status.Uptime = usage.RSS, usage.Uptime
		if usage.Outdated {
			status.Note = "runs an older build; `restart` replaces it"
		}
	}
	return status
}

func (f *Fleet) clusterStatus(ctx context.Context, c topology.Cluster) ClusterStatus {
	status := ClusterStatus{Name: c.Name, Server: f.ports.URL(c.Name + "/api"), State: "ready", Nodes: "-", Joined: "-", Index: "-"}
	if err := f.probe(ctx, probe{url: status.Server + "/readyz", cluster: c.Name}); err != nil {
		status.State = "down"
	}
	if c.Role == topology.Member {
		if status.State == "ready" {
			status.Nodes = f.nodeCount(ctx, c)
		}
		joined, err := f.clients["global"].Get(ctx, inventoryGVK, "", c.Name)
		instance := "-"
		if err == nil {
			if name, _, _ := unstructured.NestedString(joined.Object, "spec", "instanceRef", "name"); name != "" {
				instance = name
			}
		}
		status.Joined = instance + ": " + summary(joined, err, "Joined")
	}
	if c.Role != topology.Global {
		collected, err := f.clients["global"].Get(ctx, pediaClusterGVK, "", indexedName(c))
		status.Index = indexedName(c) + ": " + summary(collected, err, "Ready")
	}
	return status
}

func (f *Fleet) nodeCount(ctx context.Context, c topology.Cluster) string {
	nodes, err := f.clients[c.Name].List(ctx, nodeGVK, "", "")
	if err != nil {
		return "unknown"
	}
	ready := 0
	for i := range nodes {
		if nodeReady(&nodes[i]) == "" {
			ready++
		}
	}
	return fmt.Sprintf("%d/%d ready", ready, len(nodes))
}

// summary puts an object's condition into a few words.
func summary(object *unstructured.Unstructured, err error, condition string) string {
	if err != nil {
		if strings.Contains(err.Error(), "not found") {
			return "none"
		}
		return "unknown"
	}
	status, reason, _, ok := kube.Condition(object, condition)
	switch {
	case !ok:
		return "no status yet"
	case status == "True":
		return "ready"
	default:
		return "not ready (" + reason + ")"
	}
}

// PrintStatus writes two tables and reports whether all is well.
func PrintStatus(out io.Writer, processes []ProcessStatus, clusters []ClusterStatus) (healthy bool) {
	healthy = true
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	var total uint64
	ready := 0
	printf(table, "PROCESS\tPID\tSTATE\tUPTIME\tRSS\tPORTS\tNOTE\n")
	for _, p := range processes {
		pid, uptime, rss := "-", "-", "-"
		if p.PID != 0 {
			pid = fmt.Sprint(p.PID)
		}
		if p.RSS > 0 {
			uptime, rss = p.Uptime.Round(time.Second).String(), fmt.Sprintf("%d MiB", p.RSS>>20)
		}
		ports := strings.Trim(strings.ReplaceAll(fmt.Sprint(p.Ports), " ", ","), "[]")
		printf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", p.Name, pid, p.State, uptime, rss, ports, p.Note)
		total += p.RSS
		if p.State == "ready" {
			ready++
		} else {
			healthy = false
		}
	}
	_ = table.Flush()
	printf(out, "%d of %d processes ready, %.1f GiB of memory\n\n", ready, len(processes), float64(total)/(1<<30))
	printf(table, "CLUSTER\tAPISERVER\tSTATE\tNODES\tJOINED TO\tINDEX\n")
	for _, c := range clusters {
		printf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", c.Name, c.Server, c.State, c.Nodes, c.Joined, c.Index)
		healthy = healthy && c.State == "ready"
	}
	_ = table.Flush()
	return healthy
}
