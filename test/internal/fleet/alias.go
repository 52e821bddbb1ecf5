package fleet

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// kubeSystemPath is where a control plane shows which one it is.
const kubeSystemPath = "/api/v1/namespaces/kube-system"

// Alias presents a control plane of the fleet as others: it passes everything through,
// and answers with another UID of the namespace kube-system. Kairship uses a control
// plane under one name only, and a test that needs more instances than the fleet has
// control planes has to have control planes that differ.
type Alias struct {
	// Host and port that it listens on.
	Host  string
	ca    []byte
	token string
}

// Alias starts an Alias of a control plane, until the test ends. Each is another address.
func (f *Fleet) Alias(t testing.TB, cluster string) *Alias {
	t.Helper()
	config := f.Config(t, cluster)
	target, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	a := &Alias{token: rand.Text()}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			_, r.Out.URL.Path = identityOf(r.In.URL.Path)
			r.Out.URL.RawPath = ""
			r.SetURL(target)
			r.Out.Header.Del("Authorization") // The transport has the credentials of the fleet.
		},
		Transport: transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		ModifyResponse: func(r *http.Response) error {
			if r.Request.URL.Path != kubeSystemPath || r.StatusCode != http.StatusOK {
				return nil
			}
			return present(r, r.Request.Header.Get(identityHeader))
		},
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+a.token {
			http.Error(w, "these are not the alias's credentials", http.StatusUnauthorized)
			return
		}
		id, path := identityOf(r.URL.Path)
		r.Header.Set(identityHeader, id)
		if path == kubeSystemPath {
			r.Header.Set("Accept", "application/json")
			r.Header.Del("Accept-Encoding")
		}
		proxy.ServeHTTP(w, r)
	}))
	server.EnableHTTP2, server.Config.ErrorLog = true, log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(func() {
		// Close waits for requests, and a watch would last: also one that begins when its
		// connection was closed and nothing keeps it from connecting again.
		_ = server.Listener.Close()
		server.CloseClientConnections()
		server.Close()
	})
	a.Host = server.Listener.Addr().String()
	a.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return a
}

// identityHeader takes the identity that is asked for to where the answer is changed.
const identityHeader = "Kairship-Test-Identity"

// identityOf splits a path into the identity, which is its first element, and the rest.
func identityOf(path string) (id, rest string) {
	id, rest, _ = strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return id, "/" + rest
}

// present gives a namespace another UID.
func present(r *http.Response, id string) error {
	var namespace map[string]any
	err := json.NewDecoder(r.Body).Decode(&namespace)
	_ = r.Body.Close()
	if err != nil {
		return err
	}
	metadata, ok := namespace["metadata"].(map[string]any)
	if !ok {
		return fmt.Errorf("namespace without metadata: %v", namespace)
	}
	metadata["uid"] = id
	body, err := json.Marshal(namespace)
	if err != nil {
		return err
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

// Config is a kubeconfig for the control plane with an identity.
func (a *Alias) Config(id string) *clientcmdapi.Config {
	config := clientcmdapi.NewConfig()
	config.Clusters["x"] = &clientcmdapi.Cluster{Server: "https://" + a.Host + "/" + id, CertificateAuthorityData: a.ca}
	config.AuthInfos["x"] = &clientcmdapi.AuthInfo{Token: a.token}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "x", AuthInfo: "x"}
	config.CurrentContext = "x"
	return config
}

// Kubeconfig is Config as a file.
func (a *Alias) Kubeconfig(t testing.TB, id string) []byte {
	t.Helper()
	content, err := clientcmd.Write(*a.Config(id))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// SpecAs is the spec of an External instance that is a control plane of the fleet as an
// Alias presents it. The Secret that it names is removed when the test ends.
func (f *Fleet) SpecAs(t testing.TB, cluster, name string) kairshipv1alpha1.InstanceSpec {
	t.Helper()
	global := f.Client(t, "global")
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: kairshipv1alpha1.SystemNamespace, Name: name},
		Data:       map[string][]byte{kairshipv1alpha1.KubeconfigSecretKey: f.Alias(t, cluster).Kubeconfig(t, rand.Text())},
	}
	if err := global.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(global.Delete(context.Background(), secret)); err != nil {
			t.Error(err)
		}
	})
	return kairshipv1alpha1.InstanceSpec{
		Mode: kairshipv1alpha1.InstanceModeExternal,
		KubeconfigSecretRef: &kairshipv1alpha1.SecretKeyReference{
			SecretReference: kairshipv1alpha1.SecretReference{Namespace: secret.Namespace, Name: name},
		},
	}
}
