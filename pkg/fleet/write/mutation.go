package write

import (
	"cmp"
	"context"
	"sync/atomic"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/consistency"
	"github.com/kairship-io/kairship/pkg/projection"
)

// Mutation notes what of a mutation is in the activity already: the writes to objects of instances, each with the name
// of its object.
type Mutation struct {
	name             string
	written, refused atomic.Bool
}

// longestName is that of the name of an object, in bytes.
const longestName = 253

type mutationKey struct{}

// BeginMutation returns the context of a mutation.
func BeginMutation(ctx context.Context, name string) (context.Context, *Mutation) {
	m := &Mutation{name: name}
	return context.WithValue(ctx, mutationKey{}, m), m
}

// BeginPart returns the context of one of several changes of a mutation, which notes for itself.
func BeginPart(ctx context.Context) (context.Context, *Mutation) {
	return BeginMutation(ctx, mutationOf(ctx).name)
}

// Refused reports whether a refusal is in the activity already.
func (m *Mutation) Refused() bool { return m.refused.Load() }

// mutationOf is the mutation of a context; one without a name where there is none.
func mutationOf(ctx context.Context) *Mutation {
	if m, ok := ctx.Value(mutationKey{}).(*Mutation); ok {
		return m
	}
	return &Mutation{}
}

func (m *Mutation) noted(outcome projection.ActivityOutcome) {
	if outcome == projection.ActivitySucceeded {
		m.written.Store(true)
	} else {
		m.refused.Store(true)
	}
}

// outcome is what is to be added of a mutation that ended with an error, or with none; false for nothing.
func (m *Mutation) outcome(err error) (outcome projection.ActivityOutcome, code string, add bool) {
	switch {
	case err == nil:
		return projection.ActivitySucceeded, "", !m.written.Load() && !m.refused.Load()
	case m.refused.Load():
		return "", "", false
	case apierror.Is(err, apierror.CodeForbidden):
		return projection.ActivityRefused, string(apierror.CodeForbidden), true
	}
	return projection.ActivityFailed, string(cmp.Or(apierror.CodeOf(err), apierror.CodeInternal)), true
}

// EndMutation adds what a mutation did or was refused, as its input names it, unless its writes are there already.
// instanceUID is that of the instance before the mutation. Of an instance that the caller may not see, or that is not there,
// nothing is added, and neither is a refusal of what belongs to no instance.
func (r *Recorder) EndMutation(ctx context.Context, m *Mutation, instanceUID string, a *projection.Activity, failed error) error {
	var add bool
	if a.Outcome, a.Code, add = m.outcome(failed); !add {
		return nil
	}
	if a.Instance != "" {
		if instanceUID = cmp.Or(instanceUID, r.InstanceUID(ctx, a.Instance)); instanceUID == "" {
			return nil
		}
	} else if apierror.Is(failed, apierror.CodeForbidden) || apierror.Is(failed, apierror.CodeNotFound) {
		return nil
	}
	user, _ := authz.UserFrom(ctx)
	a.Mutation, a.Way, a.User = m.name, projection.ByGraphQL, user.Name
	return r.add(context.WithoutCancel(ctx), instanceUID, nil, a)
}

// name gives an entry the name of its object. A Namespace is in itself, so that it is seen with what is in it.
func name(a *projection.Activity, at *consistency.Version) {
	a.Instance, a.Group, a.Kind, a.Namespace, a.Name = at.Instance, at.Group, cmp.Or(at.Kind, at.Resource), at.Namespace, at.Name
	if at.Group == "" && at.Resource == "namespaces" {
		a.Namespace = at.Name
	}
	if len(a.Name) > longestName {
		a.Name = "" // No object has it.
	}
}
