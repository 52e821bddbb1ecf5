package signin_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/kairship-io/kairship/graph/server/signin"
)

func TestConfigMap(t *testing.T) {
	now := time.Unix(1e9, 0)
	kube := fake.NewClientset()
	var gets atomic.Int32
	var away atomic.Bool
	kube.PrependReactor("get", "configmaps", func(k8stesting.Action) (bool, runtime.Object, error) {
		gets.Add(1)
		if away.Load() {
			return true, nil, errors.New("the global cluster does not answer")
		}
		return false, nil, nil
	})
	open := func() *signin.ConfigMap {
		return &signin.ConfigMap{ConfigMaps: kube.CoreV1(), Namespace: "kairship-system", Name: "out", Life: time.Hour, Now: func() time.Time { return now }}
	}
	one, other := open(), open()
	since := func(c *signin.ConfigMap, subject string, want time.Time, why string) {
		t.Helper()
		if got, err := c.Since(t.Context(), subject); err != nil || !got.Equal(want) {
			t.Errorf("%s: %s, %v, want %s", why, got, err, want)
		}
	}
	since(one, "alice", time.Time{}, "there is no ConfigMap")
	since(other, "alice", time.Time{}, "there is none at the other replica")
	if err := one.Set(t.Context(), "alice", now); err != nil {
		t.Fatal(err)
	}
	out := now
	since(one, "alice", out, "the replica that wrote it knows at once")
	since(one, "bob", time.Time{}, "another did not")
	now = now.Add(signin.SignedOutHolds)
	before := gets.Load()
	for range 20 {
		since(other, "alice", out, "the other one knows after a while")
	}
	if n := gets.Load() - before; n != 1 {
		t.Errorf("twenty questions read it %d times", n)
	}

	// Two replicas write, and what is older than any session goes.
	now = now.Add(time.Hour)
	if err := other.Set(t.Context(), "bob", now); err != nil {
		t.Fatal(err)
	}
	stored, err := kube.CoreV1().ConfigMaps("kairship-system").Get(t.Context(), "out", metav1.GetOptions{})
	if err != nil || len(stored.Data) != 1 || stored.Data["alice"] != "" || stored.Data["bob"] != "" {
		t.Errorf("it has %v, %v: one entry, and no name", stored.Data, err)
	}
	since(other, "bob", now, "bob did")

	now = now.Add(signin.SignedOutHolds)
	away.Store(true)
	if _, err := one.Since(t.Context(), "bob"); err == nil {
		t.Error("who signed out is not known, and it says that bob did not")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := one.Since(gone, "bob"); err == nil {
		t.Error("a caller who left has an answer")
	}
}

// TestConfigMapThatAnotherWrites is written again where another replica was first.
func TestConfigMapThatAnotherWrites(t *testing.T) {
	kube := fake.NewClientset(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kairship-system", Name: "out"}})
	var conflicts atomic.Int32
	kube.PrependReactor("update", "configmaps", func(k8stesting.Action) (bool, runtime.Object, error) {
		if conflicts.Add(1) <= 2 {
			return true, nil, apierrors.NewConflict(corev1.Resource("configmaps"), "out", errors.New("it moved"))
		}
		return false, nil, nil
	})
	c := &signin.ConfigMap{ConfigMaps: kube.CoreV1(), Namespace: "kairship-system", Name: "out", Life: time.Hour, Now: time.Now}
	if err := c.Set(t.Context(), "alice", time.Now()); err != nil || conflicts.Load() != 3 {
		t.Errorf("%v after %d attempts", err, conflicts.Load())
	}
}
