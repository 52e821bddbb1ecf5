package writecache

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// lagging is a client whose cache has a chosen version of an object, and whose API server accepts
// every update.
type lagging struct{ cached, stored atomic.Uint64 }

func (l *lagging) client(t *testing.T) *Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, pediav1alpha2.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return New(interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).Build(), interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
			version := l.cached.Load()
			if version == 0 {
				return apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("instances").GroupResource(), key.Name)
			}
			object.SetName(key.Name)
			object.SetUID("u")
			object.SetResourceVersion(strconv.FormatUint(version, 10))
			return nil
		},
		Update: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.UpdateOption) error {
			object.SetUID("u")
			object.SetResourceVersion(strconv.FormatUint(l.stored.Add(1), 10))
			return nil
		},
	}), v1alpha1.GroupVersion.Group, func(context.Context, client.Object) string { return strconv.FormatUint(l.cached.Load(), 10) })
}

// TestNoWriteIsForgotten reads from many sides what one side writes, while the cache
// follows: after a write no one reads what was before it.
func TestNoWriteIsForgotten(t *testing.T) {
	l := &lagging{}
	l.cached.Store(1)
	l.stored.Store(1)
	c := l.client(t)
	read := func() uint64 {
		object := &v1alpha1.Instance{}
		if err := c.Get(t.Context(), client.ObjectKey{Name: "one"}, object); err != nil {
			t.Error(err)
		}
		version, err := strconv.ParseUint(object.ResourceVersion, 10, 64)
		if err != nil {
			t.Error(err)
		}
		return version
	}
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					read()
				}
			}
		})
	}
	const writes = 20_000
	old := 0
	for range writes {
		object := &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: "one"}}
		if err := c.Update(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		written := l.stored.Load()
		if read() < written {
			old++
		}
		l.cached.Store(written)
		if read() < written {
			old++
		}
	}
	close(done)
	readers.Wait()
	if old > 0 {
		t.Errorf("%d of %d reads gave what was before a write of the same process", old, 2*writes)
	}
}

// TestAReaderThatWasOvertaken had read the cache before it had a write, and looks at what
// is remembered after another reader found that it has.
func TestAReaderThatWasOvertaken(t *testing.T) {
	l := &lagging{}
	l.cached.Store(4)
	l.stored.Store(4)
	c := l.client(t)
	if err := c.Update(t.Context(), &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: "one"}}); err != nil {
		t.Fatal(err)
	}
	overtaken := false
	inner := c.Client
	c.Client = interceptor.NewClient(inner.(client.WithWatch), interceptor.Funcs{ //nolint:forcetypeassert // It is what the test made.
		Get: func(ctx context.Context, _ client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
			err := inner.Get(ctx, key, object, opts...)
			if !overtaken {
				overtaken = true
				l.cached.Store(5)
				if err := c.Get(ctx, key, &v1alpha1.Instance{}); err != nil {
					t.Error(err)
				}
			}
			return err
		},
	})
	object := &v1alpha1.Instance{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "one"}, object); err != nil || object.ResourceVersion != "5" {
		t.Errorf("got version %s and %v, want 5", object.ResourceVersion, err)
	}
}

// TestTheCacheIsAboutToHaveIt has the cache have heard of an object a moment before it
// returns it.
func TestTheCacheIsAboutToHaveIt(t *testing.T) {
	l := &lagging{}
	c := l.client(t)
	c.cacheVersion = func(context.Context, client.Object) string { return "9" }
	asked := 0
	inner := c.Client
	c.Client = interceptor.NewClient(inner.(client.WithWatch), interceptor.Funcs{ //nolint:forcetypeassert // It is what the test made.
		Get: func(ctx context.Context, _ client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
			asked++
			if asked == 3 {
				l.cached.Store(9)
			}
			return inner.Get(ctx, key, object, opts...)
		},
		Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
			object.SetUID("u")
			object.SetResourceVersion("9")
			return nil
		},
	})
	if err := c.Create(t.Context(), &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: "one"}}); err != nil {
		t.Fatal(err)
	}
	object := &v1alpha1.Instance{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "one"}, object); err != nil || object.ResourceVersion != "9" {
		t.Errorf("got version %s and %v, want 9", object.ResourceVersion, err)
	}
	if left := c.written.Keys(); len(left) != 1 {
		t.Errorf("remembered: %v", left)
	}
}

// TestNothingIsKeptOfWhatIsGone, nor of what has credentials in it.
func TestNothingIsKeptOfWhatIsGone(t *testing.T) {
	l := &lagging{}
	c := l.client(t)
	if err := c.Update(t.Context(), &pediav1alpha2.PediaCluster{ObjectMeta: metav1.ObjectMeta{Name: "one"}}); err != nil {
		t.Fatal(err)
	}
	if left := c.written.Keys(); len(left) > 0 {
		t.Errorf("remembered: %v", left)
	}
	if err := c.Update(t.Context(), &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: "one"}}); err != nil {
		t.Fatal(err)
	}
	if left := c.written.Keys(); len(left) != 1 {
		t.Errorf("remembered: %v", left)
	}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "one"}, &v1alpha1.Instance{}); !apierrors.IsNotFound(err) {
		t.Fatalf("got %v", err)
	}
	if left := c.written.Keys(); len(left) > 0 {
		t.Errorf("remembered: %v", left)
	}
}
