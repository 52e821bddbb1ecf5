package writecache_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/writecache"
)

// remove has the object deleted and the cache hear of it.
func (b *behind) remove(object client.Object, heardOf string) {
	b.t.Helper()
	if err := b.Client.Delete(b.t.Context(), object); err != nil {
		b.t.Fatal(err)
	}
	delete(b.cached, object.GetName())
	b.upTo = heardOf
}

// TestWhatTheCacheDoesNotHave asks for an object that the cache does not have at the
// end.
func TestWhatTheCacheDoesNotHave(t *testing.T) {
	for _, c := range []struct {
		reason string
		// do makes an object and gives it as it is then.
		do func(t *testing.T, b *behind, kube client.Client) *v1alpha1.Instance
		// there is whether it is there, as it was given.
		there bool
	}{
		{
			reason: "it was just made", there: true,
			do: func(_ *testing.T, b *behind, kube client.Client) *v1alpha1.Instance { return b.made(kube) },
		},
		{
			reason: "it was just made, and written once more", there: true,
			do: func(t *testing.T, b *behind, kube client.Client) *v1alpha1.Instance {
				made := b.made(kube)
				label(t, kube, made, "new")
				return made
			},
		},
		{
			reason: "the cache has heard of its being made, and does not have it: another client took it away",
			do: func(_ *testing.T, b *behind, kube client.Client) *v1alpha1.Instance {
				made := b.made(kube)
				b.remove(made, made.ResourceVersion)
				return made
			},
		},
		{
			reason: "so it is when it was written since: that it was made is what the cache has heard of",
			do: func(t *testing.T, b *behind, kube client.Client) *v1alpha1.Instance {
				made := b.made(kube)
				version := made.ResourceVersion
				label(t, kube, made, "new")
				b.remove(made, version)
				return made
			},
		},
		{
			reason: "this process has deleted it again",
			do: func(t *testing.T, b *behind, kube client.Client) *v1alpha1.Instance {
				made := b.made(kube)
				if err := kube.Delete(t.Context(), made); err != nil {
					t.Fatal(err)
				}
				return made
			},
		},
		{
			reason: "that it would be deleted was only asked", there: true,
			do: func(t *testing.T, b *behind, kube client.Client) *v1alpha1.Instance {
				made := b.made(kube)
				if err := kube.Delete(t.Context(), made.DeepCopy(), client.DryRunAll); err != nil {
					t.Fatal(err)
				}
				return made
			},
		},
		{
			reason: "that it would be made was only asked",
			do: func(_ *testing.T, b *behind, kube client.Client) *v1alpha1.Instance {
				return b.made(client.NewDryRunClient(kube))
			},
		},
		{
			reason: "another client made it, and it was written here",
			do: func(t *testing.T, b *behind, kube client.Client) *v1alpha1.Instance {
				made := b.made(b.Client)
				label(t, kube, made, "new")
				return made
			},
		},
		{
			reason: "it is unknown what the cache has heard of",
			do: func(_ *testing.T, b *behind, kube client.Client) *v1alpha1.Instance {
				made := b.made(kube)
				b.upTo = ""
				return made
			},
		},
	} {
		t.Run(c.reason, func(t *testing.T) {
			b := newBehind(t)
			kube := writecache.New(b.Client, v1alpha1.GroupVersion.Group, b.heard)
			want := c.do(t, b, kube)
			for range 2 { // Asking changes nothing.
				got := &v1alpha1.Instance{}
				err := kube.Get(t.Context(), client.ObjectKeyFromObject(want), got)
				if !c.there {
					if !apierrors.IsNotFound(err) {
						t.Errorf("got %v, want that it is not there", err)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if got.UID != want.UID || got.ResourceVersion != want.ResourceVersion || got.Labels["said"] != want.Labels["said"] {
					t.Errorf("got version %s, which said %q; want %s and %q", got.ResourceVersion, got.Labels["said"], want.ResourceVersion, want.Labels["said"])
				}
				if metadata := (&metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.InstanceKind}}); !apierrors.IsNotFound(kube.Get(t.Context(), client.ObjectKeyFromObject(want), metadata)) {
					t.Error("in another form it is from another cache, which does not have it")
				}
			}
		})
	}
}
