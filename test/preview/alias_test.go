package preview

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// aliases joins the fleet's members once more under other names: to Karmada they are clusters of their own. They
// stay, because Karmada would remove from the members what both have in common, so the fleet is of no use
// afterwards.
func (s *scene) aliases(t *testing.T) []string {
	t.Helper()
	var names []string
	for alias, of := range map[string]string{"t1": "m1", "t2": "m2", "t3": "m1", "t4": "m2"} {
		var m clusterv1alpha1.Cluster
		if err := s.Get(t.Context(), client.ObjectKey{Name: of}, &m); err != nil {
			t.Fatal(err)
		}
		c := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: alias}, Spec: m.Spec}
		c.Spec.ID, c.Spec.Taints = "", nil
		if err := s.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		names = append(names, alias)
		poll.True(t, within, alias+" is ready", func() bool {
			var now clusterv1alpha1.Cluster
			return s.Get(t.Context(), client.ObjectKey{Name: alias}, &now) == nil && meta.IsStatusConditionTrue(now.Status.Conditions, clusterv1alpha1.ClusterConditionReady) &&
				now.Status.ResourceSummary != nil && len(now.Status.APIEnablements) > 0
		})
	}
	slices.Sort(names)
	return names
}

// lose previews the removal of an alias, removes it, and compares.
func (s *scene) lose(t *testing.T, alias string) {
	t.Helper()
	before := s.scheduled(t)
	want := maps.Clone(before)
	poll.Until(t, within, "the index has the bindings as they are", func(ctx context.Context) error {
		p, err := s.send(ctx, gql.Request{Query: `{ instance(name: "alpha") { preview: clusterLossPreview(clusters: ["` + alias + `"], mode: REMOVAL) { ` + itemFields + ` } } }`})
		if err != nil {
			return err
		}
		for i := range p.Items {
			item := &p.Items[i]
			if item.Namespace == nil || *item.Namespace != s.namespace {
				continue
			}
			key := item.Kind + " " + item.Name
			if item.before() != before[key] {
				return fmt.Errorf("the preview of %s begins with %+v, and it is %+v", key, item.before(), before[key])
			}
			want[key] = item.after()
		}
		return nil
	})
	if err := s.Delete(t.Context(), &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: alias}}); err != nil {
		t.Fatal(err)
	}
	_ = poll.Try(t.Context(), within, func(ctx context.Context) error {
		now, err := s.states(ctx)
		if err == nil && !same(now, want) {
			err = errors.New("not yet")
		}
		return err
	})
	after, changed := s.scheduled(t), 0
	for key := range want {
		if after[key].clusters != want[key].clusters {
			t.Errorf("%s without %s: from %+v to %+v, and the preview said %+v", key, alias, before[key], after[key], want[key])
		}
		if after[key] != before[key] {
			changed++
		}
	}
	t.Logf("%d objects of %d changed without %s", changed, len(want), alias)
}
