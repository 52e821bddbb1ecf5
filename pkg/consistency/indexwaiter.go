package consistency

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/index"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
)

// Bounds of waiting.
const (
	// defaultWait bounds the index wait, which usually takes milliseconds.
	defaultWait = 2 * time.Second
	// The first look comes at once, the others after growing pauses.
	firstPause, longestPause = 2 * time.Millisecond, 50 * time.Millisecond
	// readsAtOnce is how many objects are read from an instance side by side.
	readsAtOnce = 8
)

// Getter reads exact objects from the index; *index.Client is one.
type Getter interface {
	GetMany(ctx context.Context, keys []index.Key, detail index.Detail) (map[index.Key]*index.Object, error)
}

// Collected returns the version in which the index collects a resource of a cluster; false when it
// collects none, so that waiting would be in vain.
type Collected func(ctx context.Context, cluster, group, resource string) (version string, ok bool)

// IndexWaiter waits until the index has the versions that an operation has to see.
type IndexWaiter struct {
	Index     Getter
	Clients   instanceproxy.Clients
	Collected Collected
	// Wait bounds the index wait; zero means defaultWait.
	Wait time.Duration
	Now  func() time.Time
}

// replacement is an object that is read from its instance instead of the index.
type replacement = index.Replacement

// waitForIndex waits, once in an operation, until the index has the versions that the operation has
// to see in any of some clusters. It returns replacements for those that the index does not have in
// time.
func (s *IndexWaiter) waitForIndex(ctx context.Context, clusters ...string) ([]replacement, error) {
	r := readingFrom(ctx)
	if r == nil || !r.concerns(clusters) {
		return nil, nil
	}
	select {
	case r.begun <- struct{}{}:
		begun := time.Now()
		r.overlay, r.err = s.catchUp(ctx, r.versions)
		observe(begun, r.err != nil || len(r.overlay) > 0)
		close(r.done)
	case <-r.done:
	}
	<-r.done
	return r.overlay, r.err
}

func (s *IndexWaiter) catchUp(ctx context.Context, versions []Version) ([]replacement, error) {
	var keys []index.Key
	var waited, late []Version
	for _, v := range versions {
		cluster := v1alpha1.VirtualClusterName(v.Instance)
		version, ok := s.Collected(ctx, cluster, v.Group, v.Resource)
		if !ok {
			late = append(late, v)
			continue
		}
		t := v.Type()
		t.Version = version
		keys = append(keys, index.Key{Cluster: cluster, Type: t, Namespace: v.Namespace, Name: v.Name})
		waited = append(waited, v)
	}
	late = append(late, s.await(ctx, waited, keys)...)
	if len(late) == 0 {
		return nil, nil
	}
	return s.ask(ctx, late)
}

// await polls the index, and returns the versions that it does not have in time.
func (s *IndexWaiter) await(ctx context.Context, versions []Version, keys []index.Key) []Version {
	wait := s.Wait
	if wait == 0 {
		wait = defaultWait
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for pause := firstPause; len(keys) > 0; pause = min(pause*2, longestPause) {
		found, err := s.Index.GetMany(ctx, keys, index.Metadata)
		if err != nil {
			return versions // The reads that follow say what is wrong with the index.
		}
		var lateKeys []index.Key
		var late []Version
		for i, v := range versions {
			if !v.shownBy(found[keys[i]]) {
				late, lateKeys = append(late, v), append(lateKeys, keys[i])
			}
		}
		if versions, keys = late, lateKeys; len(keys) == 0 {
			break
		}
		select {
		case <-ctx.Done():
			return versions
		case <-time.After(pause):
		}
	}
	return versions
}

// ask reads objects from their instances, as the user of the operation. An object that the user may
// no longer read there stays as the index has it.
func (s *IndexWaiter) ask(ctx context.Context, versions []Version) ([]replacement, error) {
	found := make([]*replacement, len(versions))
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(readsAtOnce)
	for i, v := range versions {
		group.Go(func() error {
			now, readable, err := s.live(gctx, v)
			if err != nil || !readable {
				return err
			}
			cluster := v1alpha1.VirtualClusterName(v.Instance)
			found[i] = &replacement{Key: index.Key{Cluster: cluster, Type: v.Type(), Namespace: v.Namespace, Name: v.Name}, Now: now}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var keys []index.Key
	var replacements []replacement
	for _, r := range found {
		if r != nil {
			keys, replacements = append(keys, s.indexed(ctx, r.Key)), append(replacements, *r)
		}
	}
	// For the counts of lists: does the index count it already, or still?
	if has, err := s.Index.GetMany(ctx, keys, index.Whole); err == nil {
		for i := range replacements {
			replacements[i].Indexed = has[keys[i]]
		}
	}
	return replacements, nil
}

// indexed is a key as the index has it.
func (s *IndexWaiter) indexed(ctx context.Context, k index.Key) index.Key {
	if version, ok := s.Collected(ctx, k.Cluster, k.Type.Group, k.Type.Resource); ok {
		k.Type.Version = version
	}
	return k
}

// live reads one object; nil when there is none, unreadable when the user may not.
func (s *IndexWaiter) live(ctx context.Context, v Version) (o *index.Object, readable bool, err error) {
	client, err := s.Clients.Get(ctx, v.Instance)
	if err != nil {
		return nil, false, notCaughtUp(err, v.Instance)
	}
	at := s.Now()
	u, err := client.Dynamic().Resource(v.GVR()).Namespace(v.Namespace).Get(ctx, v.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, true, nil
	case apierrors.IsForbidden(err):
		return nil, false, nil
	case err != nil:
		return nil, false, notCaughtUp(err, v.Instance)
	}
	o, err = index.NewLive(v1alpha1.VirtualClusterName(v.Instance), u.Object, at)
	return o, err == nil, err
}

func notCaughtUp(err error, instance string) error {
	return apierror.In(apierror.Wrap(err, apierror.CodeInstanceUnavailable,
		"the index does not have your change yet, and instance %q does not answer; without the consistency token you get what the index has", instance), instance)
}
