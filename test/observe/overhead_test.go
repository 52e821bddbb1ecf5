package observe

import (
	"net/http"
	"testing"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

// BenchmarkTracing is what tracing costs the query of README: allocations and bytes of
// the server's process for each query, by its own metrics.
//
//	go test -run '^$' -bench Tracing -benchtime 200x ./test/observe
func BenchmarkTracing(b *testing.B) {
	f := fleet.Open(b)
	g := f.NewGateway(b)
	sink := newCollector(b)
	for _, way := range []struct {
		name  string
		flags []string
	}{
		{"off", nil},
		{"not sampled", []string{"--tracing-endpoint=" + sink.URL, "--tracing-sample-ratio=0"}},
		{"sampled", []string{"--tracing-endpoint=" + sink.URL, "--tracing-sample-ratio=1"}},
	} {
		b.Run(way.name, func(b *testing.B) {
			w := &world{Fleet: f}
			w.Process = w.Kairship(b, g, append(way.flags, "--metrics-bind-address=127.0.0.1:0")...)
			defer w.Stop()
			address, query := metricsOf(b, w.Process), readme(b)
			once := func() {
				if got := w.operation(b, "admin", query, nil, nil); got.status != http.StatusOK {
					b.Fatalf("HTTP %d: %s", got.status, got.body)
				}
			}
			for range 20 {
				once()
			}
			before := scrape(b, address)
			b.ResetTimer()
			for range b.N {
				once()
			}
			b.StopTimer()
			after := scrape(b, address)
			each := func(metric string) float64 {
				return (after[metric].GetMetric()[0].GetCounter().GetValue() - before[metric].GetMetric()[0].GetCounter().GetValue()) / float64(b.N)
			}
			b.ReportMetric(each("go_memstats_mallocs_total"), "server-allocs/op")
			b.ReportMetric(each("go_memstats_alloc_bytes_total"), "server-B/op")
			b.ReportMetric(1000*each("process_cpu_seconds_total"), "server-cpu-ms/op")
		})
	}
}
