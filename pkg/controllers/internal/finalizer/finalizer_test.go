package finalizer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

const ours, theirs = "kairship.io/ours", "example.com/theirs"

// stored is an object as a cluster has it, with these finalizers.
func stored(t *testing.T, finalizers ...string) (client.Client, *corev1.Namespace) {
	t.Helper()
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "one", Finalizers: finalizers}}
	c := fake.NewClientBuilder().WithObjects(object).Build()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		t.Fatal(err)
	}
	return c, object
}

func finalizersOf(t *testing.T, c client.Client) []string {
	t.Helper()
	object := &corev1.Namespace{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "one"}, object); err != nil {
		t.Fatal(err)
	}
	return object.Finalizers
}

func TestHoldAndReleaseKeepWhatOthersHold(t *testing.T) {
	c, object := stored(t, theirs)
	for range 2 { // The second time there is nothing to do.
		if err := Hold(t.Context(), c, object, ours); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{theirs, ours}, finalizersOf(t, c)); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	for range 2 {
		if err := Release(t.Context(), c, object, ours); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{theirs}, finalizersOf(t, c)); diff != "" {
		t.Errorf("released (-want +got):\n%s", diff)
	}
}

// What another client has put on in between would be lost with the list.
func TestAnObjectThatHasChangedIsLeftAlone(t *testing.T) {
	for name, do := range map[string]struct {
		with []string
		act  func(client.Client, *corev1.Namespace) error
	}{
		"hold":    {nil, func(c client.Client, o *corev1.Namespace) error { return Hold(t.Context(), c, o, ours) }},
		"release": {[]string{ours}, func(c client.Client, o *corev1.Namespace) error { return Release(t.Context(), c, o, ours) }},
	} {
		t.Run(name, func(t *testing.T) {
			c, stale := stored(t, do.with...)
			newer := stale.DeepCopy()
			newer.Finalizers = append(newer.Finalizers, theirs)
			if err := c.Update(t.Context(), newer); err != nil {
				t.Fatal(err)
			}
			err := do.act(c, stale)
			if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `Namespace "one"`) {
				t.Errorf("got %v; a conflict that names the object is expected", err)
			}
			if diff := cmp.Diff(append(do.with, theirs), finalizersOf(t, c)); diff != "" {
				t.Errorf("finalizers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReleaseOfWhatIsGone(t *testing.T) {
	c, object := stored(t, ours)
	gone := object.DeepCopy()
	gone.Finalizers = nil
	if err := c.Update(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	if err := Release(t.Context(), c, object, ours); err != nil {
		t.Error(err)
	}
}
