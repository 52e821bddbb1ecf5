package controllers_test

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/connection"
	"github.com/kairship-io/kairship/pkg/controllers/clusterstatus"
	"github.com/kairship-io/kairship/pkg/controllers/internal/connections"
	"github.com/kairship-io/kairship/pkg/controllers/internal/credentials"
	"github.com/kairship-io/kairship/pkg/controllers/internal/debounce"
	"github.com/kairship-io/kairship/pkg/controllers/internal/probe"
)

// addressOf is an address whose kube-system has the UID that is stored in id; nothing
// may be read there while that is empty.
func addressOf(t *testing.T, id string) (to connection.Connection, has *atomic.Value) {
	t.Helper()
	has = &atomic.Value{}
	has.Store(id)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now, _ := has.Load().(string)
		switch {
		case r.URL.Path == "/version":
			fmt.Fprint(w, `{"gitVersion":"v1.35.4"}`)
		case r.URL.Path == "/api/v1/namespaces/kube-system" && now == "":
			w.WriteHeader(http.StatusForbidden)
		case r.URL.Path == "/api/v1/namespaces/kube-system":
			fmt.Fprintf(w, `{"metadata":{"uid":%q}}`, now)
		}
	}))
	t.Cleanup(server.Close)
	return connection.Connection{
		Endpoint: server.URL, Token: "t",
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}, has
}

// TestAClusterIsPinned changes where a Cluster leads, by its spec and behind its address:
// another cluster is never collected under its name.
func TestAClusterIsPinned(t *testing.T) {
	w := newWorld(t)
	w.index.Credentials.ProvenOnly = true
	looks := &clusterstatus.Reconciler{
		Client: w.kube, Credentials: credentials.Reader{Secrets: w.kube}, Recorder: w.events,
		Prober:    &probe.Prober{Timeout: 5 * time.Second, Connections: &connections.Pool{}},
		Debouncer: &debounce.Debouncer{Limits: debounce.Limits{Samples: 1}}, Interval: time.Hour,
	}
	one, atOne := addressOf(t, "")
	two, _ := addressOf(t, "two")
	w.secret("pinned", "kubeconfig", one)
	w.physical("pinned", one.Endpoint)
	point := func(to connection.Connection) {
		t.Helper()
		w.secret("pinned", "kubeconfig", to)
		cluster := get(w, "pinned", &v1alpha1.Cluster{})
		cluster.Spec.APIEndpoint = to.Endpoint
		w.must(w.kube.Update(t.Context(), cluster))
	}
	look := func(identified, ready string, says ...string) {
		t.Helper()
		_, err := looks.Reconcile(t.Context(), named("pinned"))
		w.must(err)
		conditions := get(w, "pinned", &v1alpha1.Cluster{}).Status.Conditions
		for kind, want := range map[string]string{v1alpha1.ConditionIdentified: identified, v1alpha1.ConditionReady: ready} {
			c := meta.FindStatusCondition(conditions, kind)
			if c == nil {
				t.Fatalf("it does not say whether it is %s", kind)
			}
			var parts []string
			if kind == v1alpha1.ConditionIdentified {
				parts = says
			}
			w.wantWord(kind, string(c.Status)+"/"+c.Reason, c.Message, want, parts)
		}
		w.indexCluster("pinned")
	}
	collected := func(what, endpoint string) types.UID {
		t.Helper()
		pedia := get(w, "pinned", &pediav1alpha2.PediaCluster{})
		if pedia.Spec.APIServer != endpoint || w.reads(pedia).Endpoint != endpoint {
			t.Errorf("%s: collected is %s, want %s", what, pedia.Spec.APIServer, endpoint)
		}
		return pedia.UID
	}

	w.indexCluster("pinned")
	w.wantCluster("pinned", "Unknown/Pending", "condition Identified")
	look("Unknown/IdentityUnreadable", "True/Available", "let them get it")
	w.gone("pinned", &pediav1alpha2.PediaCluster{}) // Not before it is known which cluster it is.
	atOne.Store("one")
	look("True/Identified", "True/Available")
	first := collected("it is pinned", one.Endpoint)
	w.takeUp("pinned")

	point(two)
	w.indexCluster("pinned")
	collected("it has not been looked at yet", one.Endpoint)
	look("False/OtherCluster", "False/OtherCluster", "(two)", "(one)", "delete this Cluster and create it again")
	collected("it leads to another cluster", one.Endpoint)
	point(one)
	look("True/Identified", "True/Available")
	if collected("it leads back", one.Endpoint) != first {
		t.Error("the collection was made anew")
	}

	// The same cluster has another address.
	moved, _ := addressOf(t, "one")
	point(moved)
	look("True/Identified", "True/Available")
	if collected("it has moved", moved.Endpoint) != first {
		t.Error("the collection was made anew")
	}
	point(one)
	look("True/Identified", "True/Available")

	// Another cluster takes the address: what is collected there now is not this Cluster's.
	atOne.Store("made anew")
	cluster := get(w, "pinned", &v1alpha1.Cluster{})
	cluster.Spec.Alias = "has the next look ask for everything"
	w.must(w.kube.Update(t.Context(), cluster))
	look("False/OtherCluster", "False/OtherCluster", "(made anew)", "(one)")
	w.cleanUp("pinned")
	w.indexCluster("pinned")
	w.gone("pinned", &pediav1alpha2.PediaCluster{})
	w.wantCluster("pinned", "False/OtherCluster", "condition Identified")
	point(two)
	look("False/OtherCluster", "False/OtherCluster", "(two)", "(one)")
	w.wantCluster("pinned", "False/OtherCluster")
	w.gone("pinned", &pediav1alpha2.PediaCluster{})

	atOne.Store("one")
	point(one)
	look("True/Identified", "True/Available")
	collected("it is back", one.Endpoint)
	w.must(w.kube.Delete(t.Context(), get(w, "pinned", &v1alpha1.Cluster{})))
	w.indexCluster("pinned")
	w.indexCluster("pinned")
	w.gone("pinned", &v1alpha1.Cluster{})
}
