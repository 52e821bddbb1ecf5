package activity

import (
	"context"
	"time"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/projection"
)

// Reader reads pages of the activity, and when; *projected.Source does.
type Reader interface {
	Activity(ctx context.Context, q *projection.ActivityQuery) (*projection.ActivityPage, time.Time, error)
}

// Service reads the activity, confined to what the user may see.
type Service struct {
	Access    *access.Access
	Instances *instance.Service
	Reader    Reader
	Freshness *freshness.Tracker
	Now       func() time.Time
	// Feed follows what is added; nil where the program was given no database.
	Feed *Feed
}

// Args say which part of the activity to return.
type Args struct {
	page.Args

	Filter *Filter
	// WithCount asks for the number of entries on all pages.
	WithCount bool
}

// position is where an entry stands in the list.
type position struct {
	ID int64 `json:"id"`
}

// List returns a page of the activity.
func (s *Service) List(ctx context.Context, args *Args) (*Connection, error) {
	limit, err := args.Limit()
	if err != nil {
		return nil, err
	}
	f := args.Filter
	if f == nil {
		f = &Filter{}
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	list := page.IdentityOf("ActivityEntry", f)
	q := f.query()
	q.Limit, q.WithCount = limit, args.WithCount
	if args.After != nil {
		before, err := page.Position[position](list, *args.After, s.Now())
		if err != nil {
			return nil, err
		}
		q.Before = before.ID
	}
	if q.Reach, err = s.reach(ctx, authz.VerbView); err != nil {
		return nil, err
	}
	found, asOf, err := s.Reader.Activity(ctx, &q)
	if err != nil {
		return nil, err
	}
	entries := make([]*Entry, len(found.Entries))
	for i := range found.Entries {
		entries[i] = newEntry(&found.Entries[i])
	}
	fresh := s.Freshness.Of(ctx).AsOf(asOf, s.Now())
	return page.Build(args.Args, entries, func(e *Entry) string { return page.Cursor(list, position{e.entry.ID}, s.Now()) }, found.HasNext, found.Count, fresh), nil
}

// reach is what the caller may see at this moment.
func (s *Service) reach(ctx context.Context, verb authz.Verb) (projection.ActivityReach, error) {
	all, err := s.Instances.All(ctx)
	if err != nil {
		return projection.ActivityReach{}, err
	}
	names, places := make([]string, len(all)), make([]place, len(all))
	for i, one := range all {
		names[i], places[i] = one.Name, place{one.Name, string(one.UID)}
	}
	v, err := s.Access.Visibility(ctx, names...)
	if err != nil {
		return projection.ActivityReach{}, err
	}
	return reachOf(v, verb, places), nil
}

// Follow sends what is added from now on and the caller may watch, until the context ends.
func (s *Service) Follow(ctx context.Context, f *Filter) (<-chan *Entry, error) {
	if f == nil {
		f = &Filter{}
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	if _, err := s.reach(ctx, authz.VerbWatch); err != nil {
		return nil, err
	}
	if s.Feed == nil {
		return nil, apierror.New(apierror.CodeIndexUnavailable, "There is no activity: the apiserver was given no database of the index")
	}
	return s.Feed.follow(ctx, func(e *projection.ActivityEntry) (bool, error) {
		if !f.matches(e) {
			return false, nil
		}
		// What may be seen is asked again for each entry: a role may have been taken away.
		reach, err := s.reach(ctx, authz.VerbWatch)
		return err == nil && sees(&reach, e), err
	})
}
