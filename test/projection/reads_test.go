package projection

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/test/internal/gql"
	"github.com/kairship-io/kairship/test/internal/poll"
)

// reads is a namespace of alpha in which no policy claims anything, and who reads it.
const reads = "projection-reads"

// unpropagated is a list by health, as a person gets it.
type unpropagated struct {
	TotalCount int
	Nodes      []struct{ Name, Health string }
	Freshness  struct {
		Lag   *float64
		Stale bool
	}
}

func (u *unpropagated) names() []string {
	var all []string
	for _, n := range u.Nodes {
		all = append(all, n.Name)
	}
	return all
}

func (s *scene) unpropagated(ctx context.Context, api *gql.Client, namespaced bool) (*unpropagated, error) {
	filter := `health: [UNPROPAGATED]`
	if namespaced {
		filter += `, namespaces: ["` + reads + `"]`
	}
	got, _, err := gql.Query[struct{ Workloads unpropagated }](ctx, api, `{ workloads(filter: {`+filter+`}, first: 500) { totalCount nodes { name health } freshness { lag stale } } }`, nil)
	return &got.Workloads, err
}

func (s *scene) namespace(t *testing.T) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: reads}}
	s.must(t, client.IgnoreAlreadyExists(s.alpha.Create(t.Context(), ns)))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), soon)
		defer cancel()
		s.must(t, client.IgnoreNotFound(s.alpha.Delete(ctx, ns)))
		poll.Until(t, soon, "the namespace is gone", func(context.Context) error {
			if err := s.alpha.Get(ctx, client.ObjectKeyFromObject(ns), ns); client.IgnoreNotFound(err) != nil || err == nil {
				return fmt.Errorf("it is there (%w)", err)
			}
			return nil
		})
	})
}

// write sends a mutation, and returns its consistency token.
func (s *scene) write(t *testing.T, name string, input map[string]any) string {
	t.Helper()
	mutation := fmt.Sprintf("mutation($input: %sInput!) { %s(input: $input) { consistencyToken } }", strings.ToUpper(name[:1])+name[1:], name)
	got, _ := gql.MustQuery[map[string]struct{ ConsistencyToken string }](t, s.api, mutation, map[string]any{"input": input})
	return got[name].ConsistencyToken
}

// TestReadYourWrites: a list by health has what was written before it, without a pause.
func TestReadYourWrites(t *testing.T) {
	s := open(t)
	s.namespace(t)
	api := gql.New(s.KairshipURL, s.Token(t, "admin"))
	var want []string
	expect := func(token, what string) {
		t.Helper()
		api.Consistency = token
		got, err := s.unpropagated(t.Context(), api, true)
		if err != nil || !slices.Equal(got.names(), want) || got.TotalCount != len(want) {
			t.Errorf("after %s: got %q of %d (%v), want %q", what, got.names(), got.TotalCount, err, want)
		}
	}
	const workloads = 15
	for n := range workloads {
		name := fmt.Sprintf("w%02d", n)
		want = append(want, name)
		manifest := fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata: {namespace: %s, name: %s}\nspec:\n  selector: {matchLabels: {app: %[2]s}}\n"+
			"  template: {metadata: {labels: {app: %[2]s}}, spec: {containers: [{name: main, image: registry.example.com/app}]}}\n", reads, name)
		expect(s.write(t, "applyManifests", map[string]any{"instance": "alpha", "manifests": manifest}), "making "+name)
	}
	for len(want) > 0 {
		name := want[0]
		want = want[1:]
		expect(s.write(t, "deleteResource", map[string]any{"instance": "alpha", "group": "apps", "version": "v1", "resource": "deployments", "namespace": reads, "name": name}), "deleting "+name)
	}
}

// TestLagIsSaid: while the projector is frozen, a list by health says how late it is, and
// the other lists are as fresh as ever. When it goes on, so does the list.
func TestLagIsSaid(t *testing.T) {
	s := open(t)
	s.namespace(t)
	leader, _ := s.Leader(t)
	thaw := s.Freeze(t, leader)
	app := map[string]any{"instance": "alpha", "manifests": fmt.Sprintf("apiVersion: batch/v1\nkind: CronJob\nmetadata: {namespace: %s, name: late}\nspec:\n  schedule: '0 0 1 1 *'\n"+
		"  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: registry.example.com/app}]}}}}\n", reads)}
	s.write(t, "applyManifests", app)
	const late = 4.0
	poll.Until(t, 8*time.Second, "the list says that it is late", func(ctx context.Context) error {
		got, err := s.unpropagated(ctx, s.api, false)
		if err != nil {
			return err
		}
		if got.Freshness.Lag == nil || *got.Freshness.Lag < late || slices.Contains(got.names(), "late") {
			return fmt.Errorf("it is %+v, with %q", got.Freshness, got.names())
		}
		return nil
	})
	others, _ := gql.MustQuery[struct{ Workloads unpropagated }](t, s.api, `{ workloads(first: 1) { totalCount nodes { name health } freshness { lag stale } } }`, nil)
	if lag := others.Workloads.Freshness.Lag; lag == nil || *lag >= late {
		t.Errorf("the other lists are late too: %+v", others.Workloads.Freshness)
	}
	thaw()
	poll.Until(t, soon, "the list goes on", func(ctx context.Context) error {
		got, err := s.unpropagated(ctx, s.api, false)
		if err == nil && (!slices.Contains(got.names(), "late") || *got.Freshness.Lag >= late) {
			err = fmt.Errorf("it is %+v, with %q", got.Freshness, got.names())
		}
		return err
	})
}
