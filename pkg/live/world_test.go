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

// cluster is an upstream in memory, with the faults of a real one.
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

// reader folds what a stream says, and insists that it makes sense.
type reader struct {
	t      *testing.T
	stream *Stream
	known  map[Source]map[Key]*Object
	cursor string
	events []Event
	// name and trace are for whoever has to find out what went wrong.
	name  string
	trace []string
}

func versionOf(o *Object) string {
	if o == nil {
		return "not there"
	}
	return fmt.Sprint(o.version)
}

func (w *world) subscribe(h *Hub, s Subscription) *reader {
	w.t.Helper()
	r := &reader{t: w.t, known: map[Source]map[Key]*Object{}}
	r.resume(h, s)
	return r
}

// resume goes on with what the reader knows.
func (r *reader) resume(h *Hub, s Subscription) {
	r.t.Helper()
	s.Identity, s.After = "test", r.cursor
	stream, err := h.Subscribe(r.t.Context(), s)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(stream.Close)
	if s.After != "" {
		r.note("resumed")
	}
	r.stream = stream
}

// next reads one event.
func (r *reader) next(ctx context.Context) (Event, error) {
	e, err := r.stream.Next(ctx)
	if err != nil {
		return e, err
	}
	r.fold(e)
	r.cursor = e.Cursor()
	r.events = append(r.events, e)
	return e, nil
}

// note remembers the last things that happened.
func (r *reader) note(what string) {
	r.trace = append(r.trace, what)
	if len(r.trace) > 25 {
		r.trace = r.trace[1:]
	}
}

func (r *reader) fold(e Event) {
	r.t.Helper()
	if e.Object != nil {
		r.note(fmt.Sprint(e.Type, e.Object.Key(), versionOf(e.Old), ">", e.Object.version))
	} else {
		r.note(string(e.Type))
	}
	known := r.known[e.Source]
	if known == nil {
		known = map[Key]*Object{}
		r.known[e.Source] = known
	}
	switch e.Type {
	case Added:
		if old := known[e.Object.Key()]; old != nil {
			r.t.Errorf("reader %s: ADDED %v at %d, which was there at %d; %v", r.name, e.Object.Key(), e.Object.version, old.version, r.trace)
		}
		known[e.Object.Key()] = e.Object
	case Modified:
		if old := known[e.Object.Key()]; old == nil || old.version != e.Old.version || old.Meta.UID != e.Object.Meta.UID {
			r.t.Errorf("reader %s: MODIFIED %v: it was %v, not %v (%v); %v", r.name, e.Object.Key(), versionOf(old), versionOf(e.Old), versionOf(e.Object), r.trace)
		}
		known[e.Object.Key()] = e.Object
	case Deleted:
		if old := known[e.Object.Key()]; old == nil || old.version != e.Old.version {
			r.t.Errorf("reader %s: DELETED %v %v, which was %v; %v", r.name, e.Object.Key(), versionOf(e.Old), versionOf(old), r.trace)
		}
		delete(known, e.Object.Key())
	case Gap:
		if e.Source == (Source{}) {
			clear(r.known)
		}
		clear(known)
	case Synced, Interrupted, Restored, Ended:
	}
}

// until reads up to an event of a type.
func (r *reader) until(want Type) Event {
	r.t.Helper()
	for {
		e, err := r.next(r.t.Context())
		if err != nil {
			r.t.Fatalf("waiting for %s: %v", want, err)
		}
		if e.Type == want {
			return e
		}
	}
}

// drain reads what there is to read.
func (r *reader) drain(patience time.Duration) {
	r.t.Helper()
	for {
		ctx, cancel := context.WithTimeout(r.t.Context(), patience)
		_, err := r.next(ctx)
		cancel()
		if err != nil {
			if !errors.Is(err, context.DeadlineExceeded) {
				r.t.Fatal(err)
			}
			return
		}
	}
}

// said are the types and names of what was read since the last call.
func (r *reader) said() []string {
	var out []string
	for _, e := range r.events {
		s := string(e.Type)
		if e.Object != nil {
			s += " " + e.Object.Meta.Name
		} else if e.Source != (Source{}) {
			s += " of " + e.Source.Instance
		}
		out = append(out, s)
	}
	r.events = nil
	return out
}

func versionsOf(objects map[Key]*Object) map[Key]uint64 {
	out := map[Key]uint64{}
	for k, o := range objects {
		out[k] = o.version
	}
	return out
}

// matching is what a cluster has under a filter.
func (c *cluster) matching(f Filter) map[Key]uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	compiled := newFilter(f)
	out := map[Key]uint64{}
	for k, o := range c.now {
		if compiled.visible(o) != nil {
			out[k] = o.version
		}
	}
	return out
}

func everything(sources ...Source) Subscription {
	var s Subscription
	for _, source := range sources {
		s.Interests = append(s.Interests, Interest{Source: source})
	}
	return s
}
