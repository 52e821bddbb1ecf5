package credentials

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kairship-io/kairship/pkg/connection"
)

func TestAVersionOfASecretIsReadOnce(t *testing.T) {
	stored := secret("kairship-system", "m1", map[string][]byte{"token": []byte("one"), "caBundle": authority(t)})
	kube, ok := newClient(t, stored).(client.WithWatch)
	if !ok {
		t.Fatal("the fake client cannot be counted")
	}
	reads := 0
	counted := interceptor.NewClient(kube, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
			if _, whole := object.(*corev1.Secret); whole {
				reads++
			}
			return c.Get(ctx, key, object, opts...)
		},
	})
	reader := Reader{Secrets: counted, Memory: &Memory{Names: counted}}
	name := types.NamespacedName{Namespace: "kairship-system", Name: "m1"}
	read := func(endpoint string) (connection.Connection, error) {
		return reader.read(t.Context(), name, connection.Source{Endpoint: endpoint})
	}
	check := func(reason, endpoint, token string, want int) {
		t.Helper()
		got, err := read(endpoint)
		if err != nil || got.Token != token || got.Endpoint != endpoint {
			t.Errorf("%s: got %q at %q and %v", reason, got.Token, got.Endpoint, err)
		}
		if reads != want {
			t.Errorf("%s: %d reads, want %d", reason, reads, want)
		}
	}
	check("the first time it is read", "https://a", "one", 1)
	check("the second time it is not", "https://a", "one", 1)
	check("for another endpoint it says something else", "https://b", "one", 1)

	stored.Data["token"] = []byte("two")
	if err := kube.Update(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	check("when it changed it is read", "https://a", "two", 2)
	check("what the old version said is forgotten", "https://b", "two", 2)

	stored.Data = map[string][]byte{"nothing": nil}
	if err := kube.Update(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := read("https://a"); !errors.Is(err, connection.ErrMissing) {
			t.Errorf("got %v, want that the credentials are missing", err)
		}
	}
	if reads != 3 {
		t.Errorf("%d reads, want 3: an unusable version is read once too", reads)
	}

	if err := kube.Delete(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	if _, err := read("https://a"); !errors.Is(err, connection.ErrMissing) {
		t.Errorf("got %v for a deleted Secret", err)
	}
	if left := len(reader.Memory.secrets); left != 0 {
		t.Errorf("%d Secrets are remembered, want none", left)
	}
}

// waiting is a reader whose reads wait until they are let go.
type waiting struct {
	client.Reader
	begun, let chan struct{}
}

func (w *waiting) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	w.begun <- struct{}{}
	select {
	case <-w.let:
	case <-ctx.Done():
		return ctx.Err()
	}
	return w.Reader.Get(ctx, key, object, opts...)
}

// TestReadTogether has two need the same version of a Secret at the same time.
func TestReadTogether(t *testing.T) {
	for _, c := range []struct {
		reason string
		// unknown: the cache does not have the Secret; leaves: the first caller gives up before the
		// answer; large: the Secret is large.
		unknown, leaves, large bool
		reads                  int
	}{
		{reason: "it is read once", reads: 1},
		{reason: "so it is when it is too large to be remembered", large: true, reads: 1},
		{reason: "a version that the cache does not know may be another one each time", unknown: true, reads: 2},
		{reason: "who leaves ends no other wait", leaves: true, reads: 2},
	} {
		t.Run(c.reason, func(t *testing.T) {
			ca := authority(t)
			synctest.Test(t, func(t *testing.T) {
				data := map[string][]byte{"token": []byte("one"), "caBundle": ca}
				if c.large {
					data["other"] = make([]byte, mostData)
				}
				kube := newClient(t, secret("a", "m1", data))
				slow := &waiting{Reader: kube, begun: make(chan struct{}, 9), let: make(chan struct{})}
				reader := Reader{Secrets: slow, Memory: &Memory{Names: kube}}
				if c.unknown {
					reader.Memory.Names = newClient(t)
				}
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				var errs [2]error
				var both sync.WaitGroup
				for i, ctx := range []context.Context{ctx, t.Context()} {
					both.Go(func() {
						_, errs[i] = reader.read(ctx, types.NamespacedName{Namespace: "a", Name: "m1"}, connection.Source{Endpoint: fmt.Sprintf("https://%d", i)})
					})
					synctest.Wait()
				}
				if c.leaves {
					leave()
					synctest.Wait()
				}
				close(slow.let)
				both.Wait()
				if errors.Is(errs[0], context.Canceled) != c.leaves || !c.leaves && errs[0] != nil || errs[1] != nil {
					t.Errorf("got %v and %v", errs[0], errs[1])
				}
				if got := len(slow.begun); got != c.reads {
					t.Errorf("%d reads, want %d", got, c.reads)
				}
				if kept := reader.Memory.secrets[types.NamespacedName{Namespace: "a", Name: "m1"}].data != nil; kept == c.large {
					t.Errorf("what it holds is remembered: %v", kept)
				}
			})
		})
	}
}
