package proxy

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

// world is the fleet, asked over TLS: kubectl sends no token over plain HTTP.
type world struct {
	*fleet.Fleet
	url string
	ca  []byte
}

// open gives the fleet to a test.
func open(t testing.TB) *world {
	t.Helper()
	f := fleet.Open(t)
	ca, err := os.ReadFile(f.KairshipCAFile)
	if err != nil {
		t.Fatal(err)
	}
	return &world{Fleet: f, url: f.KairshipTLSURL, ca: ca}
}

// restart replaces the API server, as a rollout does.
func (w *world) restart(t *testing.T) {
	t.Helper()
	w.Restart(t, "kairship-apiserver")
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

// get sends a plain request as a person; without a user for "".
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

// kubectl is the real kubectl with some kubeconfig.
type kubectl struct {
	program, kubeconfig, home string
	flags                     []string
}

// at asks another server than that of the kubeconfig, as the same person.
func (k kubectl) at(server string) kubectl {
	k.flags = append(slices.Clone(k.flags), "--server="+server)
	return k
}

// kubectl is that of a person in front of one instance, with the kubeconfig that
// the fleet made for them.
func (w *world) kubectl(t *testing.T, person, instance string) kubectl {
	t.Helper()
	return w.kubectlWith(t, filepath.Join(w.Dir, "kubeconfig", "people", person+"-"+instance+".yaml"))
}

func (w *world) kubectlWith(t *testing.T, kubeconfig string) kubectl {
	t.Helper()
	return kubectl{program: filepath.Join(w.Bin, "kubectl"), kubeconfig: kubeconfig, home: t.TempDir()}
}

func (k kubectl) command(ctx context.Context, stdin string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, k.program, append(slices.Clone(k.flags), args...)...)
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
