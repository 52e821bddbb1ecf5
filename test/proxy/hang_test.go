package proxy

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

const (
	// hangsAtMost bounds a request to an instance that hangs: connecting takes 5
	// seconds at most, and the pings that find a silent connection 10.
	hangsAtMost = 20 * time.Second
	// atOnce is well above any answer of Kairship's own, and below any timeout.
	atOnce = 2 * time.Second
)

// TestInstanceHangs stops alpha's API server, which then accepts connections and
// never answers. Alpha's users are told so, soon at once; beta's notice nothing;
// and when it goes on, so does everything.
func TestInstanceHangs(t *testing.T) {
	w := open(t)
	w.grant(t, "alice", "beta", kairshipv1alpha1.RoleEditor)
	token := w.Token(t, "alice")
	transport, err := rest.TransportFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: w.ca}})
	if err != nil {
		t.Fatal(err)
	}
	direct := &http.Client{Transport: transport, Timeout: time.Minute}
	const alphaPath, betaPath = "/instances/alpha/proxy/api/v1/namespaces/shop/configmaps", "/instances/beta/proxy/api/v1/namespaces/default/configmaps"
	if status, code, err := w.raw(t.Context(), direct, token, alphaPath); err != nil || status != http.StatusOK {
		t.Fatalf("alpha before: %d %s %v", status, code, err)
	}
	request := func(path string) func(context.Context, kubernetes.Interface, int) error {
		return func(ctx context.Context, kube kubernetes.Interface, _ int) error {
			return kube.CoreV1().RESTClient().Get().AbsPath(path).Do(ctx).Error()
		}
	}
	none := request("/api/v1/namespaces/default/configmaps")
	beta := startLoad(t, 8, none, func() kubernetes.Interface { return w.client(t, "alice", "beta") })
	defer beta.end()
	alpha := startLoad(t, 8, request("/api/v1/namespaces/shop/configmaps"), func() kubernetes.Interface { return w.client(t, "alice", "alpha") })
	defer alpha.end()

	watch, err := w.client(t, "alice", "alpha").CoreV1().ConfigMaps("shop").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()

	const window = 8 * time.Second
	time.Sleep(2 * time.Second) // Connections are made, and code is warm.
	beta.take()
	time.Sleep(window)
	before := beta.take()

	thaw := w.Freeze(t, "alpha-apiserver")
	begun := time.Now()
	status, code, err := w.raw(t.Context(), direct, token, alphaPath)
	took := time.Since(begun)
	if err != nil || status != http.StatusServiceUnavailable || code != "INSTANCE_UNAVAILABLE" || took > hangsAtMost {
		t.Errorf("alpha, hanging: HTTP %d %s %v after %s, want 503 INSTANCE_UNAVAILABLE within %s", status, code, err, took, hangsAtMost)
	}
	t.Logf("the first request to alpha failed after %s", took.Round(time.Millisecond))
	poll.Until(t, hangsAtMost, "requests to alpha fail at once", func(ctx context.Context) error {
		for range 20 {
			begun := time.Now()
			status, code, err := w.raw(ctx, direct, token, alphaPath)
			if took := time.Since(begun); err != nil || code != "INSTANCE_UNAVAILABLE" || took > atOnce {
				return fmt.Errorf("HTTP %d %s %w after %s", status, code, err, took)
			}
		}
		return nil
	})
	t.Logf("the breaker is open %s after the stop", time.Since(begun).Round(time.Millisecond))
	select {
	case <-ended(watch.ResultChan()):
		t.Logf("the watch ended %s after the stop", time.Since(begun).Round(time.Millisecond))
	case <-time.After(hangsAtMost):
		t.Error("a watch on alpha is stuck")
	}
	time.Sleep(max(0, window-time.Since(begun)))
	during := beta.take()

	thaw()
	thawed := time.Now()
	poll.Until(t, 15*time.Second, "alpha answers again", func(ctx context.Context) error {
		status, code, err := w.raw(ctx, direct, token, alphaPath)
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("HTTP %d %s", status, code)
		}
		return err
	})
	t.Logf("alpha answers %s after it went on", time.Since(thawed).Round(time.Millisecond))
	beta.end()
	alpha.end()

	p99Before, p99During, slowest := percentile(before, 99), percentile(during, 99), percentile(during, 100)
	t.Logf("beta: %d requests, p50 %s, p99 %s before; %d, p50 %s, p99 %s, slowest %s during", len(before), percentile(before, 50), p99Before,
		len(during), percentile(during, 50), p99During, slowest)
	if beta.failed > 0 {
		t.Errorf("beta failed %d times while alpha hung: %v", beta.failed, beta.failures)
	}
	// A request that waits for alpha waits for a timeout. On a machine that others use, a few milliseconds are no finding.
	if slowest > atOnce || p99During > p99Before*3/2 && p99During-p99Before > 20*time.Millisecond {
		t.Errorf("beta's p99 was %s before and %s while alpha hung, and the slowest request took %s", p99Before, p99During, slowest)
	}
}

// ended is closed when a channel is, whatever comes out of it.
func ended[T any](of <-chan T) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range of {
		}
	}()
	return done
}
