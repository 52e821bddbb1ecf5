package instanceproxy

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	kubefake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// TestASecretWithoutChanges for longer than the API server remembers changes is
// followed like any other: what it says now, what it says later, and that it goes.
func TestASecretWithoutChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := types.NamespacedName{Namespace: "kairship-system", Name: "alpha"}
		secret := func(version, token string) *corev1.Secret {
			return &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, ResourceVersion: version},
				Data:       map[string][]byte{"token": []byte(token)},
			}
		}
		kube := kubefake.NewClientset(secret("5", "one"))
		current := watch.NewFakeWithChanSize(4, false) // A reader that does not come to read it must not block the test.
		var (
			mu    sync.Mutex
			heard []string
			asked []string
		)
		kube.PrependWatchReactor("secrets", func(action clienttesting.Action) (bool, watch.Interface, error) {
			version := action.(clienttesting.WatchActionImpl).WatchRestrictions.ResourceVersion //nolint:forcetypeassert // It is what the fake sends.
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, version)
			if version == "" {
				return true, current, nil
			}
			old := watch.NewFakeWithChanSize(1, false)
			old.Error(&metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired, Message: "too old resource version"})
			return true, old, nil
		})
		follower := newSecretFollower(kube.CoreV1(), name, func(data map[string][]byte, found bool, err error) {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				heard = append(heard, err.Error())
			case !found:
				heard = append(heard, "gone")
			case len(heard) == 0 || heard[len(heard)-1] != string(data["token"]):
				heard = append(heard, string(data["token"]))
			}
		})
		go follower.run(t.Context())
		synctest.Wait()
		for _, what := range []struct {
			kind   watch.EventType
			object runtime.Object
		}{
			{watch.Added, secret("4", "zero")}, // What was there when the watch began, before it was read.
			{watch.Modified, secret("5", "one")},
			{watch.Modified, secret("9", "two")},
			{watch.Deleted, secret("9", "two")},
		} {
			current.Action(what.kind, what.object)
			synctest.Wait()
		}
		mu.Lock()
		defer mu.Unlock()
		if diff := cmp.Diff([]string{"one", "two", "gone"}, heard); diff != "" {
			t.Errorf("heard (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"5", ""}, asked); diff != "" {
			t.Errorf("watched from (-want +got):\n%s", diff)
		}
	})
}

// TestASecretThatGoesBeforeTheWatchBegins, of which no event tells.
func TestASecretThatGoesBeforeTheWatchBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := types.NamespacedName{Namespace: "kairship-system", Name: "alpha"}
		kube := kubefake.NewClientset(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, ResourceVersion: "5"}})
		kube.PrependWatchReactor("secrets", func(action clienttesting.Action) (bool, watch.Interface, error) {
			if action.(clienttesting.WatchActionImpl).WatchRestrictions.ResourceVersion != "" { //nolint:forcetypeassert // It is what the fake sends.
				return true, nil, apierrors.NewResourceExpired("too old resource version")
			}
			return true, watch.NewFake(), kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("secrets"), name.Namespace, name.Name)
		})
		var heard []bool
		go newSecretFollower(kube.CoreV1(), name, func(_ map[string][]byte, found bool, err error) {
			if err != nil {
				t.Error(err)
			}
			heard = append(heard, found)
		}).run(t.Context())
		synctest.Wait()
		if diff := cmp.Diff([]bool{true, false}, heard); diff != "" {
			t.Errorf("whether it is there (-want +got):\n%s", diff)
		}
	})
}
