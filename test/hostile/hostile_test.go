package hostile

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kairship-io/kairship/internal/longtest"
	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

const (
	// attacks is how many requests are sent, by so many clients at a time.
	attacks = 10_000
	clients = 8
	// perSecond is how many are begun in a second. Attackers without a pause take the
	// cores of this machine from the server, which says nothing about the server.
	perSecond = 500
	// slowAttacks of them never send their body to the end. Each lasts until the server
	// gives it up, so they go on beside the others.
	slowAttacks = 90
	// memoryBound is how much more memory the process may hold than before, whatever is
	// sent: what all users' requests under way may have read and decoded.
	memoryBound = 512 << 20
	// slower is how many times its time before a normal query may take, at the 99th
	// percentile. On a machine where attackers, server and everything else share two
	// cores, the queue for a core is what is measured: the long form has the strict one.
	slower, slowerLong = 10, 2
	// patient is what every client waits for, so that a factor of nothing is nothing.
	patient = time.Second / 2
)

// normal is the work of a well-meaning user meanwhile.
const normal = `query Normal { instances { nodes { name state } } workloads(first: 20) { nodes { kind namespace name health } } }`

// TestHostileRequests sends requests of every kind that would cost a server much, and
// looks at what they cost: each is refused and says why, memory stays bounded, nothing
// is left behind, and others hardly notice.
func TestHostileRequests(t *testing.T) {
	on := fleet.Open(t)
	seed := uint64(1)
	if text := os.Getenv("KAIRSHIP_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("KAIRSHIP_SEED=%d repeats these requests", seed)
	admin := gql.New(on.KairshipURL, on.Token(t, "admin"))
	measure(t, admin, time.Second) // What is made at first is there afterwards.
	before := measure(t, admin, 4*time.Second)
	goroutines, memory := goroutinesOf(t, on), resident(t, on)

	var most atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var watching sync.WaitGroup
	watching.Go(func() {
		for ctx.Err() == nil {
			most.Store(max(most.Load(), resident(t, on)))
			time.Sleep(50 * time.Millisecond)
		}
	})
	var during []time.Duration
	watching.Go(func() { during = times(ctx, t, admin) })

	begun := time.Now()
	outcomes := attackWith(t, on, seed)
	took := time.Since(begun)
	stop()
	watching.Wait()

	report(t, outcomes, took)
	slices.Sort(during)
	t.Logf("normal queries: p50 %s, p99 %s before (%d); p50 %s, p99 %s meanwhile (%d)",
		at(before, 50), at(before, 99), len(before), at(during, 50), at(during, 99), len(during))
	t.Logf("resident memory: %d MiB before, %d MiB at most, bound %d MiB more", memory>>20, most.Load()>>20, memoryBound>>20)
	if grown := most.Load() - memory; grown > memoryBound {
		t.Errorf("the process holds %d MiB more than before", grown>>20)
	}
	allowed := max(slower*at(before, 99), patient)
	if longtest.On() {
		allowed = slowerLong * at(before, 99)
	}
	if p := at(during, 99); p > allowed {
		t.Errorf("the 99th percentile of a normal query is %s, and was %s: %s are allowed", p, at(before, 99), allowed)
	}
	poll.Until(t, time.Minute, "nothing is left behind", func(context.Context) error {
		const some = 20 // Connections that are kept for the next request, watches.
		if n := goroutinesOf(t, on); n > goroutines+some {
			return fmt.Errorf("%d goroutines, and %d before", n, goroutines)
		}
		return nil
	})
	if got := measure(t, admin, time.Second); len(got) == 0 {
		t.Error("no client is served any more")
	}
}

// attackWith sends all attacks, as three users, and returns what they got.
func attackWith(t *testing.T, on *fleet.Fleet, seed uint64) []outcome {
	t.Helper()
	server, err := url.Parse(on.KairshipURL)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: clients, DisableCompression: true}
	defer transport.CloseIdleConnections()
	attackers := make([]attacker, 0, 3)
	for _, person := range []string{"alice", "bob", "mallory"} {
		attackers = append(attackers, attacker{server: server, token: on.Token(t, person), client: &http.Client{Transport: transport}})
	}
	f := fuzzer{rand.New(rand.NewPCG(seed, seed))}
	var (
		mu       sync.Mutex
		outcomes []outcome
		all      sync.WaitGroup
	)
	send := func(i int, what attack) {
		out := attackers[i%len(attackers)].send(t.Context(), what)
		mu.Lock()
		defer mu.Unlock()
		outcomes = append(outcomes, out)
	}
	for i := range slowAttacks {
		what := slow(f)
		all.Go(func() { send(i, what) })
	}
	queue := make(chan attack)
	for i := range clients {
		all.Go(func() {
			for what := range queue {
				send(i, what)
			}
		})
	}
	quick := kinds[:len(kinds)-1]
	pace := time.NewTicker(time.Second / perSecond)
	defer pace.Stop()
	for range attacks - slowAttacks {
		<-pace.C
		queue <- quick[f.IntN(len(quick))](f)
	}
	close(queue)
	all.Wait()
	return outcomes
}

// report reports what happened, by kind, and fails for what should not have.
func report(t *testing.T, outcomes []outcome, took time.Duration) {
	t.Helper()
	type tally struct {
		n, closed int
		longest   time.Duration
		answers   map[string]int
	}
	byKind := map[string]*tally{}
	shown := map[string]int{}
	for _, out := range outcomes {
		k := byKind[out.kind]
		if k == nil {
			k = &tally{answers: map[string]int{}}
			byKind[out.kind] = k
		}
		k.n++
		k.longest = max(k.longest, out.took)
		switch {
		case out.closed:
			k.closed++
		case out.code != "":
			k.answers[out.code]++
		default:
			k.answers["HTTP "+strconv.Itoa(out.status)]++
		}
		if out.problem != nil {
			shown[out.kind]++
			if shown[out.kind] <= 3 {
				t.Errorf("%s: %v", out.kind, out.problem)
			}
		}
	}
	for kind, n := range shown {
		t.Errorf("%s: %d of %d were not refused as they should be", kind, n, byKind[kind].n)
	}
	t.Logf("%d requests in %s, %.0f a second", len(outcomes), took.Round(time.Millisecond), float64(len(outcomes))/took.Seconds())
	names := make([]string, 0, len(byKind))
	for kind := range byKind {
		names = append(names, kind)
	}
	slices.Sort(names)
	for _, kind := range names {
		k := byKind[kind]
		t.Logf("  %-22s %5d, longest %8s: %v, closed while sending %d", kind, k.n, k.longest.Round(time.Millisecond), k.answers, k.closed)
		// What is too large or malformed may be cut off; what is not has to have its answer.
		if k.closed > 0 && !slices.Contains([]string{"large bodies", "huge headers", "framing", "compressed bombs", "addresses", "multipart", "batches", "methods", "bad encoding", "credentials", "slow bodies"}, kind) {
			t.Errorf("%s: %d connections were closed without an answer", kind, k.closed)
		}
	}
	if len(outcomes) != attacks {
		t.Errorf("%d outcomes of %d attacks", len(outcomes), attacks)
	}
}

// measure is how long normal queries take, sorted.
func measure(t *testing.T, as *gql.Client, within time.Duration) []time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	all := times(ctx, t, as)
	slices.Sort(all)
	return all
}

// times sends one normal query after the other until the context ends.
func times(ctx context.Context, t *testing.T, as *gql.Client) []time.Duration {
	t.Helper()
	var all []time.Duration
	for ctx.Err() == nil {
		// One that was begun is ended: to break it off would say nothing.
		result, err := as.Do(context.WithoutCancel(ctx), gql.Request{Query: normal})
		if err != nil || result.Status != http.StatusOK || len(result.Errors) > 0 {
			t.Errorf("a normal query fails: %v, %v", result, err)
			return all
		}
		all = append(all, result.Took)
	}
	return all
}

func at(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)*percent/100, len(sorted)-1)].Round(10 * time.Microsecond)
}

// resident is what the metric process_resident_memory_bytes of the API server says.
func resident(t *testing.T, on *fleet.Fleet) int64 {
	_, memory := on.Usage(t, "kairship-apiserver")
	return memory
}

var total = regexp.MustCompile(`^goroutine profile: total (\d+)`)

func goroutinesOf(t *testing.T, on *fleet.Fleet) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+on.KairshipPprof+"/debug/pprof/goroutine?debug=1", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	found := total.FindSubmatch(raw)
	if err != nil || found == nil {
		t.Fatalf("no number of goroutines: %v, %.100s", err, raw)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(found[1])))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
