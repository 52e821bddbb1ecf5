package proxy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// grant gives a person a role on an instance until the test ends.
func (w *world) grant(t *testing.T, person, instance string, role kairshipv1alpha1.Role) {
	t.Helper()
	global := w.Client(t, "global")
	binding := &kairshipv1alpha1.InstanceRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("proxy-test-%s-%s", person, instance)},
		Spec: kairshipv1alpha1.InstanceRoleBindingSpec{
			InstanceRef: kairshipv1alpha1.InstanceReference{Name: instance},
			Subject:     kairshipv1alpha1.BindingSubject{Kind: kairshipv1alpha1.SubjectUser, Name: person},
			Role:        role,
		},
	}
	if err := global.Create(t.Context(), binding); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = global.Delete(context.Background(), binding) })
	kube := w.client(t, person, instance)
	poll.Until(t, 30*time.Second, person+" has the role on "+instance, func(ctx context.Context) error {
		_, err := kube.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{Limit: 1})
		return err
	})
}

// load are clients that send requests until they are stopped.
type load struct {
	stop context.CancelFunc
	wait sync.WaitGroup

	mu       sync.Mutex
	took     []time.Duration
	failures map[string]int
	failed   int
}

// startLoad has several clients repeat a request.
func startLoad(t *testing.T, clients int, request func(ctx context.Context, kube kubernetes.Interface, n int) error, connect func() kubernetes.Interface) *load {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	l := &load{stop: stop, failures: map[string]int{}}
	for n := range clients {
		kube := connect()
		l.wait.Go(func() {
			for ctx.Err() == nil {
				begun := time.Now()
				err := request(ctx, kube, n)
				if ctx.Err() != nil {
					return
				}
				l.note(time.Since(begun), err)
			}
		})
	}
	return l
}

func (l *load) note(took time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.failed++
		l.failures[err.Error()]++
		return
	}
	l.took = append(l.took, took)
}

// end stops the clients.
func (l *load) end() {
	l.stop()
	l.wait.Wait()
}

// take returns how long the requests took that were answered since it was last called.
func (l *load) take() []time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	took := l.took
	l.took = nil
	slices.Sort(took)
	return took
}

func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, len(sorted)*p/100)]
}

// raw sends a GET as a person and returns the status and Kairship's code.
func (w *world) raw(ctx context.Context, client *http.Client, token, path string) (status int, code string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+path, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, response.Header.Get("Kairship-Error-Code"), err
}
