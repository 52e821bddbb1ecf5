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
		"nobody": {},
		"admin":  {"k-alpha with figures", "k-beta with figures", "m1 with figures", "m3 with figures", "free", "lost with figures", "k-gamma with figures", "moving with figures"},
		"alice":  {"k-alpha with figures", "m1 with figures", "moving"},
		"bob":    {"k-beta with figures", "m3 with figures"},
		"shop":   {"k-alpha", "m1", "moving"},
		"mixed":  {"k-alpha", "k-beta with figures", "m1", "m3 with figures", "moving with figures"},
		"seen":   {"k-alpha", "k-beta", "m1", "m3", "moving"},
	} {
		var all []v1alpha1.Cluster
		for _, c := range append(inventoryClusters(), clusterOf("moving", v1alpha1.ClusterTypePhysical, "alpha")) {
			c.Status.Summary = &v1alpha1.ClusterSummary{}
			all = append(all, *c)
		}
		all[len(all)-1].Status.Membership = &v1alpha1.ClusterMembership{Instance: "beta"}
		for one := range all {
			whole := all[one].DeepCopy()
			kept, err := a.Clusters(as(t, person), []v1alpha1.Cluster{*whole})
			got := slices.Concat(describeClusters(kept), []string{""})[0]
			if err != nil || got != "" && !slices.Contains(want, got) {
				t.Errorf("%s alone is shown to %s as %q: %v", whole.Name, person, got, err)
			}
		}
		kept, err := a.Clusters(as(t, person), all)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, describeClusters(kept)); d != "" {
			t.Errorf("%s sees (-want +got):\n%s", person, d)
		}
	}
}

func describeClusters(clusters []v1alpha1.Cluster) []string {
	out := []string{}
	for i := range clusters {
		name := clusters[i].Name
		if clusters[i].Status.Summary != nil {
			name += " with figures"
		}
		out = append(out, name)
	}
	return out
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
	if kept, err := away.Clusters(as(t, "admin"), []v1alpha1.Cluster{*clusterOf("m1", v1alpha1.ClusterTypePhysical, "alpha")}); kept != nil || apierror.CodeOf(err) != apierror.CodeTimeout {
		t.Errorf("undecided: %v, %v", kept, err)
	}
}

// There are a thousand instances, and the user has a role on three of them.
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
	clusters := make([]v1alpha1.Cluster, len(names))
	for i, name := range names {
		clusters[i] = *clusterOf("member-of-"+name, v1alpha1.ClusterTypePhysical, name)
	}
	seen, err := a.Clusters(as(t, "carol"), clusters)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for i := range seen {
		kept = append(kept, access.InstanceOfCluster(&seen[i]))
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
		// A user took these names before Kairship could.
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
