package projection

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/test/internal/gql"
)

// reads is a namespace of alpha in which no policy claims anything, and who reads it.
const reads = "projection-reads"

// unpropagated is a list by health, as a person gets it.
type unpropagated struct {
	TotalCount int
	Nodes      []struct{ Name string }
}

func (u *unpropagated) names() []string {
	var all []string
	for _, n := range u.Nodes {
		all = append(all, n.Name)
	}
	return all
}

func list(ctx context.Context, api *gql.Client) (*unpropagated, error) {
	got, _, err := gql.Query[struct{ Workloads unpropagated }](ctx, api,
		`{ workloads(filter: {health: [UNPROPAGATED], namespaces: ["`+reads+`"]}) { totalCount nodes { name } } }`, nil)
	return &got.Workloads, err
}

func (s *scene) namespace(t *testing.T) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: reads}}
	s.must(t, s.alpha.Create(t.Context(), ns))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), soon)
		defer cancel()
		s.must(t, client.IgnoreNotFound(s.alpha.Delete(ctx, ns)))
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
		got, err := list(t.Context(), api)
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
