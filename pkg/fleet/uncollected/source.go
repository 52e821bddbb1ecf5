// Package uncollected reads kinds that the index does not collect from the instances themselves.
//
// A list is requested from the instance as the caller: Kairship's permissions restrict it, as they
// restrict reads of the index, and the instance's own RBAC decides again. All objects that the
// instance has of the kind, at most mostObjects, are filtered, ordered and cut into pages here, so
// that a list is the same as one of the index.
//
// All users who may read the rest of a namespace may read the metadata and the keys of its Secrets,
// which RBAC cannot express. Kairship reads these with its own identity, and the values only as the
// caller (secrets.go).
package uncollected

import (
	"context"
	"errors"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/access"
	"github.com/kairship-io/kairship/pkg/fleet/collection"
	"github.com/kairship-io/kairship/pkg/fleet/freshness"
	"github.com/kairship-io/kairship/pkg/fleet/listing"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
)

const (
	// mostObjects is how many objects a list may have before it is filtered by name.
	mostObjects = write.MostListed
	// mostNamespaces is how many namespaces are listed one by one.
	mostNamespaces = 20
)

var (
	// ErrNotServed means that the instance does not serve the kind.
	ErrNotServed = errors.New("the instance does not serve the kind")
	// ErrUnanswered means that the instance is well and has no answer: it does not serve
	// the kind, its RBAC refuses, or the list is too long.
	ErrUnanswered = errors.New("the instance does not answer this question")
)

// Source is the instances, as the user of a context may read them.
type Source struct {
	lister  *listing.Lister
	reader  *reader
	watched client.Reader
}

// Config is what a Source is made of.
type Config struct {
	Clients     instanceproxy.Clients
	Permissions access.Permissions
	// Watched is the watch on the global cluster, which has what is collected.
	Watched client.Reader
	// Freshness is what a Lister needs. What is read here is as fresh as the request.
	Freshness *freshness.Tracker
	Now       func() time.Time
}

// New makes a Source.
func New(c Config) *Source {
	r := &reader{clients: c.Clients, access: access.New(c.Permissions), now: c.Now}
	return &Source{
		lister:  &listing.Lister{Reader: access.NewReader(r, c.Permissions, instances{}), Freshness: c.Freshness, Now: c.Now},
		reader:  r,
		watched: c.Watched,
	}
}

// instances are the clusters that a Source knows: the virtual ones, each by its name. It
// does not matter what the index has under that name.
type instances struct{}

// InstanceOf implements access.Inventory.
func (instances) InstanceOf(_ context.Context, cluster string) string {
	return v1alpha1.InstanceOfVirtualCluster(cluster)
}

// Collected returns how much of a kind of an instance the index has.
func (s *Source) Collected(ctx context.Context, instance string, of schema.GroupVersionResource) (collection.State, error) {
	return collection.Kind(ctx, s.watched, v1alpha1.VirtualClusterName(instance), of)
}

// ListOne lists from the instance of a request. A list that excludes everything, or all that
// the caller may see, costs no request, and is as true now.
func (s *Source) ListOne(ctx context.Context, r listing.Request) (*listing.Result, error) {
	at := s.reader.now()
	result, err := s.lister.ListOne(ctx, r)
	if err == nil && result.Freshness.Source != freshness.SourceLive {
		result.Freshness = freshness.LiveAt(at)
	}
	return result, err
}

// Check returns nil when an instance serves a kind, and otherwise an error at the argument that is
// wrong. Callers who may not see the instance get no error, because it would reveal something.
func (s *Source) Check(ctx context.Context, instance string, of schema.GroupVersionResource) error {
	_, visible, err := s.reader.access.Instance(ctx, instance)
	if err != nil || !visible {
		return err
	}
	client, err := s.reader.clients.Get(ctx, instance)
	if apierror.Is(err, apierror.CodeNotFound) {
		return nil
	}
	if err == nil {
		_, err = find(ctx, client, of)
	}
	return apierror.In(err, instance)
}

// ResourceOf returns the resource that serves a kind in an instance, as far as it is remembered which
// kinds this serves. Callers who may not see the instance get the error of a missing one.
func (s *Source) ResourceOf(ctx context.Context, instance string, of schema.GroupVersionKind) (schema.GroupVersionResource, error) {
	none := schema.GroupVersionResource{}
	_, visible, err := s.reader.access.Instance(ctx, instance)
	if err == nil && !visible {
		err = apierror.NotFound("Instance", instance)
	}
	if err != nil {
		return none, err
	}
	client, err := s.reader.clients.Get(ctx, instance)
	if err != nil {
		return none, apierror.In(err, instance)
	}
	for _, discover := range []func(context.Context) (*instanceproxy.Discovery, error){client.Discovery, client.Rediscover} {
		known, err := discover(ctx)
		if err != nil {
			return none, apierror.In(undiscovered(client, of.GroupVersion().WithResource(of.Kind), err), instance)
		}
		for _, list := range known.Resources {
			for i := range list.APIResources {
				r := &list.APIResources[i]
				if list.GroupVersion == of.GroupVersion().String() && r.Kind == of.Kind && !strings.Contains(r.Name, "/") {
					return of.GroupVersion().WithResource(r.Name), nil
				}
			}
		}
	}
	return none, apierror.In(apierror.New(apierror.CodeInstanceUnavailable, "instance %q does not serve the kind %s of %s at this moment; try again", instance, of.Kind, of.GroupVersion()), instance)
}

// unanswered makes ErrUnanswered a cause of an error.
func unanswered(err error) error {
	e, ok := errors.AsType[*apierror.Error](err)
	if !ok {
		return err
	}
	marked := *e
	marked.Cause = errors.Join(ErrUnanswered, e.Cause)
	return &marked
}
