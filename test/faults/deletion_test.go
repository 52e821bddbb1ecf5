package faults

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/longtest"
	"github.com/kairship-io/kairship/internal/poll"
	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// TestInstanceDeleted deletes an Instance and creates it again: its data leaves
// the index and comes back, and no other is touched. One that does not
// answer is waited for, because what Kairship wrote into it should be removed,
// but not for ever.
func TestInstanceDeleted(t *testing.T) {
	for _, tt := range []struct {
		name string
		// broken breaks something before the Instance is deleted, and returns what mends it.
		broken func(*testing.T, *scene) (mend func())
	}{
		{name: "while all is well", broken: func(*testing.T, *scene) func() { return func() {} }},
		{
			name: "while its API server is gone",
			broken: func(t *testing.T, s *scene) func() {
				s.Kill(t, "beta-apiserver")
				return func() { s.Start(t, "beta-apiserver") }
			},
		},
		{
			name:   "while its API server hangs",
			broken: func(t *testing.T, s *scene) func() { return s.Freeze(t, "beta-apiserver") },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "while its API server is gone" {
				longtest.Only(t, "one that hangs is the harder case")
			}
			s := begin(t)
			d := s.aboutToDelete(t, "beta")
			mend := tt.broken(t, s)
			d.broughtBack(t)
			deleted := time.Now()
			d.delete(t)
			d.isGone(t)
			t.Logf("gone everywhere after %s", time.Since(deleted).Round(100*time.Millisecond))
			d.othersAreUntouched(t)
			mend()
			d.create(t)
		})
	}
}

// TestLeaderGoneDuringDeletion kills the controller manager that leads while it
// waits for the rows of a deleted Instance: the other one finishes the deletion.
func TestLeaderGoneDuringDeletion(t *testing.T) {
	longtest.Only(t, "TestInstanceDeleted waits for the rows too, and TestLeaderGone has another take over")
	s := begin(t)
	d := s.aboutToDelete(t, "beta")
	leader := s.leader(t)

	// Without the collector the rows stay, and the deletion stays half done.
	s.Kill(t, "clustersynchro-manager")
	d.delete(t)
	pedia := &pediav1alpha2.PediaCluster{ObjectMeta: metav1.ObjectMeta{Name: "k-beta"}}
	poll.Until(t, noticeWithin, "the deletion is half done", func(ctx context.Context) error {
		if err := d.global.Get(ctx, client.ObjectKeyFromObject(pedia), pedia); err != nil {
			t.Fatalf("PediaCluster k-beta went before its rows: %v", err)
		}
		if pedia.DeletionTimestamp.IsZero() {
			return errors.New("PediaCluster k-beta is not being deleted")
		}
		return nil
	})
	s.Kill(t, leader)
	killed := time.Now()
	d.broughtBack(t)
	s.Start(t, "clustersynchro-manager")
	d.isGone(t)
	t.Logf("finished by %s %s after the leader was killed", s.leader(t), time.Since(killed).Round(100*time.Millisecond))
	d.othersAreUntouched(t)
	d.create(t)
}

// deletion is an Instance that is deleted and created again.
type deletion struct {
	*scene
	global   client.Client
	instance *kairshipv1alpha1.Instance
	kinds    []string
	// rows are what the index had before.
	rows map[string]map[string]bool
}

func (s *scene) aboutToDelete(t *testing.T, name string) *deletion {
	t.Helper()
	d := &deletion{scene: s, global: s.Client(t, "global"), instance: &kairshipv1alpha1.Instance{}, kinds: s.kindsInIndex(t.Context(), t)}
	if err := d.global.Get(t.Context(), client.ObjectKey{Name: name}, d.instance); err != nil {
		t.Fatal(err)
	}
	var err error
	if d.rows, err = s.rows(t.Context(), t, d.kinds); err != nil {
		t.Fatal(err)
	}
	for _, cluster := range []string{"k-alpha", "k-beta", "m1", "m2", "m3"} {
		if len(d.rows[cluster]) == 0 {
			t.Fatalf("the index has nothing of %s", cluster)
		}
	}
	return d
}

// broughtBack has the Instance created again when the test ends, also when it
// fails in between: the fleet cannot be healed without it. It is called after
// something was killed, so that this comes before that is healed.
func (d *deletion) broughtBack(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), recoverWithin)
		defer cancel()
		if err := d.createAgain(ctx); err != nil {
			t.Errorf("Instance %s could not be created again: %v", d.instance.Name, err)
		}
	})
}

// delete deletes the Instance although clusters are joined to it, which is not
// what is looked at here.
func (d *deletion) delete(t *testing.T) {
	t.Helper()
	force := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"true"}}}`, kairshipv1alpha1.ForceDeleteAnnotation))
	if err := d.global.Patch(t.Context(), d.instance.DeepCopy(), force); err != nil {
		t.Fatal(err)
	}
	if err := d.global.Delete(t.Context(), d.instance.DeepCopy()); err != nil {
		t.Fatal(err)
	}
}

// isGone waits until nothing is left of the instance: in the global cluster, in
// the index, and in the API.
func (d *deletion) isGone(t *testing.T) {
	t.Helper()
	name := d.instance.Name
	virtual := kairshipv1alpha1.VirtualClusterName(name)
	meta := metav1.ObjectMeta{Name: virtual}
	poll.Until(t, recoverWithin, "everything of "+name+" is deleted", func(ctx context.Context) error {
		for _, o := range []client.Object{
			&kairshipv1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: name}}, &kairshipv1alpha1.Cluster{ObjectMeta: meta}, &pediav1alpha2.PediaCluster{ObjectMeta: meta},
		} {
			if err := gone(ctx, d.global, o); err != nil {
				return err
			}
		}
		return nil
	})
	// The Instance is the last to go: what it stands for has to be gone before.
	rows, err := d.scene.rows(t.Context(), t, d.kinds)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(rows[virtual]); n > 0 {
		t.Errorf("the Instance is deleted, and %d of its %d rows are in the index", n, len(d.rows[virtual]))
	}
	poll.Until(t, noticeWithin, "the API knows nothing of "+name, func(ctx context.Context) error { return d.unknown(ctx) })
}

// unknown reports whether the API shows nothing of the instance.
func (d *deletion) unknown(ctx context.Context) error {
	name := d.instance.Name
	data, _, err := gql.Query[struct {
		Instance  *struct{ Name string }
		Instances struct{ Nodes []struct{ Name string } }
		Workloads struct {
			Nodes []struct{ Instance struct{ Name string } }
		}
		Clusters struct{ Nodes []struct{ Name string } }
	}](ctx, d.api, `query Unknown($name: String!) {
		instance(name: $name) { name }
		instances { nodes { name } }
		workloads(first: 500) { nodes { instance { name } } }
		clusters(filter: {includeHidden: true}) { nodes { name } }
	}`, map[string]any{"name": name})
	if err != nil {
		return err
	}
	if data.Instance != nil {
		return errors.New("it is still shown")
	}
	for _, i := range data.Instances.Nodes {
		if i.Name == name {
			return errors.New("it is still listed")
		}
	}
	for _, w := range data.Workloads.Nodes {
		if w.Instance.Name == name {
			return errors.New("a workload of it is still listed")
		}
	}
	for _, c := range data.Clusters.Nodes {
		if c.Name == kairshipv1alpha1.VirtualClusterName(name) {
			return errors.New("its virtual cluster is still listed")
		}
	}
	return nil
}

// othersAreUntouched checks that every row of every other cluster is still there,
// also of the member that is joined to the deleted instance, and that the API
// shows the other instance as before.
func (d *deletion) othersAreUntouched(t *testing.T) {
	t.Helper()
	rows, err := d.scene.rows(t.Context(), t, d.kinds)
	if err != nil {
		t.Fatal(err)
	}
	for cluster, before := range d.rows {
		if cluster == kairshipv1alpha1.VirtualClusterName(d.instance.Name) {
			continue
		}
		missing := 0
		for uid := range before {
			if !rows[cluster][uid] {
				missing++
			}
		}
		if missing > 0 {
			t.Errorf("%d of %d rows of %s are removed too", missing, len(before), cluster)
		}
	}
	instances, err := d.instances(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d.before["alpha"], pictureOf(instances)["alpha"]); diff != "" {
		t.Errorf("alpha changed (-before +now):\n%s", diff)
	}
}

// create creates the Instance again and waits until all of its data is back.
func (d *deletion) create(t *testing.T) {
	t.Helper()
	if err := d.createAgain(t.Context()); err != nil {
		t.Fatal(err)
	}
	created := time.Now()
	poll.Until(t, recoverWithin, "its data is back", d.asBefore)
	virtual := kairshipv1alpha1.VirtualClusterName(d.instance.Name)
	poll.Until(t, noticeWithin, "its rows are back in the index", func(ctx context.Context) error {
		rows, err := d.scene.rows(ctx, t, d.kinds)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(d.rows[virtual], rows[virtual]); diff != "" {
			return fmt.Errorf("rows (-before +now):\n%s", diff)
		}
		return nil
	})
	t.Logf("back %s after it was created again", time.Since(created).Round(100*time.Millisecond))
}

// createAgain makes the Instance as an administrator would, unless it is there.
func (d *deletion) createAgain(ctx context.Context) error {
	fresh := &kairshipv1alpha1.Instance{
		ObjectMeta: metav1.ObjectMeta{Name: d.instance.Name, Labels: d.instance.Labels, Annotations: d.instance.Annotations},
		Spec:       *d.instance.Spec.DeepCopy(),
	}
	return poll.Try(ctx, recoverWithin, func(ctx context.Context) error {
		now := &kairshipv1alpha1.Instance{}
		err := d.global.Get(ctx, client.ObjectKeyFromObject(fresh), now)
		switch {
		case err == nil && now.DeletionTimestamp.IsZero():
			return nil
		case err == nil:
			return errors.New("it is still being deleted")
		case client.IgnoreNotFound(err) != nil:
			return err
		}
		return d.global.Create(ctx, fresh.DeepCopy())
	})
}
