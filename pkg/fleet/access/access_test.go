package access_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/fleet/fleettest"
)

func clusterOf(name string, typ v1alpha1.ClusterType, instance string) *v1alpha1.Cluster {
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ClusterSpec{Type: typ}}
	if instance != "" {
		c.Spec.InstanceRef = &v1alpha1.InstanceReference{Name: instance}
	}
	return c
}

func inventoryClusters() []*v1alpha1.Cluster {
	return []*v1alpha1.Cluster{
		clusterOf("k-alpha", v1alpha1.ClusterTypeVirtual, ""), clusterOf("k-beta", v1alpha1.ClusterTypeVirtual, ""),
		clusterOf("m1", v1alpha1.ClusterTypePhysical, "alpha"), clusterOf("m3", v1alpha1.ClusterTypePhysical, "beta"),
		clusterOf("free", v1alpha1.ClusterTypePhysical, ""), clusterOf("lost", v1alpha1.ClusterTypePhysical, "deleted"),
		// The reference of a virtual cluster is not what it stands for.
		clusterOf("k-gamma", v1alpha1.ClusterTypeVirtual, "alpha"),
	}
}

func TestClusters(t *testing.T) {
	a := access.New(authz.NewResolver(&fakeRules{}, nil, standing, nil))
	for person, want := range map[string][]string{
		"nobody": nil,
		"admin":  {"k-alpha", "k-beta", "m1", "m3", "free", "lost", "k-gamma"},
		"alice":  {"k-alpha", "m1"},
		"bob":    {"k-beta", "m3"},
		"shop":   {"k-alpha", "m1"},
		"seen":   {"k-alpha", "k-beta", "m1", "m3"},
	} {
		all := inventoryClusters()
		kept, err := access.Keep(as(t, person), a, all, access.InstanceOfCluster)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range kept {
			got = append(got, c.Name)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s sees (-want +got):\n%s", person, d)
		}
		for _, c := range all {
			visible, err := a.Cluster(as(t, person), c)
			if err != nil || visible != slices.Contains(want, c.Name) {
				t.Errorf("%s sees %s: %v, %v", person, c.Name, visible, err)
			}
		}
	}
}

func TestInstance(t *testing.T) {
	a := access.New(authz.NewResolver(&fakeRules{}, nil, standing, nil))
	for person, want := range map[string][]string{"nobody": {}, "alice": {"alpha"}, "mixed": {"alpha", "beta"}, "admin": {"alpha", "beta", "missing"}} {
		names := []string{"alpha", "beta", "missing", "alpha:shop", ""}
		got := []string{}
		for _, name := range names {
			g, visible, err := a.Instance(as(t, person), name)
			if err != nil {
				t.Fatal(err)
			}
			if visible {
				got = append(got, name)
			}
			if visible != g.ViewerCan().View {
				t.Errorf("%s: %s is visible: %v, and its grant says otherwise", person, name, visible)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s sees (-want +got):\n%s", person, d)
		}
	}
	if _, visible, err := a.Instance(t.Context(), "alpha"); visible || apierror.CodeOf(err) != apierror.CodeUnauthenticated {
		t.Errorf("without a user: %v, %v", visible, err)
	}
	away := access.New(authz.NewResolver(&fakeRules{err: errors.New("connection refused")}, nil, standing, nil))
	if kept, err := access.Keep(as(t, "admin"), away, inventoryClusters(), access.InstanceOfCluster); kept != nil || apierror.CodeOf(err) != apierror.CodeTimeout {
		t.Errorf("undecided: %v, %v", kept, err)
	}
}

// A thousand instances, and somebody who is bound to three of them.
func TestThousandInstancesCostOneReview(t *testing.T) {
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprintf("instance-%03d", i)
	}
	bound := []string{"instance-000", "instance-333", "instance-999"}
	var rules []authorizationv1.ResourceRule
	for _, name := range bound {
		rules = append(rules, role(name, true)...)
	}
	reviews := &fakeRules{more: map[string][]authorizationv1.ResourceRule{"carol": rules}}
	a := access.New(authz.NewResolver(reviews, nil, standing, nil))
	kept, err := access.Keep(as(t, "carol"), a, names, func(name string) string { return name })
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(bound, kept); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, name := range kept {
		g, _, err := a.Instance(as(t, "carol"), name)
		if err != nil || !g.ViewerCanIn("shop").Update {
			t.Errorf("%s: %+v, %v", name, g.ViewerCanIn("shop"), err)
		}
	}
	if reviews.count != 1 {
		t.Errorf("got %d reviews, want 1", reviews.count)
	}
}

func TestInventory(t *testing.T) {
	objects := []client.Object{
		// Somebody took these names before Kairship could.
		fleettest.Collected("k-taken", time.Time{}), fleettest.Collected("m-taken", time.Time{}),
	}
	for _, c := range inventoryClusters() {
		objects = append(objects, c)
	}
	watched := fleettest.Inventory(t, objects...)
	inv := access.NewInventory(watched)
	for cluster, want := range map[string]string{
		"k-alpha": "alpha", "k-unregistered": "unregistered", "k-gamma": "gamma", "m1": "alpha", "m3": "beta", "lost": "deleted",
		"free": "", "unknown": "", "": "", "k-": "", "k-taken": "", "m-taken": "",
	} {
		if got := inv.InstanceOf(t.Context(), cluster); got != want {
			t.Errorf("%q belongs to %q, want %q", cluster, got, want)
		}
	}
	broken := access.NewInventory(interceptor.NewClient(watched.(client.WithWatch), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("the cache is not started")
		},
	}))
	if got := broken.InstanceOf(t.Context(), "m1"); got != "" {
		t.Errorf("a cluster that can't be read belongs to %q", got)
	}
}
