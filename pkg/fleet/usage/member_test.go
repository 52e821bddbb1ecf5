package usage

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/clusternode"
	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/pod"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/instanceproxy/fake"
)

const api = "/apis/metrics.k8s.io/v1beta1"

// members answers as Karmada's proxy does, by the name of the member.
type members struct {
	mu    sync.Mutex
	asked []string
	users map[string]bool
	at    map[string]http.HandlerFunc
}

// ServeHTTP implements http.Handler.
func (m *members) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest, ok := strings.CutPrefix(r.URL.Path, "/apis/cluster.karmada.io/v1alpha1/clusters/")
	member, path, _ := strings.Cut(rest, "/proxy")
	m.mu.Lock()
	m.asked = append(m.asked, member+" "+strings.TrimPrefix(path, api))
	if m.users == nil {
		m.users = map[string]bool{}
	}
	m.users[r.Header.Get("Impersonate-User")] = true
	answer := m.at[member]
	m.mu.Unlock()
	if !ok || answer == nil {
		refuse(w, http.StatusNotFound, "cluster.karmada.io")
		return
	}
	answer(w, r)
}

// requests are what was asked since the last call, in order of the text.
func (m *members) requests() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	asked := slices.Sorted(slices.Values(m.asked))
	m.asked = nil
	return asked
}

func refuse(w http.ResponseWriter, code int, group string) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Code: int32(code), Message: "secret words of a member",
		Details: &metav1.StatusDetails{Group: group},
	})
}

func refusing(code int, group string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { refuse(w, code, group) }
}

// answering answers by what follows the API's path; everything else is refused.
func answering(answers map[string]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, path, _ := strings.Cut(r.URL.Path, "/proxy"+api)
		text, ok := answers[path]
		if !ok {
			refuse(w, http.StatusForbidden, "metrics.k8s.io")
			return
		}
		_, _ = io.WriteString(w, text)
	}
}

// podMetrics are those of pods, each in a second of its own, that have two containers.
func podMetrics(pods ...string) string {
	var items []string
	for i, p := range pods {
		namespace, name, _ := strings.Cut(p, "/")
		items = append(items, fmt.Sprintf(`{"metadata":{"namespace":%q,"name":%q},"timestamp":"2026-01-01T00:00:%02dZ","window":"%d.5s",
			"containers":[{"name":"a","usage":{"cpu":"250000000n","memory":"1024Ki"}},{"name":"b","usage":{"cpu":"1m","memory":"1Ki"}}]}`, namespace, name, max(0, 10-i), 10+i))
	}
	return `{"kind":"PodMetricsList","items":[` + strings.Join(items, ",") + `]}`
}

func nodeMetrics(nodes ...string) string {
	var items []string
	for _, n := range nodes {
		items = append(items, fmt.Sprintf(`{"metadata":{"name":%q},"timestamp":"2026-01-01T00:00:01Z","window":"20s","usage":{"cpu":"1500m","memory":"2Gi"}}`, n))
	}
	return `{"items":[` + strings.Join(items, ",") + `]}`
}

// workloads has the pods of the only workload.
type workloads struct {
	pods []workload.ClusterPods
	err  error
}

// PodsByCluster implements Workloads.
func (w workloads) PodsByCluster(context.Context, *workload.Workload, []string, int) ([]workload.ClusterPods, freshness.Freshness, error) {
	return w.pods, freshness.Freshness{Source: freshness.SourceIndex}, w.err
}

func serviceOver(t *testing.T, m *members, of ...workload.ClusterPods) (*Service, context.Context) {
	t.Helper()
	s := &Service{Clients: fake.New(t, map[string]http.Handler{"alpha": m, "down": fake.Unavailable}), Workloads: workloads{pods: of}}
	return s, With(authz.WithUser(t.Context(), authz.User{Name: "alice"}))
}

// newPod is a pod on a node, or on none where node is empty.
func newPod(t *testing.T, instance, cluster, namespace, name, phase, node string) *pod.Pod {
	t.Helper()
	row := fleettest.Row(index.Pods, cluster, namespace, name)
	row.Body = map[string]any{"spec": map[string]any{"nodeName": node}, "status": map[string]any{"phase": phase}}
	p, err := pod.New(instance, fleettest.Object(t, row, index.Whole), freshness.Freshness{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func running(t *testing.T, cluster, name string) *pod.Pod {
	t.Helper()
	namespace, name, _ := strings.Cut(name, "/")
	return newPod(t, "alpha", cluster, namespace, name, "Running", "n1")
}

func podsIn(t *testing.T, cluster string, names ...string) workload.ClusterPods {
	t.Helper()
	in := workload.ClusterPods{Cluster: cluster}
	for _, name := range names {
		in.Pods = append(in.Pods, *running(t, cluster, name))
	}
	return in
}

func newNode(t *testing.T, cluster, name string) *clusternode.Node {
	t.Helper()
	n, err := clusternode.New("alpha", fleettest.Object(t, fleettest.Row(index.Type{Version: "v1", Resource: "nodes", Kind: "Node"}, cluster, "", name), index.Whole), freshness.Freshness{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func newMember(t *testing.T, name string, nodes int) *membercluster.MemberCluster {
	t.Helper()
	row := fleettest.Row(index.MemberClusters, "k-alpha", "", name)
	if nodes > 0 {
		row.Body = map[string]any{"status": map[string]any{"nodeSummary": map[string]any{"totalNum": nodes}}}
	}
	m, err := membercluster.New("alpha", fleettest.Object(t, row, index.Whole), freshness.Freshness{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
