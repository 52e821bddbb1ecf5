package real

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// users is how many clients ask at the same time.
const users = 4

// load asks until it is stopped, with connections that are made anew now and then.
type load struct {
	asked, failed atomic.Int64
	mu            sync.Mutex
	first         error
	stop          context.CancelFunc
	done          sync.WaitGroup
}

const loadQuery = `query($instance: String!, $namespace: String!, $name: String!) {
	instance(name: $instance) { state workload(kind: DEPLOYMENT, namespace: $namespace, name: $name) { health } }
}`

// begin starts the load.
func (w *world) begin(t *testing.T) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &load{stop: cancel}
	variables := map[string]any{"instance": instance, "namespace": shop, "name": application}
	for range users {
		client := w.client(t)
		l.done.Go(func() {
			for ctx.Err() == nil {
				_, _, err := gql.Query[any](ctx, client, loadQuery, variables)
				if ctx.Err() != nil {
					return
				}
				if l.asked.Add(1)%20 == 0 {
					client.HTTP.CloseIdleConnections()
				}
				if err != nil {
					l.failed.Add(1)
					l.mu.Lock()
					if l.first == nil {
						l.first = fmt.Errorf("%s: %w", time.Now().Format(time.RFC3339Nano), err)
					}
					l.mu.Unlock()
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	t.Cleanup(l.end)
	return l
}

func (l *load) end() {
	l.stop()
	l.done.Wait()
}

// check ends the load and reports what failed.
func (l *load) check(t *testing.T, most int64) {
	t.Helper()
	l.end()
	t.Logf("%d of %d requests failed", l.failed.Load(), l.asked.Load())
	if l.failed.Load() > most {
		t.Errorf("%d of %d requests failed, want %d at most; the first: %v", l.failed.Load(), l.asked.Load(), most, l.first)
	}
	if l.asked.Load() == 0 {
		t.Error("nothing was asked")
	}
}

// awaitReplaced waits until a pod no longer exists and its Deployment has as many ready pods as before.
func (w *world) awaitReplaced(t *testing.T, name string, want int) {
	t.Helper()
	poll.Until(t, 3*time.Minute, name+" is replaced", func(ctx context.Context) error {
		pods, err := w.pods(ctx, system, "app.kubernetes.io/part-of=kairship")
		if err != nil {
			return err
		}
		ready := readyAmong(pods)
		for i := range pods {
			if pods[i].Name == name {
				return fmt.Errorf("it is %s", pods[i].Status.Phase)
			}
		}
		if ready != want {
			return fmt.Errorf("%d pods are ready, want %d", ready, want)
		}
		return nil
	})
}

// TestPodsDeletedUnderLoad deletes every pod of Kairship, one after the other. No request fails.
func TestPodsDeletedUnderLoad(t *testing.T) {
	w := open(t)
	pods := w.kairshipPods(t)
	l := w.begin(t)
	for i := range pods {
		if err := w.kube.CoreV1().Pods(system).Delete(t.Context(), pods[i].Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.awaitReplaced(t, pods[i].Name, len(pods))
	}
	l.check(t, 0)
}

// TestPodsEvictedUnderLoad evicts all pods of Kairship at the same time, as the drain of a node does. The budgets refuse
// evictions until the pod before is replaced, and no request fails.
func TestPodsEvictedUnderLoad(t *testing.T) {
	w := open(t)
	pods := w.kairshipPods(t)
	l := w.begin(t)
	var refused atomic.Int64
	var all sync.WaitGroup
	for i := range pods {
		of := metav1.ObjectMeta{Namespace: system, Name: pods[i].Name}
		all.Go(func() {
			err := wait.PollUntilContextTimeout(t.Context(), time.Second, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
				err := w.kube.CoreV1().Pods(system).EvictV1(ctx, &policyv1.Eviction{ObjectMeta: of})
				switch {
				case apierrors.IsTooManyRequests(err):
					refused.Add(1)
					return false, nil
				case apierrors.IsNotFound(err):
					return true, nil
				}
				return err == nil, err
			})
			if err != nil {
				t.Errorf("evicting %s: %v", of.Name, err)
			}
		})
	}
	all.Wait()
	for i := range pods {
		w.awaitReplaced(t, pods[i].Name, len(pods))
	}
	l.check(t, 0)
	if refused.Load() == 0 {
		t.Error("no eviction was refused: the budgets keep nothing")
	}
}

// TestPodsKilledUnderLoad kills every pod of Kairship at once, one after the other. What such a pod was about to
// answer is lost: no more than one request of each client.
func TestPodsKilledUnderLoad(t *testing.T) {
	w := open(t)
	pods := w.kairshipPods(t)
	l := w.begin(t)
	for i := range pods {
		if err := w.kube.CoreV1().Pods(system).Delete(t.Context(), pods[i].Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
			t.Fatal(err)
		}
		w.awaitReplaced(t, pods[i].Name, len(pods))
	}
	l.check(t, int64(users*len(pods)))
}

// TestUpgradeUnderLoad upgrades the release so that every pod is made anew, and rolls back. No request fails.
func TestUpgradeUnderLoad(t *testing.T) {
	w := open(t)
	before := w.kairshipPods(t)
	l := w.begin(t)
	w.helm(t, "upgrade", "kairship", "deploy/helm/kairship", "--namespace", system, "--reset-then-reuse-values", "--wait", "--timeout", "5m",
		"--set-string", "apiserver.podAnnotations.tested=again", "--set-string", "controllerManager.podAnnotations.tested=again")
	w.helm(t, "rollback", "kairship", "--namespace", system, "--wait", "--timeout", "5m")
	l.check(t, 0)
	for _, pod := range w.kairshipPods(t) {
		for i := range before {
			if before[i].Name == pod.Name {
				t.Errorf("pod %s was not replaced", pod.Name)
			}
		}
	}
}

// helm runs helm where the chart was installed from.
func (w *world) helm(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), w.HelmPath, args...)
	cmd.Dir = w.Chart
	home := t.TempDir()
	cmd.Env = append(os.Environ(), "KUBECONFIG="+w.Kubeconfig, "HELM_CONFIG_HOME="+home, "HELM_CACHE_HOME="+home, "HELM_DATA_HOME="+home)
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			out = exit.Stderr
		}
		t.Fatalf("helm %v: %v\n%s", args, err, out)
	}
	return out
}
