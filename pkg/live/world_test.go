package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kairship-io/kairship/pkg/consistency"
)

var (
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	bindings    = schema.GroupVersionResource{Group: "work.karmada.io", Version: "v1alpha2", Resource: "resourcebindings"}
	alpha       = Source{Instance: "alpha", Resource: deployments}
	beta        = Source{Instance: "beta", Resource: deployments}
)

// keys is a key that never changes.
type keys struct{}

var theKey = []byte("0123456789abcdef0123456789abcdef")

func (keys) Key(context.Context) ([]byte, error) { return theKey, nil }

func (keys) Find(_ context.Context, id [consistency.KeyIDSize]byte) ([]byte, error) {
	if id != consistency.KeyID(theKey) {
		return nil, nil
	}
	return theKey, nil
}

// cluster is an upstream in memory that can fail like a real one.
type cluster struct {
	source Source
	mu     sync.Mutex
	now    map[Key]*Object
	log    []frame
	// version is that of the cluster; compacted is the last one it forgot, and
	// cached the last one that it does not watch from.
	version, compacted, cached uint64
	identity                   uint32
	// down is what every request fails with.
	down error
	// hung requests wait until the context ends.
	hung bool
	// waking is how many requests meet an API server that has just started, and that
	// forbids everything until it knows who may do what.
	waking int
	// frozen watches say nothing.
	frozen   bool
	watchers map[*clusterWatch]struct{}
	changed  *sync.Cond
	uids     int

	lists, exact, watches int
}

var errForbidden = errors.New("forbidden")

func newCluster(s Source) *cluster {
	c := &cluster{source: s, now: map[Key]*Object{}, version: 100, identity: 1, watchers: map[*clusterWatch]struct{}{}}
	c.changed = sync.NewCond(&c.mu)
	return c
}

func (c *cluster) check(ctx context.Context) error {
	c.mu.Lock()
	hung, down := c.hung, c.down
	if c.waking > 0 {
		c.waking--
		down = errForbidden
	}
	c.mu.Unlock()
	if hung {
		<-ctx.Done()
		return ctx.Err()
	}
	return down
}

func (c *cluster) list(ctx context.Context, version uint64) (*listing, error) {
	if err := c.check(ctx); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if version == 0 {
		c.lists++
		return &listing{objects: maps.Clone(c.now), version: c.version}, nil
	}
	c.exact++
	if version < c.compacted {
		return nil, errExpired
	}
	if version > c.version {
		return nil, errOtherHistory
	}
	l := &listing{objects: map[Key]*Object{}, version: version}
	for _, f := range c.log {
		if f.version > version {
			break
		}
		switch {
		case f.object == nil:
		case f.kind == "DELETED":
			delete(l.objects, f.object.Key())
		default:
			l.objects[f.object.Key()] = f.object
		}
	}
	return l, nil
}

func (c *cluster) latest(ctx context.Context) (uint64, error) {
	if err := c.check(ctx); err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version, nil
}

func (c *cluster) epoch(ctx context.Context) (uint32, error) {
	if err := c.check(ctx); errors.Is(err, errForbidden) {
		return 0, nil // As that of HTTP does.
	} else if err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.identity, nil
}

func (c *cluster) watch(ctx context.Context, version uint64) (watcher, error) {
	if err := c.check(ctx); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watches++
	w := &clusterWatch{cluster: c}
	if version == 0 {
		c.lists++
		for _, o := range c.now {
			w.first = append(w.first, frame{kind: "ADDED", object: o, version: o.version})
		}
		w.first = append(w.first, frame{kind: "BOOKMARK", version: c.version, listed: true})
		w.position = len(c.log)
	} else {
		if version < max(c.cached, c.compacted) {
			return nil, errExpired
		}
		for w.position < len(c.log) && c.log[w.position].version <= version {
			w.position++
		}
	}
	w.stop = context.AfterFunc(ctx, func() { w.fail(ctx.Err()) })
	c.watchers[w] = struct{}{}
	return w, nil
}

type clusterWatch struct {
	cluster  *cluster
	first    []frame
	position int
	err      error
	stop     func() bool
}

func (w *clusterWatch) fail(err error) {
	w.cluster.mu.Lock()
	defer w.cluster.mu.Unlock()
	w.err = err
	w.cluster.changed.Broadcast()
}

func (w *clusterWatch) next() (frame, error) {
	c := w.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case c.frozen:
		case w.err != nil:
			return frame{}, w.err
		case len(w.first) > 0:
			f := w.first[0]
			w.first = w.first[1:]
			return f, nil
		case w.position < len(c.log):
			w.position++
			return c.log[w.position-1], nil
		}
		c.changed.Wait()
	}
}

func (w *clusterWatch) close() {
	w.stop()
	w.cluster.mu.Lock()
	defer w.cluster.mu.Unlock()
	delete(w.cluster.watchers, w)
}

// object makes one as the cluster would show it.
func (c *cluster) object(key Key, uid string, version uint64, labels map[string]string, value int) *Object {
	raw, err := json.Marshal(map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"namespace": key.Namespace, "name": key.Name, "uid": uid, "resourceVersion": strconv.FormatUint(version, 10), "labels": labels},
		"spec":     map[string]any{"replicas": value},
	})
	if err != nil {
		panic(err)
	}
	d := decoder{source: c.source, now: time.Now}
	f, err := d.frameOf(fmt.Appendf(nil, `{"type":"ADDED","object":%s}`, raw))
	if err != nil {
		panic(err)
	}
	return f.object
}

// put creates or updates an object.
func (c *cluster) put(namespace, name string, labels map[string]string, value int) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := Key{namespace, name}
	c.version++
	var kind, uid string
	if old := c.now[key]; old != nil {
		kind, uid = "MODIFIED", string(old.Meta.UID)
	} else {
		c.uids++
		kind, uid = "ADDED", "uid-"+strconv.Itoa(c.uids)
	}
	o := c.object(key, uid, c.version, labels, value)
	c.now[key] = o
	c.log = append(c.log, frame{kind: kind, object: o, version: c.version})
	c.changed.Broadcast()
	return c.version
}

func (c *cluster) remove(namespace, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := Key{namespace, name}
	old := c.now[key]
	if old == nil {
		return
	}
	c.version++
	delete(c.now, key)
	o := c.object(key, string(old.Meta.UID), c.version, old.Meta.Labels, 0)
	c.log = append(c.log, frame{kind: "DELETED", object: o, version: c.version})
	c.changed.Broadcast()
}

// bookmark says in every watch how far the cluster is.
func (c *cluster) bookmark(by uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version += by
	c.log = append(c.log, frame{kind: "BOOKMARK", version: c.version})
	c.changed.Broadcast()
}

// fail ends all watches.
func (c *cluster) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range c.watchers {
		w.err = err
	}
	c.changed.Broadcast()
}

func (c *cluster) set(change func(c *cluster)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c)
}

func (c *cluster) open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.watchers)
}

var errBroken = errors.New("connection reset by peer")

// world is clusters and replicas of Kairship.
type world struct {
	t        *testing.T
	mu       sync.Mutex
	clusters map[Source]*cluster
}

func newWorld(t *testing.T) *world { return &world{t: t, clusters: map[Source]*cluster{}} }

func (w *world) cluster(s Source) *cluster {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.clusters[s] == nil {
		w.clusters[s] = newCluster(s)
	}
	return w.clusters[s]
}

// hub is another replica.
func (w *world) hub(options Options) *Hub {
	w.t.Helper()
	options.Keys = keys{}
	h, err := newHub(options)
	if err != nil {
		w.t.Fatal(err)
	}
	h.dial = func(s Source) upstream { return w.cluster(s) }
	w.t.Cleanup(h.Stop)
	return h
}
