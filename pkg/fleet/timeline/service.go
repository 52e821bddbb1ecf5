package timeline

import (
	"context"
	"slices"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/fleet/membercluster"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/fleet/policy"
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

// KeyOfWorkload names a workload as the history does.
func KeyOfWorkload(w *workload.Workload) projection.ObjectKey {
	return projection.ObjectKey{Instance: w.Instance, Kind: string(w.StoredKind()), Namespace: w.Namespace(), Name: w.Name()}
}

// KeyOfMember names a member cluster.
func KeyOfMember(m *membercluster.MemberCluster) projection.ObjectKey {
	return projection.ObjectKey{Instance: m.Instance, Kind: projection.KindMember, Name: m.Name()}
}

// KeyOfPolicy names a policy.
func KeyOfPolicy(p *policy.Policy) projection.ObjectKey {
	return projection.ObjectKey{Instance: p.Instance, Kind: p.ObjectKind(), Namespace: p.Namespace(), Name: p.Name()}
}

// KeyOfInstance names an instance.
func KeyOfInstance(i *instance.Instance) projection.ObjectKey {
	return projection.ObjectKey{Instance: i.Name, Kind: projection.KindInstance, Name: i.Name}
}

// OfObject returns the timeline of any object of an instance, also of one that no longer exists. canRead reports whether
// the user may read the objects in a namespace; the empty one stands for those without. Where they may not, it is empty,
// as it is for an object that there never was.
func (s *Service) OfObject(ctx context.Context, instance string, o *Object, canRead func(namespace string) bool, args *Args) (*Connection, error) {
	key, err := o.key(instance)
	if err != nil {
		return nil, err
	}
	if !canRead(key.Namespace) {
		key.Kind = "" // Nothing has it.
	}
	return s.Of(ctx, key, args)
}

// place is where an entry stands in its list.
type place struct {
	ID int64 `json:"id"`
}

// Of returns the timeline of an object.
func (s *Service) Of(ctx context.Context, key projection.ObjectKey, args *Args) (*Connection, error) {
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
		before, err := page.Position[place](list, *args.After, s.Now())
		if err != nil {
			return nil, err
		}
		r.Before = before.ID
	}
	found, err := s.read(ctx, key, args.Beside, &r)
	if err != nil {
		return nil, apierror.In(err, key.Instance)
	}
	entries := make([]*Entry, len(found.Entries))
	for i := range found.Entries {
		entries[i] = newEntry(&found.Entries[i])
	}
	fresh := s.Freshness.Of(ctx, v1alpha1.VirtualClusterName(key.Instance)).AsOf(found.asOf, s.Now())
	return page.Build(args.Args, entries, func(e *Entry) string { return page.Cursor(list, place{e.entry.ID}, s.Now()) }, found.HasNext, found.Count, fresh), nil
}

// read reads the history of one object, together with those that will be asked for and those that are asked for at the
// same time.
func (s *Service) read(ctx context.Context, key projection.ObjectKey, beside []projection.ObjectKey, r *projection.HistoryRange) (*history, error) {
	instances := map[string]*instance.Instance{}
	var all []projection.HistoryQuery
	for _, k := range append([]projection.ObjectKey{key}, beside...) {
		i, known := instances[k.Instance]
		if !known {
			var err error
			if i, err = s.Instances.Get(ctx, k.Instance); err != nil {
				return nil, err
			}
			instances[k.Instance] = i
		}
		if i != nil {
			all = append(all, projection.HistoryQuery{ObjectKey: k, InstanceUID: string(i.UID)})
		}
	}
	if instances[key.Instance] == nil {
		return nil, apierror.NotFound("Instance", key.Instance)
	}
	found, err := s.load(ctx, all, r)
	if err != nil {
		return nil, err
	}
	h := *found
	h.since = later(found.since, instances[key.Instance].CreationTimestamp.Time)
	return &h, nil
}
