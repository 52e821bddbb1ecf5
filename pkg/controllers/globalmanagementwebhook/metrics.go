package globalmanagementwebhook

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	gm "github.com/kairship-io/kairship/pkg/globalmanagement"
)

// newReceived makes the counter of what was answered. The result is that of an event or the code of
// a refusal; nothing that a sender chooses is a label.
func newReceived(registry prometheus.Registerer) *prometheus.CounterVec {
	return promauto.With(registry).NewCounterVec(prometheus.CounterOpts{
		Name: "kairship_global_management_requests_total",
		Help: "Requests of global management, by path (events, resync, other) and by result or code of refusal.",
	}, []string{"path", "result"})
}

// count counts an answer.
func (h *handler) count(path, result string) {
	switch path {
	case gm.EventsPath:
		path = "events"
	case gm.ResyncPath:
		path = "resync"
	default:
		path = "other"
	}
	h.received.WithLabelValues(path, result).Inc()
}
