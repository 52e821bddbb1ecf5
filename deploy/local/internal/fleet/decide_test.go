package fleet

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/deploy/internal/kube"
	"github.com/kairship-io/kairship/deploy/local/internal/topology"
)

func TestDecide(t *testing.T) {
	args := []string{"/bin/etcd", "--a"}
	for _, tc := range []struct {
		running bool
		have    []string
		want    action
		reason  string
	}{
		{true, []string{"/bin/etcd", "--a"}, keep, "it is as it should be"},
		{false, nil, start, "it has died or was never started"},
		{true, []string{"/bin/etcd", "--b"}, restart, "a setting changed"},
		{true, []string{"/bin/etcd", "--a", "--b"}, restart, "a flag went"},
		{true, []string{"/other/etcd", "--a"}, restart, "it is another program"},
	} {
		if got := decide(tc.running, tc.have, args); got != tc.want {
			t.Errorf("decide(%t, %v) = %s, want %s: %s", tc.running, tc.have, got, tc.want, tc.reason)
		}
	}
}

func TestCheckPortsNamesPortAndHolder(t *testing.T) {
	listener, base := listenAt(t, topology.PortSpan)
	defer func() { _ = listener.Close() }()
	ports := topology.Ports{Base: base}
	etcd := planned{process: process{name: "etcd", ports: []string{"etcd/client"}}, action: start}

	err := checkPorts(ports, []planned{etcd})
	if err == nil {
		t.Fatal("a taken port was not noticed")
	}
	for _, want := range []string{strconv.Itoa(ports.Of("etcd/client")), "for etcd", strconv.Itoa(os.Getpid()), "--port-base"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
	etcd.action = keep
	if err := checkPorts(ports, []planned{etcd}); err != nil {
		t.Errorf("a process that runs holds its own ports: %v", err)
	}
}

// listenAt listens on a port that is etcd/client of some port base, and returns that base.
func listenAt(t *testing.T, span int) (net.Listener, int) {
	t.Helper()
	for base := 30000; base < 32000; base += span {
		listener, err := net.Listen("tcp4", topology.Ports{Base: base}.Addr("etcd/client"))
		if err == nil {
			return listener, base
		}
	}
	t.Fatal("no free port")
	return nil, 0
}

func TestOnce(t *testing.T) {
	f, err := Open(t.TempDir(), Flags{}, &strings.Builder{})
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	step := func(input string, result error) error {
		return f.once("step", input, func() error { runs++; return result })
	}
	failure := errors.New("no")
	if err := step("v1", failure); !errors.Is(err, failure) || !strings.Contains(err.Error(), "step") {
		t.Errorf("error %v, want the failure with the step's name", err)
	}
	for range 2 {
		if err := step("v1", nil); err != nil {
			t.Fatal(err)
		}
	}
	if runs != 2 {
		t.Errorf("the step ran %d times, want again after its failure and never after its success", runs)
	}
	if err := step("v2", nil); err != nil || runs != 3 {
		t.Errorf("the step ran %d times (%v), want once more for another input", runs, err)
	}
	reopened, err := Open(f.paths.Root, Flags{}, &strings.Builder{})
	if err != nil {
		t.Fatal(err)
	}
	if err := reopened.once("step", "v2", func() error { return errors.New("ran again") }); err != nil {
		t.Errorf("a later run does not know what was done: %v", err)
	}
}

func TestEnoughInotify(t *testing.T) {
	for _, tc := range []struct {
		limit, used, starting int
		want                  bool
	}{
		{128, 0, 32, true},    // one fleet on a machine with the kernel's default
		{128, 62, 32, false},  // a second one beside it
		{128, 126, 0, true},   // nothing starts, nothing is needed
		{1024, 124, 32, true}, // after the limit was raised
	} {
		if got := enoughInotify(tc.limit, tc.used, tc.starting); got != tc.want {
			t.Errorf("enoughInotify(%d, %d, %d) = %t, want %t", tc.limit, tc.used, tc.starting, got, tc.want)
		}
	}
}

func TestClosedFolder(t *testing.T) {
	open := filepath.Join(t.TempDir(), "open")
	closed := filepath.Join(open, "closed")
	if err := os.MkdirAll(filepath.Join(closed, "inner"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := closedFolder(open); got == open {
		t.Errorf("a folder that any user may enter is reported as closed")
	}
	base := closedFolder(open) // the test's own folder may be below a closed one
	if base == "" {
		if got := closedFolder(filepath.Join(closed, "inner")); got != closed {
			t.Errorf("closedFolder = %q, want %q", got, closed)
		}
		if got := closedFolder(filepath.Join(open, "later", "made")); got != "" {
			t.Errorf("folders that do not exist yet are reported as closed: %q", got)
		}
	}
}

func TestNodeReady(t *testing.T) {
	node := func(status, taints string) string {
		return nodeReady(kube.MustParse("{kind: Node, metadata: {name: node}, spec: {taints: %s}, status: {conditions: [{type: Ready, status: %q}]}}", taints, status)[0])
	}
	if missing := node("True", "[]"); missing != "" {
		t.Errorf("a ready node: %q", missing)
	}
	if missing := node("Unknown", "[]"); missing == "" {
		t.Error("a node that is not ready passes")
	}
	if missing := node("True", "[{key: node.kubernetes.io/not-ready}]"); missing == "" {
		t.Error("a node with a taint passes: pods would wait for it")
	}
}

func TestFirstFailure(t *testing.T) {
	for body, want := range map[string]string{
		"[+]ping ok\n[-]etcd failed: reason withheld\n[+]log ok\n": "etcd failed: reason withheld",
		"404 page not found\n": "404 page not found",
		"":                     "",
	} {
		if got := firstFailure(body); got != want {
			t.Errorf("firstFailure(%q) = %q, want %q", body, got, want)
		}
	}
}

func TestFlow(t *testing.T) {
	objects := kube.MustParse("{kind: X, metadata: {name: x}, list: [%s]}", flow(virtualResources))
	list := objects[0].Object["list"].([]any)
	if len(list) != strings.Count(virtualResources, "\n- ") {
		t.Errorf("%d entries, want %d", len(list), strings.Count(virtualResources, "\n- "))
	}
}

func TestTheEnvironmentOfComponents(t *testing.T) {
	t.Setenv("DB_HOST", "elsewhere")
	t.Setenv("HTTPS_PROXY", "http://proxy")
	for _, variable := range environment("/x") {
		if strings.HasPrefix(variable, "DB_") || strings.Contains(variable, "PROXY") {
			t.Errorf("%s reaches the components", variable)
		}
	}
}
