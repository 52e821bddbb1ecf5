package subscription

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/consistency"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/fleet/changes"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/live"
)

// Hub shares watches; *live.Hub is one.
type Hub interface {
	Subscribe(ctx context.Context, s live.Subscription) (*live.Stream, error)
}

// Service begins subscriptions.
type Service struct {
	Hub       Hub
	Access    *access.Access
	Instances *instance.Service
	Workloads *workload.Service
	// Begin makes the context that some events are read in.
	Begin func(context.Context) context.Context
	// End ends the subscription of a context with an error.
	End func(context.Context, error)
	// Consumer returns the consumer of the subscription of a context; nil where that has none.
	Consumer func(context.Context) changes.Consumer
	Now      func() time.Time
	Logger   *slog.Logger
	// Registered is sent when instances come or go.
	Registered changes.Signal
}

// scope is what a subscription to objects of instances is about.
type scope struct {
	// instances are the ones wanted; nil for all.
	instances []string
	types     []index.Type
	filter    listing.Filter
	// match decides what the filter's own parts can't; nil for everything.
	match func(*live.Object) bool
	// join makes the value of each object of a type; nil for none.
	join func(instance string, t index.Type) *live.Join
}

// confined is a scope as a user may see it.
type confined struct {
	service *Service
	scope
	matches func(*live.Object) bool
	// grants are those at the beginning, and of instances that came later. They are
	// read and written by the subscription's own goroutine, after the first time.
	grants map[string]authz.Grant
}

// confine checks the filter and finds out what the user may see.
func (s *Service) confine(sc scope) (*confined, error) {
	named, err := sc.filter.Matcher()
	if err != nil {
		return nil, err
	}
	c := &confined{service: s, scope: sc}
	c.matches = func(o *live.Object) bool { return named(&o.Meta) && (sc.match == nil || sc.match(o)) }
	return c, nil
}

// interests are the sources that there are now.
func (c *confined) interests(ctx context.Context) ([]live.Interest, error) {
	names, err := c.service.Instances.Names(ctx)
	if err != nil {
		return nil, err
	}
	if c.instances != nil {
		names = slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(c.instances, name) })
	}
	grants, err := c.service.Access.Grants(ctx, names...)
	if err != nil {
		return nil, err
	}
	c.grants = grants
	var all []live.Interest
	for _, name := range names {
		g, visible := grants[name]
		if !visible {
			continue
		}
		for _, t := range c.types {
			all = append(all, c.interest(name, t, g))
		}
	}
	return all, nil
}

func (c *confined) interest(instanceName string, t index.Type, g authz.Grant) live.Interest {
	i := live.Interest{
		Source: live.Source{Instance: instanceName, Resource: t.GroupVersionResource()},
		Scope:  g.ReadingKey(),
		Filter: live.Filter{
			Namespaces: access.WatchedNamespaces(g, t, c.filter.Namespaces),
			Names:      c.filter.Name,
			Match:      func(o *live.Object) bool { return access.MayFollow(g, t, &o.Meta) && c.matches(o) },
		},
	}
	if c.join != nil {
		i.Join = c.join(instanceName, t)
	}
	return i
}

// typeOf is the type that a source is of.
func (c *confined) typeOf(s live.Source) index.Type {
	for _, t := range c.types {
		if t.GroupVersionResource() == s.Resource {
			return t
		}
	}
	return index.Type{}
}

// shown is an object as the user may see it; missing where they may not any more.
func (c *confined) shown(o *live.Object) (*index.Object, error) {
	bare, err := indexed(o)
	if err != nil {
		return nil, err
	}
	t := c.typeOf(o.Source)
	shown, err := access.Shown(c.grants[o.Source.Instance], t, bare)
	if err == nil && shown == nil {
		err = index.Key{Type: t, Namespace: o.Meta.Namespace, Name: o.Meta.Name}.NotFound()
	}
	return shown, err
}

// indexed is an object in the form that all nouns are made of.
func indexed(o *live.Object) (*index.Object, error) {
	return live.Memo(o, func(o *live.Object) (*index.Object, error) {
		return index.NewObserved(v1alpha1.VirtualClusterName(o.Source.Instance), o.APIVersion, o.Kind, o.Meta, o.Raw), nil
	})
}

func (s *Service) fresh() freshness.Freshness { return freshness.Followed(s.Now()) }

// begin begins a subscription. The identity is everything that makes two of them the
// same, besides the user.
func begin[T any](ctx context.Context, s *Service, f *changes.Feed[T], after *string, identity ...any) (<-chan *changes.Event[T], error) {
	user, ok := authz.UserFrom(ctx)
	if !ok {
		return nil, apierror.New(apierror.CodeUnauthenticated, "Send a bearer token")
	}
	raw, err := json.Marshal(append(identity, user.Name, user.UID))
	if err != nil {
		return nil, fmt.Errorf("the identity of a subscription: %w", err)
	}
	d := s.consumer(ctx)
	sub := live.Subscription{Identity: string(raw), Open: true, Wake: d.Wake, KnownWrites: knownWrites(consistency.Written(ctx))}
	if after != nil {
		sub.After = *after
	}
	f.Begin, f.End, f.Logger = s.Begin, s.End, s.Logger
	f.Changed = s.Registered.Listen()
	if sub.Interests, err = f.Interests(ctx); err == nil {
		f.Stream, err = s.Hub.Subscribe(ctx, sub)
	}
	if err != nil {
		f.Changed.Stop()
		return nil, err
	}
	return f.Run(ctx, d), nil
}

// knownWrites are writes as a stream knows them. One whose version is no number is compared
// with none.
func knownWrites(written []consistency.Version) []live.KnownWrite {
	var all []live.KnownWrite
	for _, v := range written {
		m := live.KnownWrite{Source: live.Source{Instance: v.Instance, Resource: v.GVR()}, Key: live.Key{Namespace: v.Namespace, Name: v.Name}}
		if v.Deleted {
			m.Deleted = types.UID(v.UID)
		}
		var err error
		if m.Version, err = strconv.ParseUint(v.ResourceVersion, 10, 64); err != nil && m.Deleted == "" {
			continue
		}
		all = append(all, m)
	}
	return all
}

// consumer is that of a subscription's transport.
func (s *Service) consumer(ctx context.Context) changes.Consumer {
	if s.Consumer != nil {
		if d := s.Consumer(ctx); d != nil {
			return d
		}
	}
	return changes.NewRunner()
}
