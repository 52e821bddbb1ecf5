// Package fleet gives the suites the running fleet that they test against: its
// addresses, its clusters, its people and its processes.
//
// The variable KAIRSHIP_FLEET names the fleet's folder. Without it the suites
// skip: they use real parts only, and starting those is the task of
// `make test`, or of `go run ./deploy/local up`.
package fleet

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Variable is the environment variable that names the folder of the fleet.
const Variable = "KAIRSHIP_FLEET"

// The roles of the fleet's clusters.
const (
	RoleGlobal   = "global"
	RoleInstance = "instance"
	roleMember   = "member"
)

// Fleet is a running fleet, as the file fleet.json in its folder describes it.
type Fleet struct {
	// Dir is the folder of the fleet.
	Dir string `json:"-"`

	KairshipURL    string `json:"kairshipURL"`
	KairshipTLSURL string `json:"kairshipTLSURL"`
	KairshipCAFile string `json:"kairshipCAFile"`
	// KairshipPprof is where Kairship's API server serves its profiles, as host:port.
	KairshipPprof string `json:"kairshipPprof"`
	IndexURL      string `json:"indexURL"`
	DB            string `json:"db"`
	Bin           string `json:"bin"`
	Logs          string `json:"logs"`
	PIDs          string `json:"pids"`
	// IdentityURL is the issuer of the OpenID Connect provider; empty where it is not installed.
	IdentityURL string `json:"identityURL"`
	// PluginPort is the port that the provider sends the browser back to, after the login of kubectl's plugin.
	PluginPort int `json:"pluginPort"`
	// Passwords maps a person to the file with the password at it.
	Passwords        map[string]string `json:"passwords"`
	Tokens           map[string]string `json:"tokens"`
	Clusters         []Cluster         `json:"clusters"`
	GlobalManagement GlobalManagement  `json:"globalManagement"`

	mu      sync.Mutex
	clients map[string]client.Client
}

// GlobalManagement is how a platform tells Kairship who has which role.
type GlobalManagement struct {
	// URLs are those of the replicas of the controller manager.
	URLs []string `json:"urls"`
	// CAFile is the authority of their certificates.
	CAFile string `json:"caFile"`
	// SecretFile holds the secret to sign requests with.
	SecretFile string `json:"secretFile"`
	// Secret is where Kairship reads it in the global cluster, as namespace/name.
	Secret string `json:"secret"`
}

// Cluster is one cluster of the fleet.
type Cluster struct {
	Name string `json:"name"`
	Role string `json:"role"`
	// Instance is the one that a member is joined to.
	Instance   string `json:"instance"`
	Server     string `json:"server"`
	Kubeconfig string `json:"kubeconfig"`
	// IndexName is its name in the index.
	IndexName string `json:"indexName"`
	// Processes are the names of what runs for it.
	Processes []string `json:"processes"`
}

var current = sync.OnceValues(func() (*Fleet, error) {
	f, err := at(os.Getenv(Variable))
	if err != nil {
		return nil, fmt.Errorf("%s names no running fleet: %w", Variable, err)
	}
	if f.KairshipURL == "" {
		return nil, fmt.Errorf("the fleet in %s runs without Kairship; start it without the flag --without-kairship", f.Dir)
	}
	return f, nil
})

// at reads the description of the fleet in a folder.
func at(dir string) (*Fleet, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(filepath.Join(dir, "fleet.json"))
	if err != nil {
		return nil, err
	}
	f := &Fleet{Dir: dir, clients: map[string]client.Client{}}
	if err := json.Unmarshal(raw, f); err != nil {
		return nil, fmt.Errorf("reading the fleet's description: %w", err)
	}
	return f, nil
}

// At is another fleet, which runs in a folder.
func At(t testing.TB, dir string) *Fleet {
	t.Helper()
	f, err := at(dir)
	if err != nil {
		t.Fatalf("%s is not the folder of a running fleet: %v", dir, err)
	}
	return f
}

// Open gives the fleet to a test, which is skipped when there is none.
func Open(t testing.TB) *Fleet {
	t.Helper()
	if os.Getenv(Variable) == "" {
		t.Skipf("%s is not set: this suite needs a running fleet; `make test` starts one, or set it to the folder of one, such as .local", Variable)
	}
	f, err := current()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Main runs the tests of a package. Suites that run at the same time against
// one fleet wait for each other, because some of them break it on purpose.
func Main(m *testing.M) (code int) {
	if os.Getenv(Variable) != "" {
		unlock, err := lock(os.Getenv(Variable))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer unlock()
		f, err := current()
		if err == nil {
			err = f.startEnded()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer func() {
			if err := recordPrivileges(os.Getenv(Variable)); err != nil {
				fmt.Fprintln(os.Stderr, "the audit log of the global cluster:", err)
				code = 1
			}
		}()
	}
	defer runCleanups() // Before the next suite begins.
	return m.Run()
}

func lock(dir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, "suite.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("%s names no running fleet: %w", Variable, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, fmt.Errorf("waiting for the other suites: %w", err)
	}
	return func() { _ = f.Close() }, nil
}

var (
	cleanupsMu sync.Mutex
	cleanups   []func()
)

// AtEnd has something called when all tests of the package are done, the last
// that was registered first. It is for what several tests share.
func AtEnd(f func()) {
	cleanupsMu.Lock()
	defer cleanupsMu.Unlock()
	cleanups = append(cleanups, f)
}

func runCleanups() {
	for {
		cleanupsMu.Lock()
		n := len(cleanups)
		if n == 0 {
			cleanupsMu.Unlock()
			return
		}
		f := cleanups[n-1]
		cleanups = cleanups[:n-1]
		cleanupsMu.Unlock()
		f()
	}
}

// Token is the bearer token of a person.
func (f *Fleet) Token(t testing.TB, person string) string {
	t.Helper()
	raw, err := os.ReadFile(f.Tokens[person])
	if err != nil {
		t.Fatalf("the token of %s: %v", person, err)
	}
	return strings.TrimSpace(string(raw))
}

// Cluster finds a cluster by name.
func (f *Fleet) Cluster(t testing.TB, name string) Cluster {
	t.Helper()
	for _, c := range f.Clusters {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("the fleet has no cluster %q", name)
	return Cluster{}
}

// Names are the names of the clusters of a role, in the order of the description.
func (f *Fleet) Names(role string) []string {
	var names []string
	for _, c := range f.Clusters {
		if c.Role == role {
			names = append(names, c.Name)
		}
	}
	return names
}

// Members are the names of the clusters that are joined to an instance.
func (f *Fleet) Members(instance string) []string {
	var names []string
	for _, c := range f.Clusters {
		if c.Role == roleMember && c.Instance == instance {
			names = append(names, c.Name)
		}
	}
	return names
}
