package proxy

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

const (
	benchObjects = 2000
	benchEvents  = 1000

	direct, bare, passthrough = "direct", "bare", "passthrough"
)

// BenchmarkPassthrough compares the passthrough with the instance itself, asked
// as the same user over the same network, and with a bare proxy in its place, turn
// by turn so that all meet the same noise. ratio is what counts: the passthrough's
// to the instance's; bare-ratio is what any proxy of that kind costs.
//
//	KAIRSHIP_FLEET=… go test -run '^$' -bench . -benchtime 1x ./test/proxy
func BenchmarkPassthrough(b *testing.B) {
	w := open(b)
	admin := w.Kubernetes(b, "alpha")
	ctx := b.Context()
	space, err := admin.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "kairship-bench-"}}, metav1.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	benchSpace := space.Name
	b.Cleanup(func() {
		_ = admin.CoreV1().Namespaces().Delete(context.Background(), benchSpace, metav1.DeleteOptions{})
	})
	maps := admin.CoreV1().ConfigMaps(benchSpace)
	inParallel(b, benchObjects, func(n int) error {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("c-%d", n)}, Data: map[string]string{"key": string(make([]byte, 500))}}
		_, err := maps.Create(ctx, object, metav1.CreateOptions{})
		return err
	})
	atOnce := w.Config(b, "alpha")
	atOnce.Impersonate = rest.ImpersonationConfig{UserName: "alice"}
	clients := map[string]kubernetes.Interface{
		direct: fresh(b, atOnce), bare: fresh(b, startBare(b, w)), passthrough: fresh(b, w.config(b, "alice", "alpha")),
	}

	compare := func(name string, better string, measure func(kubernetes.Interface) float64) {
		b.Run(name, func(b *testing.B) {
			const turns = 5
			got := map[string][]float64{}
			for range b.N {
				for range turns {
					for _, way := range []string{direct, bare, passthrough} {
						got[way] = append(got[way], measure(clients[way]))
					}
				}
			}
			for _, values := range got {
				slices.Sort(values)
			}
			median := func(way string) float64 { return got[way][len(got[way])/2] }
			b.ReportMetric(median(direct), better+"-direct")
			b.ReportMetric(median(passthrough), better+"-passthrough")
			b.ReportMetric(median(bare)/median(direct), "bare-ratio")
			b.ReportMetric(median(passthrough)/median(direct), "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
	get := func(kube kubernetes.Interface) error {
		_, err := kube.CoreV1().ConfigMaps(benchSpace).Get(ctx, "c-7", metav1.GetOptions{})
		return err
	}
	list := func(kube kubernetes.Interface) error {
		l, err := kube.CoreV1().ConfigMaps(benchSpace).List(ctx, metav1.ListOptions{})
		if err == nil && len(l.Items) != benchObjects {
			err = fmt.Errorf("%d objects", len(l.Items))
		}
		return err
	}
	latency := func(times int, do func(kubernetes.Interface) error) func(kubernetes.Interface) float64 {
		return func(kube kubernetes.Interface) float64 {
			took := make([]time.Duration, times)
			for n := range took {
				begun := time.Now()
				if err := do(kube); err != nil {
					b.Fatal(err)
				}
				took[n] = time.Since(begun)
			}
			slices.Sort(took)
			return float64(took[times/2].Microseconds()) / 1000
		}
	}
	compare("get", "ms", latency(200, get))
	compare("list", "ms", latency(10, list))
	compare("get by 50", "per-s", func(kube kubernetes.Interface) float64 {
		begun := time.Now()
		inParallel(b, 3000, func(int) error { return get(kube) })
		return 3000 / time.Since(begun).Seconds()
	})
	compare("list by 8", "per-s", func(kube kubernetes.Interface) float64 {
		begun := time.Now()
		inParallelBy(b, 8, 40, func(int) error { return list(kube) })
		return 40 / time.Since(begun).Seconds()
	})
	compare("watch", "events-per-s", func(kube kubernetes.Interface) float64 {
		watch, err := kube.CoreV1().ConfigMaps(benchSpace).Watch(ctx, metav1.ListOptions{})
		if err != nil {
			b.Fatal(err)
		}
		defer watch.Stop()
		for range benchObjects {
			<-watch.ResultChan()
		}
		begun := time.Now()
		var writing sync.WaitGroup
		writing.Go(func() {
			inParallel(b, benchEvents, func(n int) error {
				_, err := maps.Patch(ctx, fmt.Sprintf("c-%d", n), "application/merge-patch+json", fmt.Appendf(nil, `{"data":{"at":"%d"}}`, time.Now().UnixNano()), metav1.PatchOptions{})
				return err
			})
		})
		for range benchEvents {
			<-watch.ResultChan()
		}
		took := time.Since(begun)
		writing.Wait()
		return benchEvents / took.Seconds()
	})
}

// fresh is a client with connections of its own.
func fresh(b *testing.B, config *rest.Config) kubernetes.Interface {
	b.Helper()
	c := rest.CopyConfig(config)
	c.QPS = -1
	c.ContentType = "application/vnd.kubernetes.protobuf"
	// A function of its own keeps client-go from sharing the transport.
	c.WrapTransport = transport.Wrappers()
	kube, err := kubernetes.NewForConfig(c)
	if err != nil {
		b.Fatal(err)
	}
	return kube
}

func inParallel(b *testing.B, times int, do func(n int) error) {
	b.Helper()
	inParallelBy(b, 50, times, do)
}

func inParallelBy(b *testing.B, by, times int, do func(n int) error) {
	b.Helper()
	var next atomic.Int64
	var all sync.WaitGroup
	for range by {
		all.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				if n >= times {
					return
				}
				if err := do(n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}
