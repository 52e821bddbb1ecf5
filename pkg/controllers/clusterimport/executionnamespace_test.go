package clusterimport

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	workv1alpha1 "github.com/karmada-io/karmada/pkg/apis/work/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

const executionSpace = "karmada-es-m1"

// work is a Work for a ConfigMap, and that ConfigMap as Karmada makes it in a member.
func work(t *testing.T, name, object string) (*workv1alpha1.Work, *corev1.ConfigMap) {
	t.Helper()
	made := &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: object, Labels: map[string]string{"karmada.io/managed": "true"},
			Annotations: map[string]string{"work.karmada.io/namespace": executionSpace, "work.karmada.io/name": name},
		},
	}
	raw, err := json.Marshal(made)
	if err != nil {
		t.Fatal(err)
	}
	of := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: executionSpace, Name: name, Finalizers: []string{"karmada.io/execution-controller"}}}
	of.Spec.Workload.Manifests = append(of.Spec.Workload.Manifests, workv1alpha1.Manifest{})
	of.Spec.Workload.Manifests[0].Raw = raw
	return of, made
}

func (w *world) create(where string, object client.Object) {
	w.Helper()
	if err := w.others[where].Create(w.Context(), object); err != nil {
		w.Fatal(err)
	}
}

func (w *world) delete(where string, object client.Object) {
	w.Helper()
	if err := w.others[where].Delete(w.Context(), object); err != nil {
		w.Fatal(err)
	}
}

// space is the execution namespace of m1 in alpha. It has a finalizer, as if of the
// namespace controller, because a namespace here goes at once otherwise.
func (w *world) space(labels map[string]string) *corev1.Namespace {
	w.Helper()
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: executionSpace, Labels: labels, Finalizers: []string{"test/namespace-controller"}}}
	w.create("alpha", space)
	return space
}

// emptied lets the execution namespace go when nothing is in it any more, as the
// namespace controller does, and reports whether it is removed.
func (w *world) emptied() bool {
	w.Helper()
	works, space := &workv1alpha1.WorkList{}, &corev1.Namespace{}
	if err := w.others["alpha"].List(w.Context(), works, client.InNamespace(executionSpace)); err != nil {
		w.Fatal(err)
	}
	err := w.others["alpha"].Get(w.Context(), client.ObjectKey{Name: executionSpace}, space)
	if apierrors.IsNotFound(err) {
		return true
	}
	if err != nil {
		w.Fatal(err)
	}
	if len(works.Items) > 0 || space.DeletionTimestamp.IsZero() {
		return false
	}
	space.Finalizers = nil
	if err := w.others["alpha"].Update(w.Context(), space); err != nil {
		w.Fatal(err)
	}
	return true
}

// orphan is a world in which m1 has left alpha except for its execution namespace:
// Karmada's object went before Karmada had finished two Works.
func orphan(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.reconcileAll()
	space := w.space(nil)
	w.change(func(c *v1alpha1.Cluster) { c.Spec.InstanceRef = nil })
	of, made := work(t, "shop-1", "web")
	other, others := work(t, "shop-2", "db")
	others.Annotations["work.karmada.io/namespace"] = "karmada-es-other" // By another instance, say.
	for _, each := range []*workv1alpha1.Work{of, other} {
		w.create("alpha", each)
		w.delete("alpha", each)
	}
	w.create("m1", made)
	w.create("m1", others)
	w.delete("alpha", space)
	w.delete("alpha", &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}})
	w.writes = 0
	return w
}

// TestOrphanedSpace removes a cluster whose Works Karmada does not finish, with a process that dies
// at each of its writes.
func TestOrphanedSpace(t *testing.T) {
	leave := func(w *world) []string {
		w.reconcileAll()
		if !w.emptied() {
			t.Fatalf("the namespace is not empty: %v", w.picture())
		}
		w.reconcileAll()
		all := w.picture()
		maps := &corev1.ConfigMapList{}
		if err := w.others["m1"].List(t.Context(), maps); err != nil {
			t.Fatal(err)
		}
		for i := range maps.Items {
			all = append(all, "m1 ConfigMap "+maps.Items[i].Name)
		}
		return all
	}
	whole := orphan(t)
	want := leave(whole)
	writes, text := whole.writes, strings.Join(want, "\n")
	if !strings.Contains(text, "Cluster m1 [] Free <nil>") || strings.Contains(text, "uid-1 alpha") {
		t.Errorf("it did not leave, or something is left:\n%s", text)
	}
	if strings.Contains(text, "m1 ConfigMap web") {
		t.Error("what the Work made is still in the member")
	}
	if !strings.Contains(text, "m1 ConfigMap db") {
		t.Error("what another Work made was removed from the member")
	}
	if writes < 5 {
		t.Fatalf("it took %d writes, which is too few to be true", writes)
	}
	for at := 1; at <= writes; at++ {
		w := orphan(t)
		w.diesAt = at
		if diff := cmp.Diff(want, leave(w)); diff != "" {
			t.Errorf("died at write %d of %d (-want +got):\n%s", at, writes, diff)
		}
	}
}

// TestOrphanedSpaceOfOthers removes a Cluster before it was a member, while an instance has an
// orphaned execution namespace of its name with another owner.
func TestOrphanedSpaceOfOthers(t *testing.T) {
	w := newWorld(t)
	cluster := &v1alpha1.Cluster{}
	for w.diesAt = 1; cluster.Status.Membership == nil; w.diesAt++ { // Until that is all there is.
		w.writes, w.died = 0, false
		_, _ = w.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "m1"}})
		if err := w.global.Get(t.Context(), client.ObjectKey{Name: "m1"}, cluster); err != nil {
			t.Fatal(err)
		}
	}
	if cluster.Status.Membership.MemberUID != "" {
		t.Fatalf("it is a member: %+v", cluster.Status.Membership)
	}
	w.start()
	of, _ := work(t, "shop-1", "web")
	space := w.space(nil)
	w.create("alpha", of)
	w.delete("alpha", of)
	w.delete("alpha", space)
	w.change(func(c *v1alpha1.Cluster) { c.Spec.InstanceRef = nil })
	w.reconcileAll()
	if text := strings.Join(w.picture(), "\n"); !strings.Contains(text, "Cluster m1 [] Free <nil>") {
		t.Errorf("it did not leave:\n%s", text)
	}
	if w.emptied() {
		t.Error("the Work of another owner's member was finished")
	}
}

// TestSpaceIsMarked removes a member: its execution namespace gets the owner labels before
// Karmada's object is deleted, and only then.
func TestSpaceIsMarked(t *testing.T) {
	w := newWorld(t)
	w.reconcileAll()
	w.space(map[string]string{"karmada.io/system": "true"})
	w.reconcileAll()
	space := &corev1.Namespace{}
	labels := func() map[string]string {
		if err := w.others["alpha"].Get(t.Context(), client.ObjectKey{Name: executionSpace}, space); err != nil {
			t.Fatal(err)
		}
		return space.Labels
	}
	if got := labels(); len(got) != 1 {
		t.Errorf("while it is a member, the labels are %v", got)
	}
	karmada := &clusterv1alpha1.Cluster{} // It has the same owner labels.
	if err := w.others["alpha"].Get(t.Context(), client.ObjectKey{Name: "m1"}, karmada); err != nil {
		t.Fatal(err)
	}
	w.change(func(c *v1alpha1.Cluster) { c.Spec.InstanceRef = nil })
	w.reconcileAll()
	want := ownerLabels{
		cluster: "m1", uid: "uid-1", instance: "alpha", global: "global", membership: karmada.Labels[v1alpha1.MembershipLabel],
	}.labels()
	want["karmada.io/system"] = "true"
	if diff := cmp.Diff(want, labels()); diff != "" {
		t.Errorf("the labels (-want +got):\n%s", diff)
	}
	if space.DeletionTimestamp.IsZero() {
		t.Error("the namespace is not removed")
	}
}

// TestOrphansOfAnInstance looks through an instance for execution namespaces that
// no one waits for.
func TestOrphansOfAnInstance(t *testing.T) {
	ours := ownerLabels{cluster: "m1", uid: "former", instance: "alpha", global: "global"}
	for _, c := range []struct {
		name, why string
		marks     func(*ownerLabels)
		unmarked  bool
		present   bool // The namespace is not being deleted.
		member    bool // Karmada has a Cluster of the name.
		awaits    bool // The Cluster of the inventory is still being removed.
		finished  bool
	}{
		{name: "given up on", why: "no other will finish it", finished: true},
		{name: "of another owner", why: "it was not joined by Kairship", unmarked: true},
		{name: "of another Kairship", why: "that one finishes it", marks: func(m *ownerLabels) { m.global = "another" }},
		{name: "of another cluster", why: "a label does not make a namespace an execution namespace", marks: func(m *ownerLabels) { m.cluster = "m2" }},
		{name: "in use", why: "it is not being deleted", present: true},
		{name: "of a member", why: "Karmada finishes Works of a member that it knows, regardless of who joined it", member: true},
		{name: "awaited", why: "the Cluster finishes it, and what is in the member", marks: func(m *ownerLabels) { m.uid = "uid-1" }, awaits: true},
		{name: "of a former Cluster of the name", why: "the one that is there knows nothing of it", awaits: true, finished: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			by := ours
			if c.marks != nil {
				c.marks(&by)
			}
			labels := by.labels()
			if c.unmarked {
				labels = nil
			}
			space := w.space(labels)
			of, made := work(t, "shop-1", "web")
			still, _ := work(t, "shop-2", "db")
			w.create("alpha", of)
			w.create("alpha", still)
			w.create("m1", made)
			w.delete("alpha", of)
			if !c.present {
				w.delete("alpha", space)
			}
			if c.member {
				w.create("alpha", &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}})
			}
			if c.awaits {
				cluster := &v1alpha1.Cluster{}
				if err := w.global.Get(t.Context(), client.ObjectKey{Name: "m1"}, cluster); err != nil {
					t.Fatal(err)
				}
				cluster.Status.Membership = &v1alpha1.ClusterMembership{Instance: "alpha"}
				if err := w.global.Status().Update(t.Context(), cluster); err != nil {
					t.Fatal(err)
				}
			}
			d := &discovery{Reconciler: w.reconciler, wake: make(chan event.GenericEvent, 10)}
			if _, err := d.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "alpha"}}); err != nil {
				t.Fatal(err)
			}
			works := &workv1alpha1.WorkList{}
			if err := w.others["alpha"].List(t.Context(), works); err != nil {
				t.Fatal(err)
			}
			var left []string
			for i := range works.Items {
				left = append(left, fmt.Sprint(works.Items[i].Name, works.Items[i].Finalizers))
			}
			want := []string{"shop-1[karmada.io/execution-controller]", "shop-2[karmada.io/execution-controller]"}
			if c.finished {
				want = want[1:] // The other one is not being deleted.
			}
			slices.Sort(left)
			if diff := cmp.Diff(want, left); diff != "" {
				t.Errorf("%s, so the Works (-want +got):\n%s", c.why, diff)
			}
			if err := w.others["m1"].Get(t.Context(), client.ObjectKeyFromObject(made), &corev1.ConfigMap{}); err != nil {
				t.Errorf("what is in the member was touched: %v", err)
			}
		})
	}
}

// TestSpacesAreLookedAtSeldom counts how often an instance is looked through.
func TestSpacesAreLookedAtSeldom(t *testing.T) {
	var p orphanSchedule
	now := time.Now()
	if !p.due("alpha", now) {
		t.Error("it was never looked at, and is not due")
	}
	p.again("alpha", now.Add(time.Minute))
	if p.due("alpha", now.Add(time.Second)) || !p.due("alpha", now.Add(time.Hour)) || !p.due("beta", now) {
		t.Error("it is due at the wrong time")
	}
	p.forget("alpha")
	if !p.due("alpha", now) {
		t.Error("an instance that is registered again is not due")
	}
}
