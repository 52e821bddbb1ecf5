package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// partsQuery has a part of every kind: of the global cluster, of the index below
// an instance, list and single object, and of the index over all instances.
const partsQuery = `{
  instances(filter: {name: ["alpha", "beta"]}) {
    nodes {
      name
      state
      memberClusters { totalCount nodes { name } }
      workloads { totalCount nodes { name } freshness { stale observedAt } }
      events { nodes { reason } }
      workload(kind: DEPLOYMENT, namespace: "shop", name: "frontend") { name }
    }
    freshness { stale observedAt lag message }
  }
  clusters { nodes { name } freshness { stale observedAt lag message } }
  workloads { totalCount nodes { name } freshness { stale observedAt } }
}`

type parts struct {
	Instances struct {
		Nodes []struct {
			Name           string `json:"name"`
			State          string `json:"state"`
			MemberClusters list   `json:"memberClusters"`
			Workloads      list   `json:"workloads"`
			Events         list   `json:"events"`
			Workload       *named `json:"workload"`
		} `json:"nodes"`
		Freshness freshness `json:"freshness"`
	} `json:"instances"`
	Clusters  list `json:"clusters"`
	Workloads list `json:"workloads"`
}

type named struct {
	Name string `json:"name"`
}

type list struct {
	TotalCount *int       `json:"totalCount"`
	Nodes      []named    `json:"nodes"`
	Freshness  *freshness `json:"freshness"`
}

// partsOfIndex are the paths in partsQuery that the index answers, with the
// instance that each is below. Workloads are in the projection.
func partsOfIndex() map[string]string {
	paths := map[string]string{}
	for i, name := range []string{"alpha", "beta"} {
		for _, field := range []string{"memberClusters", "events"} {
			paths[fmt.Sprintf("instances.nodes.%d.%s", i, field)] = name
		}
	}
	return paths
}

// withoutIndex checks an answer to partsQuery that was given while the index was
// away: one typed error for each of its parts, and everything else.
func withoutIndex(r *gql.Result, codes ...string) (*parts, error) {
	if r.Status != http.StatusOK {
		return nil, fmt.Errorf("HTTP %d: %.500s", r.Status, r.Body)
	}
	failed := map[string]string{}
	for _, e := range r.Errors {
		path := e.PathText()
		if _, twice := failed[path]; twice {
			return nil, fmt.Errorf("two errors for %q: %v", path, r.Errors)
		}
		failed[path] = e.Extensions.Instance
		if !slices.Contains(codes, e.Extensions.Code) || e.Message == "" || e.Extensions.TraceID == "" {
			return nil, fmt.Errorf("want an error with one of the codes %q, a message and a trace id, got %s", codes, e)
		}
	}
	if diff := cmp.Diff(partsOfIndex(), failed); diff != "" {
		return nil, fmt.Errorf("the parts with an error, and their instances (-want +got):\n%s", diff)
	}

	var data *parts
	if err := json.Unmarshal(r.Data, &data); err != nil {
		return nil, err
	}
	if data == nil {
		return nil, errors.New("data is null")
	}
	if len(data.Instances.Nodes) != 2 || data.Instances.Nodes[0].Name != "alpha" || data.Instances.Nodes[1].State == "" {
		return nil, fmt.Errorf("the instances are not listed: %+v", data.Instances)
	}
	if len(data.Clusters.Nodes) < 3 {
		return nil, fmt.Errorf("the clusters are not listed: %+v", data.Clusters)
	}
	for _, i := range data.Instances.Nodes {
		if (i.Workload != nil) != (i.Name == "alpha") {
			return nil, fmt.Errorf("%s has the workload %+v", i.Name, i.Workload)
		}
		for _, l := range []list{i.MemberClusters, i.Events} {
			if err := l.unread(); err != nil {
				return nil, err
			}
		}
		if err := i.Workloads.read(); err != nil {
			return nil, err
		}
	}
	return data, data.Workloads.read()
}

// read reports whether a list was read.
func (l list) read() error {
	if len(l.Nodes) == 0 || l.TotalCount == nil || *l.TotalCount < len(l.Nodes) || l.Freshness == nil || l.Freshness.ObservedAt == nil {
		return fmt.Errorf("a list that needs no index was not read: %+v", l)
	}
	return nil
}

// unread reports whether a list admits that it was not read.
func (l list) unread() error {
	switch {
	case len(l.Nodes) > 0 || l.TotalCount != nil:
		return fmt.Errorf("a list that was not read has content: %+v", l)
	case l.Freshness != nil && (!l.Freshness.Stale || l.Freshness.ObservedAt != nil):
		return fmt.Errorf("a list that was not read reports that it is fresh: %+v", *l.Freshness)
	}
	return nil
}

// reportTTL is longer than /readyz remembers a report.
const reportTTL = 1100 * time.Millisecond

// TestIndexGone kills the API server of the index. Each part that it answers
// has an error of its own, at once, and the rest is there, workloads included.
func TestIndexGone(t *testing.T) {
	s := begin(t)
	global := s.Client(t, "global")

	s.Kill(t, "clusterpedia-apiserver")
	killed := time.Now()
	slowest := time.Duration(0)
	look := func() {
		t.Helper()
		r := s.api.Must(t, gql.Request{Query: partsQuery})
		if _, err := withoutIndex(r, "INDEX_UNAVAILABLE"); err != nil {
			t.Fatalf("%s after the kill: %v", time.Since(killed), err)
		}
		slowest = max(slowest, r.Took)
	}
	look()
	// First the global API server fails to connect; once it knows, it refuses on its own.
	poll.Until(t, noticeWithin, "the global API server knows that the index is removed", func(ctx context.Context) error {
		look()
		available, err := indexAvailable(ctx, global)
		if err == nil && available {
			err = errors.New("it does not")
		}
		return err
	})
	look()
	// Until then it may report what it found before the kill.
	poll.Until(t, 2*reportTTL, "/readyz is degraded by the index", func(ctx context.Context) error {
		status, report, err := s.readiness(ctx)
		if err == nil && (status != http.StatusOK || report.Status != "degraded" || report.of("index") != "failing" || report.of("global-cluster") != "ok") {
			err = fmt.Errorf("/readyz says %+v with HTTP %d", report, status)
		}
		return err
	})
	t.Logf("slowest answer without the index: %s", slowest.Round(time.Millisecond))

	s.Start(t, "clusterpedia-apiserver")
	healed := time.Now()
	poll.Until(t, recoverWithin, "everything is as before", s.asBefore)
	t.Logf("as before %s after the index was healed", time.Since(healed).Round(100*time.Millisecond))
}

// indexAvailable returns what the global API server thinks of the index.
func indexAvailable(ctx context.Context, global client.Client) (bool, error) {
	service := &unstructured.Unstructured{}
	service.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"})
	if err := global.Get(ctx, client.ObjectKey{Name: "v1beta1.clusterpedia.io"}, service); err != nil {
		return false, err
	}
	conditions, _, err := unstructured.NestedSlice(service.Object, "status", "conditions")
	if err != nil {
		return false, err
	}
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Available" {
			return c["status"] == string(metav1.ConditionTrue), nil
		}
	}
	return false, errors.New("its APIService has no condition Available")
}

// TestIndexHangs stops the API server of the index without ending it. Answers
// come within the deadline of a request, what needs no index at once, and many
// who wait do not keep each other waiting longer.
func TestIndexHangs(t *testing.T) {
	s := begin(t)
	// The deadline of kairship-apiserver (--request-timeout), and what a machine with
	// other work may add.
	const deadline, many = 10*time.Second + 5*time.Second, 20
	patient := *s.api
	patient.HTTP = &http.Client{Timeout: deadline}

	thaw := s.Freeze(t, "clusterpedia-apiserver")
	var wg sync.WaitGroup
	results := make([]*gql.Result, many)
	failed := make([]error, many)
	for i := range many {
		wg.Go(func() { results[i], failed[i] = patient.Do(t.Context(), gql.Request{Query: partsQuery}) })
	}
	if _, _, err := gql.Query[any](t.Context(), s.api, `{ instances { nodes { name state } } clusters { nodes { name } } }`, nil); err != nil {
		t.Errorf("what needs no index: %v", err)
	}
	wg.Wait()
	slowest := time.Duration(0)
	for i, r := range results {
		if failed[i] != nil {
			t.Fatalf("no answer within %s: %v", deadline, failed[i])
		}
		if _, err := withoutIndex(r, "INDEX_UNAVAILABLE", "TIMEOUT"); err != nil {
			t.Fatal(err)
		}
		slowest = max(slowest, r.Took)
	}
	t.Logf("slowest of %d answers while the index hung: %s", many, slowest.Round(10*time.Millisecond))

	status, report, err := s.readiness(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if status != http.StatusOK || report.Status != "degraded" || report.of("index") != "failing" {
		t.Errorf("/readyz says %+v with HTTP %d", report, status)
	}

	thaw()
	thawed := time.Now()
	poll.Until(t, recoverWithin, "everything is as before", s.asBefore)
	t.Logf("as before %s after the index went on", time.Since(thawed).Round(100*time.Millisecond))
}
