package globalmanagementwebhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kairship-io/kairship/pkg/apis/apitest"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	gm "github.com/kairship-io/kairship/pkg/globalmanagement"
)

var (
	secret      = []byte("0123456789abcdef0123456789abcdef")
	otherSecret = []byte("fedcba9876543210fedcba9876543210")
)

// world is a real apiserver and replicas of the webhook in front of it. Each
// world has bindings of its own, and removes them.
type world struct {
	*testing.T
	kube     client.WithWatch
	replicas []*handler
	clock    time.Time
	// signed makes timestamps that differ.
	signed int64
}

func newWorld(t *testing.T, replicas int) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	kube, err := client.NewWithWatch(apitest.Config(t), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, kube: kube, clock: time.Now().Truncate(time.Millisecond)}
	for range replicas {
		w.replica(kube)
	}
	for _, name := range []string{"alpha", "beta"} {
		err := kube.Create(t.Context(), &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.InstanceSpec{
			Mode:                v1alpha1.InstanceModeExternal,
			KubeconfigSecretRef: &v1alpha1.SecretKeyReference{SecretReference: v1alpha1.SecretReference{Namespace: "kairship-system", Name: name}},
		}})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	clean := func() {
		if err := kube.DeleteAllOf(context.WithoutCancel(t.Context()), &v1alpha1.InstanceRoleBinding{}); err != nil {
			t.Error(err)
		}
	}
	clean() // Of a world that was cut off.
	t.Cleanup(clean)
	return w
}

// replica adds a replica that reads and writes through a client.
func (w *world) replica(kube client.Client) *handler {
	secrets := func(context.Context) ([][]byte, error) { return [][]byte{secret, otherSecret}, nil }
	h := newHandler(&store{kube}, secrets, func() time.Time { return w.clock }, logr.Discard(), prometheus.NewRegistry())
	w.replicas = append(w.replicas, h)
	return h
}

// sent is a request.
type sent struct {
	method, path, body   string
	timestamp, signature string
	header               http.Header
}

// sign makes a request with a right signature and a timestamp of its own.
func (w *world) sign(path string, body any) sent {
	w.Helper()
	text, ok := body.(string)
	if !ok {
		raw, err := json.Marshal(body)
		if err != nil {
			w.Fatal(err)
		}
		text = string(raw)
	}
	w.signed++
	s := sent{method: http.MethodPost, path: path, body: text}
	s.timestamp, s.signature = gm.Sign(secret, w.clock.Add(-time.Duration(w.signed)*time.Millisecond), []byte(text))
	return s
}

// got is an answer.
type got struct {
	status     int
	retryAfter string
	refusal    gm.Refusal
	receipt    gm.Receipt
	report     gm.ResyncReport
}

func (w *world) send(to *handler, s sent) got {
	w.Helper()
	r := httptest.NewRequestWithContext(w.Context(), s.method, s.path, io.NopCloser(bytes.NewBufferString(s.body)))
	maps.Copy(r.Header, s.header)
	for name, value := range map[string]string{gm.TimestampHeader: s.timestamp, gm.SignatureHeader: s.signature} {
		if value != "" {
			r.Header.Add(name, value)
		}
	}
	recorder := httptest.NewRecorder()
	to.ServeHTTP(recorder, r)
	if sniff := recorder.Header().Get("X-Content-Type-Options"); sniff != "nosniff" {
		w.Errorf("X-Content-Type-Options is %q, want nosniff", sniff)
	}
	g := got{status: recorder.Code, retryAfter: recorder.Header().Get("Retry-After")}
	for _, into := range []any{&g.refusal, &g.receipt, &g.report} {
		if err := json.Unmarshal(recorder.Body.Bytes(), into); err != nil {
			w.Fatalf("status %d is answered with %q: %v", g.status, recorder.Body, err)
		}
	}
	return g
}

// event sends an event to the first replica.
func (w *world) event(kind gm.EventType, b gm.Binding) got {
	w.Helper()
	return w.send(w.replicas[0], w.sign(gm.EventsPath, gm.Event{EventID: fmt.Sprintf("e-%d", b.Sequence), Type: kind, Binding: b}))
}

func (w *world) must(g got, result gm.Result, sequence int64) {
	w.Helper()
	if g.status != http.StatusOK || g.receipt.Result != result || g.receipt.Sequence != sequence {
		w.Fatalf("got %+v, want %s at %d", g, result, sequence)
	}
}

func (w *world) refused(g got, status int, code gm.Code) {
	w.Helper()
	if g.status != status || g.refusal.Code != code || g.refusal.Message == "" {
		w.Fatalf("got %+v, want %d %s", g, status, code)
	}
}

// stored is what is stored of a binding.
func (w *world) stored(bindingID string) *v1alpha1.InstanceRoleBinding {
	w.Helper()
	object := &v1alpha1.InstanceRoleBinding{}
	if err := w.kube.Get(w.Context(), client.ObjectKey{Name: v1alpha1.BindingName(bindingID)}, object); err != nil {
		w.Fatal(err)
	}
	return object
}

// picture is everything that is stored, with the versions that the apiserver gave
// it: it differs after any write.
func (w *world) picture() string {
	w.Helper()
	list := &v1alpha1.InstanceRoleBindingList{}
	if err := w.kube.List(w.Context(), list); err != nil {
		w.Fatal(err)
	}
	var lines strings.Builder
	for i := range list.Items {
		fmt.Fprintln(&lines, list.Items[i].Name, list.Items[i].UID, list.Items[i].ResourceVersion)
	}
	return lines.String()
}

// failing is a client whose writes fail first.
func (w *world) failing(fail func(verb string) error) client.Client {
	return interceptor.NewClient(w.kube, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if err := fail("get"); err != nil {
				return err
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, l client.ObjectList, opts ...client.ListOption) error {
			if err := fail("list"); err != nil {
				return err
			}
			return c.List(ctx, l, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := fail("create"); err != nil {
				return err
			}
			return c.Create(ctx, o, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			if err := fail("update"); err != nil {
				return err
			}
			return c.Update(ctx, o, opts...)
		},
	})
}
