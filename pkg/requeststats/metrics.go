package requeststats

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

var lookedUp = prometheus.NewCounterVec(prometheus.CounterOpts{
	Namespace: "kairship", Subsystem: "cache", Name: "lookups_total",
	Help: "What operations looked for in memory before they asked for it, by whether it was there. A hit in answers is a query that was sent the answer of an equal one.",
}, []string{"cache", "result"})

// Metrics are those of all operations of the process.
func Metrics() []prometheus.Collector { return []prometheus.Collector{lookedUp} }

// counters are looked up once: rows are looked for often.
var counters = func() map[Cache][2]prometheus.Counter {
	all := map[Cache][2]prometheus.Counter{}
	for _, cache := range []Cache{Rows, Members, Permissions, Answers} {
		name := strings.ToLower(string(cache))
		all[cache] = [2]prometheus.Counter{lookedUp.WithLabelValues(name, "hit"), lookedUp.WithLabelValues(name, "miss")}
	}
	return all
}()

func count(in Cache, hits, misses int) {
	if of, ok := counters[in]; ok {
		of[0].Add(float64(hits))
		of[1].Add(float64(misses))
	}
}
