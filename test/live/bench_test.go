package live

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/live"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

var (
	benchSubscribers = flag.String("bench-subscribers", "1,100,1000,5000", "numbers of subscribers of the benchmark")
	benchChanges     = flag.Int("bench-changes", 300, "changes that are measured for each")
	benchPrograms    = flag.String("bench-programs", "kairship-apiserver", "programs to measure: paths, or names of the fleet's")
	benchResults     = flag.String("bench-results", "shared,own", "what the subscribers of a process select: shared, own, read")
	benchProfiles    = flag.String("bench-profiles", "", "folder for Go's profiles of what is measured")
	benchEvery       = flag.Duration("bench-every", 20*time.Millisecond, "time between two changes")
)

// arrivals are the times at which events came, by the version that they brought.
type arrivals struct {
	mu sync.Mutex
	at map[uint64]time.Time
}

func (a *arrivals) came(version uint64, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.at[version]; !known {
		a.at[version] = at
	}
}

// has reports whether a version came.
func (a *arrivals) has(version uint64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, known := a.at[version]
	return known
}

// lag is what is measured.
type lag struct {
	// sent are the times at which the changes were sent.
	sent map[uint64]time.Time
	raw  arrivals
	each []*arrivals
}

// after is when the first later version came.
func (a *arrivals) after(version uint64) (time.Time, bool) {
	var next uint64
	for v := range a.at {
		if v > version && (next == 0 || v < next) {
			next = v
		}
	}
	at, ok := a.at[next]
	return at, ok
}

// number is a version as a number.
func number(version string) uint64 {
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return all[int(q*float64(len(all)-1))]
}

// report prints how much later than a raw watch of the same process subscribers are
// told of the same changes.
func (l *lag) report(b *testing.B) {
	b.Helper()
	var raw, over, whole []time.Duration
	merged := 0
	for version, sent := range l.sent {
		first, ok := l.raw.at[version]
		if !ok {
			b.Errorf("the raw watch did not bring version %d", version)
			continue
		}
		raw = append(raw, first.Sub(sent))
		for i, one := range l.each {
			at, ok := one.at[version]
			if !ok {
				merged++
				at, ok = one.after(version) // A subscriber that is behind is told the latest state.
			}
			if !ok {
				b.Errorf("subscriber %d was told neither of version %d nor of a later one", i, version)
				return
			}
			over = append(over, at.Sub(first))
			whole = append(whole, at.Sub(sent))
		}
	}
	for _, all := range [][]time.Duration{raw, over, whole} {
		slices.Sort(all)
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(ms(quantile(raw, .5)), "raw-p50-ms")
	b.ReportMetric(ms(quantile(raw, .99)), "raw-p99-ms")
	b.ReportMetric(ms(quantile(over, .5)), "over-p50-ms")
	b.ReportMetric(ms(quantile(over, .99)), "over-p99-ms")
	b.ReportMetric(ms(quantile(whole, .99)-quantile(raw, .99)), "p99-over-raw-p99-ms")
	b.ReportMetric(100*float64(merged)/float64(max(len(over), 1)), "%merged")
	b.ReportMetric(0, "ns/op")
}

// measure changes an object again and again, beside a raw watch.
func measure(b *testing.B, kube kubernetes.Interface, namespace string, l *lag) {
	b.Helper()
	maps := kube.CoreV1().ConfigMaps(namespace)
	w, err := maps.Watch(b.Context(), metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	l.sent, l.raw.at = map[uint64]time.Time{}, map[uint64]time.Time{}
	var reading sync.WaitGroup
	reading.Go(func() {
		for e := range w.ResultChan() {
			if o, ok := e.Object.(*corev1.ConfigMap); ok {
				l.raw.came(number(o.ResourceVersion), time.Now())
			}
		}
	})
	// What is measured is lag, not what the machine can bear.
	pace := time.NewTicker(max(*benchEvery, time.Duration(len(l.each))*30*time.Microsecond))
	defer pace.Stop()
	var last uint64
	for n := range *benchChanges {
		<-pace.C
		sent := time.Now()
		o, err := maps.Patch(b.Context(), "subject", types.MergePatchType, fmt.Appendf(nil, `{"data":{"n":"%d"}}`, n), metav1.PatchOptions{})
		if err != nil {
			b.Fatal(err)
		}
		last = number(o.ResourceVersion)
		l.sent[last] = sent
	}
	poll.True(b, 2*time.Minute, "all subscribers to have the last change", func() bool {
		return l.raw.has(last) && !slices.ContainsFunc(l.each, func(one *arrivals) bool { return !one.has(last) })
	})
	w.Stop()
	reading.Wait()
}

func subject(b *testing.B) (kubernetes.Interface, string) {
	b.Helper()
	kube := fleet.Open(b).Kubernetes(b, "alpha")
	namespace := namespaceIn(b, "alpha")
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "subject"}, Data: map[string]string{"text": strings.Repeat("x", 1000)}}
	if _, err := kube.CoreV1().ConfigMaps(namespace).Create(b.Context(), o, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	return kube, namespace
}

func counts(b *testing.B) []int {
	b.Helper()
	var all []int
	for text := range strings.SplitSeq(*benchSubscribers, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, n)
	}
	return all
}

// heap is what this process has in use, stacks included.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// BenchmarkHub measures what the hub adds to a raw watch in the same process: the
// subscribers are goroutines that read.
//
//	make bench-live
func BenchmarkHub(b *testing.B) {
	for _, n := range counts(b) {
		b.Run(fmt.Sprintf("subscribers=%d", n), func(b *testing.B) {
			for range b.N {
				kube, namespace := subject(b)
				hub := newHub(b, time.Second)
				keeping := subscribe(b, hub, configMaps, namespace) // The objects are not counted.
				before := heap()
				l := &lag{}
				ctx, stop := context.WithCancel(b.Context())
				var reading sync.WaitGroup
				var streams []*live.Stream
				for range n {
					stream := subscribe(b, hub, configMaps, namespace)
					streams = append(streams, stream)
				}
				for _, stream := range streams {
					one := &arrivals{at: make(map[uint64]time.Time, *benchChanges)}
					l.each = append(l.each, one)
					reading.Go(func() { follows(ctx, stream, nil) })
				}
				perSubscriber := float64(heap()-before)/float64(n) - float64(mapBytes())
				stop()
				reading.Wait()

				ctx, stop = context.WithCancel(b.Context())
				for i, stream := range streams {
					reading.Go(func() { follows(ctx, stream, l.each[i]) })
				}
				measure(b, kube, namespace, l)
				stop()
				reading.Wait()
				for _, stream := range append(streams, keeping) {
					stream.Close()
				}
				l.report(b)
				if n >= 100 {
					b.ReportMetric(perSubscriber, "bytes/subscriber")
				}
			}
		})
	}
}

// mapBytes is what the benchmark itself keeps for a subscriber.
func mapBytes() uint64 {
	const some = 100
	before := heap()
	all := make([]*arrivals, some)
	for i := range all {
		all[i] = &arrivals{at: make(map[uint64]time.Time, *benchChanges)}
	}
	after := heap()
	runtime.KeepAlive(all)
	return (after - before) / some
}

// follows reads a stream until the context ends.
func follows(ctx context.Context, stream *live.Stream, into *arrivals) {
	for {
		e, err := stream.Next(ctx)
		if err != nil {
			return
		}
		if e.Object != nil && into != nil {
			into.came(number(e.Object.Meta.ResourceVersion), time.Now())
		}
	}
}

// selections are what subscribers may select of a changed object.
var selections = map[string]string{
	// One result is made for all subscribers.
	"shared": `resourceVersion`,
	// A result is made for each.
	"own": `resourceVersion name labels { key value } freshness { source observedAt } instance { name }`,
	// A result is made for each, and compared with the last one, because a field has to be read.
	"read": `resourceVersion instance { name state }`,
}

// BenchmarkSSE measures the whole way: Kairship's own process, GraphQL, and a
// connection for each subscriber. With several programs, each is measured in turn, so
// that they share what else the machine does.
func BenchmarkSSE(b *testing.B) {
	f := fleet.Open(b)
	programs := strings.Split(*benchPrograms, ",")
	for _, n := range counts(b) {
		for results := range strings.SplitSeq(*benchResults, ",") {
			for i, program := range programs {
				name := fmt.Sprintf("subscribers=%d/results=%s", n, results)
				if len(programs) > 1 {
					name += fmt.Sprintf("/program=%d", i)
				}
				b.Run(name, func(b *testing.B) {
					for range b.N {
						measureSSE(b, f, program, n, selections[results])
					}
				})
			}
		}
	}
}

func measureSSE(b *testing.B, f *fleet.Fleet, program string, n int, selection string) {
	b.Helper()
	profiles := freeAddress(b)
	kairship := f.KairshipOf(b, program, f.NewGateway(b), "--max-stream-connections-per-user=100000", "--max-subscriptions-per-user=100000",
		"--max-stream-connections=100000", "--max-subscriptions=100000", "--user-operations-burst=1000000", "--pprof-address="+profiles, "--log-level=error")
	defer kairship.Stop()
	kube, namespace := subject(b)
	request := gql.Request{
		Query:     `subscription($ns: [String!]) { resourceChanged(version: "v1", resource: "configmaps", filter: {instances: ["alpha"], namespaces: $ns}) { type cursor resource { ` + selection + ` } } }`,
		Variables: map[string]any{"ns": []string{namespace}},
	}
	token := f.Token(b, "alice")
	first := openLean(b, kairship.Address, token, request, nil) // What is watched is not counted.
	<-first.synced
	before := usageOf(b, kairship, profiles)
	l := &lag{}
	var clients []*lean
	for range n {
		one := &arrivals{at: make(map[uint64]time.Time, *benchChanges)}
		l.each = append(l.each, one)
		c := openLean(b, kairship.Address, token, request, one)
		<-c.synced
		clients = append(clients, c)
	}
	open := usageOf(b, kairship, profiles)
	var profiling sync.WaitGroup
	save := func(name string) {
		if *benchProfiles == "" {
			return
		}
		kind, _, _ := strings.Cut(name, "?")
		path := filepath.Join(*benchProfiles, fmt.Sprintf("%s-%d-%s", kind, n, filepath.Base(program)))
		if err := os.WriteFile(path, []byte(profile(b, profiles, name)), 0o600); err != nil {
			b.Error(err)
		}
	}
	profiling.Go(func() { save("profile?seconds=3") })
	measured := make(chan struct{})
	var most memory
	profiling.Go(func() { most = mostMemory(b, profiles, measured) })
	var queries []time.Duration
	profiling.Go(func() { queries = queryTimes(b, kairship.Address, token, measured) })
	measure(b, kube, namespace, l)
	close(measured)
	profiling.Wait()
	after := usageOf(b, kairship, profiles)
	save("heap")
	save("goroutine")
	for _, c := range append(clients, first) {
		_ = c.conn.Close()
	}
	l.report(b)
	slices.Sort(queries)
	for name, q := range map[string]float64{"query-p50-ms": .5, "query-p99-ms": .99, "query-max-ms": 1} {
		b.ReportMetric(float64(quantile(queries, q).Microseconds())/1000, name)
	}
	events := -n // The first is of the object as it was found.
	for _, one := range l.each {
		events += len(one.at)
	}
	b.ReportMetric(float64((after.cpu-open.cpu).Microseconds())/float64(events), "cpu-us/event")
	if n >= 100 {
		each := func(bytes int64, unit string) { b.ReportMetric(float64(bytes)/float64(n), unit) }
		each(open.needed()-before.needed(), "idle-bytes/subscriber")
		each(after.needed()-before.needed(), "bytes/subscriber")
		each(most.heap+most.stacks-before.heap-before.stacks, "fanout-bytes/subscriber")
		each(most.stacks-before.stacks, "fanout-stack-bytes/subscriber")
		each(most.sys-before.sys, "fanout-sys-bytes/subscriber")
		each(max(open.resident, after.resident)-before.resident, "resident-bytes/subscriber")
		b.ReportMetric(float64(open.goroutines-before.goroutines)/float64(n), "goroutines/subscriber")
	}
}
