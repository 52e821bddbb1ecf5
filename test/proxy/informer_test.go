package proxy

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/kairship-io/kairship/internal/poll"
)

// resumesWithin bounds how long an informer takes to go on. client-go waits
// longer after each attempt, up to half a minute.
const resumesWithin = 90 * time.Second

// TestInformer runs an informer through the death of the instance's API server
// and through a restart of Kairship itself.
func TestInformer(t *testing.T) {
	w := open(t)
	config := w.config(t, "alice", "alpha")
	config.ContentType = "application/vnd.kubernetes.protobuf"
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	maps := w.Kubernetes(t, "alpha").CoreV1().ConfigMaps("shop")
	create := func(name string) {
		t.Helper()
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := maps.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = maps.Delete(context.Background(), name, metav1.DeleteOptions{}) })
	}
	create("informer-first")

	factory := informers.NewSharedInformerFactoryWithOptions(kube, 0, informers.WithNamespace("shop"))
	informer := factory.Core().V1().ConfigMaps().Informer()
	var events atomic.Int64
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { events.Add(1) }}); err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context().Done())
	knows := func(name string, want bool) {
		t.Helper()
		begun := time.Now()
		poll.Until(t, resumesWithin, fmt.Sprintf("the informer knows %s: %v", name, want), func(context.Context) error {
			_, found, err := informer.GetStore().GetByKey("shop/" + name)
			if err == nil && found != want {
				err = fmt.Errorf("found %v", found)
			}
			return err
		})
		t.Logf("%s known %v after %s", name, want, time.Since(begun).Round(time.Millisecond))
	}
	knows("informer-first", true)
	create("informer-second")
	knows("informer-second", true)

	w.Kill(t, "alpha-apiserver")
	w.Start(t, "alpha-apiserver")
	create("informer-third")
	if err := maps.Delete(t.Context(), "informer-first", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	knows("informer-third", true)
	knows("informer-first", false)

	// An API server that was started again looks once a minute whether an aggregated one serves.
	poll.Until(t, 2*time.Minute, "alpha lists the kinds of Karmada's API server again", func(context.Context) error {
		_, _, err := w.Kubernetes(t, "alpha").Discovery().ServerGroupsAndResources()
		return err
	})

	w.restart(t)
	create("informer-fourth")
	knows("informer-fourth", true)
	if got := events.Load(); got < 4 {
		t.Errorf("the informer told of %d objects, want 4 at least", got)
	}
}
