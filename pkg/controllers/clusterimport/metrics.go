package clusterimport

import (
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/controllers/internal/status"
)

// conditionType is what conditions are a list of.
type conditionType = metav1.Condition

var (
	clusters = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "kairship_clusters",
		Help: "Physical clusters of the inventory, by the reason of their condition Joined.",
	}, []string{"joined"})
	transitions = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kairship_cluster_join_transitions_total",
		Help: "How often the condition Joined of a Cluster got another reason, by the new reason.",
	}, []string{"joined"})
	duration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "kairship_cluster_import_duration_seconds",
		Help:    "How long it took until a cluster was a member, and until it had left, by operation (join, leave).",
		Buckets: []float64{0.5, 1, 2, 5, 10, 20, 60, 120, 300, 900},
	}, []string{"operation"})
	foreign = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "kairship_foreign_members",
		Help: "Members of an instance that were not joined by Kairship.",
	}, []string{"instance"})
	orphanedWorks = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "kairship_orphaned_works_finished_total",
		Help: "Works of former members that Karmada would not have finished, and Kairship did.",
	})
)

// registerMetrics adds the metrics to those that the manager serves.
func registerMetrics() error {
	for _, collector := range []prometheus.Collector{clusters, transitions, duration, foreign, orphanedWorks} {
		err := metrics.Registry.Register(collector)
		if _, already := errors.AsType[prometheus.AlreadyRegisteredError](err); already {
			continue // By another manager in this process, in tests.
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// clocks time what is going on, as far as this process began it.
var clocks = &stopwatch{begun: map[[2]string]time.Time{}}

type stopwatch struct {
	mu    sync.Mutex
	begun map[[2]string]time.Time
}

func (w *stopwatch) begin(cluster, operation string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun[[2]string{cluster, operation}] = time.Now()
}

func (w *stopwatch) end(cluster, operation string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := [2]string{cluster, operation}
	if begun, found := w.begun[key]; found {
		duration.WithLabelValues(operation).Observe(time.Since(begun).Seconds())
		delete(w.begun, key)
	}
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

// states counts the clusters by the reason of their condition.
var states = &reasonCounts{reasons: map[string]string{}}

type reasonCounts struct {
	mu      sync.Mutex
	reasons map[string]string
}

func (c *reasonCounts) set(cluster, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before, known := c.reasons[cluster]; known {
		if before == reason {
			return
		}
		clusters.WithLabelValues(before).Dec()
	}
	c.reasons[cluster] = reason
	clusters.WithLabelValues(reason).Inc()
}

func (c *reasonCounts) forget(cluster string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before, known := c.reasons[cluster]; known {
		clusters.WithLabelValues(before).Dec()
		delete(c.reasons, cluster)
	}
}

// announce counts the condition and emits an event when it has changed. States in progress have
// events of their own, and soon get another reason.
func (r *Reconciler) announce(s *scope, before, after []metav1.Condition) {
	for _, now := range after {
		states.set(s.cluster.Name, now.Reason)
		if len(before) == 0 || before[0].Reason != now.Reason {
			transitions.WithLabelValues(now.Reason).Inc()
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
