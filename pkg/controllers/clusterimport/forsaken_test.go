package clusterimport

import (
	"strings"
	"testing"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// TestObjectThatVanishedForGood has Karmada's object deleted while the cluster does
// not answer, so that it is not joined again, and the cluster given up then. The
// instance must not keep its token.
func TestObjectThatVanishedForGood(t *testing.T) {
	unjoin := func(w *world) { w.change(func(o *v1alpha1.Cluster) { o.Spec.InstanceRef = nil }) }
	remove := func(w *world) {
		if err := w.global.Delete(w.Context(), &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}}); err != nil {
			w.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		seen   bool // The last look at the instance saw the member.
		giveUp func(w *world)
		want   string
	}{
		{"unjoin", false, unjoin, "Cluster m1 [] Free <nil>"},
		{"unjoin what was seen", true, unjoin, "Cluster m1 [] Free <nil>"},
		{"delete", false, remove, "no Cluster m1"},
		{"delete what was seen", true, remove, "no Cluster m1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.change(func(o *v1alpha1.Cluster) { o.Spec.Join = &v1alpha1.ClusterJoin{Credentials: v1alpha1.JoinWithGiven} })
			w.reconcileAll()
			if c.seen {
				w.start() // The next look at the instance is only later.
			}
			foreign := ownerLabels{cluster: "m2", uid: "uid-2", instance: "alpha", global: "global"}
			others := secretsFor("m2", handover{token: []byte("theirs")})[0]
			foreign.put(others)
			w.create("alpha", others)
			w.delete("alpha", &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}})
			w.others["m1"] = dead()
			w.reconcileAll()
			c.giveUp(w)
			w.reconcileAll()
			text := strings.Join(w.pictureOf("alpha"), "\n")
			if !strings.Contains(text, c.want) || strings.Contains(text, "uid-1 alpha") {
				t.Errorf("want %q, and nothing in the instance:\n%s", c.want, text)
			}
			if !strings.Contains(text, "Secret karmada-cluster/m2 uid-2 alpha") {
				t.Errorf("what is another's was removed:\n%s", text)
			}
			if said := w.said(); strings.Contains(said, "LeftBehind") || strings.Count(said, " Left ") != 1 {
				t.Errorf("it says:\n%s", said)
			}
		})
	}
}

// TestMembershipThatVanishedIsNotFoundAgain has Karmada's object of a member deleted
// whose record was lost, so that only the last look at the instance knows of it.
func TestMembershipThatVanishedIsNotFoundAgain(t *testing.T) {
	w := newWorld(t)
	w.reconcileAll()
	w.start()
	cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}}
	if err := w.global.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster); err != nil {
		t.Fatal(err)
	}
	cluster.Status = v1alpha1.ClusterStatus{KubeSystemID: cluster.Status.KubeSystemID} // It is looked at first.
	if err := w.global.Status().Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	w.delete("alpha", &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}})
	w.reconcileAll()
	if text := strings.Join(w.picture(), "\n"); !strings.Contains(text, " Joined ") || !strings.Contains(text, "alpha *v1alpha1.Cluster /m1 uid-1 alpha") {
		t.Errorf("it was not joined again:\n%s", text)
	}
	if said := w.said(); strings.Contains(said, "LeftBehind") {
		t.Errorf("something was left behind, it says:\n%s", said)
	}
}
