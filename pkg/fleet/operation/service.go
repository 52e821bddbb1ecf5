package operation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime/debug"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/consistency"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/fleet/subscription"
	"github.com/kairship-io/kairship/pkg/live"
)

// argument is what errors about an operation name.
const argument = "operation"

// Service reports how far operations have come.
type Service struct {
	Hub    subscription.Hub
	Access *access.Access
	Tokens *consistency.Tokens
	// End ends the subscription of a context with an error.
	End    func(context.Context, error)
	Now    func() time.Time
	Logger *slog.Logger
}

// Begin makes the ID of an operation that the user of the context has just begun. It
// is nil, and the failure logged, where none can be made: what was asked for was done.
func (s *Service) Begin(ctx context.Context, op Operation) *string {
	if s == nil {
		return nil
	}
	op.Began = s.Now()
	id, err := consistency.SealOperation(ctx, s.Tokens, op)
	if err != nil {
		s.Logger.WarnContext(ctx, "a mutation answers without the ID of its operation", "error", err)
		return nil
	}
	return &id
}

// Progress follows an operation of the user of the context until it is over.
func (s *Service) Progress(ctx context.Context, id string) (<-chan *Progress, error) {
	op, err := consistency.OpenOperation[Operation](ctx, s.Tokens, id)
	if err != nil {
		return nil, err
	}
	grants, err := s.Access.Grants(ctx, op.Instance)
	if err != nil {
		return nil, err
	}
	grant, visible := grants[op.Instance]
	if !visible {
		return nil, apierror.At(apierror.NotFound("Instance", op.Instance), argument)
	}
	if op.To != "" {
		grants, err := s.Access.Grants(ctx, op.To)
		if err != nil {
			return nil, err
		}
		into, visible := grants[op.To]
		switch {
		case !visible:
			return nil, apierror.At(apierror.NotFound("Instance", op.To), argument)
		case !into.Can(authz.VerbWatch, ""):
			return nil, unfollowed(op.To)
		}
	}
	view, interests, err := viewOf(op, grant)
	if err != nil {
		return nil, err
	}
	stream, err := s.Hub.Subscribe(ctx, live.Subscription{
		Identity: "operationProgress", Interests: interests, Open: true, KnownWrites: op.knownWrites(),
	})
	if err != nil {
		return nil, err
	}
	out := make(chan *Progress)
	go func() {
		defer close(out)
		defer stream.Close()
		defer func() {
			// It runs in a goroutine of its own, where a panic would end the process.
			if p := recover(); p != nil {
				s.End(ctx, fmt.Errorf("panic in the progress of an operation: %v\n%s", p, debug.Stack()))
			}
		}()
		if err := s.watch(ctx, stream, view, &judge{id: id, op: op}, out); err != nil && ctx.Err() == nil {
			s.End(ctx, err)
		}
	}()
	return out, nil
}

// watch sends the progress whenever it has changed, until the operation is over.
func (s *Service) watch(ctx context.Context, stream *live.Stream, v view, j *judge, out chan<- *Progress) error {
	var told *Progress
	synced, wait := false, longest
	for {
		limited, cancel := context.WithTimeout(ctx, wait)
		e, err := stream.Next(limited)
		over := errors.Is(limited.Err(), context.DeadlineExceeded)
		cancel()
		switch {
		case err == nil:
			v.see(&e)
			synced = synced || e.Type == live.Synced
		case ctx.Err() != nil, !over:
			return err
		}
		if !synced {
			continue
		}
		now := s.Now()
		p, after := j.next(v.find(now), now)
		// A little later than needed, so that the time has passed by then.
		wait = after + 10*time.Millisecond
		if recheckAfter := v.recheckAfter(now); recheckAfter > 0 {
			wait = min(wait, recheckAfter+10*time.Millisecond)
		}
		if told != nil && reflect.DeepEqual(*told, p) {
			continue
		}
		told = &p
		select {
		case out <- told:
		case <-ctx.Done():
			return ctx.Err()
		}
		if p.State != Running {
			return nil
		}
	}
}

// view computes the state of an operation from events.
type view interface {
	// see applies an event.
	see(e *live.Event)
	// find returns the current state.
	find(now time.Time) finding
	// recheckAfter returns the time after which find may change without an event; zero for never.
	recheckAfter(now time.Time) time.Duration
}

func unfollowed(instance string) error {
	return apierror.In(apierror.New(apierror.CodeForbidden, "your roles do not let you follow what this operation wrote"), instance)
}

// viewOf returns the view of an operation and the interests to watch for it, as far as the user
// may.
func viewOf(op Operation, grant authz.Grant) (view, []live.Interest, error) {
	forbidden := unfollowed(op.Instance)
	switch op.Kind {
	case KindJoinCluster, KindUnjoinCluster:
		if !grant.Can(authz.VerbWatch, "") {
			return nil, nil, forbidden
		}
		v := &membership{op: op, seen: newSeen(op)}
		return v, v.interests(), nil
	case KindCreateInstance, KindUpdateInstance:
		v := &creation{op: op, seen: newSeen(op)}
		return v, v.interests(), nil
	case KindMoveCluster:
		if !grant.Can(authz.VerbWatch, "") {
			return nil, nil, forbidden
		}
		v := &relocation{op: op, seen: newSeen(op)}
		return v, v.interests(), nil
	case KindDrainCluster:
		if !grant.Can(authz.VerbWatch, "") {
			return nil, nil, forbidden
		}
		v := newDraining(op)
		return v, v.interests(), nil
	case KindApplyManifests, KindDeployApplication, KindPromoteResource, KindMoveWorkload:
	}
	for _, o := range op.Objects {
		if !grant.Can(authz.VerbWatch, o.Namespace) {
			return nil, nil, forbidden
		}
	}
	if op.Kind == KindMoveWorkload {
		v := &movingWorkload{op: op}
		return v, v.interests(), nil
	}
	v := newPropagation(op)
	return v, v.interests(), nil
}
