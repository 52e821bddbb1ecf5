package timeline

import (
	"context"
	"slices"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/projection"
)

// History reads the histories of objects at once, and up to when they are complete; *projected.Source does.
type History interface {
	History(ctx context.Context, objects []projection.HistoryQuery, r *projection.HistoryRange) (*projection.Histories, time.Time, error)
}

// Service reads histories. Who may see an object may see its history: callers pass only objects that were read
// as the user.
type Service struct {
	Instances *instance.Service
	History   History
	Freshness *freshness.Tracker
	Now       func() time.Time
}

// OfWorkload returns the timeline of a workload.
func (s *Service) OfWorkload(ctx context.Context, w *workload.Workload, args *Args) (*Connection, error) {
	return s.of(ctx, keyOf(w), args)
}

func keyOf(w *workload.Workload) projection.ObjectKey {
	return projection.ObjectKey{Instance: w.Instance, Kind: string(w.StoredKind()), Namespace: w.Namespace(), Name: w.Name()}
}

// OfMember returns the timeline of a member cluster.
func (s *Service) OfMember(ctx context.Context, instance, name string, args *Args) (*Connection, error) {
	return s.of(ctx, projection.ObjectKey{Instance: instance, Kind: projection.KindMember, Name: name}, args)
}

// OfPolicy returns the timeline of a policy of a kind of Karmada; its namespace may be empty.
func (s *Service) OfPolicy(ctx context.Context, instance, kind, namespace, name string, args *Args) (*Connection, error) {
	return s.of(ctx, projection.ObjectKey{Instance: instance, Kind: kind, Namespace: namespace, Name: name}, args)
}

// OfInstance returns the timeline of an instance.
func (s *Service) OfInstance(ctx context.Context, name string, args *Args) (*Connection, error) {
	return s.of(ctx, projection.ObjectKey{Instance: name, Kind: projection.KindInstance, Name: name}, args)
}

func (s *Service) of(ctx context.Context, key projection.ObjectKey, args *Args) (*Connection, error) {
	limit, err := args.Limit()
	if err != nil {
		return nil, err
	}
	if err := args.check(); err != nil {
		return nil, err
	}
	changes := slices.Sorted(slices.Values(args.Changes))
	list := page.IdentityOf("TimelineEntry", key, changes, args.From, args.To)
	r := projection.HistoryRange{From: seconds(args.From), To: seconds(args.To), Limit: limit, WithCount: args.WithCount, Changes: slices.Compact(changes)}
	if args.After != nil {
		before, err := page.Position[int64](list, *args.After, s.Now())
		if err != nil {
			return nil, err
		}
		r.Before = *before
	}
	found, err := s.read(ctx, key, &r)
	if err != nil {
		return nil, apierror.In(err, key.Instance)
	}
	entries := make([]*Entry, len(found.Entries))
	for i := range found.Entries {
		entries[i] = newEntry(&found.Entries[i])
	}
	fresh := s.Freshness.Of(ctx, v1alpha1.VirtualClusterName(key.Instance)).AsOf(found.asOf, s.Now())
	return page.Build(args.Args, entries, func(e *Entry) string { return page.Cursor(list, e.entry.ID, s.Now()) }, found.HasNext, found.Count, fresh), nil
}

// read reads the history of one object, together with those that the operation asks for at the same time.
func (s *Service) read(ctx context.Context, key projection.ObjectKey, r *projection.HistoryRange) (*history, error) {
	i, err := s.Instances.Get(ctx, key.Instance)
	if err != nil {
		return nil, err
	}
	if i == nil {
		return nil, apierror.NotFound("Instance", key.Instance)
	}
	found, err := s.load(ctx, projection.HistoryQuery{ObjectKey: key, InstanceUID: string(i.UID)}, r)
	if err != nil {
		return nil, err
	}
	h := *found
	h.since = later(found.since, i.CreationTimestamp.Time)
	return &h, nil
}
