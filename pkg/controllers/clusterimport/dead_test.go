package clusterimport

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// dead is a cluster that is not reachable.
func dead() client.Client {
	refused := errors.New("dial tcp: connection refused")
	return interceptor.NewClient(fake.NewClientBuilder().WithScheme(remoteScheme).WithRESTMapper(remoteMapper).Build(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return refused
		},
		List:   func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return refused },
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return refused },
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return refused },
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return refused
		},
	})
}

// said are the events so far, one a line.
func (w *world) said() string {
	recorder, _ := w.reconciler.Recorder.(*events.FakeRecorder)
	var all []string
	for {
		select {
		case event := <-recorder.Events:
			all = append(all, event)
		default:
			return strings.Join(all, "\n")
		}
	}
}

// TestDeletedWithADeadMember deletes the entry of a cluster that is not reachable. It
// is waited for, and not for ever; and an entry that is made later takes up what
// stayed there.
func TestDeletedWithADeadMember(t *testing.T) {
	w := newWorld(t)
	w.reconcileAll()
	alive := w.others["m1"]
	was := &v1alpha1.Cluster{}
	if err := w.global.Get(t.Context(), client.ObjectKey{Name: "m1"}, was); err != nil {
		t.Fatal(err)
	}
	w.others["m1"] = dead()
	if err := w.global.Delete(t.Context(), was.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	w.reconcileAll()
	text := strings.Join(w.pictureOf("alpha"), "\n")
	if !strings.Contains(text, "Cluster m1 [kairship.io/cluster-import] Leaving") {
		t.Errorf("it is not waited for:\n%s", text)
	}
	if strings.Contains(text, "alpha *v1alpha1.Cluster /m1") || strings.Contains(text, "uid-1 alpha") {
		t.Errorf("something is left in the instance:\n%s", text)
	}
	if events := w.said(); strings.Contains(events, "LeftBehind") {
		t.Errorf("something was left behind at once:\n%s", events)
	}

	// LeavingSince is in whole seconds.
	w.reconciler.Patience = -time.Second
	w.reconcileAll()
	if text := strings.Join(w.pictureOf("alpha"), "\n"); !strings.Contains(text, "no Cluster m1") {
		t.Errorf("it is waited for without end:\n%s", text)
	}
	if events := w.said(); !strings.Contains(events, "LeftBehind") || !strings.Contains(events, "service accounts karmada-* in namespace") {
		t.Errorf("nothing says what stays there:\n%s", events)
	}

	w.others["m1"] = alive
	again := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1", UID: "uid-2"}, Spec: was.Spec}
	former := &corev1.ServiceAccount{}
	key := client.ObjectKey{Namespace: joinNamespace, Name: "karmada-m1"}
	if err := alive.Get(t.Context(), key, former); err != nil {
		t.Fatalf("the account went, though the cluster was not reached: %v", err)
	}
	if err := w.global.Create(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	again.Status.KubeSystemID = was.Status.KubeSystemID
	if err := w.global.Status().Update(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	w.start()
	w.reconcileAll()
	text = strings.Join(w.picture(), "\n")
	if !strings.Contains(text, " Joined ") || !strings.Contains(text, "m1 *v1.ServiceAccount karmada-cluster/karmada-m1 uid-2 alpha") || strings.Contains(text, "uid-1") {
		t.Errorf("what stayed was not taken up:\n%s", text)
	}
}

// TestLeavingALostInstance removes a cluster from an instance that is not reachable, by force and
// without.
func TestLeavingALostInstance(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy v1alpha1.RemovalPolicy
		over   bool
		says   string
	}{
		{"without force it is waited for", v1alpha1.RemovalBlock, true, "Cluster m1 [kairship.io/cluster-import] Leaving"},
		{"with force it is waited for a while", v1alpha1.RemovalForce, false, "Cluster m1 [kairship.io/cluster-import] Leaving"},
		{"and not for ever", v1alpha1.RemovalForce, true, "Cluster m1 [] Free <nil>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.reconcileAll()
			there := w.others["alpha"]
			w.others["alpha"] = dead()
			w.change(func(o *v1alpha1.Cluster) {
				o.Spec.InstanceRef, o.Spec.Join = nil, &v1alpha1.ClusterJoin{RemovalPolicy: c.policy}
			})
			if c.over {
				w.reconciler.Patience = -time.Second
			}
			w.reconcileAll()
			w.others["alpha"] = there
			text := strings.Join(w.picture(), "\n")
			if !strings.Contains(text, c.says) {
				t.Errorf("want %q:\n%s", c.says, text)
			}
			left := strings.Contains(w.said(), "LeftBehind")
			accounts := strings.Contains(text, "m1 *v1.ServiceAccount karmada-cluster/karmada-m1")
			gone := c.policy == v1alpha1.RemovalForce && c.over
			if left != gone || accounts == gone {
				t.Errorf("given up on: %v, told: %v; and the instance's access to the cluster is there: %v", gone, left, accounts)
			}
			if diff := cmp.Diff(true, strings.Contains(text, "alpha *v1alpha1.Cluster /m1 uid-1 alpha")); diff != "" {
				t.Errorf("Karmada's object is touched though the instance was not reached:\n%s", text)
			}
		})
	}
}
