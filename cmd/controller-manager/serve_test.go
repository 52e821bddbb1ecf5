package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// discoveryServer serves the resources of some group versions, from the request
// on whose number is given.
func discoveryServer(t *testing.T, from int32, served map[string][]string) (config *rest.Config, requests *atomic.Int32) {
	t.Helper()
	requests = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		names, found := served[strings.TrimPrefix(r.URL.Path, "/apis/")]
		if requests.Add(1) < from || !found {
			http.NotFound(w, r)
			return
		}
		list := metav1.APIResourceList{}
		for _, name := range names {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: name})
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(list); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}, requests
}

func TestWaitForAPIs(t *testing.T) {
	complete := map[string][]string{
		"kairship.io/v1alpha1":             {"instances", "clusters", "instanceregistrations", "instancerolebindings"},
		"cluster.clusterpedia.io/v1alpha2": {"pediaclusters"},
	}
	t.Run("a prepared cluster is taken at once", func(t *testing.T) {
		config, requests := discoveryServer(t, 0, complete)
		if err := waitForAPIs(t.Context(), config, 0); err != nil {
			t.Fatal(err)
		}
		if got := requests.Load(); got != 2 {
			t.Errorf("it took %d requests, want one per group", got)
		}
	})
	t.Run("one that is being prepared is waited for", func(t *testing.T) {
		config, _ := discoveryServer(t, 3, complete)
		if err := waitForAPIs(t.Context(), config, time.Minute); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("what is missing is named", func(t *testing.T) {
		config, _ := discoveryServer(t, 0, map[string][]string{"kairship.io/v1alpha1": {"instances"}})
		err := waitForAPIs(t.Context(), config, 0)
		for _, part := range []string{"kairship.io/v1alpha1: clusters is not served", "cluster.clusterpedia.io/v1alpha2", "install the CRDs"} {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("the error does not say %q: %v", part, err)
			}
		}
	})
}

func TestGlobalClusterTellsHowToNameIt(t *testing.T) {
	t.Setenv("KUBECONFIG", "/does/not/exist")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := globalCluster(&options{}); err == nil || !strings.Contains(err.Error(), "--kubeconfig") {
		t.Errorf("got error %v, want one that names the flag", err)
	}
}
