package clusterimport

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/longtest"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// TestInterleavedLeaders freezes a leader before each of its requests, while another one
// leads and does all the work. Then the first goes on, with what it had read
// and a cache that is behind. After each single write a cluster is a member of one
// instance at most, and of the recorded one; and in the end all is as with one leader.
// In real API servers some of it is tried, before each of its writes only, which is
// after the read on which the write depends; in the short form before every third one.
func TestInterleavedLeaders(t *testing.T) {
	t.Run("in memory", func(t *testing.T) { interleaveLeaders(t, inMemory(t)) })
	t.Run("in API servers", func(t *testing.T) { interleaveLeaders(t, inServers(t)) })
}

func interleaveLeaders(t *testing.T, w *stage) {
	t.Helper()
	for _, c := range []struct {
		name string
		// from is the instance that the cluster is in, and to the one in its spec before the first
		// leader acts.
		from, to string
		// spoil changes it before the run.
		spoil func(m string)
		// meanwhile is called while the first leader is frozen; afterwards the second one
		// reconciles until nothing changes.
		meanwhile func(m string, second *leader)
		// in is the instance that the cluster is in at the end.
		in string
		// real means that the case also runs with real API servers; versions that it runs only
		// there, where a resource version distinguishes a former object of a name from the present
		// one.
		real, versions bool
	}{
		{name: "join", real: true, to: "alpha", in: "beta", meanwhile: func(m string, _ *leader) { w.want(m, "beta") }},
		{name: "move", real: true, from: "alpha", to: "beta", in: "alpha", meanwhile: func(m string, _ *leader) { w.want(m, "alpha") }},
		{name: "move back", from: "beta", to: "alpha", in: "beta", meanwhile: func(m string, _ *leader) { w.want(m, "beta") }},
		{name: "leave", from: "alpha", in: "beta", meanwhile: func(m string, _ *leader) { w.want(m, "beta") }},
		{name: "round trip", to: "alpha", in: "alpha", meanwhile: func(m string, second *leader) {
			w.want(m, "beta")
			second.reconcileAll()
			w.want(m, "alpha")
		}},
		{name: "object removed by hand", from: "alpha", to: "alpha", in: "beta", spoil: func(m string) {
			member := w.member("alpha", m)
			member.Finalizers = nil
			if err := w.others["alpha"].Update(t.Context(), member); err != nil {
				t.Fatal(err)
			}
			if err := w.others["alpha"].Delete(t.Context(), member); err != nil {
				t.Fatal(err)
			}
		}, meanwhile: func(m string, _ *leader) { w.want(m, "beta") }},
		{name: "Cluster made anew", versions: true, to: "alpha", in: "beta", meanwhile: func(m string, second *leader) {
			w.remove(m)
			second.reconcileAll()
			w.want(m, "beta")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.T = t
			if w.real && !c.real && !c.versions || c.versions && !w.real {
				t.Skip("it is tried on the other stage")
			}
			run := func(at int) *leader {
				m := fmt.Sprintf("m-%d", at)
				w.begin(m)
				first, second := w.leader("the first"), w.leader("the second")
				w.want(m, c.from)
				first.reconcileAll()
				w.in(c.from)
				if c.spoil != nil {
					c.spoil(m)
				}
				w.want(m, c.to)
				first.freezesAt(at, func() {
					c.meanwhile(m, second)
					second.reconcileAll()
				})
				first.reconcileAll()
				if at == 0 {
					w.in(c.to)
				} else {
					second.reconcileAll()
					first.reconcileAll()
					w.in(c.in)
				}
				w.end(second)
				return first
			}
			w.atEach(run)
		})
	}
}

// TestInterleavedTwins has two leaders join the same cluster for two Clusters, to
// different instances.
func TestInterleavedTwins(t *testing.T) {
	t.Run("in memory", func(t *testing.T) { interleaveTwins(t, inMemory(t)) })
	t.Run("in API servers", func(t *testing.T) { interleaveTwins(t, inServers(t)) })
}

func interleaveTwins(t *testing.T, w *stage) {
	t.Helper()
	w.given = true
	for _, names := range [][]string{{"twin-a", "twin-b"}, {"twin-b", "twin-a"}} {
		t.Run(names[0]+" first", func(t *testing.T) {
			w.T = t
			w.atEach(func(at int) *leader {
				w.begin(names...)
				first, second := w.leader("the first"), w.leader("the second")
				w.want(names[0], "alpha")
				w.want(names[1], "")
				first.look()
				second.look()
				first.freezesAt(at, func() {
					w.want(names[1], "beta")
					second.reconcileAll(names[1])
				})
				first.reconcileAll()
				if at > 0 {
					second.reconcileAll()
					first.reconcileAll()
				}
				joined := 0
				for _, name := range names {
					for _, instance := range []string{"alpha", "beta"} {
						if w.member(instance, name) != nil {
							joined++
						}
					}
				}
				if joined != 1 {
					t.Errorf("interrupted at %d: it is a member %d times in the end", at, joined)
				}
				w.end(second)
				return first
			})
		})
	}
}

// TestInterleavedRemovalOfStaleObjects freezes a leader while it removes an object that
// was made late, and the other one joins the cluster there.
func TestInterleavedRemovalOfStaleObjects(t *testing.T) {
	t.Run("in memory", func(t *testing.T) { interleaveRemoval(t, inMemory(t)) })
	t.Run("in API servers", func(t *testing.T) { interleaveRemoval(t, inServers(t)) })
}

func interleaveRemoval(t *testing.T, w *stage) {
	t.Helper()
	w.T = t
	w.atEach(func(at int) *leader {
		m := fmt.Sprintf("stale-%d", at)
		w.begin(m)
		first, second := w.leader("the first"), w.leader("the second")
		w.want(m, "beta")
		second.reconcileAll()
		cluster := &v1alpha1.Cluster{}
		if err := w.global.Get(t.Context(), client.ObjectKey{Name: m}, cluster); err != nil {
			t.Fatal(err)
		}
		late := w.member("beta", m)
		late.ObjectMeta.ResourceVersion, late.ObjectMeta.UID, late.Spec.SecretRef = "", "", nil
		late.Labels[v1alpha1.InstanceLabel], late.Labels[v1alpha1.MembershipLabel] = "alpha", "earlier"
		if err := w.others["alpha"].Create(t.Context(), late); err != nil {
			t.Fatal(err)
		}
		first.freezesAt(at, func() {
			w.want(m, "alpha")
			second.reconcileAll()
		})
		first.look()
		want := "beta"
		if at > 0 {
			want = "alpha"
		}
		w.finish()
		second.reconcileAll()
		w.in(want)
		w.end(second)
		return first
	})
}

// atEach does a run without an interruption, and then one for each request of it up to
// the last write.
func (w *stage) atEach(run func(at int) *leader) {
	w.Helper()
	writes := run(0).writes
	if len(writes) == 0 {
		w.Fatal("it wrote nothing")
	}
	last := writes[len(writes)-1]
	w.Logf("it takes %d requests, of which %d change something", last, len(writes))
	for at := 1; at <= last; at++ {
		if nth := slices.Index(writes, at); w.real && (nth < 0 || nth%longtest.Step() != 0) {
			continue
		}
		run(at)
		if len(w.wrong) > 0 { // The first is what the others follow from.
			w.Errorf("interrupted at request %d of %d: %s", at, last, w.wrong[0])
		}
	}
}

func (w *stage) begin(names ...string) {
	w.names, w.memberships, w.wrong = names, map[string]*v1alpha1.ClusterMembership{}, nil
}

// end deletes the Clusters, and nothing of them may remain.
func (w *stage) end(by *leader) {
	w.Helper()
	for _, name := range w.names {
		w.remove(name)
	}
	by.reconcileAll()
	for _, name := range w.names {
		err := w.global.Get(w.Context(), client.ObjectKey{Name: name}, &v1alpha1.Cluster{})
		if !apierrors.IsNotFound(err) {
			w.Errorf("Cluster %s is still there: %v", name, err)
		}
	}
	w.in("")
}

// in checks that the only Cluster is a member of one instance, with credentials that
// are good, and that nothing of it is anywhere else; of none, when that is empty.
func (w *stage) in(instance string) {
	w.Helper()
	for _, name := range w.names {
		for _, where := range []string{"alpha", "beta"} {
			member := w.member(where, name)
			if there := member != nil && !isReserved(member); there != (where == instance) || member != nil && !there {
				w.Errorf("%s is to be a member of %q, and in %s there is %+v", name, instance, where, member)
			}
			given, token := &corev1.Secret{}, &corev1.Secret{}
			err := w.others[where].Get(w.Context(), client.ObjectKey{Namespace: joinNamespace, Name: name}, given)
			if (err == nil) != (where == instance) {
				w.Errorf("%s is to be a member of %q, and for the Secret in %s it is %v", name, instance, where, err)
			}
			if where != instance {
				continue
			}
			err = w.others["member"].Get(w.Context(), client.ObjectKey{Namespace: joinNamespace, Name: "karmada-" + name}, token)
			if err != nil || !bytes.Equal(token.Data[corev1.ServiceAccountTokenKey], given.Data["token"]) {
				w.Errorf("%s has the token %q of %s, and the cluster %q: %v", where, given.Data["token"], name, token.Data[corev1.ServiceAccountTokenKey], err)
			}
		}
	}
	accounts := &corev1.ServiceAccountList{}
	if err := w.others["member"].List(w.Context(), accounts, client.InNamespace(joinNamespace)); err != nil {
		w.Fatal(err)
	}
	if there := slices.ContainsFunc(accounts.Items, func(a corev1.ServiceAccount) bool { return a.Name != "default" }); there != (instance != "") {
		w.Errorf("%v is to be a member of %q, and in it there are %d service accounts", w.names, instance, len(accounts.Items))
	}
}
