// Package writecache is a client whose Get returns what the controllers of this process
// wrote, also before the informer cache has received it.
//
// The informer cache lags: by milliseconds mostly, and by seconds while a thousand objects
// change at once. A controller that reads an old object repeats its last decision: it writes
// again, gets a conflict, reads the new object, and finds nothing to do. That load makes the
// cache lag more.
//
// So the client keeps the answers to its writes, and Get returns such an answer while it is
// newer than the object in the cache. Nothing that others wrote is hidden: an answer
// contains all that was written before it. List reads the cache alone.
//
// An object that this process created exists from then on, although the cache does not have
// it yet. When the cache has received its kind up to the version with which it was created
// and does not have it, it was deleted. The version of the creation counts, not that of a
// later write: from there on the cache sends its handlers an event for the deletion, and
// they must find the object deleted then.
//
// Controllers that write the status or the finalizers of the same object lock it (Lock), so that
// they get no conflicts from each other. Between processes the resource versions decide.
package writecache

import (
	"cmp"
	"context"
	"reflect"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/keymutex"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

const (
	// maxEntries is how many objects are remembered: which was not asked for longest is
	// forgotten.
	maxEntries = 8192
	// retention is how long an answer counts. A cache that is behind for longer has lost
	// its watch; and when a cluster is restored from a backup, its versions begin anew.
	retention = 20 * time.Second
	// cacheDelay is how long it takes until a Get returns what the cache has heard, on a
	// machine that has much to do.
	cacheDelay = 50 * time.Millisecond
	// maxLocks is how many objects can be written at the same time, at most.
	maxLocks = 4096
)

// Client is a client whose Get is not older than its writes of what the cache has.
type Client struct {
	client.Client
	group        string
	cacheVersion CacheVersion
	locks        keymutex.KeyMutex
	// mu is held from looking at what is remembered until that is replaced.
	mu      sync.Mutex
	written *utilcache.LRUExpireCache
}

// CacheVersion returns the version up to which the cache has received the object's kind; empty when
// that is unknown.
type CacheVersion func(ctx context.Context, object client.Object) (version string)

// InformerVersion returns the versions of a cache's informers. They have a version a moment before
// a Get returns it.
func InformerVersion(informers cache.Informers) CacheVersion {
	return func(ctx context.Context, object client.Object) string {
		informer, err := informers.GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err != nil {
			return ""
		}
		if versioned, does := informer.(interface{ LastSyncResourceVersion() string }); does {
			return versioned.LastSyncResourceVersion()
		}
		return ""
	}
}

// New returns a client that keeps what it writes of the API group, and of no other: Secrets and
// PediaClusters contain credentials, which must not stay in memory. The inner client reads from the
// cache whose version cacheVersion returns.
func New(inner client.Client, group string, cacheVersion CacheVersion) *Client {
	return &Client{Client: inner, group: group, cacheVersion: cacheVersion, written: utilcache.NewLRUExpireCache(maxEntries), locks: keymutex.NewHashed(maxLocks)}
}

// write is the last write of this process to an object.
type write struct {
	uid     types.UID
	version string
	// since is the version from which no other client has written up to this one, as far as the
	// requests named the version that they were for.
	since string
	// made is the version with which this process created the object; empty when it did not.
	made string
	// object is the answer; nil once the cache has it.
	object client.Object
}

// last returns the last write of an object, if it is still kept.
func (c *Client) last(k key) write {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lastLocked(k)
}

func (c *Client) lastLocked(k key) write {
	found, _ := c.written.Get(k)
	last, _ := found.(write)
	return last
}

// cached notes that the cache has a write.
func (c *Client) cached(k key, what write) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last := c.lastLocked(k); last.uid == what.uid && last.version == what.version && last.object != nil {
		last.object = nil
		c.written.Add(k, last, retention)
	}
}

// forget forgets a write of an object that no longer exists, unless there has been another one.
func (c *Client) forget(k key, what write) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last := c.lastLocked(k); last.uid == what.uid && last.version == what.version {
		c.written.Remove(k)
	}
}

// Newer reports whether version a of an object came after version b.
func Newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order > 0
}

// key is an object among all of them.
type key struct {
	schema.GroupKind
	types.NamespacedName
}

func (k key) String() string { return k.GroupKind.String() + " " + k.NamespacedName.String() }

// keyOf is the object's key, and whether it is one that is remembered.
func (c *Client) keyOf(object runtime.Object, name types.NamespacedName) (key, bool) {
	gvk, err := apiutil.GVKForObject(object, c.Scheme())
	return key{gvk.GroupKind(), name}, err == nil && gvk.Group == c.group
}

// Get implements client.Reader.
func (c *Client) Get(ctx context.Context, name client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	k, ours := c.keyOf(object, name)
	err := c.Client.Get(ctx, name, object, opts...)
	if !ours || client.IgnoreNotFound(err) != nil {
		return err
	}
	last := c.last(k)
	switch {
	case err == nil:
	case last.object != nil && Newer(last.made, c.cacheVersion(ctx, object)):
		if last.into(object) {
			return nil
		}
		return err
	case last.made != "":
		err = c.getSoon(ctx, err, name, object, opts...)
	}
	if err != nil {
		c.forget(k, last)
		return err
	}
	if last.uid != object.GetUID() {
		return nil
	}
	if !Newer(last.version, object.GetResourceVersion()) {
		if last.object != nil && reflect.TypeOf(last.object) == reflect.TypeOf(object) { // In another form it comes from another cache.
			c.cached(k, last)
		}
		return nil
	}
	if last.object == nil {
		return c.Client.Get(ctx, name, object, opts...) // The cache has it by now, as another reader found.
	}
	last.into(object)
	return nil
}

// getSoon gets an object that the cache has heard of and does not have, as it says: it may
// be about to.
func (c *Client) getSoon(ctx context.Context, err error, name client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	_ = wait.PollUntilContextTimeout(ctx, cacheDelay/10, cacheDelay, true, func(ctx context.Context) (bool, error) {
		err = c.Client.Get(ctx, name, object, opts...)
		return !apierrors.IsNotFound(err), nil
	})
	return err
}

// into gives the answer, unless it is asked for in another form, such as by its
// metadata.
func (w write) into(object client.Object) bool {
	into, from := reflect.ValueOf(object), reflect.ValueOf(w.object.DeepCopyObject())
	if into.Type() != from.Type() {
		return false
	}
	kind := object.GetObjectKind().GroupVersionKind()
	into.Elem().Set(from.Elem())
	object.GetObjectKind().SetGroupVersionKind(kind)
	return true
}

// remember keeps what the API server answered to a write that was for the base version;
// for any, when that is empty.
func (c *Client) remember(answer client.Object, base string, dryRun []string, err error) error {
	return c.keep(answer, base, false, dryRun, err)
}

// keep is remember, and knows whether the write made the object.
func (c *Client) keep(answer client.Object, base string, made bool, dryRun []string, err error) error {
	if err != nil || len(dryRun) > 0 || answer.GetUID() == "" {
		return err
	}
	k, ours := c.keyOf(answer, client.ObjectKeyFromObject(answer))
	if !ours {
		return nil
	}
	object := c.typed(answer)
	if object == nil {
		return nil
	}
	object.SetManagedFields(nil) // As the cache has it.
	now := write{uid: object.GetUID(), version: object.GetResourceVersion(), since: cmp.Or(base, object.GetResourceVersion()), object: object}
	if made {
		now.made = now.version
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.lastLocked(k)
	if last.uid == now.uid {
		now.made = last.made
		if last.version == base {
			now.since = last.since
		}
	}
	if last.uid == now.uid && !Newer(now.version, last.version) {
		return nil // Two answers that overtook each other, or a write of nothing.
	}
	c.written.Add(k, now, retention)
	return nil
}

// typed is a copy of the object in the form in which the controllers read it.
func (c *Client) typed(answer client.Object) client.Object {
	content, generic := answer.(runtime.Unstructured)
	if !generic {
		object, _ := answer.DeepCopyObject().(client.Object)
		return object
	}
	made, err := c.Scheme().New(answer.GetObjectKind().GroupVersionKind())
	if err != nil || runtime.DefaultUnstructuredConverter.FromUnstructured(content.UnstructuredContent(), made) != nil {
		return nil
	}
	object, _ := made.(client.Object)
	return object
}
