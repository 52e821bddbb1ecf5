package writecache_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kairship-io/kairship/pkg/apis/apitest"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers"
	"github.com/kairship-io/kairship/pkg/controllers/internal/finalizer"
	"github.com/kairship-io/kairship/pkg/controllers/internal/status"
	"github.com/kairship-io/kairship/pkg/controllers/internal/writecache"
)

func TestMain(m *testing.M) { os.Exit(apitest.Run(m)) }

// behind is an API server with a cache that has a chosen version, however much has been written
// since.
type behind struct {
	client.Client
	t      *testing.T
	cached map[string]client.Object
	// upTo is the version up to which the cache reports that it has heard.
	upTo string
	// writes and refused are how many requests have been sent that write, and how many
	// of them were refused because of the version.
	writes, refused atomic.Int32
}

func newBehind(t *testing.T) *behind {
	t.Helper()
	direct, err := client.NewWithWatch(apitest.Config(t), client.Options{Scheme: controllers.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	b := &behind{t: t, cached: map[string]client.Object{}}
	count := func(err error) error {
		b.writes.Add(1)
		if apierrors.IsConflict(err) {
			b.refused.Add(1)
		}
		return err
	}
	b.Client = interceptor.NewClient(direct, interceptor.Funcs{
		Get: func(ctx context.Context, live client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
			cached := b.cached[key.Name]
			switch cached.(type) {
			case nil:
				return apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("things").GroupResource(), key.Name)
			case *v1alpha1.Instance:
				if into, is := object.(*v1alpha1.Instance); is {
					cached.DeepCopyObject().(*v1alpha1.Instance).DeepCopyInto(into)
					return nil
				}
			}
			return live.Get(ctx, key, object, opts...)
		},
		Patch: func(ctx context.Context, live client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return count(live.Patch(ctx, object, patch, opts...))
		},
		SubResourceApply: func(ctx context.Context, live client.Client, sub string, object runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			return count(live.SubResource(sub).Apply(ctx, object, opts...))
		},
	})
	return b
}

func (b *behind) heard(context.Context, client.Object) string { return b.upTo }

// instance makes one, which the cache has as it was made.
func (b *behind) instance() *v1alpha1.Instance {
	b.t.Helper()
	made := b.made(b.Client)
	b.catchUp(made)
	return made
}

// made makes one with the client, of which the cache does not hear.
func (b *behind) made(kube client.Client) *v1alpha1.Instance {
	b.t.Helper()
	made := &v1alpha1.Instance{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "latest-"},
		Spec: v1alpha1.InstanceSpec{
			Mode:                v1alpha1.InstanceModeExternal,
			KubeconfigSecretRef: &v1alpha1.SecretKeyReference{SecretReference: v1alpha1.SecretReference{Namespace: "default", Name: "none"}},
		},
	}
	b.upTo = cmp.Or(b.upTo, "1")
	if err := kube.Create(b.t.Context(), made); err != nil {
		b.t.Fatal(err)
	}
	return made
}

// catchUp has the cache have the object as it is given.
func (b *behind) catchUp(object client.Object) {
	b.cached[object.GetName()] = object.DeepCopyObject().(client.Object)
	b.upTo = object.GetResourceVersion()
}

// label changes one label with a patch.
func label(t *testing.T, kube client.Client, object client.Object, value string, opts ...client.PatchOption) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{"said":%q}}}`, value))
	if err := kube.Patch(t.Context(), object, patch, opts...); err != nil {
		t.Fatal(err)
	}
}

// TestGet writes, and looks whether that is seen.
func TestGet(t *testing.T) {
	for _, c := range []struct {
		reason string
		// do writes, or has the cache move on.
		do   func(t *testing.T, b *behind, kube client.Client, instance *v1alpha1.Instance)
		want string
	}{
		{reason: "nothing was written", do: func(*testing.T, *behind, client.Client, *v1alpha1.Instance) {}},
		{
			reason: "what was written is seen before the cache has it", want: "new",
			do: func(t *testing.T, _ *behind, kube client.Client, instance *v1alpha1.Instance) {
				label(t, kube, instance, "new")
			},
		},
		{
			reason: "the last of what was written is", want: "newer",
			do: func(t *testing.T, _ *behind, kube client.Client, instance *v1alpha1.Instance) {
				label(t, kube, instance, "new")
				label(t, kube, instance, "newer")
			},
		},
		{
			reason: "so is what was written with an update", want: "new",
			do: func(t *testing.T, _ *behind, kube client.Client, instance *v1alpha1.Instance) {
				instance.Labels = map[string]string{"said": "new"}
				if err := kube.Update(t.Context(), instance); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			reason: "a dry run writes nothing",
			do: func(t *testing.T, _ *behind, kube client.Client, instance *v1alpha1.Instance) {
				label(t, kube, instance.DeepCopy(), "new", client.DryRunAll)
			},
		},
		{
			reason: "nor does one with what another client wrote, which the cache does not have yet",
			do: func(t *testing.T, b *behind, kube client.Client, instance *v1alpha1.Instance) {
				label(t, b.Client, instance.DeepCopy(), "theirs")
				label(t, kube, instance.DeepCopy(), "new", client.DryRunAll)
			},
		},
		{
			reason: "nor does what is refused",
			do: func(t *testing.T, _ *behind, kube client.Client, instance *v1alpha1.Instance) {
				invalid := instance.DeepCopy()
				invalid.Labels, invalid.Spec.Mode = map[string]string{"said": "new"}, "Unknown"
				if err := kube.Update(t.Context(), invalid); !apierrors.IsInvalid(err) {
					t.Fatalf("got %v", err)
				}
			},
		},
		{
			reason: "another client's later change counts as soon as the cache has it", want: "theirs",
			do: func(t *testing.T, b *behind, kube client.Client, instance *v1alpha1.Instance) {
				label(t, kube, instance, "new")
				theirs := instance.DeepCopy()
				label(t, b.Client, theirs, "theirs")
				b.catchUp(theirs)
			},
		},
		{
			reason: "the cache has another object of the same name", want: "another",
			do: func(t *testing.T, b *behind, kube client.Client, instance *v1alpha1.Instance) {
				label(t, kube, instance, "new")
				another := instance.DeepCopy()
				another.UID, another.ResourceVersion, another.Labels = "another", "1", map[string]string{"said": "another"}
				b.catchUp(another)
			},
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			b := newBehind(t)
			kube := writecache.New(b.Client, v1alpha1.GroupVersion.Group, b.heard)
			instance := b.instance()
			c.do(t, b, kube, instance.DeepCopy())
			for range 2 { // Asking changes nothing.
				got := &v1alpha1.Instance{}
				if err := kube.Get(t.Context(), client.ObjectKeyFromObject(instance), got); err != nil {
					t.Fatal(err)
				}
				if got.Labels["said"] != c.want {
					t.Errorf("said %q, want %q", got.Labels["said"], c.want)
				}
				if got.ManagedFields != nil && c.want == "new" {
					t.Error("it has managed fields, which the cache has not")
				}
			}
		})
	}
}

// TestOnlyTheGroupIsRemembered: what is in a Secret has no business in memory.
func TestOnlyTheGroupIsRemembered(t *testing.T) {
	b := newBehind(t)
	kube := writecache.New(b.Client, "example.com", b.heard)
	instance := b.instance()
	label(t, kube, instance.DeepCopy(), "new")
	got := &v1alpha1.Instance{}
	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(instance), got); err != nil || got.Labels["said"] != "" {
		t.Errorf("said %q, error %v", got.Labels["said"], err)
	}
}

// TestTurns has many owners write the status of one object, of which the cache says
// nothing all the while: none of them is refused, and each writes once.
func TestTurns(t *testing.T) {
	b := newBehind(t)
	kube := writecache.New(b.Client, v1alpha1.GroupVersion.Group, b.heard)
	instance := b.instance()
	const owners = 8
	var all sync.WaitGroup
	for i := range owners {
		all.Go(func() {
			owner, read := fmt.Sprintf("owner-%d", i), &v1alpha1.Instance{}
			if err := kube.Get(t.Context(), client.ObjectKeyFromObject(instance), read); err != nil {
				t.Error(err)
			}
			said := v1alpha1.InstanceStatus{Conditions: []metav1.Condition{{Type: owner, Status: metav1.ConditionTrue, Reason: "Said", LastTransitionTime: metav1.Now().Rfc3339Copy()}}}
			if err := status.Apply(t.Context(), kube, read, owner, &v1alpha1.InstanceStatus{}, &said); err != nil {
				t.Error(err)
			}
			if err := finalizer.Hold(t.Context(), kube, read, "example.com/"+owner); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if writes, refused := b.writes.Load(), b.refused.Load(); writes != 2*owners || refused > 0 {
		t.Errorf("%d writes, of which %d were refused; want %d and none", writes, refused, 2*owners)
	}
	got := &v1alpha1.Instance{}
	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(instance), got); err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range owners {
		owner := fmt.Sprintf("owner-%d", i)
		want = append(want, "example.com/"+owner)
		if !meta.IsStatusConditionTrue(got.Status.Conditions, owner) {
			t.Errorf("the condition of %s is lost", owner)
		}
	}
	slices.Sort(got.Finalizers)
	if diff := gocmp.Diff(want, got.Finalizers); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
}

// held has another controller hold the object.
func held(t *testing.T, kube client.Client, object client.Object) {
	t.Helper()
	if err := finalizer.Hold(t.Context(), kube, object, "example.com/another"); err != nil {
		t.Fatal(err)
	}
}

// TestRefresh holds an object that was read before something else happened.
func TestRefresh(t *testing.T) {
	for _, c := range []struct {
		reason string
		// meanwhile happens after it was read.
		meanwhile func(t *testing.T, b *behind, kube client.Client, now *v1alpha1.Instance)
		conflict  bool
	}{
		{
			reason:    "another controller of this process wrote, and the cache does not know",
			meanwhile: func(t *testing.T, _ *behind, kube client.Client, now *v1alpha1.Instance) { held(t, kube, now) },
		},
		{
			reason: "another controller of this process wrote, and the cache knows by now",
			meanwhile: func(t *testing.T, b *behind, kube client.Client, now *v1alpha1.Instance) {
				held(t, kube, now)
				b.catchUp(now)
				if err := kube.Get(t.Context(), client.ObjectKeyFromObject(now), now); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			reason: "something else is asked for", conflict: true,
			meanwhile: func(t *testing.T, _ *behind, kube client.Client, now *v1alpha1.Instance) {
				now.Spec.KubeconfigSecretRef.Name = "other"
				if err := kube.Update(t.Context(), now); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			reason: "another process wrote, such as the next leader, and the cache does not know", conflict: true,
			meanwhile: func(t *testing.T, b *behind, _ client.Client, now *v1alpha1.Instance) {
				label(t, b.Client, now, "theirs")
			},
		},
		{
			reason: "another process wrote, and the cache knows", conflict: true,
			meanwhile: func(t *testing.T, b *behind, _ client.Client, now *v1alpha1.Instance) {
				label(t, b.Client, now, "theirs")
				b.catchUp(now)
			},
		},
		{
			reason: "another process wrote before this one", conflict: true,
			meanwhile: func(t *testing.T, b *behind, kube client.Client, now *v1alpha1.Instance) {
				label(t, b.Client, now, "theirs")
				said := v1alpha1.InstanceStatus{State: v1alpha1.InstanceStateRunning}
				if err := status.Apply(t.Context(), kube, now, "another", &v1alpha1.InstanceStatus{}, &said); err != nil {
					t.Fatal(err)
				}
			},
		},
		{
			reason: "this process wrote without saying for which version", conflict: true,
			meanwhile: func(t *testing.T, b *behind, kube client.Client, now *v1alpha1.Instance) {
				label(t, b.Client, now, "theirs")
				label(t, kube, now, "ours")
			},
		},
		{
			reason: "several controllers of this process wrote, one after the other",
			meanwhile: func(t *testing.T, _ *behind, kube client.Client, now *v1alpha1.Instance) {
				for _, value := range []string{"one", "two"} {
					before := now.DeepCopy()
					now.Labels = map[string]string{"said": value}
					if err := kube.Patch(t.Context(), now, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
						t.Fatal(err)
					}
				}
				held(t, kube, now)
			},
		},
		{
			reason: "another process wrote after this one", conflict: true,
			meanwhile: func(t *testing.T, b *behind, kube client.Client, now *v1alpha1.Instance) {
				label(t, kube, now, "ours")
				label(t, b.Client, now, "theirs")
				b.catchUp(now)
			},
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			b := newBehind(t)
			kube := writecache.New(b.Client, v1alpha1.GroupVersion.Group, b.heard)
			read := b.instance()
			c.meanwhile(t, b, kube, read.DeepCopy())
			err := finalizer.Hold(t.Context(), kube, read, "example.com/held")
			if apierrors.IsConflict(err) != c.conflict || (err != nil) != c.conflict {
				t.Errorf("got %v, want a conflict: %v", err, c.conflict)
			}
		})
	}
}

func TestLater(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{{"2", "1", true}, {"1", "2", false}, {"10", "9", true}, {"9", "10", false}, {"1", "1", false}, {"", "1", false}, {"1", "", false}, {"x", "1", false}} {
		if got := writecache.Newer(c.a, c.b); got != c.want {
			t.Errorf("%q after %q: %v", c.a, c.b, got)
		}
	}
}
