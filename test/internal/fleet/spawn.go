package fleet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kairship-io/kairship/internal/poll"
)

// Process is a program that a suite started.
type Process struct {
	// Address is where it listens, as host:port.
	Address string
	// Log is the file with what it writes.
	Log string
	// Stop ends it before the tests do.
	Stop func()
	cmd  *exec.Cmd
	// wait waits for its end, for any caller and any number of times.
	wait func() error
}

// Terminate tells the process to end, as a rollout does. What it returns waits until it
// has, and says how.
func (p *Process) Terminate(t testing.TB) (ended func() error) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("ending %s: %v", p.cmd.Path, err)
	}
	return p.wait
}

// Kill ends the process without a chance to finish anything.
func (p *Process) Kill(t testing.TB) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatalf("killing %s: %v", p.cmd.Path, err)
	}
	_ = p.wait() // It was killed.
}

// Tail is the end of what it wrote.
func (p *Process) Tail(lines int) string {
	raw, _ := os.ReadFile(p.Log)
	return tail(string(raw), lines)
}

// PID is its process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// spawn starts a program that listens on an address of its own; args get that
// address. It ends with the tests of the package.
func spawn(t testing.TB, program string, args func(address string) []string) *Process {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := os.CreateTemp("", filepath.Base(program)+"-*.log") //nolint:usetesting // The log outlives the test that began it.
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, args(address)...)
	cmd.Stdout, cmd.Stderr = log, log
	// It must not outlive tests that are killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting %s: %v", program, err)
	}
	p := &Process{Address: address, Log: log.Name(), cmd: cmd, wait: sync.OnceValue(cmd.Wait)}
	p.Stop = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		stopped := make(chan struct{})
		go func() { _ = p.wait(); close(stopped) }()
		select {
		case <-stopped:
		case <-time.After(5 * time.Second):
			_ = cmd.Process.Kill()
			<-stopped
		}
		_ = log.Close()
		_ = os.Remove(log.Name())
	})
	AtEnd(p.Stop)
	return p
}

// ready waits until a URL answers 200.
func (p *Process) ready(t testing.TB, address string, transport http.RoundTripper) {
	t.Helper()
	c := &http.Client{Transport: transport, Timeout: 5 * time.Second}
	err := poll.Try(t.Context(), 60*time.Second, func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
		if err != nil {
			return err
		}
		resp, err := c.Do(req)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: HTTP %d", address, resp.StatusCode)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%s is not ready: %v\n%s", p.cmd.Path, err, p.Tail(20))
	}
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// identity is how Kairship's API server reaches the global cluster.
func (f *Fleet) identity(t testing.TB) *rest.Config {
	t.Helper()
	return configOf(t, filepath.Join(f.Dir, "kubeconfig", "components", "global-kairship-apiserver.yaml"))
}

// PlainIndex starts a second server of the index on the same database, with the
// gate for SQL from callers off, and gives its address.
func (f *Fleet) PlainIndex(t testing.TB) string {
	t.Helper()
	args := f.Args(t, "clusterpedia-apiserver")
	p := spawn(t, args[0], func(address string) []string {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			t.Fatal(err)
		}
		own := slices.Clone(args[1:])
		for i, arg := range own {
			switch {
			case strings.HasPrefix(arg, "--secure-port="):
				own[i] = "--secure-port=" + port
			case strings.HasPrefix(arg, "--feature-gates="):
				own[i] = "--feature-gates=AllowParameterizedSQLQuery=false"
			}
		}
		return own
	})
	transport, err := rest.TransportFor(f.identity(t))
	if err != nil {
		t.Fatal(err)
	}
	p.ready(t, "https://"+p.Address+"/readyz", transport)
	return "https://" + p.Address
}

// IndexConfig is how Kairship's API server reaches a server of the index
// directly, with its own identity.
func (f *Fleet) IndexConfig(t testing.TB, address string) *rest.Config {
	t.Helper()
	config := f.identity(t)
	config.Host = address
	return config
}

// Gateway stands in for the global cluster: it passes everything on to it, as
// Kairship's API server, but takes requests to one of its APIs where a test wants
// them to go.
type Gateway struct {
	URL     string
	forward func(address string) http.Handler

	mu sync.Mutex
	// others answer instead of the global cluster, by the API group that they answer for.
	others map[string]http.Handler
}

// The API groups of the global cluster that tests put something else in front of.
const (
	IndexAPI          = "clusterpedia.io"
	AuthenticationAPI = "authentication.k8s.io"
	AuthorizationAPI  = "authorization.k8s.io"
)

// NewGateway starts a gateway. At first it passes requests to the index on to
// the global cluster too.
func (f *Fleet) NewGateway(t testing.TB) *Gateway {
	t.Helper()
	config := f.identity(t)
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		t.Fatal(err)
	}
	// What is passed on gets the token of Kairship's account.
	transport, err := rest.HTTPWrappersForConfig(config, &http.Transport{TLSClientConfig: tlsConfig, MaxIdleConnsPerHost: 100, ForceAttemptHTTP2: true})
	if err != nil {
		t.Fatal(err)
	}
	g := &Gateway{others: map[string]http.Handler{}, forward: func(address string) http.Handler {
		to, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return &httputil.ReverseProxy{
			Transport:     transport,
			FlushInterval: -1,
			Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
			ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		}
	}}
	global := g.forward(config.Host)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if other := g.other(r.URL.Path); other != nil {
				other.ServeHTTP(w, r)
				return
			}
			global.ServeHTTP(w, r)
		}),
	}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintln(os.Stderr, "the gateway ended:", err)
		}
	}()
	AtEnd(func() { _ = server.Close() })
	g.URL = "http://" + listener.Addr().String()
	return g
}

// other answers requests to a path instead of the global cluster; nil when nothing does.
func (g *Gateway) other(path string) http.Handler {
	group, _, _ := strings.Cut(strings.TrimPrefix(path, "/apis/"), "/")
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.others[group]
}

// SendIndexTo has requests to the index go to a server of it.
func (g *Gateway) SendIndexTo(address string) { g.Answer(IndexAPI, g.At(address)) }

// AnswerIndexWith has a handler of the test answer requests to the index.
func (g *Gateway) AnswerIndexWith(h http.HandlerFunc) { g.Answer(IndexAPI, h) }

// Answer has a handler of the test answer requests to an API group; the global
// cluster itself where it is nil.
func (g *Gateway) Answer(group string, h http.Handler) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.others[group] = h
}

// At passes requests on to a server, as Kairship's API server.
func (g *Gateway) At(address string) http.Handler { return g.forward(address) }

// Kairship starts another API server of Kairship behind a gateway.
func (f *Fleet) Kairship(t testing.TB, g *Gateway, flags ...string) *Process {
	t.Helper()
	return f.KairshipOf(t, kairshipProgram, g, flags...)
}

const kairshipProgram = "kairship-apiserver"

// KairshipOf is the same with another program: a path, or the name of one of the fleet's.
func (f *Fleet) KairshipOf(t testing.TB, program string, g *Gateway, flags ...string) *Process {
	t.Helper()
	p := f.kairship(t, program, g, flags)
	p.ready(t, "http://"+p.Address+"/readyz", nil)
	return p
}

// SecureKairship is one that serves TLS, and takes client certificates of the
// global cluster beside tokens. A client needs the authority that is given to trust it.
func (f *Fleet) SecureKairship(t testing.TB, g *Gateway) (*Process, *x509.CertPool) {
	t.Helper()
	authority := f.PKI("global", "ca.crt")
	raw, err := os.ReadFile(authority)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	if !trusted.AppendCertsFromPEM(raw) {
		t.Fatalf("%s has no certificate", authority)
	}
	p := f.kairship(t, kairshipProgram, g, []string{
		"--tls-cert-file=" + f.PKI("global", "serving", "tls.crt"), "--tls-private-key-file=" + f.PKI("global", "serving", "tls.key"),
		"--client-ca-file=" + authority,
	})
	p.ready(t, "https://"+p.Address+"/readyz", &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}})
	return p, trusted
}

// Replica starts another API server of Kairship, which serves TLS alone, at an address
// of its own, and is otherwise what the fleet's is. It need not be ready yet.
func (f *Fleet) Replica(t testing.TB, flags ...string) *Process {
	t.Helper()
	args := f.Args(t, "kairship-apiserver")
	return spawn(t, args[0], func(address string) []string {
		var own []string
		for _, arg := range args[1:] {
			switch name, _, _ := strings.Cut(arg, "="); name {
			case "--listen-address", "--tls-listen-address", "--pprof-address", "--metrics-bind-address":
			default:
				own = append(own, arg)
			}
		}
		return slices.Concat(own, []string{"--listen-address=" + address}, flags)
	})
}

// SecondLeader starts another controller manager, which works without asking who
// leads. It is ready when it serves its metrics, at its address.
func (f *Fleet) SecondLeader(t testing.TB) *Process {
	t.Helper()
	args := f.Args(t, "kairship-controller-manager-0")
	p := spawn(t, args[0], func(address string) []string {
		own := []string{"--leader-elect=false", "--metrics-bind-address=" + address, "--health-probe-bind-address=0"}
		for _, arg := range args[1:] {
			name, _, _ := strings.Cut(arg, "=")
			if !strings.HasPrefix(name, "--webhook-") && !strings.HasSuffix(name, "-bind-address") && name != "--leader-elect" && name != "--pprof-address" {
				own = append(own, arg)
			}
		}
		return own
	})
	p.ready(t, "http://"+p.Address+"/metrics", nil)
	return p
}

// OpenAddresses has a program of Kairship connect to this machine, where the fleet is.
const OpenAddresses = "--open-address-ranges=127.0.0.0/8"

// indexDatabase is the file with the DSN of the index's database.
func (f *Fleet) indexDatabase() string {
	return filepath.Join(f.Dir, "config", "index-database-"+f.DB)
}

// PKI is the path of a key or certificate that the fleet made.
func (f *Fleet) PKI(path ...string) string {
	return filepath.Join(append([]string{f.Dir, "pki"}, path...)...)
}

func (f *Fleet) kairship(t testing.TB, program string, g *Gateway, flags []string) *Process {
	t.Helper()
	if !filepath.IsAbs(program) {
		program = filepath.Join(f.Bin, program)
	}
	kubeconfig := filepath.Join(f.Dir, fmt.Sprintf("suite-%d.yaml", os.Getpid()))
	if err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"gateway": {Server: g.URL}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"none": {}},
		Contexts:       map[string]*clientcmdapi.Context{"gateway": {Cluster: "gateway", AuthInfo: "none"}},
		CurrentContext: "gateway",
	}, kubeconfig); err != nil {
		t.Fatal(err)
	}
	AtEnd(func() { _ = os.Remove(kubeconfig) })
	return spawn(t, program, func(address string) []string {
		return append([]string{"--kubeconfig=" + kubeconfig, "--listen-address=" + address, OpenAddresses, "--index-database-file=" + f.indexDatabase()}, flags...)
	})
}
