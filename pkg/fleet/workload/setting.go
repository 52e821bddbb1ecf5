package workload

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
)

// setting is what the workloads of one instance in one answer have in common.
// It is found out once for all of them, and so is the same for all.
type setting struct {
	instance string
	// fresh is how old the instance's part of the index may be.
	fresh freshness.Freshness
	// joined are the inventory's clusters that are joined to each instance; nil where other
	// settings of the answer do not share them.
	joined func() map[string][]string
	// custom are the custom workloads of the answer whose templates the index does not have, by kind.
	custom map[schema.GroupVersionKind]*templates

	// What is known of the members is found out when it is needed first.
	once sync.Once
	// members are the instance's own members.
	members map[string]Member
	err     error

	// collection are the inventory's clusters that are joined to the instance, and
	// how old their parts of the index may be.
	collection    map[string]freshness.Freshness
	collectedOnce sync.Once
}

// settingNow is the setting of a workload. That of an observed one lasts, and is shown to several
// users, so what is known of the members now is found out each time.
func (w *Workload) settingNow() *setting {
	if w.observed != nil {
		return &setting{instance: w.Instance}
	}
	return w.setting
}

func (s *Service) settingOf(ctx context.Context, instance string, asOf time.Time) *setting {
	return s.settings(ctx, asOf)(instance)
}

// settings finds the settings of the workloads of an answer that shows the states of a
// moment.
func (s *Service) settings(ctx context.Context, asOf time.Time) func(instance string) *setting {
	known, joined := map[string]*setting{}, s.joined(ctx)
	return func(instance string) *setting {
		in, ok := known[instance]
		if !ok {
			fresh := s.lister.Freshness.Of(ctx, v1alpha1.VirtualClusterName(instance)).AsOf(asOf, s.lister.Now())
			in = &setting{instance: instance, fresh: fresh, joined: joined}
			known[instance] = in
		}
		return in
	}
}

// collected are the clusters that are joined to the instance, and how old their parts of
// the index may be. Nothing is collected from any other member.
func (s *Service) collected(ctx context.Context, in *setting) map[string]freshness.Freshness {
	in.collectedOnce.Do(func() {
		if in.joined == nil {
			in.joined = s.joined(ctx)
		}
		joined := in.joined()[in.instance]
		in.collection = make(map[string]freshness.Freshness, len(joined))
		for _, name := range joined {
			in.collection[name] = s.lister.Freshness.Of(ctx, name)
		}
	})
	return in.collection
}

// look finds out what is known of the instance's members.
func (s *Service) look(ctx context.Context, in *setting) error {
	in.once.Do(func() {
		collection := s.collected(ctx, in)
		cached, err := s.memberCache.Members(ctx, in.instance)
		if err != nil {
			in.err = err
			return
		}
		in.members = make(map[string]Member, len(cached[in.instance]))
		for name, c := range cached[in.instance] {
			m := MemberOf(c)
			m.CollectionStale = collection[name].Stale
			in.members[name] = m
		}
	})
	return in.err
}
