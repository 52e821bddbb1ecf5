package clusterimport

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/status"
)

// conditionType is what conditions are a list of.
type conditionType = metav1.Condition

// Metrics are what joining and leaving are measured by.
type Metrics struct {
	clusters, foreign *prometheus.GaugeVec
	transitions       *prometheus.CounterVec
	duration          *prometheus.HistogramVec
	orphanedWorks     prometheus.Counter

	mu sync.Mutex
	// reasons are those of the condition Joined, by cluster.
	reasons map[string]string
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	register := promauto.With(registry)
	return &Metrics{
		reasons: map[string]string{},
		clusters: register.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kairship_clusters",
			Help: "Physical clusters of the inventory, by the reason of their condition Joined.",
		}, []string{"joined"}),
		transitions: register.NewCounterVec(prometheus.CounterOpts{
			Name: "kairship_cluster_join_transitions_total",
			Help: "How often the condition Joined of a Cluster got another reason, by the new reason.",
		}, []string{"joined"}),
		duration: register.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "kairship_cluster_import_duration_seconds",
			Help:    "How long it took until a cluster was a member, and until it had left, by operation (join, leave).",
			Buckets: []float64{0.5, 1, 2, 5, 10, 20, 60, 120, 300, 900},
		}, []string{"operation"}),
		foreign: register.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kairship_foreign_members",
			Help: "Members of an instance that were not joined by Kairship.",
		}, []string{"instance"}),
		orphanedWorks: register.NewCounter(prometheus.CounterOpts{
			Name: "kairship_orphaned_works_finished_total",
			Help: "Works of former members that Karmada would not have finished, and Kairship did.",
		}),
	}
}

// set counts a cluster by the reason of its condition.
func (m *Metrics) set(cluster, reason string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if before, known := m.reasons[cluster]; known {
		if before == reason {
			return
		}
		m.clusters.WithLabelValues(before).Dec()
	}
	m.reasons[cluster] = reason
	m.clusters.WithLabelValues(reason).Inc()
}

// forget counts a cluster no more.
func (m *Metrics) forget(cluster string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if before, known := m.reasons[cluster]; known {
		m.clusters.WithLabelValues(before).Dec()
		delete(m.reasons, cluster)
	}
}

// stopwatch times what is going on, as far as this process began it. Its zero value is ready to use.
type stopwatch struct {
	mu    sync.Mutex
	begun map[[2]string]time.Time
}

func (w *stopwatch) begin(cluster, operation string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.begun == nil {
		w.begun = map[[2]string]time.Time{}
	}
	w.begun[[2]string{cluster, operation}] = time.Now()
}

// end returns how long an operation took; it is not known of one that another process began.
func (w *stopwatch) end(cluster, operation string) (took time.Duration, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := [2]string{cluster, operation}
	begun, known := w.begun[key]
	delete(w.begun, key)
	return time.Since(begun), known
}

// pause is how long to wait before looking again whether another has done
// their part: not long at first, and longer when it lasts.
func (w *stopwatch) pause(cluster, operation string) time.Duration {
	const longest, part = 10 * time.Second, 10
	w.mu.Lock()
	defer w.mu.Unlock()
	begun, found := w.begun[[2]string{cluster, operation}]
	if !found {
		return longest / 2
	}
	return min(max(time.Since(begun)/part, whileBusy), longest)
}

// ended observes how long an operation took that has ended.
func (r *Reconciler) ended(cluster, operation string) {
	if took, known := r.clocks.end(cluster, operation); known {
		r.Metrics.duration.WithLabelValues(operation).Observe(took.Seconds())
	}
}

// announce counts the condition and emits an event when it has changed. States in progress have
// events of their own, and soon get another reason.
func (r *Reconciler) announce(s *scope, before, after []metav1.Condition) {
	for _, now := range after {
		r.Metrics.set(s.cluster.Name, now.Reason)
		if len(before) == 0 || before[0].Reason != now.Reason {
			r.Metrics.transitions.WithLabelValues(now.Reason).Inc()
		}
		switch now.Reason {
		case v1alpha1.ReasonFree, v1alpha1.ReasonJoining, v1alpha1.ReasonLeaving, v1alpha1.ReasonUnreachable:
			continue
		}
		status.Announce(r.Recorder, s.cluster, "Join", before, []metav1.Condition{now})
	}
}

// notef emits an event about a step that was taken.
func (r *Reconciler) notef(s *scope, reason, format string, args ...any) {
	action := "Join"
	if s.mustLeave() {
		action = "Leave"
	}
	r.Recorder.Eventf(s.cluster, nil, corev1.EventTypeNormal, reason, action, format, args...)
}
