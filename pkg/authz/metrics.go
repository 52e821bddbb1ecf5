package authz

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kairship-io/kairship/pkg/apierror"
)

const (
	metricsNamespace = "kairship"
	metricsSubsystem = "authz"
)

// The answers, as metrics name them.
const (
	answeredYes       = "yes"
	answeredNo        = "no"
	answeredUndecided = "undecided"
	// answeredRefused is the answer when the limiter refused a token, so no review was sent.
	answeredRefused = "refused"
)

var (
	checks = prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: metricsNamespace, Subsystem: metricsSubsystem, Name: "checks_total",
		Help: "Checks of tokens and permissions, by what was checked, by where the answer came from (memory, the global cluster's review, or a limit that prevented the review), and by the answer.",
	}, []string{"of", "from", "answer"})
	reviews = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: metricsNamespace, Subsystem: metricsSubsystem, Name: "review_duration_seconds",
		Help:    "Time until the global cluster had reviewed a token or permissions.",
		Buckets: []float64{.002, .005, .01, .025, .05, .1, .25, .5, 1, 3},
	}, []string{"of"})
)

// Metrics are those of all checks of the process.
func Metrics() []prometheus.Collector { return []prometheus.Collector{checks, reviews} }

// count counts a check.
func (d *decisions[V]) count(from, answer string) {
	checks.WithLabelValues(d.word(), from, answer).Inc()
}

// word is what is checked, for labels: token, permissions.
func (d *decisions[V]) word() string { return strings.TrimPrefix(d.subject, "your ") }

// reviewed counts what the global cluster answered, and how long it took.
func (d *decisions[V]) reviewed(begun time.Time, refused bool, err error) {
	if apierror.Is(err, apierror.CodeRateLimited) {
		d.count("limit", answeredRefused)
		return
	}
	reviews.WithLabelValues(d.word()).Observe(time.Since(begun).Seconds())
	switch {
	case err != nil:
		d.count("review", answeredUndecided)
	case refused:
		d.count("review", answeredNo)
	default:
		d.count("review", answeredYes)
	}
}
