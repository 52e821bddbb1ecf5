package controllers_test

import (
	"context"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/apitest"
	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers"
	"github.com/kairship-io/kairship/pkg/controllers/internal/credentials"
)

// startManager runs all controllers as the command does, until the test ends.
func startManager(w *world) ctrl.Manager {
	w.Helper()
	// With such an interval nothing happens that an event did not cause.
	return startManagerWith(w, controllers.Settings{ProbeInterval: time.Hour, ProbeTimeout: 5 * time.Second})
}

func startManagerWith(w *world, settings controllers.Settings) ctrl.Manager {
	w.Helper()
	return startManagerAs(w, apitest.Config(w), settings)
}

// startManagerAs runs them with a connection of their own.
func startManagerAs(w *world, connection *rest.Config, settings controllers.Settings) ctrl.Manager {
	w.Helper()
	settings.Metrics = w.metrics
	mgr, err := ctrl.NewManager(connection, ctrl.Options{
		Scheme: controllers.Scheme(), Cache: controllers.Cache(logr.Discard()),
		Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		// Several tests start a manager, and names are counted in the whole process.
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	w.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	w.must(controllers.Setup(ctx, mgr, settings))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	w.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.Errorf("the manager ended with %v", err)
		}
	})
	return mgr
}

// eventually waits for something that the controllers do without a request.
func (w *world) eventually(what string, done func(ctx context.Context) bool) {
	w.Helper()
	poll.True(w, time.Minute, what, func() bool { return done(w.Context()) })
}

// karmada is a server that passes for a Karmada control plane of its own.
func karmada(t *testing.T) (*httptest.Server, connection.Connection) {
	t.Helper()
	return karmadaOf(t, rand.Text())
}

// karmadaOf is an address of the control plane whose kube-system has a UID.
func karmadaOf(t *testing.T, kubeSystem string) (*httptest.Server, connection.Connection) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/version":
			fmt.Fprint(w, `{"gitVersion":"v1.35.4"}`)
		case "/api/v1/namespaces/kube-system":
			fmt.Fprintf(w, `{"metadata":{"uid":%q}}`, kubeSystem)
		default:
			fmt.Fprint(w, "{}")
		}
	}))
	t.Cleanup(server.Close)
	return server, connection.Connection{
		Endpoint: server.URL, Token: "t",
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}
}

// counted is a value of the metric kairship_conditions; zero when there is none.
func (w *world) counted(labels ...string) float64 {
	w.Helper()
	families, err := w.metrics.Gather()
	w.must(err)
	for _, family := range families {
		if family.GetName() != "kairship_conditions" {
			continue
		}
		for _, metric := range family.GetMetric() {
			found := map[string]string{}
			for _, label := range metric.GetLabel() {
				found[label.GetName()] = label.GetValue()
			}
			if slices.Equal(labels, []string{found["kind"], found["type"], found["status"], found["reason"]}) {
				return metric.GetGauge().GetValue()
			}
		}
	}
	return 0
}

func TestEverythingTogether(t *testing.T) {
	w := newWorld(t)
	mgr := startManager(w)
	server, to := karmada(t)
	instance := w.instance("wired", "kubeconfig")

	state := func(ctx context.Context) v1alpha1.InstanceState {
		stored := &v1alpha1.Instance{}
		if err := w.kube.Get(ctx, client.ObjectKey{Name: "wired"}, stored); err != nil {
			return ""
		}
		return stored.Status.State
	}
	token := func(ctx context.Context) string {
		pedia := &pediav1alpha2.PediaCluster{}
		if err := w.kube.Get(ctx, client.ObjectKey{Name: "k-wired"}, pedia); err != nil {
			return ""
		}
		return w.reads(pedia).Token
	}
	w.eventually("an instance without credentials is unknown", func(ctx context.Context) bool { return state(ctx) == v1alpha1.InstanceStateUnknown })

	w.secret("wired", "kubeconfig", to)
	w.eventually("a Secret that comes later wakes the controllers", func(ctx context.Context) bool { return token(ctx) == "t" })
	w.eventually("the instance runs", func(ctx context.Context) bool { return state(ctx) == v1alpha1.InstanceStateRunning })
	if stored := get(w, "wired", instance); stored.Status.KubernetesVersion != "v1.35.4" || stored.Status.APIEndpoint != server.URL {
		t.Errorf("the status says %+v", stored.Status)
	}
	w.takeUp("k-wired")
	w.eventually("the collection is told on the instance", func(context.Context) bool {
		word, _ := w.indexed(get(w, "wired", &v1alpha1.Instance{}).Status.Conditions)
		return word == "True/Collecting"
	})
	w.eventually("what is said is counted, by the leader", func(context.Context) bool {
		return w.counted("Instance", "Indexed", "True", "Collecting") == 1 && w.counted("Cluster", "Indexed", "True", "Collecting") == 1
	})
	w.eventually("the virtual cluster is looked at too", func(context.Context) bool {
		return get(w, "k-wired", &v1alpha1.Cluster{}).Status.KubernetesVersion == "v1.35.4"
	})

	to.Token = "rotated"
	w.secret("wired", "kubeconfig", to)
	w.eventually("a rotated Secret arrives", func(ctx context.Context) bool { return token(ctx) == "rotated" })

	t.Run("the content of Secrets is not cached", func(t *testing.T) {
		cached := credentials.Metadata()
		w.must(mgr.GetCache().Get(t.Context(), client.ObjectKey{Namespace: "kairship-system", Name: "wired"}, cached))
		if len(cached.Annotations)+len(cached.ManagedFields)+len(cached.Labels) > 0 {
			t.Errorf("the cache has more than the name: %+v", cached)
		}
	})

	server.CloseClientConnections()
	server.Close()
	to.Token = "rotated-again"
	w.secret("wired", "kubeconfig", to)
	w.eventually("an instance that is down is unavailable", func(ctx context.Context) bool { return state(ctx) == v1alpha1.InstanceStateUnavailable })

	w.must(w.kube.Delete(t.Context(), instance))
	w.eventually("the PediaCluster is deleted", func(ctx context.Context) bool {
		pedia := &metav1.PartialObjectMetadata{}
		pedia.SetGroupVersionKind(pediav1alpha2.SchemeGroupVersion.WithKind("PediaCluster"))
		w.must(w.kube.Get(ctx, client.ObjectKey{Name: "k-wired"}, pedia))
		return !pedia.DeletionTimestamp.IsZero()
	})
	w.eventually("its state is told meanwhile", func(ctx context.Context) bool { return state(ctx) == v1alpha1.InstanceStateTerminating })
	w.cleanUp("k-wired")
	w.eventually("the instance goes when its rows have gone", func(ctx context.Context) bool {
		return apierrors.IsNotFound(w.kube.Get(ctx, client.ObjectKey{Name: "wired"}, &v1alpha1.Instance{}))
	})
	w.gone("k-wired", &v1alpha1.Cluster{})
}
