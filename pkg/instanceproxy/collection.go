package instanceproxy

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// Collection implements Clients over the Instances of the global cluster.
type Collection struct {
	options Options
	metrics *metrics

	// mu guards the map; nothing is waited for while it is held.
	mu     sync.Mutex
	byName map[string]*instance
	closed bool
}

var _ Clients = (*Collection)(nil)

// New makes a Collection. It hears of Instances from now on; ctx bounds the wait
// for the informer.
func New(ctx context.Context, options Options) (*Collection, error) {
	if options.Instances == nil || options.Secrets == nil {
		return nil, errors.New("instanceproxy: Options need Instances and Secrets")
	}
	c := &Collection{options: options.withDefaults(), byName: map[string]*instance{}}
	c.metrics = newMetrics(c)
	if options.Registerer != nil {
		if err := options.Registerer.Register(c.metrics); err != nil {
			return nil, fmt.Errorf("register the metrics of the instance proxy: %w", err)
		}
	}
	informer, err := options.Instances.GetInformer(ctx, &v1alpha1.Instance{})
	if err != nil {
		return nil, fmt.Errorf("watch Instances: %w", err)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, now any) { c.changed(now) }, //nolint:contextcheck // An instance outlives the request that began it.
		DeleteFunc: c.deleted,
	})
	if err != nil {
		return nil, fmt.Errorf("watch Instances: %w", err)
	}
	return c, nil
}

// Get implements Clients.
func (c *Collection) Get(ctx context.Context, name string) (Client, error) {
	c.mu.Lock()
	known := c.byName[name]
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	described, err := c.read(ctx, name)
	if err != nil {
		return nil, err
	}
	added, err := c.add(described)
	if err != nil {
		return nil, err
	}
	// Whatever happened to the Instance before it was added was not announced.
	described, err = c.read(ctx, name)
	switch {
	case apierror.Is(err, apierror.CodeNotFound):
		c.remove(added)
		return nil, err
	case err != nil:
		return nil, err
	case described.UID != added.uid:
		c.remove(added)
		return c.Get(ctx, name)
	}
	added.follow(described) //nolint:contextcheck // It outlives the request that began it.
	return added, nil
}

func (c *Collection) read(ctx context.Context, name string) (*v1alpha1.Instance, error) {
	described := &v1alpha1.Instance{}
	err := c.options.Instances.Get(ctx, client.ObjectKey{Name: name}, described)
	switch {
	case apierrors.IsNotFound(err):
		return nil, gone(name)
	case err != nil:
		return nil, apierror.Wrap(err, apierror.CodeInternal, "internal error")
	}
	return described, nil
}

func (c *Collection) add(described *v1alpha1.Instance) (*instance, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, apierror.New(apierror.CodeInstanceUnavailable, "Kairship is being stopped; try again")
	}
	if known := c.byName[described.Name]; known != nil {
		return known, nil
	}
	made, err := newInstance(described.Name, described.UID, c.options, c.metrics)
	if err != nil {
		return nil, apierror.Wrap(err, apierror.CodeInternal, "internal error")
	}
	c.byName[described.Name] = made
	return made, nil
}

// remove closes an instance, and forgets it unless its name is another's by now.
func (c *Collection) remove(i *instance) {
	c.mu.Lock()
	if c.byName[i.name] == i {
		delete(c.byName, i.name)
		i.metrics.ended.Store(true)
		c.metrics.forget(i.name)
	}
	c.mu.Unlock()
	i.close()
}

func (c *Collection) lookup(name string) *instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byName[name]
}

// changed hears that an Instance is another than before. Deleted and made again
// at once, it may never be announced as deleted.
func (c *Collection) changed(now any) {
	described, ok := now.(*v1alpha1.Instance)
	if !ok {
		return
	}
	known := c.lookup(described.Name)
	switch {
	case known == nil:
	case known.uid != described.UID:
		c.remove(known)
	default:
		known.follow(described)
	}
}

func (c *Collection) deleted(last any) {
	if unknown, ok := last.(toolscache.DeletedFinalStateUnknown); ok {
		last = unknown.Obj
	}
	described, ok := last.(*v1alpha1.Instance)
	if !ok {
		return
	}
	if known := c.lookup(described.Name); known != nil {
		c.remove(known)
	}
}

// Close closes all clients and ends what is in flight. It is called when the
// process has stopped to serve.
func (c *Collection) Close() {
	c.mu.Lock()
	c.closed = true
	all := c.byName
	c.byName = map[string]*instance{}
	c.mu.Unlock()
	for _, i := range all {
		i.close()
	}
}

// each calls a function with every instance that is known now.
func (c *Collection) each(do func(*instance)) {
	c.mu.Lock()
	all := make([]*instance, 0, len(c.byName))
	for _, i := range c.byName {
		all = append(all, i)
	}
	c.mu.Unlock()
	for _, i := range all {
		do(i)
	}
}
