package truth

import (
	"maps"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

const (
	// shortestBreak and longestBreak are the times between two faults.
	shortestBreak, longestBreak = 2 * time.Second, 6 * time.Second
	// longestOutage is how long a process is away at most. One outage in four is as long
	// as it takes Karmada and the index to notice; the others are shorter.
	longestOutage, shortOutage = 12 * time.Second, 3 * time.Second
)

// fault is a kind of fault, with the processes that it may be about.
type fault struct {
	name      string
	processes []string
	signals   []syscall.Signal
}

// faults are all kinds. A process of Kairship is also ended as a rollout does.
func faults() []fault {
	kill := []syscall.Signal{syscall.SIGKILL}
	return []fault{
		{"a member's API server", []string{"m1-apiserver", "m2-apiserver", "m3-apiserver"}, kill},
		{"an instance's API server", []string{"alpha-apiserver", "beta-apiserver"}, kill},
		{"Karmada's controller manager or scheduler", []string{"alpha-controller-manager", "beta-controller-manager", "alpha-scheduler", "beta-scheduler"}, kill},
		{collector, []string{"clustersynchro-manager"}, kill},
		{"Kairship's API server", []string{"kairship-apiserver"}, []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM}},
	}
}

// breaker kills processes of the fleet and starts them again.
type breaker struct {
	*fleet.Fleet
	outages []outage
	tally   map[string]int
}

// run breaks and heals until the time is over and each kind of fault was made. Each has
// its turn before the first comes again.
func (b *breaker) run(t *testing.T, random *rand.Rand, lasts time.Duration) {
	t.Helper()
	t.Cleanup(func() { b.Heal(t) })
	b.tally = map[string]int{}
	var deck []fault
	for ends := time.Now().Add(lasts); time.Now().Before(ends) || len(b.tally) < len(faults()); {
		if len(deck) == 0 {
			deck = faults()
			random.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
		}
		next := deck[0]
		deck = deck[1:]
		process, signal := next.processes[random.IntN(len(next.processes))], next.signals[random.IntN(len(next.signals))]
		away := time.Duration(random.Int64N(int64(shortOutage)))
		if random.IntN(4) == 0 {
			away = longestOutage
		}
		pauseBetween := shortestBreak + time.Duration(random.Int64N(int64(longestBreak-shortestBreak)))
		time.Sleep(pauseBetween)
		b.tally[next.name]++
		b.end(t, process, signal, away)
	}
}

// end ends a process, waits, and starts it again with whatever ended because of that.
func (b *breaker) end(t *testing.T, process string, signal syscall.Signal, away time.Duration) {
	t.Helper()
	b.End(t, process, signal)
	from := time.Now()
	t.Logf("%s %s: %s, for %s", stamp(&from), process, signal, away.Round(100*time.Millisecond))
	time.Sleep(away)
	to := time.Now()
	b.Start(t, process)
	up := time.Now()
	t.Logf("%s %s is ready again, started at %s", stamp(&up), process, stamp(&to))
	if of, ok := strings.CutSuffix(process, "-apiserver"); ok {
		b.outages = append(b.outages, outage{Of: of, From: from, To: to})
	}
	if process == "clustersynchro-manager" {
		b.outages = append(b.outages, outage{Of: collector, From: from, To: to})
	}
	for _, name := range b.Ended(t) {
		t.Logf("%s ended because of that, and is started again", name)
		b.Start(t, name)
	}
}

func (b *breaker) counts() map[string]int { return maps.Clone(b.tally) }

// streams are the random numbers of one run, by its seed.
func stream(seed, number uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, number)) }
