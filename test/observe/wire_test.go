package observe

import (
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

// wire keeps which traces the requests that pass it say they are sent for.
type wire struct {
	mu      sync.Mutex
	parents []string
}

func (w *wire) note(r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parents = append(w.parents, r.Header.Get("Traceparent"))
}

// spansOf are the spans that requests name as the ones they are sent by, in a trace.
func (w *wire) spansOf(trace string) map[string]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := map[string]bool{}
	for _, parent := range w.parents {
		if parts := strings.Split(parent, "-"); len(parts) == 4 && parts[1] == trace {
			found[parts[2]] = true
		}
	}
	return found
}

// listening puts a wire before the API of the global cluster that answers for a group.
func (w *wire) listening(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.note(r)
		next.ServeHTTP(rw, r)
	})
}

// instanceWire stands before an instance, and has Kairship reach it there: the Secret
// with its kubeconfig names the wire as the instance's address.
func instanceWire(t *testing.T, f *fleet.Fleet, g *fleet.Gateway, instance string) *wire {
	t.Helper()
	w := &wire{}
	config := f.Config(t, instance)
	secured, err := rest.TLSConfigFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: config.CAData, CAFile: config.CAFile, ServerName: config.ServerName}})
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(w.listening(&httputil.ReverseProxy{
		Transport: &http.Transport{TLSClientConfig: secured}, FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
	}))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})

	global := g.At(f.Config(t, "global").Host)
	g.Answer("", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/secrets/"+instance+"-kubeconfig") || r.URL.Query().Has("watch") {
			global.ServeHTTP(rw, r)
			return
		}
		r.Header.Set("Accept", "application/json")
		r.Header.Del("Accept-Encoding")
		answer := httptest.NewRecorder()
		global.ServeHTTP(answer, r)
		var secret corev1.Secret
		if json.Unmarshal(answer.Body.Bytes(), &secret) == nil && len(secret.Data["kubeconfig"]) > 0 {
			kubeconfig, err := clientcmd.Load(secret.Data["kubeconfig"])
			if err != nil {
				t.Errorf("the kubeconfig of %s: %v", instance, err)
				return
			}
			for _, cluster := range kubeconfig.Clusters {
				cluster.Server, cluster.CertificateAuthorityData = server.URL, authority
			}
			secret.Data["kubeconfig"], _ = clientcmd.Write(*kubeconfig)
			body, _ := json.Marshal(secret)
			answer.Body.Reset()
			answer.Body.Write(body)
		}
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(answer.Code)
		_, _ = rw.Write(answer.Body.Bytes())
	}))
	return w
}
