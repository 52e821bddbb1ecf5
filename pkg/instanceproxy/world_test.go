package instanceproxy_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubefake "k8s.io/client-go/kubernetes/fake"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/instanceproxy"
)

// apiserver is a small instance: it knows tokens, heeds impersonation, and records
// who asked whom.
type apiserver struct {
	*httptest.Server
	name string

	mu     sync.Mutex
	tokens map[string]bool

	// deaf ignores impersonation, as something in between may.
	deaf atomic.Bool
	// handle answers all but reviews; nil answers with the name of the caller.
	handle   http.HandlerFunc
	requests atomic.Int64
	// refused counts the requests with a token that is not accepted.
	refused atomic.Int64
}

// answer is what an apiserver tells.
type answer struct {
	Instance string      `json:"Instance"`
	User     string      `json:"User"`
	Groups   []string    `json:"Groups"`
	Extra    []string    `json:"Extra"`
	Method   string      `json:"Method"`
	Path     string      `json:"Path"`
	Query    string      `json:"Query"`
	Body     string      `json:"Body"`
	Header   http.Header `json:"Header"`
}

func newAPIServer(t testing.TB, name string, handle http.HandlerFunc) *apiserver {
	t.Helper()
	s := &apiserver{name: name, tokens: map[string]bool{}, handle: handle}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.Server.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Server.Config.MaxHeaderBytes = 16 << 10 // Less than Kairship takes, as what stands before an instance may.
	s.Server.EnableHTTP2 = true
	s.Server.StartTLS()
	t.Cleanup(s.Server.Close)
	return s
}

func (s *apiserver) accept(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens["Bearer "+token] = true
}

func (s *apiserver) revoke(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tokens, "Bearer "+token)
}

// accepted counts the requests with a token that is accepted.
func (s *apiserver) accepted() int64 { return s.requests.Load() - s.refused.Load() }

func (s *apiserver) serve(w http.ResponseWriter, r *http.Request) {
	s.requests.Add(1)
	s.mu.Lock()
	known := s.tokens[r.Header.Get("Authorization")]
	s.mu.Unlock()
	if !known {
		s.refused.Add(1)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	user := "kairship"
	if as := r.Header.Get("Impersonate-User"); as != "" && !s.deaf.Load() {
		user = as
	}
	if r.URL.Path == "/apis/authentication.k8s.io/v1/selfsubjectreviews" {
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: user}}})
		return
	}
	if s.handle != nil {
		s.handle(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	_ = json.NewEncoder(w).Encode(answer{
		Instance: s.name, User: user, Groups: r.Header.Values("Impersonate-Group"), Extra: r.Header.Values("Impersonate-Extra-Scopes"),
		Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Body: string(body), Header: r.Header,
	})
}

// kubeconfig is how the server is reached with a token.
func (s *apiserver) kubeconfig(token string) []byte {
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{
		Server:                   s.URL,
		CertificateAuthorityData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}),
	}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "x"
	text, err := clientcmd.Write(*config)
	if err != nil {
		panic(err)
	}
	return text
}

// world is a global cluster with Instances and their Secrets.
type world struct {
	t       testing.TB
	secrets *kubefake.Clientset

	mu        sync.Mutex
	instances map[string]*v1alpha1.Instance
	handler   toolscache.ResourceEventHandler
	serial    int
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return &world{t: t, secrets: kubefake.NewClientset(), instances: map[string]*v1alpha1.Instance{}}
}

// collection makes the Collection under test; tune may change its options.
func (w *world) collection(tune func(*instanceproxy.Options)) *instanceproxy.Collection {
	w.t.Helper()
	options := instanceproxy.Options{Instances: w, Secrets: w.secrets.CoreV1(), Logger: slog.New(slog.DiscardHandler)}
	if tune != nil {
		tune(&options)
	}
	c, err := instanceproxy.New(w.t.Context(), options)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(c.Close)
	return c
}

// Get implements instanceproxy.Inventory.
func (w *world) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	found, ok := w.instances[key.Name]
	if !ok {
		return apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("instances").GroupResource(), key.Name)
	}
	found.DeepCopyInto(object.(*v1alpha1.Instance))
	return nil
}

// GetInformer implements instanceproxy.Inventory.
func (w *world) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return informer{world: w}, nil
}

type informer struct {
	cache.Informer
	world *world
}

func (i informer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	i.world.handler = h
	return nil, nil
}

// put makes or changes an Instance that is reached by a Secret in a namespace of
// its own, as the fake clientset does not know field selectors.
func (w *world) put(name string, kubeconfig []byte) {
	w.t.Helper()
	namespace := "ns-" + name
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "kubeconfig"}, Data: map[string][]byte{"kubeconfig": kubeconfig}}
	secrets := w.secrets.CoreV1().Secrets(namespace)
	if _, err := secrets.Update(context.Background(), secret, metav1.UpdateOptions{}); apierrors.IsNotFound(err) {
		if _, err := secrets.Create(context.Background(), secret, metav1.CreateOptions{}); err != nil {
			w.t.Error(err)
		}
	} else if err != nil {
		w.t.Error(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.instances[name] != nil {
		return
	}
	w.serial++
	w.instances[name] = &v1alpha1.Instance{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(fmt.Sprint(w.serial))},
		Spec: v1alpha1.InstanceSpec{
			Mode:                v1alpha1.InstanceModeExternal,
			KubeconfigSecretRef: &v1alpha1.SecretKeyReference{SecretReference: v1alpha1.SecretReference{Namespace: namespace, Name: "kubeconfig"}, Key: "kubeconfig"},
		},
	}
}

func (w *world) delete(name string) {
	w.mu.Lock()
	last := w.instances[name]
	delete(w.instances, name)
	w.mu.Unlock()
	if last != nil && w.handler != nil {
		w.handler.OnDelete(last)
	}
}

// as is a context of a user.
func as(t testing.TB, name string, groups ...string) context.Context {
	t.Helper()
	return authz.WithUser(t.Context(), authz.User{Name: name, Groups: groups})
}

// ask sends a request over an instance's raw transport.
func ask(ctx context.Context, clients instanceproxy.Clients, instance, method, path string, body io.Reader) (*http.Response, error) {
	c, err := clients.Get(ctx, instance)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, method, "https://whatever"+path, body)
	if err != nil {
		return nil, err
	}
	return c.Transport().RoundTrip(r)
}

// askAs sends a request and reads what the instance tells.
func askAs(ctx context.Context, clients instanceproxy.Clients, instance, path string) (answer, error) {
	response, err := ask(ctx, clients, instance, http.MethodGet, path, nil)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return answer{}, fmt.Errorf("HTTP %d", response.StatusCode)
	}
	var a answer
	return a, json.NewDecoder(response.Body).Decode(&a)
}

// patience is how long a test waits for something that happens in the background.
const patience = 20 * time.Second
