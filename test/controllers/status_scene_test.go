package controllers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

const (
	// statusPrefix begins the names of everything that the tests of the status make.
	statusPrefix = "status-suite-"
	// turned is how long a state may need to turn, on a machine that has other things
	// to do. The promise is 15 seconds for the worse and 10 for the better; what it
	// took is printed.
	turned = 45 * time.Second
	// wholeLook is how long what only a whole look shows may go unseen.
	wholeLook = 2 * time.Minute
	// counted is how long figures may lag behind: what Karmada collects, the interval
	// of the statistics, and time to spare.
	counted = time.Minute
)

// watcher is the fleet as the tests of the status use it.
type watcher struct {
	*testing.T
	fleet  *fleet.Fleet
	global client.Client
}

func openStatus(t *testing.T) *watcher {
	t.Helper()
	f := fleet.Open(t)
	return &watcher{T: t, fleet: f, global: f.Client(t, "global")}
}

func (w *watcher) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *watcher) instance(ctx context.Context, name string) (*v1alpha1.Instance, error) {
	stored := &v1alpha1.Instance{}
	return stored, w.global.Get(ctx, client.ObjectKey{Name: name}, stored)
}

func (w *watcher) cluster(ctx context.Context, name string) (*v1alpha1.Cluster, error) {
	stored := &v1alpha1.Cluster{}
	return stored, w.global.Get(ctx, client.ObjectKey{Name: name}, stored)
}

// becomes waits until an instance is in a state, and prints how long that took.
func (w *watcher) becomes(name string, state v1alpha1.InstanceState, within time.Duration, since time.Time) *v1alpha1.Instance {
	w.Helper()
	var last *v1alpha1.Instance
	poll.Until(w.T, within, fmt.Sprintf("%s is %s", name, state), func(ctx context.Context) error {
		var err error
		if last, err = w.instance(ctx, name); err != nil {
			return err
		}
		if last.Status.State != state {
			return fmt.Errorf("it is %s: %s", last.Status.State, said(last.Status.Conditions))
		}
		return nil
	})
	w.Logf("%s turned %s after %.1fs", name, state, time.Since(since).Seconds())
	return last
}

// says waits until a condition is as wanted: status and reason.
func (w *watcher) says(name, condition, want string, within time.Duration, parts ...string) {
	w.Helper()
	begun := time.Now()
	poll.Until(w.T, within, fmt.Sprintf("%s of %s is %s", condition, name, want), func(ctx context.Context) error {
		stored, err := w.instance(ctx, name)
		if err != nil {
			return err
		}
		found := meta.FindStatusCondition(stored.Status.Conditions, condition)
		if found == nil {
			return errors.New("it is not said")
		}
		if got := string(found.Status) + "/" + found.Reason; got != want {
			return fmt.Errorf("it is %s: %s", got, found.Message)
		}
		for _, part := range parts {
			if !strings.Contains(found.Message, part) {
				return fmt.Errorf("it does not say %q: %s", part, found.Message)
			}
		}
		return nil
	})
	w.Logf("%s of %s turned %s after %.1fs", condition, name, want, time.Since(begun).Seconds())
}

// said is what the conditions say, for messages.
func said(conditions []metav1.Condition) string {
	var all []string
	for _, c := range conditions {
		all = append(all, fmt.Sprintf("%s=%s/%s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	return strings.Join(all, "; ")
}

// since is when a condition last turned.
func (w *watcher) since(name, condition string) time.Time {
	w.Helper()
	stored, err := w.instance(w.Context(), name)
	w.must(err)
	found := meta.FindStatusCondition(stored.Status.Conditions, condition)
	if found == nil {
		w.Fatalf("%s does not say %s", name, condition)
	}
	return found.LastTransitionTime.Time
}

// register makes an Instance for the length of the test.
func (w *watcher) register(name string, config *clientcmdapi.Config) {
	w.Helper()
	content, err := clientcmd.Write(*config)
	w.must(err)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: name},
		Data:       map[string][]byte{v1alpha1.KubeconfigSecretKey: content},
	}
	instance := &v1alpha1.Instance{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.InstanceSpec{
			Mode:                v1alpha1.InstanceModeExternal,
			KubeconfigSecretRef: &v1alpha1.SecretKeyReference{SecretReference: v1alpha1.SecretReference{Name: name}},
		},
	}
	for _, object := range []client.Object{secret, instance} {
		w.must(w.global.Create(w.Context(), object))
	}
	w.Cleanup(func() { w.remove(w.global, instance, secret) })
}

// remove deletes objects and waits until they are removed; they may be gone already.
func (w *watcher) remove(from client.Client, objects ...client.Object) {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), wholeLook)
	defer cancel()
	for _, object := range objects {
		if err := client.IgnoreNotFound(from.Delete(ctx, object)); err != nil {
			w.Errorf("removing %s: %v", object.GetName(), err)
			continue
		}
		if err := poll.Try(ctx, wholeLook, func(ctx context.Context) error {
			err := from.Get(ctx, client.ObjectKeyFromObject(object), object)
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("%s still exists: %w", object.GetName(), err)
		}); err != nil {
			w.Errorf("removing %s: %v", object.GetName(), err)
		}
	}
}

// door is a way to an address that can be closed: then connections are refused,
// and those that exist break.
type door struct {
	Address string
	to      string

	mu     sync.Mutex
	listen net.Listener
	conns  map[net.Conn]bool
}

func (w *watcher) door(to string) *door {
	w.Helper()
	d := &door{to: to}
	d.open(w, "127.0.0.1:0")
	w.Cleanup(d.shut)
	return d
}

func (d *door) open(t testing.TB, address string) {
	t.Helper()
	listen, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listen, d.Address, d.conns = listen, listen.Addr().String(), map[net.Conn]bool{}
	go d.serve(listen, d.conns)
}

// serve lets through who comes to a listener. It keeps the connections, so that they
// break with it.
func (d *door) serve(listen net.Listener, conns map[net.Conn]bool) {
	for {
		in, err := listen.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", d.to)
		if err != nil {
			_ = in.Close()
			continue
		}
		d.mu.Lock()
		shut := d.listen != listen
		conns[in], conns[out] = true, true
		d.mu.Unlock()
		if shut { // Meanwhile.
			_, _ = in.Close(), out.Close()
		}
		for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
			go func() {
				_, _ = io.Copy(pair[0], pair[1])
				_, _ = in.Close(), out.Close()
				d.mu.Lock()
				delete(conns, pair[0])
				d.mu.Unlock()
			}()
		}
	}
}

func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.listen == nil {
		return
	}
	_ = d.listen.Close()
	d.listen = nil
	for conn := range d.conns {
		_ = conn.Close()
	}
}

// metrics are what the leader serves.
func (w *watcher) metrics() string {
	w.Helper()
	_, all := w.fleet.Leader(w)
	return all
}

// kubectl is what kubectl prints about the global cluster.
func (w *watcher) kubectl(args ...string) string {
	w.Helper()
	command := exec.CommandContext(w.Context(), filepath.Join(w.fleet.Bin, "kubectl"), append([]string{"--kubeconfig", w.fleet.Cluster(w, "global").Kubeconfig}, args...)...)
	out, err := command.CombinedOutput()
	if err != nil {
		w.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// freshness is that of a list.
type freshness struct {
	Stale   bool
	Message string
}

// members are the names of an instance's member clusters, as the API lists them.
func (w *watcher) members(ctx context.Context, instance string) ([]string, freshness, error) {
	w.Helper()
	got, _, err := gql.Query[struct {
		Instance struct {
			MemberClusters struct {
				Nodes     []struct{ Name string }
				Freshness freshness
			}
		}
	}](ctx, gql.New(w.fleet.KairshipURL, w.fleet.Token(w.T, "admin")), `query($name: String!) { instance(name: $name) { memberClusters { nodes { name } freshness { stale message } } } }`, map[string]any{"name": instance})
	names := []string{}
	for _, node := range got.Instance.MemberClusters.Nodes {
		names = append(names, node.Name)
	}
	return names, got.Instance.MemberClusters.Freshness, err
}
