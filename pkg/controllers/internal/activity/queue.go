package activity

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/kairship-io/kairship/pkg/projection"
)

const (
	// queued is how many changes may wait for the database.
	queued = 1024
	// within bounds the write of one change, and of all that are left when the process ends.
	within = 5 * time.Second
)

// Database keeps the activity; *projection.DB does.
type Database interface {
	RecordWrite(ctx context.Context, instanceUID string, e *projection.Entry, a *projection.Activity) error
}

// errFull is why a change is not recorded while the database does not keep up.
var errFull = errors.New("too many changes wait for the database")

// Queue writes the changes of all controllers to the database, so that none of them waits for it.
type Queue struct {
	database Database
	log      logr.Logger
	lost     *prometheus.CounterVec
	waiting  chan entry
}

// entry is a change with the name of its controller.
type entry struct {
	controller string
	Change
}

// NewQueue registers the metric.
func NewQueue(database Database, log logr.Logger, registry prometheus.Registerer) *Queue {
	return &Queue{database: database, log: log, waiting: make(chan entry, queued), lost: promauto.With(registry).NewCounterVec(prometheus.CounterOpts{
		Name: "kairship_activity_lost_total",
		Help: "Changes of controllers that could not be added to the activity, by controller.",
	}, []string{"controller"})}
}

// Recorder returns that of a controller; nil of a nil queue.
func (q *Queue) Recorder(controller string) Recorder {
	if q == nil {
		return nil
	}
	q.lost.WithLabelValues(controller)
	return func(c Change) {
		e := entry{controller, c}
		select {
		case q.waiting <- e:
		default:
			q.lose(&e, errFull)
		}
	}
}

// NeedLeaderElection has it end after the controllers, which run on the leader only: it gets all that they recorded.
func (*Queue) NeedLeaderElection() bool { return false }

// Start writes until the context ends, and then what is left.
func (q *Queue) Start(ctx context.Context) error {
	for ctx.Err() == nil {
		select {
		case e := <-q.waiting:
			q.write(context.WithoutCancel(ctx), &e)
		case <-ctx.Done():
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	q.rest(last)
	return nil
}

// rest writes what is left.
func (q *Queue) rest(ctx context.Context) {
	for {
		select {
		case e := <-q.waiting:
			q.write(ctx, &e)
		default:
			return
		}
	}
}

func (q *Queue) write(ctx context.Context, e *entry) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := q.database.RecordWrite(ctx, e.InstanceUID, nil, &projection.Activity{
		Instance: e.Instance, Group: e.Group, Kind: e.Kind, Namespace: e.Namespace, Name: e.Name,
		Verb: e.Verb, Way: projection.ByController, User: "controller:" + e.controller, Outcome: projection.ActivitySucceeded,
	})
	if err != nil {
		q.lose(e, err)
	}
}

// lose reports a change that is not in the activity.
func (q *Queue) lose(e *entry, err error) {
	q.lost.WithLabelValues(e.controller).Inc()
	q.log.Error(err, "A change is not in the activity", "controller", e.controller, "instance", e.Instance, "verb", e.Verb, "kind", e.Kind, "namespace", e.Namespace, "name", e.Name)
}
