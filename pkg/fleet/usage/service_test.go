package usage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/object"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
)

// said is a usage in short.
func said(u *Usage) string {
	if u.Reason != nil && u.CPU == nil {
		return *u.Reason
	}
	text := fmt.Sprintf("%g cores, %g bytes, %s, %gs", *u.CPU, *u.Memory, u.MeasuredAt.Format("04:05"), *u.WindowSeconds)
	if u.Reason != nil {
		text += "; " + *u.Reason
	}
	return text
}

func TestPods(t *testing.T) {
	m := &members{at: map[string]http.HandlerFunc{
		"m1": answering(map[string]string{"/namespaces/shop/pods": podMetrics("shop/a", "shop/b")}),
		"m2": answering(map[string]string{"/namespaces/shop/pods": podMetrics()}),
		"m3": refusing(http.StatusForbidden, "cluster.karmada.io"),
		"m4": answering(map[string]string{"": "{}"}),
		"m5": refusing(http.StatusNotFound, ""),
		// Who may not read is refused, also where there is nothing.
		"m6": func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, api) {
				refuse(w, http.StatusNotFound, "")
				return
			}
			refuse(w, http.StatusForbidden, "metrics.k8s.io")
		},
		"m7": refusing(http.StatusServiceUnavailable, ""),
		"m8": answering(map[string]string{"/namespaces/shop/pods": `{"items": [{"containers": [{"usage": {"cpu": "much"}}]}]}`}),
		"m9": refusing(http.StatusBadGateway, ""),
	}}
	s, ctx := serviceOver(t, m)
	none := `member cluster %q has no metrics API (metrics.k8s.io): install a metrics-server in it`
	for _, tt := range []struct{ member, pod, want string }{
		{"m1", "shop/a", "0.251 cores, 1.0496e+06 bytes, 00:10, 10.5s"},
		{"m1", "shop/b", "0.251 cores, 1.0496e+06 bytes, 00:09, 11.5s"},
		{"m2", "shop/a", "the pod has not been measured yet: that takes up to a minute from its start"},
		{"m3", "shop/a", `the roles that you have inside instance "alpha" do not let you reach its member cluster "m3" (clusters/proxy)`},
		{"m4", "shop/a", `the roles that you have inside member cluster "m4" do not let you read what its pods use (pods.metrics.k8s.io)`},
		{"m5", "shop/a", fmt.Sprintf(none, "m5")},
		{"m6", "shop/a", fmt.Sprintf(none, "m6")},
		{"m7", "shop/a", `the metrics API of member cluster "m7" does not answer through instance "alpha"`},
		{"m8", "shop/a", `what the metrics API of member cluster "m8" answers can't be read`},
		{"m9", "shop/a", `member cluster "m9" does not answer through instance "alpha"`},
		{"gone", "shop/a", `member cluster "gone" is no longer joined to instance "alpha"`},
	} {
		if got := s.OfPod(ctx, running(t, tt.member, tt.pod)); strings.ReplaceAll(said(got), "1.049600e", "1.0496e") != tt.want {
			t.Errorf("%s %s: %s\nwant %s", tt.member, tt.pod, said(got), tt.want)
		}
	}
	if len(m.users) != 1 || !m.users["alice"] {
		t.Errorf("asked as %v", m.users)
	}
	m.requests()
	for _, tt := range []struct{ phase, node, want string }{
		{"Succeeded", "n1", "the pod has ended"}, {"Failed", "n1", "the pod has ended"}, {"Pending", "", "the pod is on no node yet"},
	} {
		if got := s.OfPod(ctx, newPod(t, "alpha", "m1", "other", "x", tt.phase, tt.node)); said(got) != tt.want {
			t.Errorf("%s: %s", tt.phase, said(got))
		}
	}
	if asked := m.requests(); len(asked) > 0 {
		t.Errorf("nothing has to be asked: %q", asked)
	}
	if got := said(s.OfPod(ctx, newPod(t, "down", "m1", "shop", "a", "Running", "n1"))); !strings.Contains(got, `instance "down"`) && !strings.Contains(got, "does not answer") {
		t.Errorf("an instance that does not answer: %s", got)
	}
	if got := said(s.OfPod(ctx, newPod(t, "none", "m1", "shop", "a", "Running", "n1"))); got != `instance "none" was not found` {
		t.Errorf("no instance: %s", got)
	}
}

// A member that hangs costs its own pods alone.
func TestTimeout(t *testing.T) {
	done := make(chan struct{})
	defer close(done)
	m := &members{at: map[string]http.HandlerFunc{"m1": func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-done:
		}
	}}}
	s, ctx := serviceOver(t, m)
	s.Timeout = 20 * time.Millisecond
	if got := said(s.OfPod(ctx, running(t, "m1", "shop/a"))); got != `member cluster "m1" does not answer through instance "alpha"` {
		t.Errorf("%s", got)
	}
	ctx, cancel := context.WithCancel(With(ctx))
	cancel()
	if got := said(s.OfPod(ctx, running(t, "m1", "shop/a"))); got != "it was not read before the request's deadline" {
		t.Errorf("%s", got)
	}
}

// The number of requests does not grow with the pods.
func TestRequestsForPods(t *testing.T) {
	all := func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, podMetrics("shop/a", "ops/a")) }
	one := func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "/namespaces/shop/"):
			_, _ = fmt.Fprint(w, podMetrics("shop/a"))
		case strings.HasSuffix(r.URL.Path, api):
			_, _ = fmt.Fprint(w, "{}")
		default:
			refuse(w, http.StatusForbidden, "metrics.k8s.io")
		}
	}
	var many []string
	for i := range mostNamespaces + 2 {
		many = append(many, fmt.Sprintf("n%02d/a", i))
	}
	for _, tt := range []struct {
		name   string
		member http.HandlerFunc
		pods   []string
		any    bool
		want   []string
		counts int
		why    string
	}{
		{"a namespace", all, []string{"shop/a", "shop/b", "shop/c"}, false, []string{"m1 /namespaces/shop/pods"}, 1, "no other is read"},
		{"several namespaces", all, append([]string{"shop/a", "ops/a"}, many...), false, []string{"m1 /pods"}, 2, "all are read together"},
		{"any namespaces", all, []string{"shop/a"}, true, []string{"m1 /pods"}, 1, "others will be asked about"},
		{"a role in a namespace", one, []string{"shop/a", "ops/a"}, false, []string{"m1 ", "m1 /namespaces/ops/pods", "m1 /namespaces/shop/pods", "m1 /pods"}, 1, "what may be read is read"},
	} {
		m := &members{at: map[string]http.HandlerFunc{"m1": tt.member}}
		s, ctx := serviceOver(t, m)
		if tt.any {
			Expect(ctx, "alpha")
		}
		for _, name := range tt.pods {
			namespace, _, _ := strings.Cut(name, "/")
			if !tt.any {
				Expect(ctx, "alpha", namespace)
			}
		}
		measured := 0
		var mu sync.Mutex
		var wg sync.WaitGroup
		for _, name := range tt.pods {
			p := running(t, "m1", name)
			wg.Go(func() {
				u := s.OfPod(ctx, p)
				mu.Lock()
				defer mu.Unlock()
				if u.CPU != nil {
					measured++
				}
			})
		}
		wg.Wait()
		if diff := cmp.Diff(tt.want, m.requests()); diff != "" || measured != tt.counts {
			t.Errorf("%s: %s: %d measured (-want +got):\n%s", tt.name, tt.why, measured, diff)
		}
	}
	m := &members{at: map[string]http.HandlerFunc{"m1": one}}
	s, ctx := serviceOver(t, m)
	Expect(ctx, "alpha")
	for _, name := range many {
		s.OfPod(ctx, running(t, "m1", name))
	}
	if asked := m.requests(); len(asked) != 2+mostNamespaces {
		t.Errorf("namespaces one by one: %q", asked)
	}
	// Another operation, and another user's, reads on its own.
	m = &members{at: map[string]http.HandlerFunc{"m1": all}}
	s, ctx = serviceOver(t, m)
	for _, user := range []string{"alice", "bob"} {
		s.OfPod(With(authz.WithUser(ctx, authz.User{Name: user})), running(t, "m1", "shop/a"))
	}
	if asked := m.requests(); len(asked) != 2 || !m.users["alice"] || !m.users["bob"] {
		t.Errorf("%q as %v", asked, m.users)
	}
}

func TestNodes(t *testing.T) {
	m := &members{at: map[string]http.HandlerFunc{
		"m1": answering(map[string]string{"/nodes": nodeMetrics("n1", "n2")}),
		"m2": refusing(http.StatusNotFound, ""),
		"m3": answering(map[string]string{"/nodes": nodeMetrics()}),
	}}
	s, ctx := serviceOver(t, m)
	one := "1.5 cores, 2.147483648e+09 bytes, 00:01, 20s"
	for _, tt := range []struct{ member, node, want string }{
		{"m1", "n1", one}, {"m1", "n2", one}, {"m1", "n3", "the node has not been measured"},
		{"m2", "n1", `member cluster "m2" has no metrics API (metrics.k8s.io): install a metrics-server in it`},
	} {
		if got := s.OfNode(ctx, newNode(t, tt.member, tt.node)); said(got) != tt.want {
			t.Errorf("%s %s: %s", tt.member, tt.node, said(got))
		}
	}
	two := "3 cores, 4.294967296e+09 bytes, 00:01, 20s"
	for _, tt := range []struct {
		member          string
		nodes, measured int
		want            string
	}{
		{"m1", 2, 2, two}, {"m1", 3, 2, two + "; 1 of 3 nodes have not been measured"}, {"m1", 0, 2, two}, {"m3", 3, 0, "no node has been measured yet"},
		{"m2", 3, 0, `member cluster "m2" has no metrics API (metrics.k8s.io): install a metrics-server in it`},
	} {
		got := s.OfMemberCluster(ctx, newMember(t, tt.member, tt.nodes))
		if said(&got.Usage) != tt.want || got.MeasuredNodeCount != tt.measured || (got.NodeCount != nil) != (tt.nodes > 0) {
			t.Errorf("%s of %d: %s, %d measured", tt.member, tt.nodes, said(&got.Usage), got.MeasuredNodeCount)
		}
	}
	if asked := m.requests(); len(asked) != 3 {
		t.Errorf("a cluster and its nodes are read together: %q", asked)
	}
}

func TestWorkload(t *testing.T) {
	m := &members{at: map[string]http.HandlerFunc{
		"m1": answering(map[string]string{"/namespaces/shop/pods": podMetrics("shop/a", "shop/b", "shop/of-another")}),
		"m2": answering(map[string]string{"/namespaces/shop/pods": podMetrics("shop/a")}),
		"m3": refusing(http.StatusForbidden, "cluster.karmada.io"),
	}}
	ended := podsIn(t, "m5")
	ended.Pods = append(ended.Pods, *newPod(t, "alpha", "m5", "shop", "a", "Succeeded", "n1"))
	waiting := podsIn(t, "m2", "shop/a", "shop/c")
	waiting.Pods = append(waiting.Pods, *newPod(t, "alpha", "m2", "shop", "d", "Pending", ""))
	s, ctx := serviceOver(t, m, podsIn(t, "m1", "shop/a", "shop/b"), waiting, podsIn(t, "m3", "shop/a"), ended)
	got, err := s.OfWorkload(ctx, &workload.Workload{})
	if err != nil {
		t.Fatal(err)
	}
	reach := `the roles that you have inside instance "alpha" do not let you reach its member cluster "m3" (clusters/proxy)`
	missing := `2 of 3 pods in member cluster "m2" have not been measured`
	if want := "0.753 cores, 3.1488e+06 bytes, 00:09, 11.5s; " + missing + "; " + reach; said(&got.Usage) != want || got.PodCount != 6 || got.MeasuredPodCount != 3 {
		t.Errorf("%d of %d: %s\nwant %s", got.MeasuredPodCount, got.PodCount, said(&got.Usage), want)
	}
	var parts []string
	for i := range got.Clusters {
		c := &got.Clusters[i]
		parts = append(parts, fmt.Sprintf("%s %d/%d %s", c.ClusterName, c.MeasuredPodCount, c.PodCount, said(&c.Usage)))
	}
	if diff := cmp.Diff([]string{
		"m1 2/2 0.502 cores, 2.0992e+06 bytes, 00:09, 11.5s", "m2 1/3 0.251 cores, 1.0496e+06 bytes, 00:10, 10.5s; " + missing,
		"m3 0/1 " + reach, "m5 0/0 " + noPods,
	}, parts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"m1 /namespaces/shop/pods", "m2 /namespaces/shop/pods", "m3 /namespaces/shop/pods"}, m.requests()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	s, ctx = serviceOver(t, m)
	if got, err := s.OfWorkload(ctx, &workload.Workload{}); err != nil || said(&got.Usage) != noPods || got.Clusters == nil {
		t.Errorf("without pods: %+v %v", got, err)
	}
	failed := errors.New("the index")
	s.Workloads = workloads{err: failed}
	if _, err := s.OfWorkload(ctx, &workload.Workload{}); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
}

func TestManyPods(t *testing.T) {
	var names []string
	for i := range mostPods + 1 {
		names = append(names, fmt.Sprintf("shop/p%03d", i))
	}
	m := &members{at: map[string]http.HandlerFunc{"m1": answering(map[string]string{"/namespaces/shop/pods": podMetrics(names...)})}}
	s, ctx := serviceOver(t, m, podsIn(t, "m1", names...))
	got, err := s.OfWorkload(ctx, &workload.Workload{Object: object.Object{Instance: "alpha"}})
	if err != nil || got.PodCount != mostPods || got.MeasuredPodCount != mostPods || *got.Reason != `only 500 pods in member cluster "m1" are counted` {
		t.Errorf("%+v %v", got, err)
	}
}
