package balancer

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"testing"
	"time"

	"github.com/kairship-io/kairship/test/internal/gql"
)

// pace is the pause between two requests of one person: together they keep a small
// machine busy, and no more.
const pace = 50 * time.Millisecond

// requestTimeout is beyond that of the server, so that a request fails by its answer.
const requestTimeout = 60 * time.Second

// browsers read in the three ways in which clients hold connections.
var browsers = []struct {
	name   string
	change func(*http.Transport)
}{
	{"HTTP/2, one connection for all", func(*http.Transport) {}},
	{"HTTP/1.1, a connection kept", func(t *http.Transport) {
		t.ForceAttemptHTTP2 = false
		t.TLSClientConfig.NextProtos = []string{"http/1.1"}
	}},
	{"a connection for each request", func(t *http.Transport) { t.DisableKeepAlives = true }},
}

// person asks through the balancer, over connections of their own.
func (s *scene) person(t testing.TB, name string, change func(*http.Transport)) *gql.Client {
	t.Helper()
	c := gql.New("https://"+s.balancer.Address, s.Token(t, name))
	c.HTTP = &http.Client{Transport: s.transport(t, change), Timeout: requestTimeout}
	return c
}

const browse = `query { instances { nodes { name state } }
	workloads(first: 20) { totalCount nodes { name health replicas { desired ready } policy { name } placements { ready } } } }`

// browses reads until the context ends. A reader sees the same at every replica.
func (y *tally) browses(ctx context.Context, c *gql.Client, how, instance string) {
	type page struct {
		Instances struct {
			Nodes []struct{ Name, State string }
		}
		Workloads struct {
			TotalCount int
			Nodes      []struct{ Name string }
		}
	}
	for ; ctx.Err() == nil; pause(ctx, pace) {
		got, _, err := gql.Query[page](ctx, c, browse, nil)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			y.failf("reading (%s): %v", how, err)
		case len(got.Instances.Nodes) != 1 || got.Instances.Nodes[0].Name != instance || got.Instances.Nodes[0].State != "RUNNING" || len(got.Workloads.Nodes) == 0:
			y.failf("reading (%s): got %+v, want %s running with workloads", how, got, instance)
		}
		y.did("pages read, " + how)
	}
}

// record is what the writers have written: the name and the version of each object.
type record struct {
	mu sync.Mutex
	// now are the objects there are, at what value; ever all there ever were.
	now  map[string]string
	ever map[string]bool
}

func (l *record) set(name, value string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now[name], l.ever[name] = value, true
}

func (l *record) remove(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.now, name)
}

func (l *record) read() (now map[string]string, ever map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.now), maps.Clone(l.ever)
}

const listWritten = `query($namespace: String!, $name: String!) { instance(name: "alpha") {
	resources(version: "v1", resource: "configmaps", namespace: $namespace, filter: {name: [$name]}, first: 2) { nodes { name manifest } } } }`

// writer changes objects and reads each change at once, over another connection.
type writer struct {
	*tally

	scene     *scene
	number    int
	namespace string
	record    *record
	api       *gql.Client
}

// run writes until the context ends: new objects, one that changes, and old objects
// that go. A request that was begun is finished, so that it is known what there is.
func (w *writer) run(ctx context.Context) {
	const keep = 30
	for round := 0; ctx.Err() == nil; round++ {
		switch {
		case round%3 == 0:
			w.put(fmt.Sprintf("balanced-%d-%d", w.number, round), fmt.Sprint(round))
		case round%3 == 1 || round < keep*3:
			w.put(fmt.Sprintf("balanced-%d-counter", w.number), fmt.Sprint(round))
		default:
			w.remove(fmt.Sprintf("balanced-%d-%d", w.number, round-2-keep*3))
		}
		pause(ctx, pace)
	}
}

func (w *writer) put(name, value string) {
	manifest := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s}\ndata: {value: %q}\n", name, w.namespace, value)
	token, replica := w.write(`mutation($in: ApplyManifestsInput!) { written: applyManifests(input: $in) { consistencyToken } }`,
		map[string]any{"instance": "alpha", "manifests": manifest})
	w.record.set(name, value)
	w.look(name, token, replica, value)
}

func (w *writer) remove(name string) {
	token, replica := w.write(`mutation($in: DeleteResourceInput!) { written: deleteResource(input: $in) { consistencyToken } }`,
		map[string]any{"instance": "alpha", "version": "v1", "resource": "configmaps", "namespace": w.namespace, "name": name})
	w.record.remove(name)
	w.look(name, token, replica)
}

// write returns the token, and the replica that made it.
func (w *writer) write(mutation string, input map[string]any) (token, replica string) {
	ctx, which := w.scene.watched(context.Background())
	got, _, err := gql.Query[struct {
		Written struct{ ConsistencyToken string }
	}](ctx, w.api, mutation, map[string]any{"in": input})
	if err == nil && got.Written.ConsistencyToken == "" {
		err = fmt.Errorf("there is no token: %+v", got)
	}
	if err != nil {
		w.failf("writing %v at %s: %v", input["name"], which(), err)
		return "", ""
	}
	w.did("writes")
	return got.Written.ConsistencyToken, which()
}

// look reads an object with the token of a write, which has to show: want is its value,
// or nothing where it was deleted.
func (w *writer) look(name, token, wrote string, want ...string) {
	if token == "" {
		return
	}
	ctx, which := w.scene.watched(context.Background())
	reader := *w.api
	reader.Consistency = token
	got, _, err := gql.Query[struct {
		Instance struct {
			Resources struct {
				Nodes []struct {
					Manifest struct{ Data map[string]string }
				}
			}
		}
	}](ctx, &reader, listWritten, map[string]any{"namespace": w.namespace, "name": name})
	if err != nil {
		w.failf("reading %s at %s after it was written at %s: %v", name, which(), wrote, err)
		return
	}
	var values []string
	for _, n := range got.Instance.Resources.Nodes {
		values = append(values, n.Manifest.Data["value"])
	}
	if fmt.Sprint(values) != fmt.Sprint(want) {
		w.failf("%s is %v at %s just after %v was written at %s", name, values, which(), want, wrote)
	}
	w.did("reads of what was just written")
	if which() != wrote {
		w.did("of these at another replica than wrote it")
	}
}

// watched tells, once there was an answer, which replica a request went to.
func (s *scene) watched(ctx context.Context) (context.Context, func() string) {
	var mu sync.Mutex
	var client net.Addr
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		mu.Lock()
		defer mu.Unlock()
		client = info.Conn.LocalAddr()
	}}
	return httptrace.WithClientTrace(ctx, trace), func() string {
		mu.Lock()
		defer mu.Unlock()
		if client == nil {
			return "no replica"
		}
		return s.balancer.of(client)
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// text is a value as a message shows it.
func text(v any) string {
	out, _ := json.Marshal(v)
	return string(out)
}
