package write

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/consistency"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/projection"
)

// recordWithin bounds how long a write waits for its entry in the history.
const recordWithin = 2 * time.Second

// History keeps who wrote what; *projection.DB does. Either of what it gets may be nil.
type History interface {
	RecordWrite(ctx context.Context, instanceUID string, e *projection.Entry, a *projection.Activity) error
}

// Recorder adds what users write to the history and to the activity, and what they tried to write to the activity.
type Recorder struct {
	History History
	// InstanceUID returns the UID of an instance; empty for one that is not there.
	InstanceUID func(ctx context.Context, instance string) string
}

// record adds a write that was made. One that cannot be added now does not cost a caller the answer to it: it is
// missing in the history, and the log says why.
func (w *Writer) record(ctx context.Context, how string, at *consistency.Version) {
	if w.Recorder == nil {
		return
	}
	user, _ := authz.UserFrom(ctx)
	e := &projection.Entry{
		ObjectKey: projection.ObjectKey{Instance: at.Instance, Kind: historyKind(at), Namespace: at.Namespace, Name: at.Name},
		Change:    projection.Written, After: how, User: user.Name,
	}
	w.add(ctx, e, &projection.Activity{Verb: projection.ActivityVerb(how), Outcome: projection.ActivitySucceeded}, at)
}

// Refused adds a write that the caller may not make, with the error that says so.
func (w *Writer) Refused(ctx context.Context, how projection.ActivityVerb, at *consistency.Version, err error) {
	if w.Recorder != nil && apierror.Is(err, apierror.CodeForbidden) {
		w.add(ctx, nil, &projection.Activity{Verb: how, Outcome: projection.ActivityRefused, Code: string(apierror.CodeForbidden)}, at)
	}
}

// add adds a write of a mutation to an object, which its caller made or tried to make.
func (w *Writer) add(ctx context.Context, e *projection.Entry, a *projection.Activity, at *consistency.Version) {
	m := mutationOf(ctx)
	m.noted(a.Outcome)
	user, _ := authz.UserFrom(ctx)
	a.Way, a.Mutation, a.User = projection.ByGraphQL, m.name, user.Name
	name(a, at)
	// The write was made, also for a caller who has left.
	if err := w.Recorder.add(context.WithoutCancel(ctx), w.Recorder.InstanceUID(ctx, at.Instance), e, a); err != nil {
		w.Logger.WarnContext(ctx, "a write is not in the history", "error", err)
	}
}

// add adds entries of which either may be nil.
func (r *Recorder) add(ctx context.Context, instanceUID string, e *projection.Entry, a *projection.Activity) error {
	ctx, cancel := context.WithTimeout(ctx, recordWithin)
	defer cancel()
	return r.History.RecordWrite(ctx, instanceUID, e, a)
}

// followed are the kinds that have a history, besides workloads.
var followed = []index.Type{
	index.MemberClusters, index.PropagationPolicies, index.ClusterPropagationPolicies, index.OverridePolicies, index.ClusterOverridePolicies,
}

// Native adds a write to an object of an instance by its native API: to the activity, and to the history where the kind
// has one and the write was made. message says more for a person.
func (r *Recorder) Native(ctx context.Context, a *projection.Activity, message string, at *consistency.Version) error {
	named := *at
	uid := r.InstanceUID(ctx, at.Instance)
	if uid == "" {
		return nil // It was deleted meanwhile.
	}
	a.Way = projection.ByNativeAPI
	name(a, at)
	if at.Name == "" || a.Outcome != projection.ActivitySucceeded {
		return r.add(ctx, uid, nil, a)
	}
	_, known := workload.KindFromGVR(schema.GroupVersionResource{Group: at.Group, Version: at.Version, Resource: at.Resource})
	for _, t := range followed {
		if t.Group == at.Group && t.Version == at.Version && t.Resource == at.Resource {
			named.Kind, known = t.Kind, true
		}
	}
	if !known {
		return r.add(ctx, uid, nil, a)
	}
	return r.add(ctx, uid, &projection.Entry{
		ObjectKey: projection.ObjectKey{Instance: at.Instance, Kind: historyKind(&named), Namespace: at.Namespace, Name: at.Name},
		Change:    projection.Written, After: string(a.Verb), User: a.User, Message: message,
	}, a)
}

// historyKind is the kind by which the history knows what was written.
func historyKind(at *consistency.Version) string {
	t := index.Type{Group: at.Group, Version: at.Version, Resource: at.Resource, Kind: at.Kind}
	if kind, ok := workload.KindFromGVR(t.GroupVersionResource()); ok {
		return string(kind)
	}
	if t == index.MemberClusters {
		return projection.KindMember
	}
	if kind, ok := workload.CustomKind(schema.GroupKind{Group: at.Group, Kind: at.Kind}); ok {
		return string(kind)
	}
	return at.Kind
}
