package globalmanagementwebhook

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	gm "github.com/kairship-io/kairship/pkg/globalmanagement"
)

// received counts what was answered. The result is that of an event or the code of
// a refusal; nothing that a sender chooses is a label.
var received = prometheus.NewCounterVec(prometheus.CounterOpts{
	Name: "kairship_global_management_requests_total",
	Help: "Requests of global management, by path (events, resync, other) and by result or code of refusal.",
}, []string{"path", "result"})

// register adds the metrics to those that the manager serves.
func register() error {
	err := metrics.Registry.Register(received)
	if _, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		return nil // By another manager in this process, in tests.
	}
	return err
}

// count counts an answer.
func count[word gm.Result | gm.Code](path string, result word) {
	switch path {
	case gm.EventsPath:
		path = "events"
	case gm.ResyncPath:
		path = "resync"
	default:
		path = "other"
	}
	received.WithLabelValues(path, string(result)).Inc()
}
