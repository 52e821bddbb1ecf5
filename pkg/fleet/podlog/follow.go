package podlog

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/pod"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/quota"
)

const (
	// defaultLookAgain is the time between two looks which pods there are.
	defaultLookAgain = 5 * time.Second
	// lookTimeout is how long one look may take.
	lookTimeout = 5 * time.Second
	// shortestPause and longestPause limit the time until a log that ended is asked for again.
	shortestPause, longestPause = time.Second, time.Minute
	// window is how long a line waits for earlier ones of other containers.
	window = 250 * time.Millisecond
	// heldBytes and heldLines limit the lines that wait.
	heldBytes, heldLines = 256 << 10, 2000
	// openCost is what asking for a log costs its user, in the unit of the cost of operations, and
	// bytesPerValue is how much of it costs one more.
	openCost, bytesPerValue = 100, 16
)

// EventType is what an event of followed logs says.
type EventType string

// The types.
const (
	EventLine        EventType = "LINE"
	EventInterrupted EventType = "INTERRUPTED"
	EventEnded       EventType = "ENDED"
	EventOmitted     EventType = "OMITTED"
)

// Event is a line of a followed log, or something else about its container.
type Event struct {
	Line
	Type    EventType
	Message *string
}

// LineText is the text of the line; nil where the event is about something else.
func (e *Event) LineText() *string {
	if e.Type != EventLine {
		return nil
	}
	return &e.Line.Text
}

// Target is what to follow the logs of: a pod, or a workload, of an instance.
type Target struct {
	Instance, Namespace string
	// Pod is the name of the pod; nil for a workload.
	Pod *string
	// Kind and Name are those of the workload; nil for a pod.
	Kind *workload.Kind
	Name *string
}

// Follow follows the logs of a target that the caller may watch, until the context ends or no line is
// to come.
func (s *Service) Follow(ctx context.Context, t Target, a Args) (<-chan *Event, error) {
	user, ok := authz.UserFrom(ctx)
	if !ok {
		return nil, apierror.New(apierror.CodeUnauthenticated, "Send a bearer token")
	}
	tail, err := a.tail()
	if err != nil {
		return nil, err
	}
	look, err := s.lookOf(t, a)
	if err != nil {
		return nil, err
	}
	found, err := look(s.Begin(ctx))
	if err != nil {
		return nil, err
	}
	if err := s.permitted(ctx, t); err != nil {
		return nil, err
	}
	if err := found.narrow(a.Container); err != nil {
		return nil, err
	}
	return s.start(ctx, &follower{user: user.Name, args: a, tail: tail, look: look, single: t.Pod != nil}, t.Instance, found)
}

// start runs a follower of an instance in a goroutine of its own.
func (s *Service) start(ctx context.Context, f *follower, instance string, found *targets) (<-chan *Event, error) {
	client, err := s.Clients.Get(ctx, instance)
	if err != nil {
		return nil, err
	}
	// What is read is sent on and not kept, so it is no memory of the operation.
	reading, cancel := context.WithCancel(quota.With(ctx, nil))
	out := make(chan *Event)
	f.service, f.client, f.out, f.reading = s, client, out, reading
	f.messages, f.known, f.beyond = make(chan message), map[Container]*followed{}, map[Container]bool{}
	go func() {
		defer close(out)
		defer f.readers.Wait()
		defer cancel()
		// It runs in a goroutine of its own, where a panic would end the process.
		defer s.recover(ctx)
		if err := f.run(ctx, found); err != nil && ctx.Err() == nil {
			s.End(ctx, err)
		}
	}()
	return out, nil
}

// recover ends the subscription of a goroutine that panics.
func (s *Service) recover(ctx context.Context) {
	if p := recover(); p != nil {
		s.End(ctx, fmt.Errorf("panic in followed logs: %v\n%s", p, debug.Stack()))
	}
}

// permitted refuses users who may read a namespace, and not follow what is in it.
func (s *Service) permitted(ctx context.Context, t Target) error {
	grants, err := s.Access.Grants(ctx, t.Instance)
	if err == nil && !grants[t.Instance].Can(authz.VerbWatch, t.Namespace) {
		err = apierror.In(apierror.New(apierror.CodeForbidden, "your roles do not let you follow what is in namespace %q of instance %q", t.Namespace, t.Instance), t.Instance)
	}
	return err
}

// look finds the containers to follow at this moment.
type look func(ctx context.Context) (*targets, error)

// lookOf makes the look for a target. What the caller may not see is answered as what does not exist.
func (s *Service) lookOf(t Target, a Args) (look, error) {
	switch {
	case t.Pod != nil && t.Kind == nil && t.Name == nil:
		return func(ctx context.Context) (*targets, error) { return s.podOf(ctx, t, a) }, nil
	case t.Pod == nil && t.Kind != nil && *t.Kind == workload.KindCustom:
		return nil, apierror.Invalid("kind", "which custom workload is not named by its kind: follow its pods one by one, which the field pods of the instance finds, for example by their labels")
	case t.Pod == nil && t.Kind != nil && t.Name != nil:
		return func(ctx context.Context) (*targets, error) {
			needs := workload.Needs{Template: index.Metadata, Status: true, Objects: true, ObjectDetail: index.Metadata, Pods: true}
			w, err := s.Workloads.Get(ctx, t.Instance, *t.Kind, t.Namespace, *t.Name, needs)
			if err == nil && w == nil {
				err = apierror.At(apierror.In(apierror.NotFound("Workload", t.Namespace+"/"+*t.Name), t.Instance), "name")
			}
			if err != nil {
				return nil, err
			}
			return s.targetsOf(ctx, w.Base(), a.Clusters)
		}, nil
	}
	return nil, apierror.Invalid("pod", "name either a pod, or the kind and the name of a workload")
}

// podOf finds the containers of a pod.
func (s *Service) podOf(ctx context.Context, t Target, a Args) (*targets, error) {
	pods, err := s.Pods.ListInstance(ctx, t.Instance, pod.ListArgs{
		Filter: &pod.Filter{Cluster: a.Clusters, Namespaces: []string{t.Namespace}, Name: []string{*t.Pod}},
	}, pod.Needs{Detail: index.Whole})
	if err != nil {
		return nil, err
	}
	if len(pods.Edges) == 0 {
		return nil, apierror.At(apierror.In(apierror.NotFound("Pod", t.Namespace+"/"+*t.Pod), t.Instance), "pod")
	}
	found := &targets{freshness: pods.Freshness}
	for _, e := range pods.Edges {
		if err := found.add(e.Node); err != nil {
			return nil, err
		}
	}
	return found, nil
}
