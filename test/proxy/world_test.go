package proxy

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/poll"
)

// world is the fleet with an API server of Kairship that speaks TLS: kubectl
// sends no token over plain HTTP.
type world struct {
	*fleet.Fleet
	url string
	ca  []byte
	// log is what the API server writes.
	log string
	// run starts the API server, at the same address each time.
	run  func(t testing.TB)
	stop func()
}

// restart replaces the API server, as a rollout does.
func (w *world) restart(t *testing.T) {
	t.Helper()
	w.stop()
	w.run(t)
}

var (
	worldOnce sync.Once
	theWorld  *world
)

// open gives the fleet to a test; the API server is started for the first.
func open(t *testing.T) *world {
	t.Helper()
	f := fleet.Open(t)
	worldOnce.Do(func() { theWorld = start(t, f) })
	if theWorld == nil {
		t.Fatal("Kairship with TLS did not start")
	}
	return theWorld
}

func start(t testing.TB, f *fleet.Fleet) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "kairship-proxy-") //nolint:usetesting // It outlives the test that began it.
	if err != nil {
		t.Fatal(err)
	}
	fleet.AtEnd(func() { _ = os.RemoveAll(dir) })
	certFile, keyFile, ca := certificate(t, dir)
	var listening net.ListenConfig
	listener, err := listening.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	log, err := os.Create(filepath.Join(dir, "kairship.log"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Fleet: f, url: "https://" + address, ca: ca, log: log.Name()}
	var cmd *exec.Cmd
	w.run = func(t testing.TB) {
		t.Helper()
		cmd = exec.Command(filepath.Join(f.Bin, "kairship-apiserver"),
			"--kubeconfig="+filepath.Join(f.Dir, "kubeconfig", "components", "global-kairship-apiserver.yaml"),
			"--listen-address="+address, "--tls-cert-file="+certFile, "--tls-private-key-file="+keyFile)
		cmd.Stdout, cmd.Stderr = log, log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.ready(t)
	}
	w.stop = func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	}
	fleet.AtEnd(func() {
		w.stop()
		_ = log.Close()
	})
	w.run(t)
	return w
}

// ready waits until the API server is.
func (w *world) ready(t testing.TB) {
	t.Helper()
	poll.Until(t, 60*time.Second, "Kairship with TLS is ready", func(ctx context.Context) error {
		status, _, err := w.get(ctx, "", "/readyz")
		if err == nil && status != http.StatusOK {
			err = fmt.Errorf("HTTP %d", status)
		}
		return err
	})
}

func certificate(t testing.TB, dir string) (certFile, keyFile string, ca []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "kairship"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	certFile, keyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for path, content := range map[string][]byte{certFile: ca, keyFile: pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile, ca
}

// instanceURL is the address of an instance's native API.
func (w *world) instanceURL(instance string) string {
	return w.url + "/instances/" + instance + "/proxy"
}

// config is how a person reaches an instance through the passthrough.
func (w *world) config(t testing.TB, person, instance string) *rest.Config {
	t.Helper()
	return &rest.Config{
		Host: w.instanceURL(instance), BearerToken: w.Token(t, person),
		TLSClientConfig: rest.TLSClientConfig{CAData: w.ca}, QPS: -1,
	}
}

func (w *world) client(t testing.TB, person, instance string) kubernetes.Interface {
	t.Helper()
	c, err := kubernetes.NewForConfig(w.config(t, person, instance))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// get sends a plain request as a person; nobody for "".
func (w *world) get(ctx context.Context, token, path string, header ...string) (status int, body string, err error) {
	transport, err := rest.TransportFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CAData: w.ca}})
	if err != nil {
		return 0, "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+path, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for n := 0; n+1 < len(header); n += 2 {
		r.Header.Add(header[n], header[n+1])
	}
	response, err := transport.RoundTrip(r)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	return response.StatusCode, string(raw), err
}

// kubectl is the real kubectl of a person, in front of one instance.
type kubectl struct {
	program, kubeconfig, home string
}

func (w *world) kubectl(t *testing.T, person, instance string) kubectl {
	t.Helper()
	return w.kubectlAt(t, person, w.instanceURL(instance))
}

func (w *world) kubectlAt(t *testing.T, person, server string) kubectl {
	t.Helper()
	home := t.TempDir()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: w.ca}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: w.Token(t, person)}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "x"
	k := kubectl{program: filepath.Join(w.Bin, "kubectl"), kubeconfig: filepath.Join(home, "config"), home: home}
	if err := clientcmd.WriteToFile(*config, k.kubeconfig); err != nil {
		t.Fatal(err)
	}
	return k
}

func (k kubectl) command(ctx context.Context, stdin string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, k.program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+k.kubeconfig, "HOME="+k.home)
	cmd.Stdin = strings.NewReader(stdin)
	return cmd
}

// try runs kubectl, and returns all that it printed.
func (k kubectl) try(ctx context.Context, stdin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var out bytes.Buffer
	cmd := k.command(ctx, stdin, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// run runs kubectl, which must succeed and say all of want.
func (k kubectl) run(t *testing.T, stdin string, args []string, want ...string) string {
	t.Helper()
	out, err := k.try(t.Context(), stdin, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	expect(t, args, out, want...)
	return out
}

// refused runs kubectl, which must fail and say all of want.
func (k kubectl) refused(t *testing.T, args []string, want ...string) {
	t.Helper()
	out, err := k.try(t.Context(), "", args...)
	if err == nil {
		t.Fatalf("kubectl %s was not refused:\n%s", strings.Join(args, " "), out)
	}
	expect(t, args, out, want...)
}

func expect(t *testing.T, args []string, out string, want ...string) {
	t.Helper()
	for _, part := range want {
		if !strings.Contains(out, part) {
			t.Errorf("kubectl %s does not say %q:\n%s", strings.Join(args, " "), part, out)
		}
	}
}
