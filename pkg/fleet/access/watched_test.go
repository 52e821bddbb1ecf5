package access_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/access"
)

func instanceOf(name string) *v1alpha1.Instance {
	return &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1alpha1.InstanceStatus{Summary: &v1alpha1.InstanceSummary{}}}
}

// watch is the global cluster with some instances and the inventory of these tests.
func watch(t *testing.T, instances ...string) client.Reader {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	builder := fake.NewClientBuilder().WithScheme(scheme)
	for _, name := range instances {
		builder = builder.WithObjects(instanceOf(name))
	}
	for _, c := range inventoryClusters() {
		if c.Name == "m3" {
			c.Status.Summary = &v1alpha1.ClusterSummary{}
		}
		builder = builder.WithObjects(c)
	}
	return builder.Build()
}

func TestWatchedInstances(t *testing.T) {
	w := access.NewWatched(watch(t, "alpha", "beta"), authz.NewResolver(&fakeRules{}, nil, standing, nil))
	for person, want := range map[string][]string{
		"nobody": {},
		"admin":  {"alpha with figures", "beta with figures"},
		"alice":  {"alpha with figures"},
		"shop":   {"alpha"},
		"mixed":  {"alpha", "beta with figures"},
		"seen":   {"alpha", "beta"},
	} {
		var list v1alpha1.InstanceList
		if err := w.List(as(t, person), &list, client.UnsafeDisableDeepCopy); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, describe(list.Items)); d != "" {
			t.Errorf("%s lists (-want +got):\n%s", person, d)
		}
		var got []v1alpha1.Instance
		for _, name := range []string{"alpha", "beta", "missing"} {
			var i v1alpha1.Instance
			switch err := w.Get(as(t, person), client.ObjectKey{Name: name}, &i); {
			case err == nil:
				got = append(got, i)
			case !apierrors.IsNotFound(err) || i.Name != "":
				t.Errorf("%s gets %s: %+v, %v, want that it is not found", person, name, i, err)
			}
		}
		if d := cmp.Diff(want, describe(got)); d != "" {
			t.Errorf("%s gets (-want +got):\n%s", person, d)
		}
	}
}

func describe(instances []v1alpha1.Instance) []string {
	out := []string{}
	for i := range instances {
		name := instances[i].Name
		if instances[i].Status.Summary != nil {
			name += " with figures"
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func TestWatchedClusters(t *testing.T) {
	w := access.NewWatched(watch(t), authz.NewResolver(&fakeRules{}, nil, standing, nil))
	figures := map[string]string{"admin": "m3", "bob": "m3"} // The only one that has any.
	for person, want := range map[string][]string{
		"nobody": {},
		"admin":  {"free", "k-alpha", "k-beta", "k-gamma", "lost", "m1", "m3"},
		"alice":  {"k-alpha", "m1"},
		"bob":    {"k-beta", "m3"},
		"seen":   {"k-alpha", "k-beta", "m1", "m3"},
	} {
		var list v1alpha1.ClusterList
		if err := w.List(as(t, person), &list); err != nil {
			t.Fatal(err)
		}
		listed := []string{}
		for _, c := range list.Items {
			listed = append(listed, c.Name)
			if shown := c.Status.Summary != nil; shown != (c.Name == figures[person]) {
				t.Errorf("%s lists %s, with figures: %v", person, c.Name, shown)
			}
		}
		slices.Sort(listed)
		if d := cmp.Diff(want, listed); d != "" {
			t.Errorf("%s lists (-want +got):\n%s", person, d)
		}
		for _, c := range append(inventoryClusters(), clusterOf("missing", v1alpha1.ClusterTypePhysical, "")) {
			var found v1alpha1.Cluster
			err := w.Get(as(t, person), client.ObjectKey{Name: c.Name}, &found)
			if visible := slices.Contains(want, c.Name); (err == nil) != visible || (!visible && (!apierrors.IsNotFound(err) || found.Name != "")) {
				t.Errorf("%s gets %s: %+v, %v", person, c.Name, found, err)
			}
			if shown := found.Status.Summary != nil; shown != (c.Name == figures[person]) {
				t.Errorf("%s gets %s, with figures: %v", person, c.Name, shown)
			}
		}
	}
}

func TestWatchedCostsOneReviewAndOneList(t *testing.T) {
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("instance-%03d", i))
	}
	reviews := &fakeRules{more: map[string][]authorizationv1.ResourceRule{"carol": slices.Concat(role("instance-000", true), role("instance-500", false), role("instance-999", true))}}
	from := &countedReader{Reader: watch(t, names...)}
	w := access.NewWatched(from, authz.NewResolver(reviews, nil, standing, nil))
	var list v1alpha1.InstanceList
	if err := w.List(as(t, "carol"), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 3 || reviews.count != 1 || from.reads != 1 {
		t.Errorf("%d instances, %d reviews, %d lists, want 3, 1 and 1", len(list.Items), reviews.count, from.reads)
	}
}

type countedReader struct {
	client.Reader
	reads int
}

func (c *countedReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	c.reads++
	return c.Reader.List(ctx, list, opts...)
}

func TestWatchedShowsNothingUndecided(t *testing.T) {
	w := access.NewWatched(watch(t, "alpha"), authz.NewResolver(&fakeRules{err: errors.New("connection refused")}, nil, standing, nil))
	read := map[string]error{
		"instances":       w.List(as(t, "admin"), &v1alpha1.InstanceList{}),
		"clusters":        w.List(as(t, "admin"), &v1alpha1.ClusterList{}),
		"instance":        w.Get(as(t, "admin"), client.ObjectKey{Name: "alpha"}, &v1alpha1.Instance{}),
		"no instance":     w.Get(as(t, "admin"), client.ObjectKey{Name: "missing"}, &v1alpha1.Instance{}),
		"cluster":         w.Get(as(t, "admin"), client.ObjectKey{Name: "m1"}, &v1alpha1.Cluster{}),
		"no cluster":      w.Get(as(t, "admin"), client.ObjectKey{Name: "missing"}, &v1alpha1.Cluster{}),
		"virtual cluster": w.Get(as(t, "admin"), client.ObjectKey{Name: "k-alpha"}, &v1alpha1.Cluster{}),
	}
	for what, err := range read {
		if apierror.CodeOf(err) != apierror.CodeTimeout {
			t.Errorf("%s: got %v, want %s", what, err, apierror.CodeTimeout)
		}
	}
}

func TestWatchedRefusesWhatIsNotConfined(t *testing.T) {
	w := access.NewWatched(watch(t), authz.NewResolver(&fakeRules{}, nil, standing, nil))
	if err := w.Get(as(t, "admin"), client.ObjectKey{Name: "x"}, &corev1.Secret{}); err == nil {
		t.Error("a Secret of the global cluster was read")
	}
	if err := w.List(as(t, "admin"), &corev1.SecretList{}); err == nil {
		t.Error("Secrets of the global cluster were listed")
	}
}
